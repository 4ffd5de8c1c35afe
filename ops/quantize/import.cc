// SPDX-License-Identifier: Apache-2.0
//
// All spellings of a quantization: PT2E's (quantized_decomposed) and torchao's own. Constants are quantized at once.
#include "base/diagnostic.h"
#include "ops/host/parameters.h"
#include "ops/host/quantization.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

constexpr const char* kTensor = nodes::quantized_decomposed_quantize_per_tensor;

std::vector<ir::Value*> import_blocks(Importer& importer, std::string_view dtype, std::vector<std::int64_t> block) {
  ir::Value* input = importer.call->tensor("input");
  const auto type = std::get<DType>(importer.call->get(dtype));
  const SpelledParameters spelled(importer, type, input->type.shape, std::move(block));
  if (input->kind == ir::ValueKind::constant && spelled.is_of_blocks()) return {spelled.in_integers(input)};
  const ir::QuantParams quant = spelled.of_activation();
  ir::TensorType result = input->type;  // exports record only the element type
  result.dtype = type;
  result.quant = quant;
  ir::Node* node = importer.node(kTensor,
                                 {{"input", input},
                                  {"scale", quant.scale()},
                                  {"zero_point", std::int64_t{quant.zero_point()}},
                                  {"quant_min", std::int64_t{quant.qmin}},
                                  {"quant_max", std::int64_t{quant.qmax}},
                                  {"dtype", type}},
                                 {std::move(result)});
  check_quantization(*node);
  return node->results;
}

std::vector<ir::Value*> import_tensor(Importer& importer) {
  return import_blocks(importer, "dtype", importer.call->tensor("input")->type.shape);
}
std::vector<ir::Value*> import_channels(Importer& importer) {
  std::vector<std::int64_t> block = importer.call->tensor("input")->type.shape;
  block.at(channel_axis(importer, block.size())) = 1;
  return import_blocks(importer, "dtype", std::move(block));
}
std::vector<ir::Value*> import_affine(Importer& importer) {
  return import_blocks(importer, "output_dtype", importer.call->integers("block_size"));
}

}  // namespace

std::vector<AtenForm> quantize_forms() {
  return {{"quantized_decomposed::quantize_per_tensor.default(Tensor input, float scale, int zero_point, "
           "int quant_min, int quant_max, ScalarType dtype)",
           import_tensor},
          {"quantized_decomposed::quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, "
           "int quant_min, int quant_max, ScalarType dtype)",
           import_tensor},
          {"quantized_decomposed::quantize_per_tensor.tensor2(Tensor input, Tensor scale, Tensor zero_point, "
           "Tensor quant_min, Tensor quant_max, ScalarType dtype)",
           import_tensor},
          {"quantized_decomposed::quantize_per_channel.default(Tensor input, Tensor scales, Tensor zero_points, "
           "int axis, int quant_min, int quant_max, ScalarType dtype)",
           import_channels},
          {"torchao::quantize_affine.default(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, "
           "ScalarType output_dtype, Scalar? quant_min=None, Scalar? quant_max=None)",
           import_affine}};
}

}  // namespace cormorant::ops
