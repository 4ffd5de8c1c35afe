// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "base/diagnostic.h"
#include "kernels/pool_geometry.h"
#include "ops/host/multiplier.h"
#include "ops/host/pool_overlap.h"
#include "ops/host/words.h"
#include "ops/max_pool2d/max_pool2d.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

constexpr std::int64_t kLargestSize = 65535;  // what the kernels count to

[[noreturn]] void reject(const ir::Node& node, std::string problem, std::string advice) {
  throw InputError(
      {.problem = std::move(problem), .advice = std::move(advice), .node = node.name, .source = node.location.text()});
}

ir::Shape pooled_shape(const ir::Node& node, bool ceil_mode) {
  ir::Shape shape = node.tensor("self")->type.shape;
  const auto& kernel = node.integers("kernel_size");
  const auto& stride = node.integers("stride");
  const auto& padding = node.integers("padding");
  const auto& dilation = node.integers("dilation");
  if (shape.size() != 4 || kernel.size() != 2 || stride.size() != 2 || padding.size() != 2 || dilation.size() != 2) {
    reject(node, "max pooling needs a 4-D tensor and two-dimensional windows", {});
  }
  for (std::size_t i = 0; i < 2; ++i) {
    std::int64_t& size = shape[2 + i];
    const bool sensible = kernel[i] >= 1 && kernel[i] <= kLargestSize && stride[i] >= 1 && padding[i] >= 0 &&
                          padding[i] <= kLargestSize && dilation[i] >= 1 && dilation[i] <= kLargestSize;
    const std::int64_t reach = sensible ? dilation[i] * (kernel[i] - 1) + 1 : 0;
    if (!sensible || 2 * padding[i] > reach || size + 2 * padding[i] < reach) {
      reject(node, "the pooling window does not fit the input",
             "the padding may be at most half the window, and the window at most the padded input");
    }
    size = pooled_size(size, reach, stride[i], padding[i], ceil_mode);
  }
  return shape;
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  ir::TensorType type = node.tensor("self")->type;
  type.shape = pooled_shape(node, node.boolean("ceil_mode"));
  return {std::move(type)};
}

std::vector<evaluate::Tensor> evaluate_max_pool(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& input = frame.get(node.tensor("self"));
  const ir::Shape shape = pooled_shape(node, node.boolean("ceil_mode"));
  const auto& kernel = node.integers("kernel_size");
  const auto& stride = node.integers("stride");
  const auto& padding = node.integers("padding");
  const auto& dilation = node.integers("dilation");
  const std::int64_t height = input.shape[2];
  const std::int64_t width = input.shape[3];
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
  for (std::int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    const float* image = input.values().data() + plane * height * width;
    for (std::int64_t oy = 0; oy < shape[2]; ++oy) {
      for (std::int64_t ox = 0; ox < shape[3]; ++ox) {
        float largest = -std::numeric_limits<float>::infinity();
        for (std::int64_t ky = 0; ky < kernel[0]; ++ky) {
          const std::int64_t y = oy * stride[0] - padding[0] + ky * dilation[0];
          if (y < 0 || y >= height) continue;
          for (std::int64_t kx = 0; kx < kernel[1]; ++kx) {
            const std::int64_t x = ox * stride[1] - padding[1] + kx * dilation[1];
            if (x >= 0 && x < width) largest = std::max(largest, image[y * width + x]);
          }
        }
        out.push_back(largest);
      }
    }
  }
  return {evaluate::with_activation(node, evaluate::Tensor(shape, std::move(out)))};
}

QuantRule quantize(const ir::Node& node) {
  QuantRule rule{.output = QuantRule::Share{}, .weights = {}};
  if (node.tensor("self")->type.shape.at(1) <= kMostMaxPoolWordsChannels) rule.precisions = precisions::w8a8_w8a16();
  return rule;
}

void require_executorch_can(const ir::Node& node, bool ceil_mode) {
  if (ceil_mode || node.integers("dilation") != std::vector<std::int64_t>{1, 1}) {
    reject(
        node,
        std::string("ExecuTorch's Cortex-M kernel cannot max-pool ") + (ceil_mode ? "in ceil mode" : "with dilation"),
        "compile for Cormorant's own runtime, or change the pooling");
  }
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const ir::QuantParams& quant = node.result()->type.quant.value();
  if (has_words(node)) require_words(rewriter, {"self"});
  if (node.tensor("self")->type.quant != quant || (quant.dtype != DType::i8 && !has_words(node))) {
    reject(node, "max pooling cannot change the quantization parameters",
           "quantize the model so that input and output of the pooling share them");
  }
  // If the windows fit without a remainder, the mode does not matter.
  const bool ceil_mode = node.boolean("ceil_mode") && pooled_shape(node, true) != pooled_shape(node, false);
  if (rewriter.config.runtime == Runtime::executorch) require_executorch_can(node, ceil_mode);
  const auto integer = [&](const char* name, std::int32_t fallback) {
    if (!node.has(name)) return fallback;
    return quantize_value(node.number(name), quant.scale(), quant.zero_point(), quant.qmin, quant.qmax);
  };
  return rewriter
      .emit(QuantizedMaxPool2d<HostWorld>{.input = node.tensor("self"),
                                          .kernel_size = node.integers("kernel_size"),
                                          .stride = node.integers("stride"),
                                          .padding = node.integers("padding"),
                                          .dilation = node.integers("dilation"),
                                          .ceil_mode = ceil_mode,
                                          .input_zero_point = quant.zero_point(),
                                          .output_zero_point = quant.zero_point(),
                                          .activation_min = integer("activation_min", quant.qmin),
                                          .activation_max = integer("activation_max", quant.qmax)},
            node.result()->type,
            has_words(node) ? names::cormorant_max_pool2d_words : names::cortex_m_quantized_max_pool2d_out)
      ->result();
}

bool channelwise(const ir::Node& node) {
  const bool stays_zero = (!node.has("activation_min") || node.number("activation_min") <= 0) &&
                          (!node.has("activation_max") || node.number("activation_max") >= 0);
  return stays_zero && node.tensor("self")->type.rank() == 4;
}

}  // namespace

Operator max_pool2d_operator() {
  return {.name = "max_pool2d",
          .layout = MemoryOrder::channels_last,
          .canonical = {"aten.max_pool2d(Tensor self, int[2] kernel_size, int[2] stride, int[2] padding, int[2] "
                        "dilation, bool ceil_mode)"},
          .infer = infer,
          .evaluate = evaluate_max_pool,
          .quantize = quantize,
          .fuses_activation = true,
          .lower = lower,
          .overlap = pool_overlap,
          .channelwise = channelwise};
}

}  // namespace cormorant::ops
