// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's forms of slicing, selecting and splitting.
#include <algorithm>

#include "ops/host/advice.h"
#include "ops/host/movement.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

using Values = std::vector<ir::Value*>;

// One dimension of the tensor that a call splits.
struct Axis {
  Importer& importer;
  ir::Value* self;
  std::int64_t dim;
  std::int64_t size;

  // A bound as Python means it: from the end if negative, and never outside the dimension.
  [[nodiscard]] std::int64_t bound(std::int64_t at) const {
    return std::clamp(at < 0 ? at + size : at, std::int64_t{0}, size);
  }
  [[nodiscard]] ir::Value* slice(std::int64_t start, std::int64_t end, std::int64_t step = 1) const {
    return Mover(importer).slice(self, dim, start, std::max(start, end), step);
  }
  // One entry, without the dimension.
  [[nodiscard]] ir::Value* select(std::int64_t at) const {
    ir::Shape shape = self->type.shape;
    shape.erase(shape.begin() + dim);
    return Mover(importer).view(slice(at, at + 1), std::move(shape));
  }
  // Pieces that end at these positions; the last extends to the end of the dimension.
  [[nodiscard]] Values pieces(const Dims& ends) const {
    Values made;
    std::int64_t start = 0;
    for (const std::int64_t end : ends) {
      made.push_back(slice(start, end));
      start = end;
    }
    return made;
  }
};

// A number of pieces that the export confirms, not one that only an argument claims.
void require_pieces(const Axis& axis, std::int64_t count) {
  constexpr std::int64_t kFew = 64;
  if (count > kFew && count > std::ranges::ssize(axis.importer.types)) {
    axis.importer.reject(
        "a tensor is split into " + std::to_string(count) + " pieces, but there are not as many results",
        kInconsistent);
  }
}

Axis axis_of(Importer& importer, std::int64_t dim) {
  ir::Value* self = importer.call->tensor("self");
  dim = dim_argument(importer, dim, self->type.rank());
  return {importer, self, dim, self->type.shape[static_cast<std::size_t>(dim)]};
}

Axis axis_of(Importer& importer) { return axis_of(importer, importer.call->integer("dim")); }

Values import_slice(Importer& importer) {
  const ir::Node& call = *importer.call;
  const Axis axis = axis_of(importer);
  const std::int64_t step = call.integer("step");
  if (step < 1) importer.reject("a slice's step must be positive", "use torch.flip to reverse a dimension");
  const std::int64_t start = axis.bound(call.has("start") ? call.integer("start") : 0);
  const std::int64_t end = axis.bound(call.has("end") ? call.integer("end") : axis.size);
  return {axis.slice(start, end, step)};
}

Values import_narrow(Importer& importer) {
  const Axis axis = axis_of(importer);
  const std::int64_t start = axis.bound(importer.call->integer("start"));
  const std::int64_t length = importer.call->integer("length");
  if (length < 0 || start + length > axis.size) importer.reject("narrow reaches beyond the dimension", {});
  return {axis.slice(start, start + length)};
}

Values import_select(Importer& importer) {
  const Axis axis = axis_of(importer);
  const std::int64_t at = importer.call->integer("index");
  if (at < -axis.size || at >= axis.size) importer.reject("the selected index is out of range", {});
  return {axis.select(at < 0 ? at + axis.size : at)};
}

Values import_unbind(Importer& importer) {
  const Axis axis = axis_of(importer);
  require_pieces(axis, axis.size);
  Values made;
  for (std::int64_t i = 0; i < axis.size; ++i) made.push_back(axis.select(i));
  return made;
}

Values split_by(const Axis& axis, std::int64_t piece) {
  if (piece < 1) axis.importer.reject("a tensor is split into empty pieces", {});
  require_pieces(axis, axis.size / piece);
  Dims ends;
  for (std::int64_t end = piece; end < axis.size; end += piece) ends.push_back(end);
  ends.push_back(axis.size);
  return axis.pieces(ends);
}

Values split_by(const Axis& axis, const Dims& sizes) {
  Dims ends;
  std::int64_t end = 0;
  for (const std::int64_t size : sizes) ends.push_back(end += std::max(size, std::int64_t{0}));
  if (end != axis.size) axis.importer.reject("the sizes of a split do not add up to the dimension's", {});
  return axis.pieces(ends);
}

Values import_split(Importer& importer) {
  const auto* sizes = std::get_if<Dims>(&importer.call->get("split_size"));
  const Axis axis = axis_of(importer);
  return sizes != nullptr ? split_by(axis, *sizes) : split_by(axis, importer.call->integer("split_size"));
}

Values import_split_with_sizes(Importer& importer) {
  return split_by(axis_of(importer), importer.call->integers("split_sizes"));
}

Values import_chunk(Importer& importer) {
  const Axis axis = axis_of(importer);
  const std::int64_t chunks = importer.call->integer("chunks");
  if (chunks < 1) importer.reject("a tensor is split into no chunks", {});
  return split_by(axis, std::max((axis.size + chunks - 1) / chunks, std::int64_t{1}));
}

// Sections that differ by at most one, the larger ones first.
Values sections(const Axis& axis, std::int64_t count) {
  if (count < 1) axis.importer.reject("a tensor is split into no sections", {});
  require_pieces(axis, count);
  Dims sizes;
  for (std::int64_t i = 0; i < count; ++i) sizes.push_back(axis.size / count + (i < axis.size % count ? 1 : 0));
  return split_by(axis, sizes);
}

Values at_indices(const Axis& axis, const Dims& indices) {
  Values made;
  std::int64_t start = 0;
  for (const std::int64_t index : indices) {
    made.push_back(axis.slice(start, axis.bound(index)));
    start = axis.bound(index);
  }
  made.push_back(axis.slice(start, axis.size));
  return made;
}

Values import_sections(Importer& importer) { return sections(axis_of(importer), importer.call->integer("sections")); }
Values import_indices(Importer& importer) { return at_indices(axis_of(importer), importer.call->integers("indices")); }

// hsplit, vsplit, dsplit: the second (the only) dimension, the first, the third.
template <int kDim>
Values import_directed_split(Importer& importer) {
  const ir::Node& call = *importer.call;
  const bool is_vector = call.tensor("self")->type.rank() == 1;
  const Axis axis = axis_of(importer, kDim == 1 && is_vector ? 0 : kDim);
  return std::ranges::any_of(call.args, [](const auto& arg) { return arg.name == "indices"; })
             ? at_indices(axis, call.integers("indices"))
             : sections(axis, call.integer("sections"));
}

// Entries that leave at one end come back at the other.
Values import_roll(Importer& importer) {
  const ir::Node& call = *importer.call;
  const Mover mover(importer);
  ir::Value* self = call.tensor("self");
  ir::Value* value = self;
  const Dims shifts = call.integers("shifts");
  Dims dims = call.has("dims") ? call.integers("dims") : Dims{};
  if (dims.empty()) {  // of all elements, as if they were a vector
    value = mover.view(self, {self->type.elements()});
    dims = {0};
  }
  if (shifts.size() != dims.size()) importer.reject("roll needs as many shifts as dimensions", {});
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t dim = dim_argument(importer, dims[i], value->type.rank());
    const std::int64_t size = value->type.shape[static_cast<std::size_t>(dim)];
    if (size == 0) continue;
    const std::int64_t shift = ((shifts[i] % size) + size) % size;
    if (shift == 0) continue;
    value = mover.cat({mover.slice(value, dim, size - shift, size), mover.slice(value, dim, 0, size - shift)}, dim);
  }
  return {mover.view(value, self->type.shape)};
}

}  // namespace

std::vector<AtenForm> slice_forms() {
  return {
      {"slice.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1)", import_slice},
      {"slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1)", import_slice},
      {"narrow.default(Tensor self, int dim, SymInt start, SymInt length)", import_narrow},
      {"narrow_copy.default(Tensor self, int dim, SymInt start, SymInt length)", import_narrow},
      {"select.int(Tensor self, int dim, SymInt index)", import_select},
      {"select_copy.int(Tensor self, int dim, SymInt index)", import_select},
      {"unbind.int(Tensor self, int dim=0)", import_unbind},
      {"unbind_copy.int(Tensor self, int dim=0)", import_unbind},
      {"split.Tensor(Tensor self, SymInt split_size, int dim=0)", import_split},
      {"split.sizes(Tensor self, SymInt[] split_size, int dim=0)", import_split},
      {"split_copy.Tensor(Tensor self, SymInt split_size, int dim=0)", import_split},
      {"unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0)", import_split},
      {"split_with_sizes.default(Tensor self, SymInt[] split_sizes, int dim=0)", import_split_with_sizes},
      {"split_with_sizes_copy.default(Tensor self, SymInt[] split_sizes, int dim=0)", import_split_with_sizes},
      {"unsafe_split_with_sizes.default(Tensor self, SymInt[] split_sizes, int dim=0)", import_split_with_sizes},
      {"chunk.default(Tensor self, int chunks, int dim=0)", import_chunk},
      {"unsafe_chunk.default(Tensor self, int chunks, int dim=0)", import_chunk},
      {"tensor_split.sections(Tensor self, SymInt sections, int dim=0)", import_sections},
      {"tensor_split.indices(Tensor self, SymInt[] indices, int dim=0)", import_indices},
      {"hsplit.int(Tensor self, int sections)", import_directed_split<1>},
      {"hsplit.array(Tensor self, int[] indices)", import_directed_split<1>},
      {"vsplit.int(Tensor self, int sections)", import_directed_split<0>},
      {"vsplit.array(Tensor self, int[] indices)", import_directed_split<0>},
      {"dsplit.int(Tensor self, int sections)", import_directed_split<2>},
      {"dsplit.array(Tensor self, int[] indices)", import_directed_split<2>},
      {"roll.default(Tensor self, SymInt[1] shifts, int[1] dims=[])", import_roll},
  };
}

}  // namespace cormorant::ops
