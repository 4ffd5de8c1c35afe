// SPDX-License-Identifier: Apache-2.0
//
// Forms that become aten.max_pool2d(self, kernel_size, stride, padding, dilation, ceil_mode) with 4-D tensors and lists
// of two, between views if the model's tensors have another rank.
#include "ops/host/pool_import.h"
#include "ops/host/pool_windows.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

using Dims = std::vector<std::int64_t>;

// The pooling's arguments, per dimension of the window: one or two.
struct Pooling {
  Dims kernel, stride, padding, dilation;
  bool ceil_mode = false;
};

ir::Value* make_max_pool(Importer& importer, std::size_t dimensions, Pooling pooling) {
  require_images(importer, dimensions);
  if (pooling.stride.empty()) pooling.stride = pooling.kernel;
  return make_pool(importer, dimensions, nodes::aten_max_pool2d,
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

std::vector<AxisWindows> windows_of(const Build& b, std::size_t dimensions, const Pooling& pooling) {
  const Dims& input = b.tensor("self")->type.shape;
  const Dims& result = b.type().shape;
  b.require(input.size() == result.size() && result.size() >= dimensions);
  const Dims& stride = pooling.stride.empty() ? pooling.kernel : pooling.stride;
  const auto entry = [](const Dims& list, std::size_t i) { return list.size() == 1 ? list[0] : list.at(i); };
  std::vector<AxisWindows> axes;
  for (std::size_t i = 0; i < dimensions; ++i) {
    const std::size_t at = result.size() - dimensions + i;
    const Sliding by = {entry(pooling.kernel, i), entry(stride, i), entry(pooling.padding, i),
                        entry(pooling.dilation, i)};
    axes.push_back(sliding_windows(b, input[at], result[at], by, false));
  }
  return axes;
}

// If the indices are unused, their nodes are removed.
template <std::size_t kDimensions>
std::vector<ir::Value*> import_pool_with_indices(Importer& importer) {
  const Build b(importer);
  const Pooling pooling = pooling_of(b.call());
  V self = b.tensor("self");
  V places = b.finish(places_of_largest(b, self, windows_of(b, kDimensions, pooling)), 1);
  return {make_max_pool(importer, kDimensions, pooling), places};
}

// There is no kernel for volumes: the windows' elements are put next to each other.
template <bool kWithIndices>
std::vector<ir::Value*> import_volume(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const std::vector<AxisWindows> axes = windows_of(b, 3, pooling_of(b.call()));
  std::vector<ir::Value*> results = {b.finish(largest_of_windows(b, self, axes))};
  if (kWithIndices) results.push_back(b.finish(places_of_largest(b, self, axes), 1));
  return results;
}

// If the sizes divide evenly, windows have equal size.
template <std::size_t kDimensions>
std::vector<ir::Value*> import_adaptive(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const Dims& input = self->type.shape;
  const Dims& result = b.type().shape;
  Pooling pooling{.kernel = {}, .stride = {}, .padding = {0}, .dilation = {1}};
  b.require(input.size() == result.size() && result.size() >= kDimensions);
  std::vector<AxisWindows> axes;
  bool divides = kDimensions <= 2;
  for (std::size_t i = result.size() - kDimensions; i < result.size(); ++i) {
    axes.push_back(adaptive_windows(b, input[i], result[i]));
    divides = divides && input[i] % result[i] == 0;
    pooling.kernel.push_back(input[i] / result[i]);
  }
  V places = b.finish(places_of_largest(b, self, axes), 1);
  if (divides) return {make_max_pool(importer, kDimensions, std::move(pooling)), places};
  return {b.finish(largest_of_windows(b, self, axes)), places};
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
      {"max_pool3d.default(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] dilation=1, "
       "bool ceil_mode=False)",
       import_volume<false>},
      {"max_pool3d_with_indices.default(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, int[3] "
       "dilation=1, bool ceil_mode=False)",
       import_volume<true>},
      {"adaptive_max_pool3d.default(Tensor self, int[3] output_size)", import_adaptive<3>},
      {"adaptive_max_pool2d.default(Tensor self, int[2] output_size)", import_adaptive<2>},
      {"adaptive_max_pool1d.default(Tensor self, int[1] output_size)", import_adaptive<1>}};
}

}  // namespace cormorant::ops
