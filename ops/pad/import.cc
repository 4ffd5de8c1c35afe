// SPDX-License-Identifier: Apache-2.0
//
// Every padding, step by step: negative borders are cropped first; a border of one value is aten.pad; a border made of
// the tensor itself (reflect, replicate, circular) is sliced from it and concatenated, dimension by dimension.
#include <algorithm>

#include "ops/host/movement.h"
#include "ops/nodes.h"
#include "ops/op.h"
#include "ops/pad/pad.h"

namespace cormorant::ops {
namespace {

using Values = std::vector<ir::Value*>;

// Borders of one dimension; PyTorch's list has the last dimension first.
struct Border {
  std::int64_t dim;
  std::int64_t before;
  std::int64_t after;
};

std::vector<Border> borders_of(const Importer& importer, const char* argument) {
  const Dims& pad = importer.call->integers(argument);
  const auto rank = static_cast<std::int64_t>(importer.call->tensor("self")->type.rank());
  if (pad.size() % 2 != 0 || static_cast<std::int64_t>(pad.size() / 2) > rank) {
    importer.reject("a padding list of " + std::to_string(pad.size()) + " entries does not fit a tensor of " +
                        std::to_string(rank) + " dimensions",
                    "give two entries per padded dimension, last dimension first");
  }
  std::vector<Border> borders;
  for (std::size_t i = 0; i < pad.size(); i += 2) {
    borders.push_back({rank - 1 - static_cast<std::int64_t>(i / 2), pad[i], pad[i + 1]});
  }
  return borders;
}

std::int64_t size_of_dim(const ir::Value* value, std::int64_t dim) {
  return value->type.shape[static_cast<std::size_t>(dim)];
}

// Crops negative borders, and leaves the others.
ir::Value* crop(const Importer& importer, ir::Value* value, std::vector<Border>& borders) {
  for (Border& border : borders) {
    const std::int64_t size = size_of_dim(value, border.dim);
    const std::int64_t start = std::max(-border.before, std::int64_t{0});
    const std::int64_t end = size - std::max(-border.after, std::int64_t{0});
    if (start > end) {
      importer.reject("negative padding leaves nothing of dimension " + std::to_string(border.dim), {});
    }
    value = Mover(importer).slice(value, border.dim, start, end);
    border.before = std::max(border.before, std::int64_t{0});
    border.after = std::max(border.after, std::int64_t{0});
  }
  return value;
}

ir::Value* constant_node(Importer& importer, ir::Value* value, const std::vector<Border>& borders, double fill) {
  ir::TensorType type = value->type;
  Dims pad(2 * type.rank(), 0);
  for (const Border& border : borders) {
    const auto place = 2 * (type.rank() - 1 - static_cast<std::size_t>(border.dim));
    pad[place] = border.before;
    pad[place + 1] = border.after;
    type.shape[static_cast<std::size_t>(border.dim)] += border.before + border.after;
  }
  while (!pad.empty() && pad.back() == 0 && pad[pad.size() - 2] == 0) pad.resize(pad.size() - 2);
  if (pad.empty()) return value;
  return importer.node(nodes::aten_pad, {{"self", value}, {"pad", std::move(pad)}, {"value", fill}}, {type})->result();
}

// Kernels support four dimensions. With more, each padded one is handled separately, with everything before it and
// everything after it as one dimension.
ir::Value* constant_pad(Importer& importer, ir::Value* value, const std::vector<Border>& borders, double fill) {
  if (value->type.rank() <= kPadRank) return constant_node(importer, value, borders, fill);
  for (const Border& border : borders) {
    if (border.before == 0 && border.after == 0) continue;
    ir::Shape shape = value->type.shape;
    ir::Shape three = {1, size_of_dim(value, border.dim), 1};
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(shape.size()); ++i) {
      if (i != border.dim) three[i < border.dim ? 0 : 2] *= shape[static_cast<std::size_t>(i)];
    }
    shape[static_cast<std::size_t>(border.dim)] += border.before + border.after;
    const Mover mover(importer);
    value = constant_node(importer, mover.view(value, three), {{1, border.before, border.after}}, fill);
    value = mover.view(value, std::move(shape));
  }
  return value;
}

enum class Mode : std::uint8_t { reflect, replicate, circular };

// The border of `count` entries before the dimension (or after it), as a tensor; null for none.
ir::Value* border_tensor(const Mover& mover, ir::Value* value, std::int64_t dim, std::int64_t count, bool at_end,
                         Mode mode) {
  if (count == 0) return nullptr;
  const std::int64_t size = size_of_dim(value, dim);
  switch (mode) {
    case Mode::reflect: {  // without the edge itself
      ir::Value* mirrored =
          at_end ? mover.slice(value, dim, size - 1 - count, size - 1) : mover.slice(value, dim, 1, 1 + count);
      return mover.flip(mirrored, {dim});
    }
    case Mode::replicate: {
      ir::Value* edge = at_end ? mover.slice(value, dim, size - 1, size) : mover.slice(value, dim, 0, 1);
      ir::Shape shape = edge->type.shape;
      shape[static_cast<std::size_t>(dim)] = count;
      return mover.expand(edge, std::move(shape));
    }
    case Mode::circular:
      return at_end ? mover.slice(value, dim, 0, count) : mover.slice(value, dim, size - count, size);
  }
  return nullptr;
}

ir::Value* pad_with_itself(const Importer& importer, ir::Value* value, std::vector<Border> borders, Mode mode) {
  std::vector<Border> wider = borders;
  if (mode == Mode::replicate) {
    // An edge is repeated even if the other side crops it: the result is cropped at the end.
    for (Border& border : wider)
      border = {border.dim, std::max<std::int64_t>(border.before, 0), std::max<std::int64_t>(border.after, 0)};
  } else {
    value = crop(importer, value, wider);
  }
  const Mover mover(importer);
  for (const Border& border : wider) {
    const std::int64_t size = size_of_dim(value, border.dim);
    const std::int64_t most = mode == Mode::reflect ? size - 1 : size;
    if (size == 0 || (mode != Mode::replicate && std::max(border.before, border.after) > most)) {
      importer.reject("a border of " + std::to_string(std::max(border.before, border.after)) +
                          " cannot be cropped from a dimension of " + std::to_string(size),
                      "PyTorch rejects it too");
    }
    Values parts = {border_tensor(mover, value, border.dim, border.before, false, mode), value,
                    border_tensor(mover, value, border.dim, border.after, true, mode)};
    std::erase(parts, nullptr);
    value = mover.cat(std::move(parts), border.dim);
  }
  return mode == Mode::replicate ? crop(importer, value, borders) : value;
}

Values pad_constant(Importer& importer, double fill) {
  std::vector<Border> borders = borders_of(importer, "pad");
  ir::Value* cut = crop(importer, importer.call->tensor("self"), borders);
  return {constant_pad(importer, cut, borders, fill)};
}

Values import_pad(Importer& importer) {
  const ir::Node& call = *importer.call;
  const std::string& mode = call.string("mode");
  if (mode == "constant") return pad_constant(importer, call.has("value") ? call.number("value") : 0.0);
  ir::Value* self = call.tensor("self");
  const std::vector<Border> borders = borders_of(importer, "pad");
  if (mode == "reflect") return {pad_with_itself(importer, self, borders, Mode::reflect)};
  if (mode == "replicate") return {pad_with_itself(importer, self, borders, Mode::replicate)};
  if (mode == "circular") return {pad_with_itself(importer, self, borders, Mode::circular)};
  importer.reject("padding mode '" + mode + "' is not supported", "use constant, reflect, replicate or circular");
}

Values import_constant_pad(Importer& importer) { return pad_constant(importer, importer.call->number("value")); }

template <Mode kMode>
Values import_mode(Importer& importer) {
  const bool circular = kMode == Mode::circular;
  return {pad_with_itself(importer, importer.call->tensor("self"), borders_of(importer, circular ? "pad" : "padding"),
                          kMode)};
}

}  // namespace

std::vector<AtenForm> pad_forms() {
  return {
      {"pad.default(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None)", import_pad},
      {"constant_pad_nd.default(Tensor self, SymInt[] pad, Scalar value=0)", import_constant_pad},
      {"reflection_pad1d.default(Tensor self, SymInt[2] padding)", import_mode<Mode::reflect>},
      {"reflection_pad2d.default(Tensor self, SymInt[4] padding)", import_mode<Mode::reflect>},
      {"reflection_pad3d.default(Tensor self, SymInt[6] padding)", import_mode<Mode::reflect>},
      {"replication_pad1d.default(Tensor self, SymInt[2] padding)", import_mode<Mode::replicate>},
      {"replication_pad2d.default(Tensor self, SymInt[4] padding)", import_mode<Mode::replicate>},
      {"replication_pad3d.default(Tensor self, SymInt[6] padding)", import_mode<Mode::replicate>},
      {"_pad_circular.default(Tensor self, SymInt[] pad)", import_mode<Mode::circular>},
  };
}

}  // namespace cormorant::ops
