// SPDX-License-Identifier: Apache-2.0
//
// Sorting, searching, and what runs along a dimension: elements are gathered by the indices that the folder argsort
// finds.
#include <algorithm>

#include "ops/decompose/forms.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace {

// ---- sorting --------------------------------------------------------------------------------------------------------

Values sorted(const Build& b, bool wants_values) {
  V self = b.tensor("self");
  const std::int64_t dim = b.dim("dim", self->type.rank());
  if (self->type.rank() == 0) {
    V zero = b.number(0, DType::i64);
    return wants_values ? Values{b.finish(self, 0), b.finish(zero, 1)} : Values{b.finish(zero)};
  }
  V order = b.argsort(self, dim, b.call().boolean("descending"));
  if (!wants_values) return {b.finish(order)};
  return {b.finish(b.gather(self, dim, order), 0), b.finish(order, 1)};
}
Values import_sort(Importer& importer) { return sorted(Build(importer), true); }
Values import_argsort(Importer& importer) { return sorted(Build(importer), false); }
Values import_msort(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  if (self->type.rank() == 0) return {self};
  return {b.finish(b.gather(self, 0, b.argsort(self, 0, false)))};
}

Values import_topk(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const std::int64_t dim = b.dim("dim", self->type.rank());
  if (self->type.rank() == 0) return {b.finish(self, 0), b.finish(b.number(0, DType::i64), 1)};
  V order = b.argsort(self, dim, b.call().boolean("largest"));
  order = b.slice(order, dim, 0, b.call().integer("k"));
  return {b.finish(b.gather(self, dim, order), 0), b.finish(order, 1)};
}

// The element at a position of the sorted dimension, and its index.
Values at_place(const Build& b, V self, std::int64_t dim, std::int64_t place) {
  if (self->type.rank() == 0) return {b.finish(self, 0), b.finish(b.number(0, DType::i64), 1)};
  V order = b.slice(b.argsort(self, dim, false), dim, place, place + 1);
  return {b.finish(b.gather(self, dim, order), 0), b.finish(order, 1)};
}
Values import_kthvalue(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  return at_place(b, self, b.dim("dim", self->type.rank()), b.call().integer("k") - 1);
}
// With a NaN the median is that NaN, which comes last.
Values import_median_dim(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const std::int64_t dim = b.dim("dim", self->type.rank());
  if (self->type.rank() == 0) return at_place(b, self, 0, 0);
  const std::int64_t size = size_at(self, dim);
  V order = b.argsort(self, dim, false);
  V last = b.slice(order, dim, size - 1, size);
  V middle = b.slice(order, dim, (size - 1) / 2, (size - 1) / 2 + 1);
  V chosen = middle;
  if (self->type.dtype == DType::f32)
    chosen = b.where(b.map(nodes::aten_isnan, b.gather(self, dim, last)), last, middle);
  return {b.finish(b.gather(self, dim, chosen), 0), b.finish(chosen, 1)};
}
// The same among those that are numbers.
Values import_nanmedian_dim(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const std::int64_t dim = b.dim("dim", self->type.rank());
  if (self->type.rank() == 0) return at_place(b, self, 0, 0);
  V order = b.argsort(self, dim, false);
  V numbers = b.sum(b.map(nodes::aten_logical_not, b.map(nodes::aten_isnan, self)), {dim});
  V last = b.sub(numbers, 1);
  V place = b.map(nodes::aten_floor_divide, last, b.number(2, DType::i64));
  place = b.maximum(place, b.number(0, DType::i64));
  V chosen = b.gather(order, dim, place);
  return {b.finish(b.gather(self, dim, chosen), 0), b.finish(chosen, 1)};
}
Values import_median(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  V all = b.view(self, {self->type.elements()});
  const std::int64_t size = self->type.elements();
  V order = b.argsort(all, 0, false);
  V values = b.gather(all, 0, order);
  V last = b.slice(values, 0, size - 1, size);
  V middle = b.slice(values, 0, (size - 1) / 2, (size - 1) / 2 + 1);
  if (self->type.dtype != DType::f32) return {b.finish(middle)};
  return {b.finish(b.where(b.map(nodes::aten_isnan, last), last, middle))};
}

// ---- searching ------------------------------------------------------------------------------------------------------

V search(const Build& b, V row, V values, bool right) {
  const DType type = promoted(row->type.dtype, values->type.dtype);
  return b.node(nodes::cormorant_searchsorted_any,
                {{"sorted", b.to(row, type)}, {"values", b.to(values, type)}, {"right", right}}, DType::i64);
}
Values import_searchsorted(Importer& importer) {
  const Build b(importer);
  V row = b.tensor("sorted_sequence");
  if (b.given("sorter")) row = b.gather(row, rank_of(row) - 1, b.tensor("sorter"));
  bool right = b.call().boolean("right");
  if (b.given("side")) right = b.call().string("side") == "right";
  return {b.finish(search(b, row, b.operand("self"), right))};
}
Values import_bucketize(Importer& importer) {
  const Build b(importer);
  return {b.finish(search(b, b.tensor("boundaries"), b.operand("self"), b.call().boolean("right")))};
}
Values import_isin(Importer& importer) {
  const Build b(importer);
  V elements = b.operand(b.given("element") ? "element" : "elements");
  V tests = b.operand(b.given("test_element") ? "test_element" : "test_elements");
  V result = nullptr;
  if (tests->type.elements() == 0) {
    result = b.filled(0, {DType::boolean, elements->type.shape, {}, std::nullopt});
  } else {
    V each = b.unsqueeze(elements, rank_of(elements));
    V all = b.view(tests, {tests->type.elements()});
    result = b.any(b.eq(each, all), {rank_of(elements)});
    result = b.view(result, elements->type.shape);
  }
  return {b.finish(b.call().boolean("invert") ? b.map(nodes::aten_logical_not, result) : result)};
}

// ---- along a dimension ----------------------------------------------------------------------------------------------

V scan(const Build& b, const char* op, V self, std::int64_t dim, DType type) {
  std::vector<ir::NamedArgument> args = {{"self", self}, {"dim", dim}};
  if (std::string_view(op) == nodes::aten_cumsum) args.push_back({"dtype", ir::None{}});
  return b.node(op, std::move(args), type);
}
Values import_cumsum(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const DType type = b.type().dtype;
  return {b.finish(scan(b, nodes::aten_cumsum, b.to(self, type), b.dim("dim", self->type.rank()), type))};
}
Values import_cumprod(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const DType type = b.type().dtype;
  return {b.finish(scan(b, nodes::cormorant_cumprod_any, b.to(self, type), b.dim("dim", self->type.rank()), type))};
}
Values import_logcumsumexp(Importer& importer) {
  const Build b(importer);
  V self = b.real(b.tensor("self"));
  return {b.finish(scan(b, nodes::cormorant_logcumsumexp_any, self, b.dim("dim", self->type.rank()), DType::f32))};
}
Values cumulative_extreme(const Build& b, const char* op) {
  V self = b.tensor("self");
  const std::int64_t dim = b.dim("dim", self->type.rank());
  if (self->type.rank() == 0) return {b.finish(self, 0), b.finish(b.number(0, DType::i64), 1)};
  V index = scan(b, op, self, dim, DType::i64);
  return {b.finish(b.gather(self, dim, index), 0), b.finish(index, 1)};
}
Values import_cummax(Importer& importer) {
  return cumulative_extreme(Build(importer), nodes::cormorant_cummax_index_any);
}
Values import_cummin(Importer& importer) {
  return cumulative_extreme(Build(importer), nodes::cormorant_cummin_index_any);
}

// ---- differences and integrals --------------------------------------------------------------------------------------

V neighbours(const Build& b, V x, std::int64_t dim, bool sum) {
  const std::int64_t size = size_at(x, dim);
  V later = b.slice(x, dim, 1, size), earlier = b.slice(x, dim, 0, size - 1);
  if (sum) return b.add(later, earlier);
  return x->type.dtype == DType::boolean ? b.map(nodes::aten_logical_xor, later, earlier) : b.sub(later, earlier);
}

Values import_diff(Importer& importer) {
  const Build b(importer);
  V x = b.tensor("self");
  const std::int64_t dim = b.dim("dim", x->type.rank());
  std::vector<V> parts;
  if (b.given("prepend")) parts.push_back(b.tensor("prepend"));
  parts.push_back(x);
  if (b.given("append")) parts.push_back(b.tensor("append"));
  x = b.cat(parts, dim);
  if (b.type().elements() == 0) return {b.filled(0, b.type())};
  for (std::int64_t i = 0; i < b.call().integer("n"); ++i) x = neighbours(b, x, dim, false);
  return {b.finish(x)};
}

// The areas between neighbours, of y over x or over steps of dx.
V trapezoids(const Build& b, V y, std::int64_t dim) {
  V heights = neighbours(b, b.real(y), dim, true);
  if (!b.given("x")) return b.mul(heights, b.call().number("dx") / 2);
  V x = b.real(b.tensor("x"));
  if (x->type.rank() == 1 && y->type.rank() != 1) {
    ir::Shape shape(y->type.rank(), 1);
    shape[static_cast<std::size_t>(dim)] = size_at(x, 0);
    x = b.view(x, shape);
  } else if (x->type.rank() < y->type.rank()) {
    ir::Shape shape(y->type.rank() - x->type.rank(), 1);
    shape.insert(shape.end(), x->type.shape.begin(), x->type.shape.end());
    x = b.view(x, shape);
  }
  V widths = size_at(x, dim) == 1 ? b.number(0) : neighbours(b, x, dim, false);
  return b.mul(b.mul(heights, widths), 0.5);
}
Values import_trapezoid(Importer& importer) {
  const Build b(importer);
  V y = b.tensor("y");
  const std::int64_t dim = b.dim("dim", y->type.rank());
  if (size_at(y, dim) < 2) return {b.filled(0, b.type())};
  return {b.finish(b.sum(trapezoids(b, y, dim), {dim}))};
}
Values import_cumulative_trapezoid(Importer& importer) {
  const Build b(importer);
  V y = b.tensor("y");
  const std::int64_t dim = b.dim("dim", y->type.rank());
  if (b.type().elements() == 0) return {b.filled(0, b.type())};
  return {b.finish(scan(b, nodes::aten_cumsum, trapezoids(b, y, dim), dim, DType::f32))};
}

// Central differences inside, one-sided ones (of second order if asked) at the ends; spacing is a step or coordinates.
V gradient_along(const Build& b, V self, std::int64_t dim, double step, V coordinates, std::int64_t edge_order) {
  const std::int64_t n = size_at(self, dim);
  const auto piece = [&](V x, std::int64_t start, std::int64_t end) {
    return b.slice(x, x->type.rank() == 1 && self->type.rank() != 1 ? 0 : dim, start, end);
  };
  const auto shaped = [&](V x) {
    ir::Shape shape(self->type.rank(), 1);
    shape[static_cast<std::size_t>(dim)] = x->type.elements();
    return b.view(x, shape);
  };
  V steps = nullptr;
  if (coordinates != nullptr) {
    coordinates = shaped(b.real(coordinates));
    steps = neighbours(b, coordinates, dim, false);
  } else {
    ir::Shape shape(self->type.rank(), 1);
    shape[static_cast<std::size_t>(dim)] = n - 1;
    steps = b.filled(step, ir::float_type(shape));
  }
  V differences = neighbours(b, self, dim, false);
  V slopes = b.div(differences, steps);
  V h0 = piece(steps, 0, n - 2), h1 = piece(steps, 1, n - 1);
  std::vector<V> parts;
  const auto edge = [&](bool first) {
    V near = first ? piece(slopes, 0, 1) : piece(slopes, n - 2, n - 1);
    if (edge_order == 1) return near;
    V next = first ? piece(slopes, 1, 2) : piece(slopes, n - 3, n - 2);
    V a = first ? piece(steps, 0, 1) : piece(steps, n - 2, n - 1);
    V c = first ? piece(steps, 1, 2) : piece(steps, n - 3, n - 2);
    // The parabola through three points.
    V weight = b.add(b.mul(a, 2.0), c);
    weight = b.div(weight, b.add(a, c));
    V nearest = b.mul(near, weight);
    V correction = b.mul(next, b.div(a, b.add(a, c)));
    return b.sub(nearest, correction);
  };
  parts.push_back(edge(true));
  if (n > 2) {
    V before = piece(slopes, 0, n - 2), after = piece(slopes, 1, n - 1);
    V from_before = b.mul(before, h1);
    V from_after = b.mul(after, h0);
    V sum = b.add(from_before, from_after);
    parts.push_back(b.div(sum, b.add(h0, h1)));
  }
  parts.push_back(edge(false));
  return b.cat(parts, dim);
}
Values import_gradient(Importer& importer) {
  const Build b(importer);
  V self = b.real(b.tensor("self"));
  const std::size_t rank = self->type.rank();
  Dims dims;
  if (b.given("dim")) {
    const auto* one = std::get_if<std::int64_t>(&b.call().get("dim"));
    for (const std::int64_t at : one != nullptr ? Dims{*one} : b.call().integers("dim")) {
      dims.push_back(dim_argument(importer, at, rank));
    }
  } else {
    dims = all_dims(rank);
  }
  std::vector<double> steps(dims.size(), 1);
  std::vector<V> coordinates(dims.size(), nullptr);
  if (b.given("spacing")) {
    const ir::Argument& spacing = b.call().get("spacing");
    if (const auto* tensors = std::get_if<std::vector<V>>(&spacing)) {
      coordinates = *tensors;
    } else if (const auto* list = std::get_if<std::vector<double>>(&spacing)) {
      steps = *list;
    } else if (const auto* whole = std::get_if<std::vector<std::int64_t>>(&spacing)) {
      steps.assign(whole->begin(), whole->end());
    } else {
      steps.assign(dims.size(), b.call().number("spacing"));
    }
  }
  Values results;
  for (std::size_t i = 0; i < dims.size() && i < b.results(); ++i) {
    results.push_back(
        b.finish(gradient_along(b, self, dims[i], steps.at(i), coordinates.at(i), b.call().integer("edge_order")), i));
  }
  return results;
}

}  // namespace

std::vector<AtenForm> ordering_forms() {
  return {
      {"sort.default(Tensor self, int dim=-1, bool descending=False)", import_sort},
      {"sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False)", import_sort},
      {"argsort.default(Tensor self, int dim=-1, bool descending=False)", import_argsort},
      {"argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False)", import_argsort},
      {"msort.default(Tensor self)", import_msort},
      {"topk.default(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True)", import_topk},
      {"kthvalue.default(Tensor self, SymInt k, int dim=-1, bool keepdim=False)", import_kthvalue},
      {"median.default(Tensor self)", import_median},
      {"median.dim(Tensor self, int dim, bool keepdim=False)", import_median_dim},
      {"nanmedian.dim(Tensor self, int dim, bool keepdim=False)", import_nanmedian_dim},
      {"searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, "
       "str? side=None, Tensor? sorter=None)",
       import_searchsorted},
      {"searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, "
       "str? side=None, Tensor? sorter=None)",
       import_searchsorted},
      {"bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False)", import_bucketize},
      {"bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False)", import_bucketize},
      {"isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False)",
       import_isin},
      {"isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False)",
       import_isin},
      {"isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False)",
       import_isin},
      {"cumsum.default(Tensor self, int dim, *, ScalarType? dtype=None)", import_cumsum},
      {"cumprod.default(Tensor self, int dim, *, ScalarType? dtype=None)", import_cumprod},
      {"logcumsumexp.default(Tensor self, int dim)", import_logcumsumexp},
      {"cummax.default(Tensor self, int dim)", import_cummax},
      {"cummin.default(Tensor self, int dim)", import_cummin},
      {"diff.default(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None)", import_diff},
      {"trapezoid.x(Tensor y, Tensor x, *, int dim=-1)", import_trapezoid},
      {"trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1)", import_trapezoid},
      {"trapz.x(Tensor y, Tensor x, *, int dim=-1)", import_trapezoid},
      {"trapz.dx(Tensor y, *, float dx=1, int dim=-1)", import_trapezoid},
      {"cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1)", import_cumulative_trapezoid},
      {"cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1)", import_cumulative_trapezoid},
      {"gradient.scalarint(Tensor self, *, Scalar? spacing=None, int? dim=None, int edge_order=1)", import_gradient},
      {"gradient.scalararray(Tensor self, *, Scalar spacing, int[] dim, int edge_order=1)", import_gradient},
      {"gradient.array(Tensor self, *, int[] dim, int edge_order=1)", import_gradient},
      {"gradient.scalarrayint(Tensor self, *, Scalar[] spacing, int? dim=None, int edge_order=1)", import_gradient},
      {"gradient.scalarrayarray(Tensor self, *, Scalar[] spacing, int[] dim, int edge_order=1)", import_gradient},
      {"gradient.tensorarrayint(Tensor self, *, Tensor[] spacing, int? dim=None, int edge_order=1)", import_gradient},
      {"gradient.tensorarray(Tensor self, *, Tensor[] spacing, int[] dim, int edge_order=1)", import_gradient},
  };
}

}  // namespace cormorant::ops
