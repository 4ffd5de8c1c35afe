// SPDX-License-Identifier: Apache-2.0
#include "ops/max_pool2d/import.h"

namespace cormorant::ops {
namespace {

using Dims = std::vector<std::int64_t>;

// What the pooling is called with, per dimension of the window: one or two.
struct Pooling {
  Dims kernel, stride, padding, dilation;
  bool ceil_mode = false;
};

ir::Value* view(Importer& importer, ir::Value* value, Dims size) {
  if (value->type.shape == size) return value;
  return importer.node("aten.view", {{"self", value}, {"size", size}}, {ir::float_type(size)})->result();
}

// [N, C, L] is an image of height 1, and a missing batch is one of one.
Dims as_images(const Dims& shape, std::size_t dimensions) {
  Dims images = shape;
  if (images.size() == dimensions + 1) images.insert(images.begin(), 1);
  if (dimensions == 1) images.insert(images.begin() + 2, 1);
  return images;
}

// PyTorch takes one number for all dimensions.
Dims complete(Dims list, std::size_t dimensions, std::int64_t of_missing) {
  if (list.size() == 1) list.resize(dimensions, list[0]);
  if (dimensions == 1) list.insert(list.begin(), of_missing);
  return list;
}

ir::Value* make_pool(Importer& importer, std::size_t dimensions, Pooling pooling) {
  ir::Value* self = importer.call->tensor("self");
  if (self->type.rank() != dimensions + 1 && self->type.rank() != dimensions + 2) {
    importer.reject("pooling of a tensor with " + std::to_string(self->type.rank()) + " dimensions", "");
  }
  if (pooling.stride.empty()) pooling.stride = pooling.kernel;
  ir::Value* images = view(importer, self, as_images(self->type.shape, dimensions));
  ir::Value* pooled = importer
                          .node("aten.max_pool2d",
                                {{"self", images},
                                 {"kernel_size", complete(pooling.kernel, dimensions, 1)},
                                 {"stride", complete(pooling.stride, dimensions, 1)},
                                 {"padding", complete(pooling.padding, dimensions, 0)},
                                 {"dilation", complete(pooling.dilation, dimensions, 1)},
                                 {"ceil_mode", pooling.ceil_mode}},
                                {ir::float_type(as_images(importer.types.at(0).shape, dimensions))})
                          ->result();
  return view(importer, pooled, importer.types.at(0).shape);
}

Pooling pooling_of(const ir::Node& call) {
  return {call.integers("kernel_size"), call.integers("stride"), call.integers("padding"), call.integers("dilation"),
          call.boolean("ceil_mode")};
}

template <std::size_t kDimensions>
std::vector<ir::Value*> import_pool(Importer& importer) {
  return {make_pool(importer, kDimensions, pooling_of(*importer.call))};
}
// The indices do not exist at inference: whoever uses them is told so.
template <std::size_t kDimensions>
std::vector<ir::Value*> import_pool_with_indices(Importer& importer) {
  return {make_pool(importer, kDimensions, pooling_of(*importer.call)), nullptr};
}

// Windows of equal size, where the sizes divide.
template <std::size_t kDimensions>
std::vector<ir::Value*> import_adaptive(Importer& importer) {
  const Dims& input = importer.call->tensor("self")->type.shape;
  const Dims& result = importer.types.at(0).shape;
  Pooling pooling{.kernel = {}, .stride = {}, .padding = {0}, .dilation = {1}};
  for (std::size_t i = result.size() - kDimensions; i < result.size(); ++i) {
    if (input[i] % result[i] != 0) {
      importer.reject("adaptive max pooling of " + std::to_string(input[i]) + " elements to " +
                          std::to_string(result[i]) + " needs windows of unequal size",
                      "choose output sizes that divide the input's");
    }
    pooling.kernel.push_back(input[i] / result[i]);
  }
  return {make_pool(importer, kDimensions, std::move(pooling)), nullptr};
}

}  // namespace

std::vector<AtenForm> max_pool2d_forms() {
  return {
      {"max_pool2d.default(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, "
       "bool ceil_mode=False)",
       import_pool<2>},
      {"max_pool2d_with_indices.default(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] "
       "dilation=1, bool ceil_mode=False)",
       import_pool_with_indices<2>},
      {"max_pool1d.default(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] dilation=1, "
       "bool ceil_mode=False)",
       import_pool<1>},
      {"max_pool1d_with_indices.default(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, int[1] "
       "dilation=1, bool ceil_mode=False)",
       import_pool_with_indices<1>},
      {"adaptive_max_pool2d.default(Tensor self, int[2] output_size)", import_adaptive<2>},
      {"adaptive_max_pool1d.default(Tensor self, int[1] output_size)", import_adaptive<1>}};
}

}  // namespace cormorant::ops
