// SPDX-License-Identifier: Apache-2.0
#include "ops/avg_pool2d/import.h"

#include <algorithm>

#include "ops/avg_pool2d/avg_pool2d.h"

namespace cormorant::ops {
namespace {

using Dims = std::vector<std::int64_t>;

struct Pooling {
  Dims kernel, stride, padding;
  bool ceil_mode = false;
  bool count_include_pad = false;
  ir::Argument divisor_override = {};
};

// PyTorch takes one number for both dimensions.
Dims pair(Dims list) {
  if (list.size() == 1) list.push_back(list[0]);
  return list;
}

ir::Value* view(Importer& importer, ir::Value* value, Dims size) {
  if (value->type.shape == size) return value;
  return importer.node("aten.view", {{"self", value}, {"size", size}}, {ir::float_type(size)})->result();
}

// [C, H, W] is one image.
Dims batched(const Dims& shape) { return shape.size() == 3 ? Dims{1, shape[0], shape[1], shape[2]} : shape; }

bool sizes_agree(const Pooling& pooling, const Dims& input, const Dims& result) {
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t padded = input[2 + i] + 2 * pooling.padding[i];
    if (padded < pooling.kernel[i]) return false;
    if (pooled_size<std::int64_t>(padded, pooling.kernel[i], pooling.stride[i], 0, pooling.ceil_mode) !=
        result[2 + i]) {
      return false;
    }
  }
  return true;
}

// `result` is 4-D; the call's own result may have fewer dimensions.
std::vector<ir::Value*> make_pool(Importer& importer, Pooling pooling, const Dims& result) {
  ir::Value* input = view(importer, importer.call->tensor("self"), batched(importer.call->tensor("self")->type.shape));
  const bool padded = pooling.padding != Dims{0, 0};
  // Padding that counts is an explicit border of zeros, unless that would change the number of windows (ceil mode).
  if (padded && pooling.count_include_pad && !std::holds_alternative<std::int64_t>(pooling.divisor_override) &&
      sizes_agree(pooling, input->type.shape, result)) {
    const std::int64_t h = pooling.padding[0];
    const std::int64_t w = pooling.padding[1];
    Dims shape = input->type.shape;
    shape[2] += 2 * h;
    shape[3] += 2 * w;
    input = importer
                .node("aten.pad", {{"self", input}, {"pad", Dims{w, w, h, h}}, {"value", 0.0}}, {ir::float_type(shape)})
                ->result();
    pooling.padding = {0, 0};
  }
  ir::Value* pooled = importer
                          .node("aten.avg_pool2d",
                                {{"self", input},
                                 {"kernel_size", pooling.kernel},
                                 {"stride", pooling.stride},
                                 {"padding", pooling.padding},
                                 {"ceil_mode", pooling.ceil_mode},
                                 {"count_include_pad", pooling.count_include_pad && pooling.padding != Dims{0, 0}},
                                 {"divisor_override", pooling.divisor_override}},
                                {ir::float_type(result)})
                          ->result();
  return {view(importer, pooled, importer.types.at(0).shape)};
}

void require_images(Importer& importer) {
  const std::size_t rank = importer.call->tensor("self")->type.rank();
  if (rank != 3 && rank != 4) importer.reject("two-dimensional pooling of a tensor that is no image", "");
}

std::vector<ir::Value*> import_avg_pool(Importer& importer) {
  require_images(importer);
  const ir::Node& call = *importer.call;
  Pooling pooling{.kernel = pair(call.integers("kernel_size")),
                  .stride = pair(call.integers("stride")),
                  .padding = pair(call.integers("padding")),
                  .ceil_mode = call.boolean("ceil_mode"),
                  .count_include_pad = call.boolean("count_include_pad"),
                  .divisor_override = call.get("divisor_override")};
  if (pooling.stride.empty()) pooling.stride = pooling.kernel;
  return make_pool(importer, std::move(pooling), batched(importer.types.at(0).shape));
}

// Windows of equal size, where the sizes divide.
std::vector<ir::Value*> import_adaptive(Importer& importer) {
  require_images(importer);
  const Dims input = batched(importer.call->tensor("self")->type.shape);
  const Dims result = batched(importer.types.at(0).shape);
  if (input[2] % result[2] != 0 || input[3] % result[3] != 0) {
    importer.reject("adaptive pooling from " + std::to_string(input[2]) + "×" + std::to_string(input[3]) + " to " +
                        std::to_string(result[2]) + "×" + std::to_string(result[3]) + " needs windows of unequal size",
                    "choose output sizes that divide the input's");
  }
  Pooling pooling{.kernel = {input[2] / result[2], input[3] / result[3]}, .stride = {}, .padding = {0, 0}};
  pooling.stride = pooling.kernel;
  return make_pool(importer, std::move(pooling), result);
}

// The mean over height, width or both is one window.
std::vector<ir::Value*> import_mean(Importer& importer) {
  const ir::Node& call = *importer.call;
  const Dims& shape = call.tensor("self")->type.shape;
  Dims dims = call.has("dim") ? call.integers("dim") : Dims{};
  for (std::int64_t& dim : dims) dim = dim < 0 ? dim + static_cast<std::int64_t>(shape.size()) : dim;
  const bool spatial = std::all_of(dims.begin(), dims.end(), [](std::int64_t dim) { return dim == 2 || dim == 3; });
  if (shape.size() != 4 || dims.empty() || !spatial) {
    importer.reject("mean over other dimensions than the height and width of images",
                    "only dimensions 2 and 3 of a 4-D tensor are supported");
  }
  Pooling pooling{.kernel = {1, 1}, .stride = {}, .padding = {0, 0}};
  Dims result = shape;
  for (const std::int64_t dim : dims) {
    pooling.kernel[static_cast<std::size_t>(dim) - 2] = shape[static_cast<std::size_t>(dim)];
    result[static_cast<std::size_t>(dim)] = 1;
  }
  pooling.stride = pooling.kernel;
  return make_pool(importer, std::move(pooling), result);
}

}  // namespace

std::vector<AtenForm> avg_pool2d_forms() {
  return {
      {"avg_pool2d.default(Tensor self, int[2] kernel_size, int[2] stride=[], int[2] padding=0, bool ceil_mode=False, "
       "bool count_include_pad=True, int? divisor_override=None)",
       import_avg_pool},
      {"adaptive_avg_pool2d.default(Tensor self, SymInt[2] output_size)", import_adaptive},
      {"_adaptive_avg_pool2d.default(Tensor self, SymInt[2] output_size)", import_adaptive},
      {"mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None)", import_mean}};
}

}  // namespace cormorant::ops
