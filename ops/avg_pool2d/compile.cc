// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/avg_pool2d/avg_pool2d.h"
#include "ops/avg_pool2d/lower.h"
#include "ops/avg_pool2d/reference.h"
#include "ops/host/broadcast.h"
#include "ops/host/pool_overlap.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

std::vector<ir::TensorType> infer(const ir::Node& node) {
  ir::TensorType type = node.tensor("self")->type;
  if (node.op == nodes::aten_adaptive_avg_pool2d) {
    const auto& size = node.integers("output_size");
    if (type.rank() != 4 || size.size() != 2 || size[0] < 1 || size[1] < 1) {
      refuse(node, "adaptive average pooling needs a 4-D tensor and a two-dimensional size", {});
    }
    type.shape[2] = size[0];
    type.shape[3] = size[1];
    return {std::move(type)};
  }
  const auto& kernel = node.integers("kernel_size");
  const auto& stride = node.integers("stride");
  const auto& padding = node.integers("padding");
  if (type.rank() != 4 || kernel.size() != 2 || stride.size() != 2 || padding.size() != 2) {
    refuse(node, "average pooling needs a 4-D tensor and two-dimensional windows", {});
  }
  for (std::size_t i = 0; i < 2; ++i) {
    std::int64_t& size = type.shape[2 + i];
    if (kernel[i] < 1 || stride[i] < 1 || padding[i] < 0 || 2 * padding[i] > kernel[i] ||
        size + 2 * padding[i] < kernel[i]) {
      refuse(node, "the pooling window does not fit the input",
             "the padding may be at most half the window, and the window at most the padded input");
    }
    size = pooled_size(size, kernel[i], stride[i], padding[i], node.boolean("ceil_mode"));
  }
  return {std::move(type)};
}

std::vector<evaluate::Tensor> evaluate_avg_pool(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& input = frame.get(node.tensor("self"));
  const std::vector<PoolExtent> down = pool_extents(node, 0);
  const std::vector<PoolExtent> across = pool_extents(node, 1);
  const bool overridden = node.op == nodes::aten_avg_pool2d && node.has("divisor_override");
  const double divisor = overridden ? node.number("divisor_override") : 0;
  const std::int64_t height = input.shape[2];
  const std::int64_t width = input.shape[3];
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(input.shape[0] * input.shape[1]) * down.size() * across.size());
  for (std::int64_t plane = 0; plane < input.shape[0] * input.shape[1]; ++plane) {
    const float* image = input.values().data() + plane * height * width;
    for (const PoolExtent& rows : down) {
      for (const PoolExtent& columns : across) {
        double sum = 0;
        for (std::int64_t y = rows.begin; y < rows.end; ++y) {
          for (std::int64_t x = columns.begin; x < columns.end; ++x) sum += static_cast<double>(image[y * width + x]);
        }
        out.push_back(
            static_cast<float>(sum / (overridden ? divisor : static_cast<double>(rows.counted * columns.counted))));
      }
    }
  }
  return {evaluate::Tensor({input.shape[0], input.shape[1], static_cast<std::int64_t>(down.size()),
                            static_cast<std::int64_t>(across.size())},
                           std::move(out))};
}

QuantRule quantize(const ir::Node& node) {
  QuantRule rule{.output = QuantRule::ObserveOrShare{}, .weights = {}};
  if (node.tensor("self")->type.shape.at(1) <= kMostWordsChannels) rule.precisions = precisions::w8a8_w8a16();
  return rule;
}

}  // namespace

std::vector<PoolExtent> pool_extents(const ir::Node& node, std::size_t dimension) {
  const std::int64_t input = node.tensor("self")->type.shape[2 + dimension];
  const std::int64_t size = infer(node).front().shape[2 + dimension];
  std::vector<PoolExtent> extents;
  for (std::int64_t i = 0; i < size; ++i) {
    if (node.op == nodes::aten_adaptive_avg_pool2d) {
      const std::int64_t begin = i * input / size;
      const std::int64_t end = ((i + 1) * input + size - 1) / size;
      extents.push_back({begin, end, end - begin});
      continue;
    }
    const std::int64_t padding = node.integers("padding")[dimension];
    const std::int64_t begin = i * node.integers("stride")[dimension] - padding;
    const std::int64_t end = std::min(begin + node.integers("kernel_size")[dimension], input + padding);
    PoolExtent extent = {std::max<std::int64_t>(begin, 0), std::min(end, input), end - begin};
    if (!node.boolean("count_include_pad")) extent.counted = extent.end - extent.begin;
    extents.push_back(extent);
  }
  return extents;
}

Operator avg_pool2d_operator() {
  return {.name = "avg_pool2d",
          .layout = MemoryOrder::channels_last,
          .canonical = {"aten.avg_pool2d(Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, bool "
                        "ceil_mode, bool count_include_pad, int? divisor_override)",
                        "aten.adaptive_avg_pool2d(Tensor self, int[2] output_size)"},
          .infer = infer,
          .evaluate = evaluate_avg_pool,
          .quantize = quantize,
          .lower = lower_avg_pool2d,
          .overlap = pool_overlap,
          .channelwise = [](const ir::Node& node) { return node.tensor("self")->type.rank() == 4; }};
}

}  // namespace cormorant::ops
