// SPDX-License-Identifier: Apache-2.0
//
// Reductions composed of sums, extremes and functions of elements.
#include <cmath>

#include "ops/decompose/forms.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace {

// ---- moments --------------------------------------------------------------------------------------------------------

struct Moments {
  V variance, mean;
};

// Of the distances to the mean, which do not cancel.
Moments moments(const Build& b) {
  V self = b.tensor("self");
  const Dims dims = b.dims("dim", self->type.rank());
  double correction = 1;
  if (b.given("correction")) correction = b.call().number("correction");
  if (b.given("unbiased")) correction = b.call().boolean("unbiased") ? 1 : 0;
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= size_at(self, dim);
  V mean = b.mean(self, dims);
  V distance = b.sub(self, mean);
  const double divisor = std::max(static_cast<double>(count) - correction, 0.0);
  return {b.div(b.sum(b.mul(distance, distance), dims), divisor), mean};
}

Values import_var(Importer& importer) {
  const Build b(importer);
  return {b.finish(moments(b).variance)};
}
Values import_std(Importer& importer) {
  const Build b(importer);
  return {b.finish(b.f("sqrt", moments(b).variance))};
}
Values import_var_mean(Importer& importer) {
  const Build b(importer);
  const Moments m = moments(b);
  return {b.finish(m.variance, 0), b.finish(m.mean, 1)};
}
Values import_std_mean(Importer& importer) {
  const Build b(importer);
  const Moments m = moments(b);
  return {b.finish(b.f("sqrt", m.variance), 0), b.finish(m.mean, 1)};
}

// ---- sums of functions ----------------------------------------------------------------------------------------------

Values import_logsumexp(Importer& importer) {
  const Build b(importer);
  V self = b.real(b.tensor("self"));
  const Dims dims = b.dims("dim", self->type.rank());
  if (self->type.elements() == 0) return {b.filled(-kInfinity, b.type())};
  V largest = b.amax(self, dims);
  // If all are infinite, the distance would be NaN.
  V shift = b.where(b.eq(b.f("abs", largest), b.number(kInfinity)), 0.0, largest);
  return {b.finish(b.add(b.f("log", b.sum(b.f("exp", b.sub(self, shift)), dims)), shift))};
}
Values import_nansum(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const Dims dims = b.dims("dim", self->type.rank());
  if (self->type.dtype == DType::f32) self = b.where(b.map(nodes::aten_isnan, self), 0.0, self);
  return {b.finish(b.sum(self, dims))};
}
Values import_nanmean(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const Dims dims = b.dims("dim", self->type.rank());
  V is_nan = b.map(nodes::aten_isnan, self);
  V count = b.sum(b.real(b.map(nodes::aten_logical_not, is_nan)), dims);
  return {b.finish(b.div(b.sum(b.where(is_nan, 0.0, self), dims), count))};
}
Values import_prod(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  if (b.type().dtype == DType::f32) self = b.real(self);
  return {b.finish(b.prod(self, b.dims("dim", self->type.rank())))};
}
Values import_any(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  return {b.finish(b.any(self, b.dims("dim", self->type.rank())))};
}
Values import_all(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  return {b.finish(b.all(self, b.dims("dim", self->type.rank())))};
}
Values import_count_nonzero(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  return {b.finish(b.sum(b.truth(self), b.dims("dim", self->type.rank())))};
}
Values import_sum_to_size(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const ir::Shape& size = b.type().shape;
  Dims dims;
  const std::int64_t extra = rank_of(self) - static_cast<std::int64_t>(size.size());
  for (std::int64_t i = 0; i < rank_of(self); ++i) {
    if (i < extra || size_at(self, i) != size[static_cast<std::size_t>(i - extra)]) dims.push_back(i);
  }
  return {b.finish(dims.empty() ? self : b.sum(self, dims))};
}

// ---- extremes and their places --------------------------------------------------------------------------------------

Values import_arg(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const bool largest = b.call().op.find("argmax") != std::string::npos;
  if (!b.given("dim")) return {b.finish(b.arg(largest, b.view(self, {self->type.elements()}), 0))};
  return {b.finish(b.arg(largest, self, b.dim("dim", self->type.rank())))};
}
Values extreme_of_dim(const Build& b, bool largest) {
  V self = b.tensor("self");
  const std::int64_t dim = b.dim("dim", self->type.rank());
  if (self->type.rank() == 0) return {b.finish(self, 0), b.finish(b.number(0, DType::i64), 1)};
  return {b.finish(largest ? b.amax(self, {dim}) : b.amin(self, {dim}), 0), b.finish(b.arg(largest, self, dim), 1)};
}
Values import_max_dim(Importer& importer) { return extreme_of_dim(Build(importer), true); }
Values import_min_dim(Importer& importer) { return extreme_of_dim(Build(importer), false); }
Values import_aminmax(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const Dims dims = b.dims("dim", self->type.rank());
  return {b.finish(b.amin(self, dims), 0), b.finish(b.amax(self, dims), 1)};
}

// ---- norms ----------------------------------------------------------------------------------------------------------

}  // namespace

V norm(const Build& b, V x, double p, const Dims& dims) {
  x = b.real(x);
  if (p == 2) return b.f("sqrt", b.sum(b.mul(x, x), dims));
  V size = b.f("abs", x);
  if (p == 0) return b.sum(b.real(b.truth(x)), dims);
  if (p == 1) return b.sum(size, dims);
  if (p == kInfinity) return b.amax(size, dims);
  if (p == -kInfinity) return b.amin(size, dims);
  return b.f("pow", b.sum(b.f("pow", size, {{"exponent", p}}), dims), {{"exponent", 1 / p}});
}

namespace {

Values import_norm(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  double p = 2;
  if (b.given("p")) p = b.call().number("p");
  if (b.given("ord")) p = b.call().number("ord");
  return {b.finish(norm(b, self, p, b.dims("dim", self->type.rank())))};
}

// Of the matrices that two dimensions make; the first counts rows.
Values matrix_norm(const Build& b, const Dims& dims, double p) {
  V self = b.real(b.tensor("self"));
  b.require(dims.size() == 2 && dims[0] != dims[1]);
  if (std::abs(p) != 1 && std::abs(p) != kInfinity) {
    b.reject("this norm of a matrix needs its singular values, which programs do not compute",
             "use the Frobenius norm, or one of order 1 or infinity");
  }
  const bool by_columns = std::abs(p) == 1;
  V sums = b.sum(b.f("abs", self), {dims[by_columns ? 0 : 1]});
  const Dims rest = {dims[by_columns ? 1 : 0]};
  return {b.finish(p > 0 ? b.amax(sums, rest) : b.amin(sums, rest))};
}
// PyTorch's linalg.norm and linalg.matrix_norm: of vectors or of matrices, by the number of dimensions and the order.
Values linalg_norm(const Build& b, bool of_matrices) {
  V self = b.tensor("self");
  Dims dims = all_dims(self->type.rank());
  if (b.given("dim")) {
    dims = b.call().integers("dim");
    for (std::int64_t& dim : dims) dim += dim < 0 ? rank_of(self) : 0;
    for (const std::int64_t dim : dims) b.require(dim >= 0 && dim < std::max<std::int64_t>(rank_of(self), 1));
  }
  if (self->type.rank() == 0) dims.clear();
  const bool has_order = b.given("ord");
  const auto* name = has_order ? std::get_if<std::string>(&b.call().get("ord")) : nullptr;
  if (name != nullptr && *name != "fro") return matrix_norm(b, dims, 2);  // the nuclear norm
  if (!has_order || name != nullptr) return {b.finish(norm(b, self, 2, dims))};
  const double p = b.call().number("ord");
  if (!of_matrices && dims.size() < 2) return {b.finish(norm(b, self, p, dims))};
  return matrix_norm(b, dims, p);
}
Values import_linalg_norm(Importer& importer) { return linalg_norm(Build(importer), false); }
Values import_matrix_norm(Importer& importer) { return linalg_norm(Build(importer), true); }

Values import_dist(Importer& importer) {
  const Build b(importer);
  V difference = b.sub(b.tensor("self"), b.tensor("other"));
  return {b.finish(norm(b, difference, b.call().number("p"), all_dims(difference->type.rank())))};
}

// The length of each vector that one index of a dimension selects.
V lengths_along(const Build& b, V v, std::int64_t dim, double p) {
  Dims others = all_dims(v->type.rank());
  b.require(dim >= 0 && dim < rank_of(v));
  others.erase(others.begin() + dim);
  return norm(b, v, p, others);
}
// The same for weights, where a dimension of −1 means the length of everything.
V lengths_of_weights(const Build& b, V v, double p) {
  const std::int64_t dim = b.call().integer("dim");
  if (dim == -1) return norm(b, v, p, all_dims(v->type.rank()));
  return lengths_along(b, v, b.dim("dim", v->type.rank()), p);
}
Values import_norm_except_dim(Importer& importer) {
  const Build b(importer);
  return {b.finish(lengths_of_weights(b, b.tensor("v"), b.call().number("pow")))};
}
// A weight as its direction and its length: constants, unless the model computes them.
Values import_weight_norm(Importer& importer) {
  const Build b(importer);
  V v = b.tensor("v");
  V lengths = lengths_of_weights(b, v, 2);
  V weight = b.finish(b.mul(v, b.div(b.tensor("g"), lengths)));
  return b.results() == 1 ? Values{weight} : Values{weight, b.finish(lengths, 1)};
}
// Vectors that are longer than allowed are shortened.
Values import_renorm(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  constexpr double kLeast = 1e-7;  // PyTorch's, so that no length is 0
  const double longest = b.call().number("maxnorm");
  V lengths = lengths_along(b, self, b.dim("dim", self->type.rank()), b.call().number("p"));
  V factors = b.div(b.number(longest), b.add(lengths, kLeast));
  return {b.finish(b.mul(self, b.where(b.gt(lengths, b.number(longest)), factors, 1.0)))};
}

Values import_cosine_similarity(Importer& importer) {
  const Build b(importer);
  V x = b.tensor("x1");
  V y = b.tensor("x2");
  const std::size_t rank = std::max(x->type.rank(), y->type.rank());
  const std::int64_t dim = b.dim("dim", rank);
  V product = b.mul(x, y);  // which has the common shape
  x = b.expand(x, product->type.shape);
  y = b.expand(y, product->type.shape);
  const double eps = b.call().number("eps");
  const auto at_least = [&](V length) { return b.maximum(length, b.number(eps)); };
  V length = at_least(norm(b, x, 2, {dim}));
  V other_length = at_least(norm(b, y, 2, {dim}));
  V lengths = b.mul(length, other_length);
  return {b.finish(b.div(b.sum(product, {dim}), lengths))};
}

Values import_pairwise_distance(Importer& importer) {
  const Build b(importer);
  V distance = b.add(b.sub(b.tensor("x1"), b.tensor("x2")), b.call().number("eps"));
  return {b.finish(norm(b, distance, b.call().number("p"), {rank_of(distance) - 1}))};
}

// Every row of one with every row of the other.
V distances(const Build& b, V x, V y, double p) {
  const std::int64_t rank = rank_of(x);
  V rows = b.unsqueeze(x, rank - 1);
  V other_rows = b.unsqueeze(y, rank_of(y) - 2);
  V difference = b.sub(rows, other_rows);
  return norm(b, difference, p, {rank_of(difference) - 1});
}
Values import_cdist(Importer& importer) {
  const Build b(importer);
  if (b.type().elements() == 0 || size_at(b.tensor("x1"), rank_of(b.tensor("x1")) - 1) == 0) {
    return {b.filled(0, b.type())};
  }
  return {b.finish(distances(b, b.tensor("x1"), b.tensor("x2"), b.call().number("p")))};
}
Values import_pdist(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  b.require(self->type.rank() == 2 && b.type().elements() == size_at(self, 0) * (size_at(self, 0) - 1) / 2);
  std::vector<std::int64_t> first, second;
  for (std::int64_t i = 0; i < size_at(self, 0); ++i) {
    for (std::int64_t j = i + 1; j < size_at(self, 0); ++j) {
      first.push_back(i);
      second.push_back(j);
    }
  }
  if (first.empty() || size_at(self, 1) == 0) return {b.filled(0, b.type())};
  V rows = b.index_select(self, 0, b.indices(first));
  V other_rows = b.index_select(self, 0, b.indices(second));
  V difference = b.sub(rows, other_rows);
  return {b.finish(norm(b, difference, b.call().number("p"), {1}))};
}

}  // namespace

std::vector<AtenForm> reduction_forms() {
  return {
      {"var.default(Tensor self, bool unbiased=True)", import_var},
      {"var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)", import_var},
      {"var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)", import_var},
      {"std.default(Tensor self, bool unbiased=True)", import_std},
      {"std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)", import_std},
      {"std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)", import_std},
      {"var_mean.default(Tensor self, bool unbiased=True)", import_var_mean},
      {"var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)", import_var_mean},
      {"var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)",
       import_var_mean},
      {"std_mean.default(Tensor self, bool unbiased=True)", import_std_mean},
      {"std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False)", import_std_mean},
      {"std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False)",
       import_std_mean},
      {"logsumexp.default(Tensor self, int[1] dim, bool keepdim=False)", import_logsumexp},
      {"special_logsumexp.default(Tensor self, int[1] dim, bool keepdim=False)", import_logsumexp},
      {"nansum.default(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", import_nansum},
      {"nanmean.default(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)", import_nanmean},
      {"prod.default(Tensor self, *, ScalarType? dtype=None)", import_prod},
      {"prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None)", import_prod},
      {"any.default(Tensor self)", import_any},
      {"any.dim(Tensor self, int dim, bool keepdim=False)", import_any},
      {"any.dims(Tensor self, int[]? dim=None, bool keepdim=False)", import_any},
      {"all.default(Tensor self)", import_all},
      {"all.dim(Tensor self, int dim, bool keepdim=False)", import_all},
      {"all.dims(Tensor self, int[]? dim=None, bool keepdim=False)", import_all},
      {"count_nonzero.default(Tensor self, int? dim=None)", import_count_nonzero},
      {"count_nonzero.dim_IntList(Tensor self, int[] dim)", import_count_nonzero},
      {"sum_to_size.default(Tensor self, SymInt[] size)", import_sum_to_size},
      {"argmax.default(Tensor self, int? dim=None, bool keepdim=False)", import_arg},
      {"argmin.default(Tensor self, int? dim=None, bool keepdim=False)", import_arg},
      {"max.dim(Tensor self, int dim, bool keepdim=False)", import_max_dim},
      {"min.dim(Tensor self, int dim, bool keepdim=False)", import_min_dim},
      {"aminmax.default(Tensor self, *, int? dim=None, bool keepdim=False)", import_aminmax},
      {"norm.Scalar(Tensor self, Scalar p=2)", import_norm},
      {"norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False)", import_norm},
      {"norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype)", import_norm},
      {"norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype)", import_norm},
      {"linalg_vector_norm.default(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
       "ScalarType? dtype=None)",
       import_norm},
      {"frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False)", import_norm},
      {"linalg_norm.default(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, "
       "ScalarType? dtype=None)",
       import_linalg_norm},
      {"linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)",
       import_linalg_norm},
      {"linalg_matrix_norm.default(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, "
       "ScalarType? dtype=None)",
       import_matrix_norm},
      {"linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool keepdim=False, *, "
       "ScalarType? dtype=None)",
       import_matrix_norm},
      {"dist.default(Tensor self, Tensor other, Scalar p=2)", import_dist},
      {"norm_except_dim.default(Tensor v, int pow=2, int dim=0)", import_norm_except_dim},
      {"_weight_norm.default(Tensor v, Tensor g, int dim=0)", import_weight_norm},
      {"_weight_norm_interface.default(Tensor v, Tensor g, int dim=0)", import_weight_norm},
      {"renorm.default(Tensor self, Scalar p, int dim, Scalar maxnorm)", import_renorm},
      {"cosine_similarity.default(Tensor x1, Tensor x2, int dim=1, float eps=1e-08)", import_cosine_similarity},
      {"pairwise_distance.default(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False)",
       import_pairwise_distance},
      {"cdist.default(Tensor x1, Tensor x2, float p=2, int? compute_mode=None)", import_cdist},
      {"_cdist_forward.default(Tensor x1, Tensor x2, float p, int? compute_mode)", import_cdist},
      {"_euclidean_dist.default(Tensor x1, Tensor x2, float p=2)", import_cdist},
      {"pdist.default(Tensor self, float p=2)", import_pdist},
      {"_pdist_forward.default(Tensor self, float p=2)", import_pdist},
  };
}

}  // namespace cormorant::ops
