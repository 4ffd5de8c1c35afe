// SPDX-License-Identifier: Apache-2.0
//
// Forms of reductions. They become aten.mean, aten.sum, aten.amax or aten.amin(self, dim), whose dimensions stay with
// size 1, and a view where the model drops them; a mean over height and width of images is aten.avg_pool2d.
#include <algorithm>

#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

using Dims = std::vector<std::int64_t>;

// Not negative, ascending; no dimensions are all of them.
Dims dims_of(Importer& importer) {
  const ir::Node& call = *importer.call;
  const auto rank = static_cast<std::int64_t>(call.tensor("self")->type.rank());
  Dims dims;
  if (const bool has_argument = std::ranges::any_of(call.args, [](const auto& arg) { return arg.name == "dim"; });
      has_argument && call.has("dim")) {
    const ir::Argument& dim = call.get("dim");
    dims = std::holds_alternative<std::int64_t>(dim) ? Dims{std::get<std::int64_t>(dim)} : call.integers("dim");
  }
  for (std::int64_t& dim : dims) dim = dim < 0 ? dim + rank : dim;
  std::ranges::sort(dims);
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  if (dims.empty()) {
    for (std::int64_t dim = 0; dim < rank; ++dim) dims.push_back(dim);
  }
  return dims;
}

ir::Value* view(Importer& importer, ir::Value* value, const Dims& size) {
  if (value->type.shape == size) return value;
  return importer.node(nodes::aten_view, {{"self", value}, {"size", size}}, {ir::float_type(size)})->result();
}

bool is_float(const ir::Node& call) {
  const bool has_argument = std::ranges::any_of(call.args, [](const auto& arg) { return arg.name == "dtype"; });
  return !has_argument || !call.has("dtype") || std::get<DType>(call.get("dtype")) == DType::f32;
}

ir::Value* make(Importer& importer, const char* op) {
  ir::Value* self = importer.call->tensor("self");
  if (self->type.dtype != DType::f32 || !is_float(*importer.call)) {
    importer.reject("a reduction that is not from float to float", "reduce float tensors to float");
  }
  const Dims dims = dims_of(importer);
  if (dims.empty()) return self;  // a number is its own mean
  Dims shape = self->type.shape;
  for (const std::int64_t dim : dims) shape.at(static_cast<std::size_t>(dim)) = 1;
  const bool is_global_pool = shape.size() == 4 && dims.front() >= 2;
  ir::Value* reduced = nullptr;
  if (is_global_pool && std::string_view(op) == nodes::aten_mean) {
    const Dims& input = self->type.shape;
    const Dims kernel = {shape[2] == 1 ? input[2] : 1, shape[3] == 1 ? input[3] : 1};
    reduced = importer
                  .node(nodes::aten_avg_pool2d,
                        {{"self", self},
                         {"kernel_size", kernel},
                         {"stride", kernel},
                         {"padding", Dims{0, 0}},
                         {"ceil_mode", false},
                         {"count_include_pad", false},
                         {"divisor_override", ir::None{}}},
                        {ir::float_type(shape)})
                  ->result();
  } else {
    reduced = importer.node(op, {{"self", self}, {"dim", dims}}, {ir::float_type(shape)})->result();
  }
  return view(importer, reduced, importer.types.at(0).shape);
}

std::vector<ir::Value*> import_mean(Importer& importer) { return {make(importer, nodes::aten_mean)}; }
std::vector<ir::Value*> import_sum(Importer& importer) { return {make(importer, nodes::aten_sum)}; }
std::vector<ir::Value*> import_amax(Importer& importer) { return {make(importer, nodes::aten_amax)}; }
std::vector<ir::Value*> import_amin(Importer& importer) { return {make(importer, nodes::aten_amin)}; }
}  // namespace

std::vector<AtenForm> reduce_forms() {
  return {{"mean.default(Tensor self, *, ScalarType? dtype=None)", import_mean},
          {"mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)", import_mean},
          {"sum.default(Tensor self, *, ScalarType? dtype=None)", import_sum},
          {"sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)", import_sum},
          {"amax.default(Tensor self, int[1] dim=[], bool keepdim=False)", import_amax},
          {"amin.default(Tensor self, int[1] dim=[], bool keepdim=False)", import_amin},
          {"max.default(Tensor self)", import_amax},
          {"min.default(Tensor self)", import_amin}};
}

}  // namespace cormorant::ops
