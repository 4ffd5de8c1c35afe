// SPDX-License-Identifier: Apache-2.0
//
// All spellings of a dequantization: PT2E's (quantized_decomposed) and torchao's own. A constant that arrives as bare
// integers learns here what they mean; with parameters that no kernel has it becomes the numbers themselves.
#include "base/diagnostic.h"
#include "ops/host/parameters.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

constexpr const char* kTensor = nodes::quantized_decomposed_dequantize_per_tensor;
constexpr const char* kChannels = "quantized_decomposed.dequantize_per_channel";

bool is_constant(const ir::Value* value) { return value->kind == ir::ValueKind::constant; }

ir::Value* dequantize(Importer& importer, ir::Value* input, const ir::QuantParams& quant) {
  if (!input->type.quant) input->type.quant = quant;
  if (quant.per_channel()) return importer.node(kChannels, {{"input", input}})->result();
  return importer
      .node(kTensor, {{"input", input},
                      {"scale", quant.scale()},
                      {"zero_point", std::int64_t{quant.zero_point()}},
                      {"quant_min", std::int64_t{quant.qmin}},
                      {"quant_max", std::int64_t{quant.qmax}},
                      {"dtype", quant.dtype}})
      ->result();
}

std::vector<ir::Value*> import_blocks(Importer& importer, std::vector<std::int64_t> block) {
  ir::Value* input = importer.call->tensor("input");
  const SpelledParameters spelled(importer, input->type.dtype, input->type.shape, std::move(block));
  if (!is_constant(input)) return {dequantize(importer, input, spelled.of_activation())};
  const std::optional<ir::QuantParams> quant = spelled.params();
  return {quant ? dequantize(importer, input, *quant) : spelled.in_float(input)};
}

std::vector<ir::Value*> import_tensor(Importer& importer) {
  return import_blocks(importer, importer.call->tensor("input")->type.shape);
}

// Weights of a quantized model: constants with one scale per channel. The node disappears when the model's parameters
// are adopted; only its input, which then has them, stays.
std::vector<ir::Value*> import_channels(Importer& importer) {
  ir::Value* input = importer.call->tensor("input");
  if (!is_constant(input)) {
    importer.reject("only constants can have one scale per channel", "quantize activations per tensor");
  }
  std::vector<std::int64_t> block = input->type.shape;
  block.at(channel_axis(importer, input->type.rank())) = 1;
  return import_blocks(importer, std::move(block));
}

std::vector<ir::Value*> import_groups(Importer& importer) {
  std::vector<std::int64_t> block(importer.call->tensor("input")->type.rank(), 1);
  if (!block.empty()) block.back() = importer.call->integer("group_size");
  return import_blocks(importer, std::move(block));
}

std::vector<ir::Value*> import_affine(Importer& importer) {
  return import_blocks(importer, importer.call->integers("block_size"));
}

}  // namespace

std::vector<AtenForm> dequantize_forms() {
  return {{"quantized_decomposed::dequantize_per_tensor.default(Tensor input, float scale, int zero_point, "
           "int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None)",
           import_tensor},
          {"quantized_decomposed::dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, "
           "int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None)",
           import_tensor},
          {"quantized_decomposed::dequantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, "
           "Tensor quant_min, Tensor quant_max, ScalarType dtype, *, ScalarType? out_dtype=None)",
           import_tensor},
          {"quantized_decomposed::dequantize_per_channel.default(Tensor input, Tensor scales, Tensor? zero_points, "
           "int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None)",
           import_channels},
          {"quantized_decomposed::dequantize_per_channel_group.default(Tensor input, Tensor scales, "
           "Tensor? zero_points, int quant_min, int quant_max, ScalarType dtype, int group_size, "
           "ScalarType output_dtype)",
           import_groups},
          {"torchao::dequantize_affine.default(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, "
           "ScalarType input_dtype, Scalar? quant_min=None, Scalar? quant_max=None, ScalarType? output_dtype=None)",
           import_affine}};
}

}  // namespace cormorant::ops
