// SPDX-License-Identifier: Apache-2.0
//
// aten.conv2d -> cortex_m.quantized_conv2d: every convolution that is not depthwise, grouped ones included.
#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/convolution.h"
#include "ops/conv2d/estimate.h"
#include "ops/conv2d/import.h"
#include "ops/conv2d/overlap.h"
#include "ops/conv2d/overlap_hook.h"
#include "ops/conv2d/prepack.h"
#include "ops/conv2d/words_lower.h"
#include "ops/op.h"
#include "ops/words.h"

namespace cormorant::ops {
namespace {

ir::Value* lower(const Rewriter& rewriter) {
  if (has_words(rewriter.node)) return conv2d::words::lower(rewriter);
  return conv2d::lower_to_conv2d(rewriter, conv2d::lower_parameters(rewriter));
}

std::optional<std::uint64_t> overlap(const ir::Node& node, std::string_view argument) {
  return conv2d::packed_overlap(node, argument, conv2d::kVariants, conv2d::order_of);
}

bool in_place(const ir::Node& node, std::string_view argument) {
  return argument == "residual" && program_name(node.op) == names::cormorant_conv2d_mve_sum;
}

std::optional<std::int64_t> estimate(const ir::Node& node) {
  return conv2d::with_packed(node, conv2d::kVariants, [](const conv2d::Variant& variant, const conv::Header& header) {
    return conv2d::estimated_cycles(variant, header.geometry);
  });
}

}  // namespace

Operator conv2d_operator() {
  return {.name = "conv2d",
          .layout = ops::MemoryOrder::channels_last,
          .forms = conv2d::convolution_forms(),
          .canonical = {conv2d::kCanonical},
          .accepts = [](const ir::Node& node) { return !conv2d::is_depthwise(node); },
          .infer = conv2d::infer_convolution,
          .evaluate = conv2d::evaluate_convolution,
          .quantize = conv2d::quantize_convolution,
          .fuses_activation = true,
          .lower = lower,
          .prepack = conv2d::prepack,
          .in_place = in_place,
          .overlap = overlap,
          .macs = conv2d::count_macs,
          .estimate = estimate};
}

}  // namespace cormorant::ops
