// SPDX-License-Identifier: Apache-2.0
//
// Writes a decomposition as one would on paper: every function adds a canonical node for an exported call, with its
// type inferred, and returns the value. Operands of unequal type are promoted as in PyTorch; nothing is added where
// nothing would change. Dimensions are not negative.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/host/movement.h"
#include "ops/op.h"

namespace cormorant::ops {

using V = ir::Value*;

// The smallest type that holds both.
DType promoted(DType a, DType b);

class Build {
 public:
  explicit Build(Importer& importer) : importer_(importer), mover_(importer) {}

  // ---- the exported call --------------------------------------------------------------------------------------------
  [[nodiscard]] const ir::Node& call() const { return *importer_.call; }
  [[nodiscard]] bool given(std::string_view argument) const;  // the schema has it, and it is not None
  [[nodiscard]] V tensor(std::string_view argument) const { return call().tensor(argument); }
  // The tensor, or the number as a constant without dimensions, in the type if one is wanted.
  [[nodiscard]] V operand(std::string_view argument, std::optional<DType> type = {}) const;
  [[nodiscard]] std::int64_t dim(std::string_view argument, std::size_t rank) const;
  // An argument int[] or int?; an absent or empty one means all dimensions. Ascending.
  [[nodiscard]] Dims dims(std::string_view argument, std::size_t rank) const;
  [[nodiscard]] const ir::TensorType& type(std::size_t i = 0) const { return importer_.types.at(i); }
  [[nodiscard]] std::size_t results() const { return importer_.types.size(); }
  [[noreturn]] void reject(std::string problem, std::string advice) const;
  // Rejects a call whose arguments do not fit together.
  void require(bool fits) const;
  // A one-line call must not take gigabytes, which no flash holds either.
  void require_moderate(const ir::TensorType& type) const;
  // The value as the exported result i: in its shape and type.
  [[nodiscard]] V finish(V value, std::size_t i = 0) const;

  // ---- nodes and constants ------------------------------------------------------------------------------------------
  V node(const std::string& op, std::vector<ir::NamedArgument> args, DType type = DType::f32) const;
  [[nodiscard]] V number(double value, DType type = DType::f32) const;
  [[nodiscard]] V constant(DType type, ir::Shape shape, std::span<const double> values) const;
  [[nodiscard]] V filled(double value, const ir::TensorType& like) const;
  [[nodiscard]] V indices(const std::vector<std::int64_t>& values) const;  // i64, one dimension
  [[nodiscard]] V floats(ir::Shape shape, const std::vector<float>& values) const;
  // The numbers of a constant, if it is one.
  [[nodiscard]] std::optional<std::vector<double>> numbers_of(V value) const;

  // ---- elements -----------------------------------------------------------------------------------------------------
  [[nodiscard]] V to(V x, DType type) const;
  [[nodiscard]] V real(V x) const { return to(x, DType::f32); }
  [[nodiscard]] V truth(V x) const;
  // A function of the folder activation: "exp", "sqrt" …, with its parameters.
  [[nodiscard]] V f(const char* function, V x, std::vector<ir::NamedArgument> parameters = {}) const;
  // An operator of the folder map on two tensors: "aten.atan2", "aten.eq.Tensor_out" …
  [[nodiscard]] V map(const char* op, V a, V b) const;
  [[nodiscard]] V map(const char* op, V a) const;
  [[nodiscard]] V add(V a, V b) const;
  [[nodiscard]] V sub(V a, V b) const;
  [[nodiscard]] V mul(V a, V b) const;
  [[nodiscard]] V div(V a, V b) const;  // of reals
  [[nodiscard]] V minimum(V a, V b) const;
  [[nodiscard]] V maximum(V a, V b) const;
  [[nodiscard]] V add(V a, double b) const { return add(a, number(b, a->type.dtype)); }
  [[nodiscard]] V sub(V a, double b) const { return sub(a, number(b, a->type.dtype)); }
  [[nodiscard]] V mul(V a, double b) const { return b == 1 ? a : mul(a, number(b, a->type.dtype)); }
  [[nodiscard]] V div(V a, double b) const { return div(a, number(b)); }
  [[nodiscard]] V eq(V a, V b) const;
  [[nodiscard]] V ne(V a, V b) const;
  [[nodiscard]] V lt(V a, V b) const;
  [[nodiscard]] V gt(V a, V b) const;
  [[nodiscard]] V le(V a, V b) const;
  [[nodiscard]] V ge(V a, V b) const;
  [[nodiscard]] V where(V condition, V a, V b) const;
  [[nodiscard]] V where(V condition, double a, V b) const { return where(condition, number(a, b->type.dtype), b); }
  [[nodiscard]] V where(V condition, V a, double b) const { return where(condition, a, number(b, a->type.dtype)); }

  // ---- movement -----------------------------------------------------------------------------------------------------
  // An inconsistent export may contain anything: what does not fit is rejected.
  [[nodiscard]] V view(V x, ir::Shape shape) const;
  [[nodiscard]] V permute(V x, Dims dims) const;
  [[nodiscard]] V swap(V x, std::int64_t a, std::int64_t b) const;
  [[nodiscard]] V slice(V x, std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step = 1) const;
  [[nodiscard]] V cat(std::vector<V> tensors, std::int64_t dim) const;
  [[nodiscard]] V expand(V x, ir::Shape shape) const;
  [[nodiscard]] V flip(V x, Dims dims) const { return mover_.flip(x, std::move(dims)); }
  [[nodiscard]] V unsqueeze(V x, std::int64_t dim) const;
  [[nodiscard]] V squeeze(V x, std::int64_t dim) const;
  [[nodiscard]] V index_select(V x, std::int64_t dim, V index) const;
  [[nodiscard]] V index_select(V x, std::int64_t dim, const std::vector<std::int64_t>& places) const;
  [[nodiscard]] V gather(V x, std::int64_t dim, V index) const;
  [[nodiscard]] V scatter(const char* op, V x, std::int64_t dim, V index, V src) const;
  [[nodiscard]] V index_copy(V x, std::int64_t dim, V index, V source) const;
  [[nodiscard]] V pad(V x, Dims pads, double value) const;  // as constant_pad_nd: last dimension first

  // ---- along dimensions ---------------------------------------------------------------------------------------------
  // Reduced dimensions stay, with size 1.
  [[nodiscard]] V sum(V x, Dims dims) const;
  [[nodiscard]] V mean(V x, Dims dims) const;
  [[nodiscard]] V amax(V x, Dims dims) const;
  [[nodiscard]] V amin(V x, Dims dims) const;
  [[nodiscard]] V prod(V x, Dims dims) const;
  [[nodiscard]] V any(V x, Dims dims) const;
  [[nodiscard]] V all(V x, Dims dims) const;
  [[nodiscard]] V arg(bool largest, V x, std::int64_t dim) const;
  [[nodiscard]] V argsort(V x, std::int64_t dim, bool descending) const;
  [[nodiscard]] V softmax(V x, std::int64_t dim) const;
  // [..., M, K] by [..., K, N], leading dimensions broadcast.
  [[nodiscard]] V matmul(V a, V b) const;

 private:
  [[nodiscard]] V arithmetic(const char* real, const char* any, V a, V b) const;
  [[nodiscard]] V reduce(const char* real, const char* any, V x, Dims dims, double empty) const;

  Importer& importer_;
  Mover mover_;
};

// Numbers of a shape.
inline std::int64_t size_at(const ir::Value* value, std::int64_t dim) {
  return value->type.shape.at(static_cast<std::size_t>(dim));
}
inline std::int64_t rank_of(const ir::Value* value) { return static_cast<std::int64_t>(value->type.rank()); }
// The distance between the positions that a resizing samples, in elements of the input: by the scale factor that the
// call names for spatial dimension i, else by the sizes' ratio.
float sampling_step(const Build& b, std::size_t i, std::int64_t size, std::int64_t results);
// Whether elements may be minus infinity, as scores that must not count are: unless other arithmetic makes them.
bool may_be_minus_infinity(V value);
std::int64_t count_of(const ir::Shape& shape);
Dims all_dims(std::size_t rank);

}  // namespace cormorant::ops
