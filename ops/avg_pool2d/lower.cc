// SPDX-License-Identifier: Apache-2.0
#include "ops/avg_pool2d/lower.h"

#include <algorithm>
#include <set>

#include "base/diagnostic.h"
#include "ops/avg_pool2d/avg_pool2d.h"
#include "ops/host/broadcast.h"
#include "ops/host/multiplier.h"
#include "ops/host/words.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace {

using Dims = std::vector<std::int64_t>;

bool is_adaptive(const ir::Node& node) { return node.op == nodes::aten_adaptive_avg_pool2d; }

std::int64_t largest_window(const ir::Node& node) {
  std::int64_t taps = 1;
  for (const std::size_t d : {0U, 1U}) {
    std::int64_t longest = 0;
    for (const PoolExtent& extent : pool_extents(node, d)) longest = std::max(longest, extent.end - extent.begin);
    taps *= longest;
  }
  return taps;
}

// Whether a border of zeros in place of the padding leaves the windows where they are.
bool is_pooling_of_padded(const ir::Node& node) {
  const ir::Shape& input = node.tensor("self")->type.shape;
  for (std::size_t d = 0; d < 2; ++d) {
    const std::int64_t padded = input[2 + d] + 2 * node.integers("padding")[d];
    if (pooled_size<std::int64_t>(padded, node.integers("kernel_size")[d], node.integers("stride")[d], 0,
                                  node.boolean("ceil_mode")) != node.result()->type.shape[2 + d]) {
      return false;
    }
  }
  return true;
}

// Why ExecuTorch's operator cannot do it; empty if it can.
std::string executorch_obstacle(const ir::Node& node) {
  if (is_adaptive(node)) return "adaptive average pooling with windows of unequal size";
  if (node.has("divisor_override")) return "average pooling with divisor_override";
  if (largest_window(node) > kLargestWindow) return "average pooling of windows with more than 65536 elements";
  if (node.boolean("count_include_pad") && !is_pooling_of_padded(node)) {
    return "average pooling that counts padding, in ceil mode";
  }
  if (node.tensor("self")->type.quant != node.result()->type.quant) {
    return "average pooling between different quantization parameters";
  }
  return {};
}

std::int64_t scratch_bytes(const Rewriter& rewriter, std::int64_t channels) {
  const Config& config = rewriter.config;
  if (config.runtime == Runtime::cormorant) return kAvgPoolScratchBytes;
  if (config.target.is_any()) {
    refuse(rewriter.node, "ExecuTorch's average pooling needs a scratch size that depends on the instruction set",
           "name a CPU with --target");
  }
  return avg_pool_upstream_scratch_bytes(channels, config.target.isa);
}

// Padding that counts becomes a separate border, as in ExecuTorch's compiler; its operator ignores padding.
ir::Value* padded(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  ir::Value* self = node.tensor("self");
  if (!node.boolean("count_include_pad")) return self;
  const Dims& padding = node.integers("padding");
  ir::TensorType type = self->type;
  type.shape[2] += 2 * padding[0];
  type.shape[3] += 2 * padding[1];
  const Dims border = {0, padding[0], padding[1], 0};  // in memory order
  const std::vector<ir::NamedArgument> args = {{"input", self},
                                               {"pre_pad", border},
                                               {"post_pad", border},
                                               {"pad_value", std::int64_t{type.quant->zero_point()}}};
  return rewriter.graph.add_node(node.name + "_pad", nodes::cortex_m_pad, args, {type}, node.location, &rewriter.node)
      ->result();
}

ir::Value* emit_executorchs(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  ir::Value* input = padded(rewriter);
  const ir::QuantParams& quant = input->type.quant.value();
  const Multiplier scale = quantize_multiplier(quant.scale());
  return rewriter
      .emit(QuantizedAvgPool2d<HostWorld>{.input = input,
                                          .kernel_size = node.integers("kernel_size"),
                                          .stride = node.integers("stride"),
                                          .padding =
                                              node.boolean("count_include_pad") ? Dims{0, 0} : node.integers("padding"),
                                          .ceil_mode = node.boolean("ceil_mode"),
                                          .zero_point = quant.zero_point(),
                                          .multiplier = scale.multiplier,
                                          .shift = scale.shift,
                                          .scratch = {.bytes = scratch_bytes(rewriter, input->type.shape[1])}},
            node.result()->type, names::cortex_m_quantized_avg_pool2d_out)
      ->result();
}

// There is no shift to the left here: the factor is multiplier · 2^(−right).
constexpr std::int32_t kWordsShift = -1;
std::optional<MeanMultiplier> words_multiplier(double factor) {
  const Multiplier m = quantize_multiplier(factor);
  if (m.multiplier == 0) return MeanMultiplier{0, 1};
  if (m.shift > 30) return std::nullopt;
  return MeanMultiplier{m.multiplier, 31 - m.shift};
}

// A multiplier for every number of elements that a window is divided by.
ir::Value* divisors(const Rewriter& rewriter, std::int32_t left) {
  const ir::Node& node = rewriter.node;
  const double ratio = node.tensor("self")->type.quant->scale() / node.result()->type.quant->scale();
  std::set<std::int64_t> counts;
  for (const PoolExtent& rows : pool_extents(node, 0)) {
    for (const PoolExtent& columns : pool_extents(node, 1)) counts.insert(rows.counted * columns.counted);
  }
  const bool overridden = !is_adaptive(node) && node.has("divisor_override");
  if (overridden) counts = {node.integer("divisor_override")};
  std::vector<std::int32_t> rows;
  for (const std::int64_t count : counts) {
    std::optional<MeanMultiplier> factor = mean_multiplier(ratio / static_cast<double>(count), left);
    if (left == kWordsShift) factor = words_multiplier(ratio / static_cast<double>(count));
    if (!factor)
      refuse(node, "the scale of the pooling's result is too small for its input's",
             "calibrate with representative data");
    rows.insert(rows.end(), {static_cast<std::int32_t>(count), factor->multiplier, factor->right});
  }
  const ir::TensorType type{
      .dtype = DType::i32, .shape = {static_cast<std::int64_t>(counts.size()), 3}, .dim_order = {}, .quant = {}};
  return rewriter.constant("divisors", type, std::span<const std::int32_t>(rows));
}

ir::Value* emit_ours(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const ir::TensorType& input = node.tensor("self")->type;
  const ir::TensorType& output = node.result()->type;
  if (largest_window(node) > static_cast<std::int64_t>(kLargestMeanWindow)) {
    refuse(node, "average pooling of windows with more than 4 million elements", "pool in two steps");
  }
  const std::int32_t left = mean_left_shift(largest_window(node));
  const bool adaptive = is_adaptive(node);
  return rewriter
      .emit(AvgPool2d<HostWorld>{.input = node.tensor("self"),
                                 .kernel_size =
                                     adaptive ? Dims{input.shape[2], input.shape[3]} : node.integers("kernel_size"),
                                 .stride = adaptive ? Dims{0, 0} : node.integers("stride"),
                                 .padding = adaptive ? Dims{0, 0} : node.integers("padding"),
                                 .count_include_pad = !adaptive && node.boolean("count_include_pad"),
                                 .divisors = divisors(rewriter, left),
                                 .left_shift = left,
                                 .input_zero_point = input.quant->zero_point(),
                                 .output_zero_point = output.quant->zero_point(),
                                 .output_min = output.quant->qmin,
                                 .output_max = output.quant->qmax},
            output, avg_pool2d_variant(rewriter.config.target))
      ->result();
}

}  // namespace

namespace {

// Sums of at most 65536 elements fit 32 bits; times a multiplier of 31 bits, 63.
ir::Value* lower_words(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  require_words(rewriter, {"self"});
  if (largest_window(node) > kLargestWindow) {
    refuse(node, "average pooling of windows with more than 65536 elements", "pool in two steps");
  }
  const ir::TensorType& input = node.tensor("self")->type;
  const ir::TensorType& output = node.result()->type;
  const bool adaptive = is_adaptive(node);
  return rewriter
      .emit(AvgPool2d<HostWorld>{.input = node.tensor("self"),
                                 .kernel_size =
                                     adaptive ? Dims{input.shape[2], input.shape[3]} : node.integers("kernel_size"),
                                 .stride = adaptive ? Dims{0, 0} : node.integers("stride"),
                                 .padding = adaptive ? Dims{0, 0} : node.integers("padding"),
                                 .count_include_pad = !adaptive && node.boolean("count_include_pad"),
                                 .divisors = divisors(rewriter, kWordsShift),
                                 .left_shift = 0,
                                 .input_zero_point = 0,
                                 .output_zero_point = 0,
                                 .output_min = output.quant->qmin,
                                 .output_max = output.quant->qmax},
            output, names::cormorant_avg_pool2d_words)
      ->result();
}

}  // namespace

ir::Value* lower_avg_pool2d(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  if (has_words(node)) return lower_words(rewriter);
  const ir::TensorType& input = node.tensor("self")->type;
  const ir::TensorType& output = node.result()->type;
  if (!input.quant || input.quant->dtype != DType::i8 || output.quant->dtype != DType::i8) {
    refuse(node, "average pooling needs an int8 input and result", "quantize both sides of it to int8");
  }
  const std::string obstacle = executorch_obstacle(node);
  if (rewriter.config.runtime == Runtime::executorch && !obstacle.empty()) {
    refuse(node, obstacle + " has no Cortex-M operator in ExecuTorch", "compile for Cormorant's own runtime");
  }
  return obstacle.empty() ? emit_executorchs(rewriter) : emit_ours(rewriter);
}

}  // namespace cormorant::ops
