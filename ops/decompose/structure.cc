// SPDX-License-Identifier: Apache-2.0
//
// Triangles, diagonals, windows and grids: constant masks, and selections by indices that are known now.
#include <algorithm>
#include <cmath>

#include "ops/decompose/forms.h"
#include "ops/host/broadcast.h"
#include "ops/host/known.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace {

// ---- triangles and diagonals ----------------------------------------------------------------------------------------

Values triangle(const Build& b, bool lower) {
  V self = b.tensor("self");
  const std::int64_t rows = size_at(self, rank_of(self) - 2), columns = size_at(self, rank_of(self) - 1);
  const std::int64_t diagonal = b.call().integer("diagonal");
  b.require_moderate({DType::boolean, {rows, columns}, {}, std::nullopt});
  std::vector<double> mask;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) mask.push_back((lower ? j - i <= diagonal : j - i >= diagonal) ? 1 : 0);
  }
  if (mask.empty()) return {self};
  return {b.finish(b.where(b.constant(DType::boolean, {rows, columns}, mask), self, 0.0))};
}
Values import_tril(Importer& importer) { return triangle(Build(importer), true); }
Values import_triu(Importer& importer) { return triangle(Build(importer), false); }

// The positions of a diagonal in a matrix whose rows are consecutive.
std::vector<std::int64_t> diagonal_places(std::int64_t rows, std::int64_t columns, std::int64_t offset) {
  std::vector<std::int64_t> places;
  const std::int64_t first_row = std::max<std::int64_t>(-offset, 0), first_column = std::max<std::int64_t>(offset, 0);
  for (std::int64_t k = 0; first_row + k < rows && first_column + k < columns; ++k) {
    places.push_back((first_row + k) * columns + first_column + k);
  }
  return places;
}

// The two dimensions last.
struct Matrices {
  V value;  // [..., rows · columns]
  Dims order;
  ir::Shape shape;  // before the view
  std::int64_t rows, columns;
};
Matrices matrices(const Build& b, V x, std::int64_t a, std::int64_t c) {
  b.require(rank_of(x) >= 2 && a != c);
  Matrices m{};
  for (std::int64_t d = 0; d < rank_of(x); ++d) {
    if (d != a && d != c) m.order.push_back(d);
  }
  m.order.push_back(a);
  m.order.push_back(c);
  V permuted = b.permute(x, m.order);
  m.shape = permuted->type.shape;
  m.rows = size_at(x, a);
  m.columns = size_at(x, c);
  ir::Shape flat(m.shape.begin(), m.shape.end() - 2);
  flat.push_back(m.rows * m.columns);
  m.value = b.view(permuted, flat);
  return m;
}
std::int64_t named_dim(Importer& importer, const char* name, std::size_t rank) {
  return dim_argument(importer, importer.call->integer(name), rank);
}

Values import_diagonal(Importer& importer) {
  const Build b(importer);
  V self = b.tensor(b.given("A") ? "A" : "self");  // linalg.diagonal's
  if (b.type().elements() == 0) return {b.filled(0, b.type())};
  const Matrices m =
      matrices(b, self, named_dim(importer, "dim1", self->type.rank()), named_dim(importer, "dim2", self->type.rank()));
  const auto places = diagonal_places(m.rows, m.columns, b.call().integer("offset"));
  return {b.finish(b.index_select(m.value, rank_of(m.value) - 1, b.indices(places)))};
}
Values import_trace(Importer& importer) {
  const Build b(importer);
  const Matrices m = matrices(b, b.tensor("self"), 0, 1);
  V diagonal = b.index_select(m.value, 0, b.indices(diagonal_places(m.rows, m.columns, 0)));
  return {b.finish(b.sum(diagonal, {0}))};
}
Values import_diagonal_scatter(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  V src = b.tensor("src");
  if (src->type.elements() == 0) return {self};
  const Matrices m =
      matrices(b, self, named_dim(importer, "dim1", self->type.rank()), named_dim(importer, "dim2", self->type.rank()));
  V places = b.indices(diagonal_places(m.rows, m.columns, b.call().integer("offset")));
  V written =
      b.scatter(nodes::aten_scatter_src_out, m.value, rank_of(m.value) - 1, b.expand(places, src->type.shape), src);
  Dims back(m.order.size());
  for (std::size_t i = 0; i < m.order.size(); ++i)
    back[static_cast<std::size_t>(m.order[i])] = static_cast<std::int64_t>(i);
  return {b.finish(b.permute(b.view(written, m.shape), back))};
}

// A matrix with the last dimension on a diagonal and zeros elsewhere: the elements and one zero, selected.
V embedded(const Build& b, V x, std::int64_t offset) {
  const std::int64_t n = size_at(x, rank_of(x) - 1), size = n + std::abs(offset);
  b.require_moderate({DType::i64, {size, size}, {}, std::nullopt});
  std::vector<std::int64_t> places(static_cast<std::size_t>(size * size), n);
  const auto diagonal = diagonal_places(size, size, offset);
  for (std::size_t i = 0; i < diagonal.size(); ++i)
    places[static_cast<std::size_t>(diagonal[i])] = static_cast<std::int64_t>(i);
  V padded = b.pad(x, {0, 1}, 0);
  V selected = b.index_select(padded, rank_of(x) - 1, b.indices(places));
  ir::Shape shape(x->type.shape.begin(), x->type.shape.end() - 1);
  shape.push_back(size);
  shape.push_back(size);
  return b.view(selected, shape);
}
Values import_diag_embed(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  if (self->type.rank() == 0) self = b.view(self, {1});
  const std::size_t rank = self->type.rank() + 1;
  V matrix = embedded(b, self, b.call().integer("offset"));
  std::int64_t first = named_dim(importer, "dim1", rank), second = named_dim(importer, "dim2", rank);
  // If the first comes after the second, the matrix is transposed.
  Dims order;
  std::int64_t next = 0;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(rank); ++d) {
    order.push_back(d == first    ? static_cast<std::int64_t>(rank) - 2
                    : d == second ? static_cast<std::int64_t>(rank) - 1
                                  : next++);
  }
  return {b.finish(b.permute(matrix, order))};
}
Values import_diag(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const std::int64_t offset = b.call().integer("diagonal");
  if (self->type.rank() == 1) return {b.finish(embedded(b, self, offset))};
  if (b.type().elements() == 0) return {b.filled(0, b.type())};
  const Matrices m = matrices(b, self, 0, 1);
  return {b.finish(b.index_select(m.value, 0, b.indices(diagonal_places(m.rows, m.columns, offset))))};
}
Values import_diagflat(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  return {b.finish(embedded(b, b.view(self, {self->type.elements()}), b.call().integer("offset")))};
}

// ---- windows --------------------------------------------------------------------------------------------------------

// [..., size, ...] -> [..., windows, ..., width]
Values import_unfold(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const std::int64_t width = b.call().integer("size"), step = b.call().integer("step");
  if (self->type.rank() == 0) return {b.finish(b.view(self, b.type().shape))};
  const std::int64_t dim = named_dim(importer, "dimension", self->type.rank());
  if (b.type().elements() == 0) return {b.filled(0, b.type())};
  b.require(width >= 0 && width <= size_at(self, dim) && step > 0);
  const std::int64_t windows = (size_at(self, dim) - width) / step + 1;
  b.require_moderate({DType::i64, {windows, width}, {}, std::nullopt});
  std::vector<std::int64_t> places;
  for (std::int64_t w = 0; w < windows; ++w) {
    for (std::int64_t i = 0; i < width; ++i) places.push_back(w * step + i);
  }
  V selected = b.index_select(self, dim, places);
  ir::Shape shape = self->type.shape;
  shape[static_cast<std::size_t>(dim)] = windows;
  shape.insert(shape.begin() + dim + 1, width);
  Dims order;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(shape.size()); ++d) {
    if (d != dim + 1) order.push_back(d);
  }
  order.push_back(dim + 1);
  return {b.finish(b.permute(b.view(selected, shape), order))};
}

struct Blocks {
  std::int64_t rows, columns;                // of blocks
  std::vector<std::int64_t> places;          // [kernel height · width · rows · columns] into a padded image
  std::int64_t height, width, pad_h, pad_w;  // of the padded image
  std::int64_t high, wide;                   // a block
  bool tiles;                                // blocks side by side are the whole image
};
Blocks blocks(const Build& b, std::int64_t height, std::int64_t width) {
  const auto& kernel = b.call().integers("kernel_size");
  const auto& dilation = b.call().integers("dilation");
  const auto& padding = b.call().integers("padding");
  const auto& stride = b.call().integers("stride");
  const auto at = [](const Dims& list, std::size_t i) { return list.size() == 1 ? list[0] : list.at(i); };
  for (std::size_t i = 0; i < 2; ++i) {
    b.require(at(kernel, i) > 0 && at(dilation, i) > 0 && at(stride, i) > 0 && at(padding, i) >= 0);
    b.require(at(dilation, i) * (at(kernel, i) - 1) < (i == 0 ? height : width) + 2 * at(padding, i));
  }
  Blocks result{};
  result.pad_h = at(padding, 0);
  result.pad_w = at(padding, 1);
  result.height = height + 2 * result.pad_h;
  result.width = width + 2 * result.pad_w;
  result.rows = (result.height - at(dilation, 0) * (at(kernel, 0) - 1) - 1) / at(stride, 0) + 1;
  result.columns = (result.width - at(dilation, 1) * (at(kernel, 1) - 1) - 1) / at(stride, 1) + 1;
  result.high = at(kernel, 0);
  result.wide = at(kernel, 1);
  result.tiles = at(stride, 0) == result.high && at(stride, 1) == result.wide && at(dilation, 0) == 1 &&
                 at(dilation, 1) == 1 && result.rows * result.high == result.height &&
                 result.columns * result.wide == result.width;
  b.require_moderate({DType::i64, {at(kernel, 0), at(kernel, 1), result.rows, result.columns}, {}, std::nullopt});
  for (std::int64_t ky = 0; ky < at(kernel, 0); ++ky) {
    for (std::int64_t kx = 0; kx < at(kernel, 1); ++kx) {
      for (std::int64_t y = 0; y < result.rows; ++y) {
        for (std::int64_t x = 0; x < result.columns; ++x) {
          result.places.push_back((y * at(stride, 0) + ky * at(dilation, 0)) * result.width + x * at(stride, 1) +
                                  kx * at(dilation, 1));
        }
      }
    }
  }
  return result;
}
// [N, C, H, W] -> [N, C · kernel, blocks]
Values import_im2col(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  if (self->type.rank() == 3) self = b.unsqueeze(self, 0);
  b.require(self->type.rank() == 4);
  const Blocks k = blocks(b, size_at(self, 2), size_at(self, 3));
  V padded = b.pad(self, {k.pad_w, k.pad_w, k.pad_h, k.pad_h}, 0);
  if (k.tiles) {
    V tiled = b.view(padded, {size_at(self, 0), size_at(self, 1), k.rows, k.high, k.columns, k.wide});
    return {b.finish(b.permute(tiled, {0, 1, 3, 5, 2, 4}))};
  }
  V flat = b.view(padded, {size_at(self, 0), size_at(self, 1), k.height * k.width});
  return {b.finish(b.index_select(flat, 2, b.indices(k.places)))};
}
// The opposite, where blocks that overlap add up.
Values import_col2im(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  if (self->type.rank() == 2) self = b.unsqueeze(self, 0);
  const auto& size = b.call().integers("output_size");
  const Blocks k = blocks(b, size.at(0), size.at(1));
  b.require(self->type.rank() == 3 && self->type.elements() > 0);
  const auto entries = static_cast<std::int64_t>(k.places.size());
  const std::int64_t batch = size_at(self, 0), channels = self->type.elements() / batch / entries;
  if (k.tiles) {
    V tiles = b.permute(b.view(self, {batch, channels, k.high, k.wide, k.rows, k.columns}), {0, 1, 4, 2, 5, 3});
    V whole = b.view(tiles, {batch, channels, k.height, k.width});
    return {b.finish(b.pad(whole, {-k.pad_w, -k.pad_w, -k.pad_h, -k.pad_h}, 0))};
  }
  V values = b.view(self, {batch, channels, entries});
  V empty = b.filled(0, ir::float_type({batch, channels, k.height * k.width}));
  V places = b.expand(b.indices(k.places), {batch, channels, entries});
  V sum = b.scatter(nodes::aten_scatter_add, empty, 2, places, values);
  V image = b.view(sum, {batch, channels, k.height, k.width});
  return {b.finish(b.pad(image, {-k.pad_w, -k.pad_w, -k.pad_h, -k.pad_h}, 0))};
}

// ---- grids ----------------------------------------------------------------------------------------------------------

Values import_meshgrid(Importer& importer) {
  const Build b(importer);
  const std::vector<V>& tensors = b.call().tensors("tensors");
  const bool swapped = b.given("indexing") && b.call().string("indexing") == "xy" && tensors.size() >= 2;
  Values results;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::size_t at = i;
    if (swapped && i < 2) at = 1 - i;
    ir::Shape shape(tensors.size(), 1);
    shape[at] = tensors[i]->type.elements();
    results.push_back(b.finish(b.expand(b.view(tensors[i], shape), b.type(i).shape), i));
  }
  return results;
}
// Each tensor of a list in the shape that the export gives it.
Values import_shapes(Importer& importer) {
  const Build b(importer);
  Values results;
  const std::vector<V>& tensors = b.call().tensors("tensors");
  for (std::size_t i = 0; i < tensors.size(); ++i) results.push_back(b.finish(tensors[i], i));
  return results;
}
Values import_broadcast_tensors(Importer& importer) {
  const Build b(importer);
  Values results;
  const std::vector<V>& tensors = b.call().tensors("tensors");
  for (std::size_t i = 0; i < tensors.size(); ++i)
    results.push_back(b.finish(b.expand(tensors[i], b.type(i).shape), i));
  return results;
}

std::vector<float> known_repeats(const Build& b) {
  const auto repeats = known_value(b.tensor("repeats"));
  if (!repeats) b.reject("repeat_interleave with data-dependent repeats", "make them a constant of the model");
  return {repeats->values().begin(), repeats->values().end()};
}
void append(const Build& b, std::vector<std::int64_t>& places, std::int64_t index, float times) {
  b.require(times >= 0 && times <= static_cast<float>(b.type().elements()));
  places.insert(places.end(), static_cast<std::size_t>(times), index);
}

// Repetitions by a constant number for each index.
Values import_repeat_interleave(Importer& importer) {
  const Build b(importer);
  const std::vector<float> repeats = known_repeats(b);
  V self = b.tensor("self");
  std::int64_t dim = 0;
  if (b.given("dim")) {
    dim = b.dim("dim", self->type.rank());
  } else {
    self = b.view(self, {self->type.elements()});
  }
  if (self->type.rank() == 0) self = b.view(self, {1});
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < size_at(self, dim); ++i) {
    append(b, places, i, repeats.size() == 1 ? repeats.front() : repeats.at(static_cast<std::size_t>(i)));
  }
  return {b.finish(b.index_select(self, dim, b.indices(places)))};
}
// Each index as often as its number says.
Values import_repeats(Importer& importer) {
  const Build b(importer);
  std::vector<std::int64_t> places;
  std::int64_t index = 0;
  for (const float times : known_repeats(b)) append(b, places, index++, times);
  return {b.finish(b.indices(places))};
}

// ---- made out of nothing --------------------------------------------------------------------------------------------

Values import_eye(Importer& importer) {
  const Build b(importer);
  const ir::Shape& shape = b.type().shape;
  b.require(shape.size() == 2);
  b.require_moderate(b.type());
  std::vector<double> values(static_cast<std::size_t>(b.type().elements()), 0);
  for (std::int64_t i = 0; i < std::min(shape[0], shape[1]); ++i)
    values[static_cast<std::size_t>(i * shape[1] + i)] = 1;
  return {b.constant(b.type().dtype, shape, values)};
}
Values import_linspace(Importer& importer) {
  const Build b(importer);
  const double start = b.call().number("start"), end = b.call().number("end");
  b.require_moderate(b.type());
  std::vector<double> values(static_cast<std::size_t>(b.type().elements()), start);
  for (std::size_t i = 1; i < values.size(); ++i) {
    values[i] = start + (end - start) * static_cast<double>(i) / static_cast<double>(values.size() - 1);
  }
  return {b.constant(b.type().dtype, b.type().shape, values)};
}

#define OPTIONS "*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"

}  // namespace

std::vector<AtenForm> structure_forms() {
  return {
      {"tril.default(Tensor self, SymInt diagonal=0)", import_tril},
      {"triu.default(Tensor self, SymInt diagonal=0)", import_triu},
      {"diagonal.default(Tensor self, int offset=0, int dim1=0, int dim2=1)", import_diagonal},
      {"diagonal_copy.default(Tensor self, int offset=0, int dim1=0, int dim2=1)", import_diagonal},
      {"linalg_diagonal.default(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1)", import_diagonal},
      {"trace.default(Tensor self)", import_trace},
      {"diagonal_scatter.default(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1)",
       import_diagonal_scatter},
      {"diag_embed.default(Tensor self, int offset=0, int dim1=-2, int dim2=-1)", import_diag_embed},
      {"diag.default(Tensor self, int diagonal=0)", import_diag},
      {"diagflat.default(Tensor self, int offset=0)", import_diagflat},
      {"unfold.default(Tensor self, int dimension, int size, int step)", import_unfold},
      {"unfold_copy.default(Tensor self, int dimension, int size, int step)", import_unfold},
      {"im2col.default(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride)",
       import_im2col},
      {"col2im.default(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, "
       "int[2] stride)",
       import_col2im},
      {"meshgrid.default(Tensor[] tensors)", import_meshgrid},
      {"meshgrid.indexing(Tensor[] tensors, *, str indexing)", import_meshgrid},
      {"atleast_1d.Sequence(Tensor[] tensors)", import_shapes},
      {"atleast_2d.Sequence(Tensor[] tensors)", import_shapes},
      {"atleast_3d.Sequence(Tensor[] tensors)", import_shapes},
      {"broadcast_tensors.default(Tensor[] tensors)", import_broadcast_tensors},
      {"repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None)", import_repeats},
      {"repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None)",
       import_repeat_interleave},
      {"eye.default(SymInt n, " OPTIONS ")", import_eye},
      {"eye.m(SymInt n, SymInt m, " OPTIONS ")", import_eye},
      {"linspace.default(Scalar start, Scalar end, int steps, " OPTIONS ")", import_linspace},
  };
}

}  // namespace cormorant::ops
