// SPDX-License-Identifier: Apache-2.0
//
// The same bytes with another shape: no instruction and no memory in our runtime. aten.view(self, size), sizes all
// known, is every form that keeps the elements in their logical order. cormorant.relayout(self) is what the layout pass
// puts between a tensor and its other reading, [N, H, W, C] contiguous and [N, C, H, W] channels-last: the logical
// order changes, the bytes do not.
//
// aten::view_copy.out is a copy, for files of other compilers.
#include <algorithm>

#include "base/diagnostic.h"
#include "ops/host/movement.h"
#include "ops/nodes.h"
#include "ops/view/view.h"

namespace cormorant::ops {
namespace {

std::vector<ir::Value*> make_view(Importer& importer, Dims size) {
  ir::Value* self = importer.call->tensor("self");
  if (size == self->type.shape) return {self};
  return importer.node(nodes::aten_view, {{"self", self}, {"size", std::move(size)}})->results;
}

// The exported result's shape says it all: -1 is resolved, dimensions are squeezed, flattened or split.
std::vector<ir::Value*> import_view(Importer& importer) { return make_view(importer, importer.types.at(0).shape); }

// Pixels between channels and space. Dimensions before the channels are merged into one, so that six are enough.
struct Image {
  std::int64_t batch = 1;
  std::int64_t channels, height, width;
};

Image image_of(const Importer& importer) {
  const ir::Shape& shape = importer.call->tensor("self")->type.shape;
  if (shape.size() < 3) importer.reject("pixel_shuffle needs channels, height and width", {});
  Image image{1, shape.end()[-3], shape.end()[-2], shape.end()[-1]};
  for (std::size_t i = 0; i + 3 < shape.size(); ++i) image.batch *= shape[i];
  return image;
}

std::vector<ir::Value*> import_pixel_shuffle(Importer& importer) {
  const std::int64_t r = importer.call->integer("upscale_factor");
  const Image image = image_of(importer);
  if (r < 1 || image.channels % (r * r) != 0) importer.reject("the channels are not a multiple of the block size", {});
  const Mover mover(importer);
  ir::Value* seen = mover.view(importer.call->tensor("self"),
                               {image.batch, image.channels / (r * r), r, r, image.height, image.width});
  return {mover.view(mover.permute(seen, {0, 1, 4, 2, 5, 3}), importer.types.at(0).shape)};
}

std::vector<ir::Value*> import_pixel_unshuffle(Importer& importer) {
  const std::int64_t r = importer.call->integer("downscale_factor");
  const Image image = image_of(importer);
  if (r < 1 || image.height % r != 0 || image.width % r != 0) {
    importer.reject("height and width are not multiples of the block size", {});
  }
  const Mover mover(importer);
  ir::Value* seen =
      mover.view(importer.call->tensor("self"), {image.batch, image.channels, image.height / r, r, image.width / r, r});
  return {mover.view(mover.permute(seen, {0, 1, 3, 5, 2, 4}), importer.types.at(0).shape)};
}

// The channels as a matrix of groups, transposed.
std::vector<ir::Value*> import_channel_shuffle(Importer& importer) {
  ir::Value* self = importer.call->tensor("self");
  const std::int64_t groups = importer.call->integer("groups");
  ir::Shape shape = self->type.shape;
  if (shape.size() < 3 || groups < 1 || shape[1] % groups != 0) {
    importer.reject("the channels are not a multiple of the groups", {});
  }
  shape[1] /= groups;
  shape.insert(shape.begin() + 1, groups);
  Dims dims;
  for (std::size_t i = 0; i < shape.size(); ++i) dims.push_back(static_cast<std::int64_t>(i));
  std::swap(dims[1], dims[2]);
  const Mover mover(importer);
  return {mover.view(mover.permute(mover.view(self, std::move(shape)), std::move(dims)), self->type.shape)};
}

std::int64_t elements(const Dims& shape) { return ir::float_type(shape).elements(); }

[[noreturn]] void reject(const ir::Node& node, std::string problem) {
  throw InputError({.problem = std::move(problem), .advice = {}, .node = node.name, .source = node.location.text()});
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  const ir::TensorType& input = node.tensor("self")->type;
  if (node.op == nodes::cormorant_relayout) {
    const ir::TensorType& type = node.result()->type;
    if (type.bytes() != input.bytes()) reject(node, "relayout cannot change the number of bytes");
    return {type};
  }
  ir::TensorType type = input;
  type.shape = node.integers("size");
  type.dim_order.clear();
  if (std::ranges::any_of(type.shape, [](std::int64_t size) { return size < 0; })) reject(node, "a size is negative");
  if (elements(type.shape) != elements(input.shape)) reject(node, "a view cannot change the number of elements");
  return {std::move(type)};
}

// Evaluation keeps tensors in logical order, so a relayout moves what the program leaves in place.
evaluate::Tensor relayout(const ir::TensorType& from, const ir::TensorType& to, const evaluate::Tensor& input) {
  const auto order_of = [](const ir::TensorType& type) {
    std::vector<std::size_t> order(type.rank());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = type.dim_order.empty() ? i : type.dim_order[i];
    return order;
  };
  // visit(index in memory order -> index in logical order)
  const auto logical = [&](const ir::TensorType& type) {
    const std::vector<std::size_t> order = order_of(type);
    Dims strides(type.rank(), 1);
    for (std::size_t i = type.rank(); i-- > 1;) strides[i - 1] = strides[i] * type.shape[i];
    Dims at(type.rank(), 0);
    std::vector<std::size_t> indices(static_cast<std::size_t>(type.elements()));
    for (std::size_t& index : indices) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < at.size(); ++i) sum += at[i] * strides[order[i]];
      index = static_cast<std::size_t>(sum);
      for (std::size_t i = at.size(); i-- > 0 && ++at[i] == type.shape[order[i]];) at[i] = 0;
    }
    return indices;
  };
  const std::vector<std::size_t> source = logical(from);
  const std::vector<std::size_t> target = logical(to);
  std::vector<float> out(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) out[target[i]] = input.values()[source[i]];
  return {to.shape, std::move(out)};
}

std::vector<evaluate::Tensor> evaluate_view(const ir::Node& node, const evaluate::Frame& frame) {
  const ir::Value* self = node.tensor("self");
  const evaluate::Tensor& input = frame.get(self);
  if (node.op == nodes::cormorant_relayout) return {relayout(self->type, node.result()->type, input)};
  return {input.reshaped(node.integers("size"))};
}

QuantRule quantize(const ir::Node&) {
  return {.output = QuantRule::Share{}, .weights = {}, .precisions = precisions::w8a8_w8a16()};
}

// A pooled image whose channels become features.
bool channelwise(const ir::Node& node) {
  const ir::Shape& from = node.tensor("self")->type.shape;
  const ir::Shape& to = node.result()->type.shape;
  return node.has("size") && from.size() == 4 && from[2] == 1 && from[3] == 1 && to == ir::Shape{from[0], from[1]};
}

}  // namespace

Operator view_operator() {
  return {.name = "view",
          .layout = MemoryOrder::contiguous,
          .forms = {{"view.default(Tensor self, SymInt[] size)", import_view},
                    {"view_copy.default(Tensor self, SymInt[] size)", import_view},
                    {"_unsafe_view.default(Tensor self, SymInt[] size)", import_view},
                    {"_reshape_alias.default(Tensor self, SymInt[] size, SymInt[] stride)", import_view},
                    {"reshape.default(Tensor self, SymInt[] shape)", import_view},
                    {"view_as.default(Tensor self, Tensor other)", import_view},
                    {"reshape_as.default(Tensor self, Tensor other)", import_view},
                    {"flatten.using_ints(Tensor self, int start_dim=0, int end_dim=-1)", import_view},
                    {"unflatten.int(Tensor self, int dim, SymInt[] sizes)", import_view},
                    {"squeeze.default(Tensor self)", import_view},
                    {"squeeze.dim(Tensor self, int dim)", import_view},
                    {"squeeze.dims(Tensor self, int[] dim)", import_view},
                    {"squeeze_copy.default(Tensor self)", import_view},
                    {"squeeze_copy.dim(Tensor self, int dim)", import_view},
                    {"squeeze_copy.dims(Tensor self, int[] dim)", import_view},
                    {"squeeze_.default(Tensor self)", import_view},
                    {"squeeze_.dim(Tensor self, int dim)", import_view},
                    {"squeeze_.dims(Tensor self, int[] dim)", import_view},
                    {"unsqueeze.default(Tensor self, int dim)", import_view},
                    {"unsqueeze_.default(Tensor self, int dim)", import_view},
                    {"ravel.default(Tensor self)", import_view},
                    {"atleast_1d.default(Tensor self)", import_view},
                    {"atleast_2d.default(Tensor self)", import_view},
                    {"atleast_3d.default(Tensor self)", import_view},
                    {"pixel_shuffle.default(Tensor self, int upscale_factor)", import_pixel_shuffle},
                    {"pixel_unshuffle.default(Tensor self, int downscale_factor)", import_pixel_unshuffle},
                    {"channel_shuffle.default(Tensor self, SymInt groups)", import_channel_shuffle},
                    {"native_channel_shuffle.default(Tensor self, SymInt groups)", import_channel_shuffle},
                    {"unsqueeze_copy.default(Tensor self, int dim)", import_view}},
          .canonical = {"aten.view(Tensor self, int[] size)", "cormorant.relayout(Tensor self)"},
          .infer = infer,
          .evaluate = evaluate_view,
          .quantize = quantize,
          .is_alias = true,
          .channelwise = channelwise};
}

}  // namespace cormorant::ops
