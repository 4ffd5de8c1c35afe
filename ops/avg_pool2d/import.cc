// SPDX-License-Identifier: Apache-2.0
//
// Forms that become aten.avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
// or, if windows are of unequal size, aten.adaptive_avg_pool2d(self, output_size): 4-D tensors and lists of two,
// between views if the model's tensors have another rank.
#include <algorithm>

#include "ops/host/pool_import.h"
#include "ops/host/pool_windows.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

using Dims = std::vector<std::int64_t>;

std::vector<ir::Value*> make_avg_pool(Importer& importer, std::size_t dimensions, ir::Argument divisor_override) {
  require_images(importer, dimensions);
  const ir::Node& call = *importer.call;
  const Dims kernel = call.integers("kernel_size");
  const Dims stride = call.integers("stride").empty() ? kernel : call.integers("stride");
  const Dims padding = for_images(call.integers("padding"), dimensions, 0);
  return {make_pool(importer, dimensions, nodes::aten_avg_pool2d,
                    {{"kernel_size", for_images(kernel, dimensions, 1)},
                     {"stride", for_images(stride, dimensions, 1)},
                     {"padding", padding},
                     {"ceil_mode", call.boolean("ceil_mode")},
                     {"count_include_pad", call.boolean("count_include_pad") && padding != Dims{0, 0}},
                     {"divisor_override", std::move(divisor_override)}})};
}

std::vector<ir::Value*> import_avg_pool2d(Importer& importer) {
  return make_avg_pool(importer, 2, importer.call->get("divisor_override"));
}
std::vector<ir::Value*> import_avg_pool1d(Importer& importer) { return make_avg_pool(importer, 1, {}); }

// If the sizes divide evenly, all windows have the same size.
template <std::size_t kDimensions>
std::vector<ir::Value*> import_adaptive(Importer& importer) {
  require_images(importer, kDimensions);
  const Dims input = as_images(importer.call->tensor("self")->type.shape, kDimensions);
  const Dims result = as_images(importer.types.at(0).shape, kDimensions);
  const Dims size = {result[2], result[3]};
  if (std::ranges::any_of(size, [](std::int64_t n) { return n < 1; })) {
    importer.reject("adaptive pooling to an empty output", "choose output sizes of at least 1");
  }
  if (input[2] % size[0] != 0 || input[3] % size[1] != 0) {
    return {make_pool(importer, kDimensions, nodes::aten_adaptive_avg_pool2d, {{"output_size", size}})};
  }
  const Dims kernel = {input[2] / size[0], input[3] / size[1]};
  return {make_pool(importer, kDimensions, nodes::aten_avg_pool2d,
                    {{"kernel_size", kernel},
                     {"stride", kernel},
                     {"padding", Dims{0, 0}},
                     {"ceil_mode", false},
                     {"count_include_pad", false},
                     {"divisor_override", ir::None{}}})};
}

// There is no kernel for volumes: one dimension at a time.
std::vector<ir::Value*> import_avg_pool3d(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const ir::Node& call = b.call();
  const Dims& kernel = call.integers("kernel_size");
  const Dims& stride = call.integers("stride").empty() ? kernel : call.integers("stride");
  const auto entry = [](const Dims& list, std::size_t i) { return list.size() == 1 ? list[0] : list.at(i); };
  std::vector<AxisWindows> axes;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::size_t at = self->type.rank() - 3 + i;
    const Sliding by = {entry(kernel, i), entry(stride, i), entry(call.integers("padding"), i), 1};
    axes.push_back(
        sliding_windows(b, self->type.shape.at(at), b.type().shape.at(at), by, call.boolean("count_include_pad")));
  }
  std::optional<double> divisor;
  if (b.given("divisor_override")) divisor = call.number("divisor_override");
  return {b.finish(mean_of_windows(b, self, axes, divisor))};
}
std::vector<ir::Value*> import_adaptive3d(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  std::vector<AxisWindows> axes;
  b.require(self->type.rank() >= 3 && self->type.rank() == b.type().rank());
  for (std::size_t at = self->type.rank() - 3; at < self->type.rank(); ++at) {
    axes.push_back(adaptive_windows(b, self->type.shape[at], b.type().shape[at]));
  }
  return {b.finish(mean_of_windows(b, self, axes))};
}

}  // namespace

std::vector<AtenForm> avg_pool2d_forms() {
  return {
      {"avg_pool2d.default(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, "
       "bool count_include_pad=True, int? divisor_override=None)",
       import_avg_pool2d},
      {"avg_pool1d.default(Tensor self, int[1] kernel_size, int[1] stride=[], int[1] padding=0, bool ceil_mode=False, "
       "bool count_include_pad=True)",
       import_avg_pool1d},
      {"avg_pool3d.default(Tensor self, int[3] kernel_size, int[3] stride=[], int[3] padding=0, bool ceil_mode=False, "
       "bool count_include_pad=True, int? divisor_override=None)",
       import_avg_pool3d},
      {"adaptive_avg_pool3d.default(Tensor self, SymInt[3] output_size)", import_adaptive3d},
      {"_adaptive_avg_pool3d.default(Tensor self, SymInt[3] output_size)", import_adaptive3d},
      {"adaptive_avg_pool2d.default(Tensor self, SymInt[2] output_size)", import_adaptive<2>},
      {"_adaptive_avg_pool2d.default(Tensor self, SymInt[2] output_size)", import_adaptive<2>},
      {"adaptive_avg_pool1d.default(Tensor self, int[1] output_size)", import_adaptive<1>}};
}

}  // namespace cormorant::ops
