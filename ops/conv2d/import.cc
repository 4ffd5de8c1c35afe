// SPDX-License-Identifier: Apache-2.0
//
// Exporters spell a convolution in three ways; all become aten.conv2d with lists of two. Padding given by name may need
// one column more on the right: then an aten.pad stands before, as if the model had written it.
#include "ops/conv2d/import.h"

namespace cormorant::ops::conv2d {
namespace {

using Ints = std::vector<std::int64_t>;

// PyTorch accepts one number for both dimensions.
Ints pair_of(Importer& importer, const char* argument) {
  const Ints& given = importer.call->integers(argument);
  if (given.size() == 1) return {given[0], given[0]};
  if (given.size() != 2) {
    importer.reject(
        std::string(argument) + " has " + std::to_string(given.size()) + " entries where a 2-D convolution has two",
        "only convolutions in two dimensions are supported");
  }
  return given;
}

void check_ranks(Importer& importer) {
  if (importer.call->tensor("input")->type.rank() == 3) {
    importer.reject("the convolution's input has no batch dimension",
                    "export the model with inputs of four dimensions");
  }
  if (importer.call->tensor("input")->type.rank() != 4 || importer.call->tensor("weight")->type.rank() != 4) {
    importer.reject("only convolutions in two dimensions are supported", "");
  }
}

std::vector<ir::Value*> make_node(Importer& importer, ir::Value* input, Ints padding) {
  const ir::Node& call = *importer.call;
  return importer
      .node("aten.conv2d", {{"input", input},
                            {"weight", call.get("weight")},
                            {"bias", call.get("bias")},
                            {"stride", pair_of(importer, "stride")},
                            {"padding", std::move(padding)},
                            {"dilation", pair_of(importer, "dilation")},
                            {"groups", call.get("groups")}})
      ->results;
}

std::vector<ir::Value*> import_conv2d(Importer& importer) {
  check_ranks(importer);
  return make_node(importer, importer.call->tensor("input"), pair_of(importer, "padding"));
}

std::vector<ir::Value*> import_named_padding(Importer& importer) {
  check_ranks(importer);
  const ir::Node& call = *importer.call;
  const std::string& name = call.string("padding");
  ir::Value* input = call.tensor("input");
  if (name == "valid") return make_node(importer, input, {0, 0});
  if (name != "same") importer.reject("padding '" + name + "' is not known", "use 'same', 'valid' or numbers");
  const Ints dilation = pair_of(importer, "dilation");
  const ir::Shape& weight = call.tensor("weight")->type.shape;
  const Ints total = {dilation[0] * (weight[2] - 1), dilation[1] * (weight[3] - 1)};
  if (total[0] % 2 == 0 && total[1] % 2 == 0) return make_node(importer, input, {total[0] / 2, total[1] / 2});
  ir::TensorType padded = input->type;
  padded.shape[2] += total[0];
  padded.shape[3] += total[1];
  const Ints pad = {total[1] / 2, total[1] - total[1] / 2, total[0] / 2, total[0] - total[0] / 2};
  ir::Value* wide = importer.node("aten.pad", {{"self", input}, {"pad", pad}, {"value", 0.0}}, {padded})->result();
  return make_node(importer, wide, {0, 0});
}

std::vector<ir::Value*> import_convolution(Importer& importer) {
  if (importer.call->boolean("transposed")) {
    importer.reject("transposed convolution is not supported yet", "");
  }
  return import_conv2d(importer);
}

}  // namespace

std::vector<AtenForm> convolution_forms() {
  return {{"conv2d.default(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, "
           "SymInt[2] dilation=1, SymInt groups=1)",
           import_conv2d},
          {"conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, str padding=\"valid\", "
           "SymInt[2] dilation=1, SymInt groups=1)",
           import_named_padding},
          {"convolution.default(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
           "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups)",
           import_convolution}};
}

}  // namespace cormorant::ops::conv2d
