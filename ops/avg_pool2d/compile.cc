// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/diagnostic.h"
#include "ops/avg_pool2d/avg_pool2d.h"
#include "ops/avg_pool2d/import.h"
#include "ops/avg_pool2d/reference.h"
#include "ops/multiplier.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

[[noreturn]] void reject(const ir::Node& node, std::string problem, std::string advice) {
  throw InputError(
      {.problem = std::move(problem), .advice = std::move(advice), .node = node.name, .source = node.location.text()});
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  ir::TensorType type = node.tensor("self")->type;
  const auto& kernel = node.integers("kernel_size");
  const auto& stride = node.integers("stride");
  const auto& padding = node.integers("padding");
  if (type.rank() != 4 || kernel.size() != 2 || stride.size() != 2 || padding.size() != 2) {
    reject(node, "average pooling needs a 4-D tensor and two-dimensional windows", {});
  }
  for (std::size_t i = 0; i < 2; ++i) {
    std::int64_t& size = type.shape[2 + i];
    if (kernel[i] < 1 || stride[i] < 1 || padding[i] < 0 || 2 * padding[i] > kernel[i] ||
        size + 2 * padding[i] < kernel[i]) {
      reject(node, "the pooling window does not fit the input",
             "the padding may be at most half of the window, the window at most the padded input");
    }
    size = pooled_size(size, kernel[i], stride[i], padding[i], node.boolean("ceil_mode"));
  }
  return {std::move(type)};
}

// One dimension of a window: what lies inside the input, and how much PyTorch counts of it.
struct Extent {
  std::int64_t begin, end, counted;
};

Extent extent_of(std::int64_t index, std::int64_t input, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                 bool include_padding) {
  const std::int64_t begin = index * stride - padding;
  const std::int64_t end = std::min(begin + kernel, input + padding);
  const Extent inside = {std::max<std::int64_t>(begin, 0), std::min(end, input), end - begin};
  return include_padding ? inside : Extent{inside.begin, inside.end, inside.end - inside.begin};
}

std::vector<evaluate::Tensor> evaluate_avg_pool(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& input = frame.get(node.tensor("self"));
  const ir::Shape shape = infer(node).front().shape;
  const auto& kernel = node.integers("kernel_size");
  const auto& stride = node.integers("stride");
  const auto& padding = node.integers("padding");
  const bool include_padding = node.boolean("count_include_pad");
  const std::int64_t input_h = input.shape[2];
  const std::int64_t input_w = input.shape[3];
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(shape[0] * shape[1] * shape[2] * shape[3]));
  for (std::int64_t plane = 0; plane < shape[0] * shape[1]; ++plane) {
    const float* image = input.values().data() + plane * input_h * input_w;
    for (std::int64_t y = 0; y < shape[2]; ++y) {
      const Extent rows = extent_of(y, input_h, kernel[0], stride[0], padding[0], include_padding);
      for (std::int64_t x = 0; x < shape[3]; ++x) {
        const Extent columns = extent_of(x, input_w, kernel[1], stride[1], padding[1], include_padding);
        double sum = 0;
        for (std::int64_t iy = rows.begin; iy < rows.end; ++iy) {
          for (std::int64_t ix = columns.begin; ix < columns.end; ++ix) sum += image[iy * input_w + ix];
        }
        const double divisor = node.has("divisor_override") ? node.number("divisor_override")
                                                            : static_cast<double>(rows.counted * columns.counted);
        out.push_back(static_cast<float>(sum / divisor));
      }
    }
  }
  return {evaluate::Tensor(shape, std::move(out))};
}

QuantRule quantize(const ir::Node& node) {
  const auto because = [](std::string reason) {
    return QuantRule{.output = QuantRule::Reject{std::move(reason)}, .weights = {}};
  };
  const auto& kernel = node.integers("kernel_size");
  const ir::Shape& input = node.tensor("self")->type.shape;
  if (node.has("divisor_override")) return because("average pooling with a divisor of its own has no int8 kernel");
  if (node.boolean("count_include_pad")) {
    return because("average pooling that counts padding in ceil mode has no int8 kernel");
  }
  if (std::min(kernel[0], input[2]) * std::min(kernel[1], input[3]) > kLargestWindow) {
    return because("an average pooling window of more than 65536 elements has no int8 kernel");
  }
  return {.output = QuantRule::Share{}, .weights = {}};
}

std::int64_t scratch_bytes(const Rewriter& rewriter, std::int64_t channels) {
  const Config& config = rewriter.config;
  if (config.runtime == Runtime::cormorant) return kAvgPoolScratchBytes;
  if (config.target.is_any()) {
    reject(rewriter.node, "average pooling needs scratch memory in ExecuTorch that depends on the instruction set",
           "name a CPU with --target");
  }
  return avg_pool_upstream_scratch_bytes(channels, config.target.isa);
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const ir::TensorType& input = node.tensor("self")->type;
  if (input.quant != node.result()->type.quant) {
    reject(node, "average pooling cannot change the quantization parameters",
           "quantize the model so that input and output of the pooling share them");
  }
  const Multiplier scale = quantize_multiplier(input.quant->scale());
  return rewriter
      .emit(QuantizedAvgPool2d<HostWorld>{.input = node.tensor("self"),
                                          .kernel_size = node.integers("kernel_size"),
                                          .stride = node.integers("stride"),
                                          .padding = node.integers("padding"),
                                          .ceil_mode = node.boolean("ceil_mode"),
                                          .zero_point = input.quant->zero_point(),
                                          .multiplier = scale.multiplier,
                                          .shift = scale.shift,
                                          .scratch = {.bytes = scratch_bytes(rewriter, input.shape[1])}},
            node.result()->type)
      ->result();
}

}  // namespace

Operator avg_pool2d_operator() {
  return {.name = "avg_pool2d",
          .layout = Layout::channels_last,
          .forms = avg_pool2d_forms(),
          .canonical = {"aten.avg_pool2d"},
          .infer = infer,
          .evaluate = evaluate_avg_pool,
          .quantize = quantize,
          .lower = lower,
          .signatures = {signature_of<QuantizedAvgPool2d>()},
          .host_kernels = {&kAvgPool2dReference}};
}

}  // namespace cormorant::ops
