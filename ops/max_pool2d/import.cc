// SPDX-License-Identifier: Apache-2.0
#include "ops/max_pool2d/import.h"

#include "ops/pool_import.h"

namespace cormorant::ops {
namespace {

using Dims = std::vector<std::int64_t>;

// What the pooling is called with, per dimension of the window: one or two.
struct Pooling {
  Dims kernel, stride, padding, dilation;
  bool ceil_mode = false;
};

ir::Value* make_max_pool(Importer& importer, std::size_t dimensions, Pooling pooling) {
  require_images(importer, dimensions);
  if (pooling.stride.empty()) pooling.stride = pooling.kernel;
  return make_pool(importer, dimensions, "aten.max_pool2d",
                   {{"kernel_size", for_images(pooling.kernel, dimensions, 1)},
                    {"stride", for_images(pooling.stride, dimensions, 1)},
                    {"padding", for_images(pooling.padding, dimensions, 0)},
                    {"dilation", for_images(pooling.dilation, dimensions, 1)},
                    {"ceil_mode", pooling.ceil_mode}});
}

Pooling pooling_of(const ir::Node& call) {
  return {call.integers("kernel_size"), call.integers("stride"), call.integers("padding"), call.integers("dilation"),
          call.boolean("ceil_mode")};
}

template <std::size_t kDimensions>
std::vector<ir::Value*> import_pool(Importer& importer) {
  return {make_max_pool(importer, kDimensions, pooling_of(*importer.call))};
}
// The indices do not exist at inference: whoever uses them is told so.
template <std::size_t kDimensions>
std::vector<ir::Value*> import_pool_with_indices(Importer& importer) {
  return {make_max_pool(importer, kDimensions, pooling_of(*importer.call)), nullptr};
}

// Windows of equal size, where the sizes divide.
template <std::size_t kDimensions>
std::vector<ir::Value*> import_adaptive(Importer& importer) {
  require_images(importer, kDimensions);
  const Dims& input = importer.call->tensor("self")->type.shape;
  const Dims& result = importer.types.at(0).shape;
  Pooling pooling{.kernel = {}, .stride = {}, .padding = {0}, .dilation = {1}};
  for (std::size_t i = result.size() - kDimensions; i < result.size(); ++i) {
    if (result[i] < 1 || input[i] % result[i] != 0) {
      importer.reject("adaptive max pooling of " + std::to_string(input[i]) + " elements to " +
                          std::to_string(result[i]) + " needs windows of unequal size",
                      "choose output sizes that divide the input's");
    }
    pooling.kernel.push_back(input[i] / result[i]);
  }
  return {make_max_pool(importer, kDimensions, std::move(pooling)), nullptr};
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
