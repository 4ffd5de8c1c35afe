// SPDX-License-Identifier: Apache-2.0
//
// Exporters spell a convolution in many ways; all become aten.conv2d (or aten.conv_transpose2d) with lists of two.
// Padding given by name may need one column more on the right: then an aten.pad precedes it, as if the model had
// written it.
#include "ops/conv2d/import.h"

#include "ops/nodes.h"

namespace cormorant::ops::conv2d {
std::string text(const ir::Shape& shape) {
  std::string out = "[";
  for (const std::int64_t n : shape) out += (out.size() > 1 ? ", " : "") + std::to_string(n);
  return out + "]";
}

namespace {

ir::Value* view(Importer& importer, ir::Value* value, ir::Shape shape) {
  if (value->type.shape == shape) return value;
  ir::TensorType type = value->type;
  type.shape = shape;
  return importer.node(nodes::aten_view, {{"self", value}, {"size", std::move(shape)}}, {std::move(type)})->result();
}

// Weights must stay constants, or integers known to stand for real numbers: conversions of the latter are looked
// through.
ir::Value* weight_of_shape(Importer& importer, ir::Value* weight, const ir::Shape& shape) {
  if (weight->type.shape == shape) return weight;
  ir::TensorType type = weight->type;
  type.shape = shape;
  if (weight->kind == ir::ValueKind::constant) {
    return importer.graph->add_constant(weight->name, std::move(type), weight->data);
  }
  const ir::Node* producer = weight->producer;
  if (producer != nullptr && nodes::is_dequantization(producer->op) && producer->has("input")) {
    std::vector<ir::NamedArgument> args = producer->args;
    for (ir::NamedArgument& arg : args) {
      if (arg.name == "input") arg.value = weight_of_shape(importer, producer->tensor("input"), shape);
    }
    return importer.graph
        ->add_node(producer->name, producer->op, std::move(args), {std::move(type)}, producer->location)
        ->result();
  }
  return view(importer, weight, shape);
}

std::vector<ir::Value*> make_node(Importer& importer, const Planes& planes, ir::Value* input, Ints padding) {
  const ir::Node& call = *importer.call;
  ir::Value* result = importer
                          .node(nodes::aten_conv2d,
                                {{"input", input},
                                 {"weight", planes.weight},
                                 {"bias", call.get("bias")},
                                 {"stride", pair_of(importer, planes, "stride", 1)},
                                 {"padding", std::move(padding)},
                                 {"dilation", pair_of(importer, planes, "dilation", 1)},
                                 {"groups", call.get("groups")}},
                                {planes.result})
                          ->result();
  return shaped_as_called(importer, result);
}

bool is_volume(const Importer& importer) { return importer.call->tensor("weight")->type.rank() == 5; }

std::vector<ir::Value*> import_convolution(Importer& importer) {
  if (is_volume(importer)) return import_volume(importer);
  const Planes planes = planes_of(importer);
  return make_node(importer, planes, planes.input, pair_of(importer, planes, "padding", 0));
}

std::vector<ir::Value*> import_general(Importer& importer) {
  return importer.call->boolean("transposed") ? import_transposed(importer) : import_convolution(importer);
}

std::vector<ir::Value*> import_named_padding(Importer& importer) {
  if (is_volume(importer)) return import_volume(importer);
  const Planes planes = planes_of(importer);
  const std::string& name = importer.call->string("padding");
  if (name == "valid") return make_node(importer, planes, planes.input, {0, 0});
  if (name != "same") importer.reject("padding '" + name + "' is not supported", "use 'same', 'valid' or numbers");
  const Ints dilation = pair_of(importer, planes, "dilation", 1);
  const ir::Shape& weight = planes.weight->type.shape;
  const Ints total = {dilation[0] * (weight[2] - 1), dilation[1] * (weight[3] - 1)};
  if (total[0] % 2 == 0 && total[1] % 2 == 0) {
    return make_node(importer, planes, planes.input, {total[0] / 2, total[1] / 2});
  }
  ir::TensorType padded = planes.input->type;
  padded.shape[2] += total[0];
  padded.shape[3] += total[1];
  const Ints pad = {total[1] / 2, total[1] - total[1] / 2, total[0] / 2, total[0] - total[0] / 2};
  ir::Value* wide =
      importer.node(nodes::aten_pad, {{"self", planes.input}, {"pad", pad}, {"value", 0.0}}, {padded})->result();
  return make_node(importer, planes, wide, {0, 0});
}

}  // namespace

Planes planes_of(Importer& importer) {
  const ir::Node& call = *importer.call;
  ir::Value* input = call.tensor("input");
  ir::Value* weight = call.tensor("weight");
  const std::size_t rank = weight->type.rank();
  const std::size_t missing = rank == 3 || rank == 4 ? rank - input->type.rank() : 2;  // dimensions: none or the batch
  if (missing > 1) {
    importer.reject("a convolution of " + text(input->type.shape) + " with weights " + text(weight->type.shape) +
                        " is neither one- nor two-dimensional",
                    "");
  }
  const auto in_four = [&](ir::Shape shape, bool add_batch) {
    if (add_batch) shape.insert(shape.begin(), 1);
    if (shape.size() == 3) shape.insert(shape.begin() + 2, 1);
    return shape;
  };
  Planes planes;
  planes.spatial = rank - 2;
  planes.input = view(importer, input, in_four(input->type.shape, missing == 1));
  planes.weight = weight_of_shape(importer, weight, in_four(weight->type.shape, false));
  planes.result = importer.types.at(0);
  planes.result.shape = in_four(planes.result.shape, missing == 1);
  return planes;
}

Ints pair_of(Importer& importer, const Planes& planes, const char* argument, std::int64_t neutral) {
  const Ints& given = importer.call->integers(argument);
  if (given.size() != 1 && given.size() != planes.spatial) {
    importer.reject(std::string(argument) + " has " + std::to_string(given.size()) +
                        " entries, but this convolution has " + std::to_string(planes.spatial) + " dimensions",
                    "");
  }
  if (planes.spatial == 1) return {neutral, given[0]};
  return {given.front(), given.back()};
}

std::vector<ir::Value*> shaped_as_called(Importer& importer, ir::Value* result) {
  return {view(importer, result, importer.types.at(0).shape)};
}

std::vector<ir::Value*> import_transposed(Importer& importer) {
  if (is_volume(importer)) return import_transposed_volume(importer);
  const Planes planes = planes_of(importer);
  const ir::Node& call = *importer.call;
  ir::Value* result = importer
                          .node(nodes::aten_conv_transpose2d,
                                {{"input", planes.input},
                                 {"weight", planes.weight},
                                 {"bias", call.get("bias")},
                                 {"stride", pair_of(importer, planes, "stride", 1)},
                                 {"padding", pair_of(importer, planes, "padding", 0)},
                                 {"output_padding", pair_of(importer, planes, "output_padding", 0)},
                                 {"groups", call.get("groups")},
                                 {"dilation", pair_of(importer, planes, "dilation", 1)}},
                                {planes.result})
                          ->result();
  return shaped_as_called(importer, result);
}

}  // namespace cormorant::ops::conv2d

namespace cormorant::ops {

// They become aten.conv2d, or aten.pad and aten.conv2d.
std::vector<AtenForm> conv2d_forms() {
  using namespace conv2d;
  return {{"conv1d.default(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, SymInt[1] padding=0, "
           "SymInt[1] dilation=1, SymInt groups=1)",
           import_convolution},
          {"conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=1, str padding=\"valid\", "
           "SymInt[1] dilation=1, SymInt groups=1)",
           import_named_padding},
          {"conv2d.default(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=0, "
           "SymInt[2] dilation=1, SymInt groups=1)",
           import_convolution},
          {"conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, str padding=\"valid\", "
           "SymInt[2] dilation=1, SymInt groups=1)",
           import_named_padding},
          {"conv3d.default(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, SymInt[3] padding=0, "
           "SymInt[3] dilation=1, SymInt groups=1)",
           import_convolution},
          {"conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=1, str padding=\"valid\", "
           "SymInt[3] dilation=1, SymInt groups=1)",
           import_named_padding},
          {"convolution.default(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
           "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups)",
           import_general},
          {"_convolution.default(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
           "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool "
           "deterministic, bool cudnn_enabled, bool allow_tf32)",
           import_general}};
}

}  // namespace cormorant::ops
