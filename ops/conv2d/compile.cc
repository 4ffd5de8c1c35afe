// SPDX-License-Identifier: Apache-2.0
//
// aten.conv2d -> cortex_m.quantized_conv2d: every convolution that is not depthwise, grouped ones included.
#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/convolution.h"
#include "ops/conv2d/estimate.h"
#include "ops/conv2d/import.h"
#include "ops/conv2d/kernel.h"
#include "ops/conv2d/overlap.h"
#include "ops/conv2d/overlap_hook.h"
#include "ops/conv2d/prepack.h"
#include "ops/conv2d/words_lower.h"
#include "ops/host/words.h"
#include "ops/op.h"

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

// As the load_upstream of each instruction set's kernel file.
std::vector<Kernel> loads_on(const Target& target) {
  using namespace conv2d;  // NOLINT(google-build-using-namespace)
  const auto kernels = [](auto* load, auto* load_nhwc) -> std::vector<Kernel> {
    return {{names::cortex_m_quantized_conv2d_out, load, nullptr},
            {names::cortex_m_quantized_conv2d_nhwc_out, load_nhwc, nullptr}};
  };
  if (target.isa == Isa::mve) return kernels(load_repacked<kMveKxk>, load_repacked_nhwc<kMveKxk>);
  if (target.isa == Isa::dsp) return kernels(load_repacked<kDsp>, load_repacked_nhwc<kDsp>);
  if (target.cpu->has_long_multiply) return kernels(load_repacked<kScalar>, load_repacked_nhwc<kScalar>);
  return kernels(load_repacked<kV6m>, load_repacked_nhwc<kV6m>);
}

}  // namespace

Operator conv2d_operator() {
  return {.name = "conv2d",
          .layout = ops::MemoryOrder::channels_last,
          .canonical = {conv2d::kCanonical},
          .accepts = [](const ir::Node& node) { return !conv2d::is_depthwise(node); },
          .infer = conv2d::infer_convolution,
          .evaluate = conv2d::evaluate_convolution,
          .quantize = conv2d::quantize_convolution,
          .fuses_activation = true,
          .lower = lower,
          .loads_on = loads_on,
          .prepack = conv2d::prepack,
          .in_place = in_place,
          .overlap = overlap,
          .macs = conv2d::count_macs,
          .estimate = estimate};
}

}  // namespace cormorant::ops
