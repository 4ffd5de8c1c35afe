// SPDX-License-Identifier: Apache-2.0
//
// aten.permute(self, dims), dims not negative: every form of a transposition.
#include <algorithm>
#include <numeric>

#include "base/diagnostic.h"
#include "ops/nodes.h"
#include "ops/op.h"
#include "ops/transpose/reference.h"
#include "ops/transpose/transpose.h"

namespace cormorant::ops {
namespace {

using Dims = std::vector<std::int64_t>;

std::int64_t rank_of(const Importer& importer) {
  return static_cast<std::int64_t>(importer.call->tensor("self")->type.rank());
}

std::int64_t wrap(std::int64_t dim, std::int64_t rank) { return dim < 0 ? dim + rank : dim; }

Dims identity_dims(std::int64_t rank) {
  Dims dims(static_cast<std::size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

std::vector<ir::Value*> make_permute(Importer& importer, Dims dims) {
  ir::Value* self = importer.call->tensor("self");
  if (dims == identity_dims(rank_of(importer))) return {self};
  return importer.node(nodes::aten_permute, {{"self", self}, {"dims", std::move(dims)}})->results;
}

std::vector<ir::Value*> import_permute(Importer& importer) {
  Dims dims = importer.call->integers("dims");
  for (std::int64_t& dim : dims) dim = wrap(dim, rank_of(importer));
  return make_permute(importer, std::move(dims));
}

std::vector<ir::Value*> import_swap(Importer& importer) {
  const std::int64_t rank = rank_of(importer);
  const bool axes = importer.call->has("axis0");
  const std::int64_t a = wrap(importer.call->integer(axes ? "axis0" : "dim0"), rank);
  const std::int64_t b = wrap(importer.call->integer(axes ? "axis1" : "dim1"), rank);
  Dims dims = identity_dims(rank);
  if (a < 0 || a >= rank || b < 0 || b >= rank) {
    if (rank == 0) return {importer.call->tensor("self")};
    importer.reject("a transposed dimension is out of range", "the tensor has " + std::to_string(rank) + " dimensions");
  }
  std::swap(dims[static_cast<std::size_t>(a)], dims[static_cast<std::size_t>(b)]);
  return make_permute(importer, std::move(dims));
}

// t() swaps two dimensions and leaves vectors alone; numpy_T reverses any number.
std::vector<ir::Value*> import_reverse(Importer& importer) {
  Dims dims = identity_dims(rank_of(importer));
  std::reverse(dims.begin(), dims.end());
  return make_permute(importer, std::move(dims));
}

// mT swaps the last two dimensions.
std::vector<ir::Value*> import_matrix_transpose(Importer& importer) {
  Dims dims = identity_dims(rank_of(importer));
  if (dims.size() < 2) importer.reject("a matrix transpose of a tensor that is not a matrix", "");
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return make_permute(importer, std::move(dims));
}

// movedim moves the named dimensions to where it says; the others fill the remaining positions in their order.
std::vector<ir::Value*> import_movedim(Importer& importer) {
  const ir::Node& call = *importer.call;
  const auto list = [&](const char* name) {
    const auto* one = std::get_if<std::int64_t>(&call.get(name));
    Dims dims = one != nullptr ? Dims{*one} : call.integers(name);
    for (std::int64_t& dim : dims) dim = wrap(dim, rank_of(importer));
    return dims;
  };
  const Dims source = list("source");
  const Dims destination = list("destination");
  Dims dims(static_cast<std::size_t>(rank_of(importer)), -1);
  for (std::size_t i = 0; i < source.size() && i < destination.size(); ++i) {
    dims.at(static_cast<std::size_t>(destination[i])) = source[i];
  }
  std::int64_t next = 0;
  for (std::int64_t& dim : dims) {
    if (dim >= 0) continue;
    while (std::find(source.begin(), source.end(), next) != source.end()) ++next;
    dim = next++;
  }
  return make_permute(importer, std::move(dims));
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  const ir::TensorType& input = node.tensor("self")->type;
  const Dims& dims = node.integers("dims");
  Dims sorted = dims;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != identity_dims(static_cast<std::int64_t>(input.rank()))) {
    throw InputError({.problem = "the dimensions of a permutation must name each of the tensor's " +
                                 std::to_string(input.rank()) + " dimensions once",
                      .advice = {},
                      .node = node.name,
                      .source = node.location.text()});
  }
  ir::TensorType type = input;
  for (std::size_t i = 0; i < dims.size(); ++i) type.shape[i] = input.shape[static_cast<std::size_t>(dims[i])];
  type.dim_order.clear();
  return {std::move(type)};
}

std::vector<evaluate::Tensor> evaluate_permute(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& input = frame.get(node.tensor("self"));
  const Dims& dims = node.integers("dims");
  const std::size_t rank = dims.size();
  Dims strides(rank, 1);
  for (std::size_t i = rank; i-- > 1;) strides[i - 1] = strides[i] * input.shape[i];
  ir::Shape shape(rank);
  for (std::size_t i = 0; i < rank; ++i) shape[i] = input.shape[static_cast<std::size_t>(dims[i])];
  std::vector<float> out(input.values().size());
  Dims at(rank, 0);
  for (float& element : out) {
    std::int64_t from = 0;
    for (std::size_t i = 0; i < rank; ++i) from += at[i] * strides[static_cast<std::size_t>(dims[i])];
    element = input.values()[static_cast<std::size_t>(from)];
    for (std::size_t i = rank; i-- > 0 && ++at[i] == shape[i];) at[i] = 0;
  }
  return {evaluate::Tensor(std::move(shape), std::move(out))};
}

QuantRule quantize(const ir::Node&) {
  return {.output = QuantRule::Share{}, .weights = {}, .precisions = precisions::w8a8_w8a16()};
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const bool portable = rewriter.config.runtime == Runtime::executorch || rewriter.config.target.is_any();
  if (portable && node.result()->type.rank() > kExecutorchTransposeRank) {
    return rewriter
        .emit(PermuteCopy<HostWorld>{.self = node.tensor("self"), .dims = node.integers("dims")}, node.result()->type,
              names::aten_permute_copy_out)
        ->result();
  }
  return rewriter
      .emit(Transpose<HostWorld>{.input = node.tensor("self"), .perm = node.integers("dims")}, node.result()->type,
            names::cortex_m_transpose_out)
      ->result();
}

}  // namespace

Operator transpose_operator() {
  return {.name = "transpose",
          .layout = MemoryOrder::contiguous,
          .forms = {{"permute.default(Tensor self, int[] dims)", import_permute},
                    {"permute_copy.default(Tensor self, int[] dims)", import_permute},
                    {"transpose.int(Tensor self, int dim0, int dim1)", import_swap},
                    {"transpose_copy.int(Tensor self, int dim0, int dim1)", import_swap},
                    {"swapaxes.default(Tensor self, int axis0, int axis1)", import_swap},
                    {"swapdims.default(Tensor self, int dim0, int dim1)", import_swap},
                    {"transpose_.default(Tensor self, int dim0, int dim1)", import_swap},
                    {"swapaxes_.default(Tensor self, int axis0, int axis1)", import_swap},
                    {"swapdims_.default(Tensor self, int dim0, int dim1)", import_swap},
                    {"t.default(Tensor self)", import_reverse},
                    {"t_.default(Tensor self)", import_reverse},
                    {"matrix_H.default(Tensor self)", import_reverse},
                    {"t_copy.default(Tensor self)", import_reverse},
                    {"numpy_T.default(Tensor self)", import_reverse},
                    {"mT.default(Tensor self)", import_matrix_transpose},
                    {"mH.default(Tensor self)", import_matrix_transpose},
                    {"adjoint.default(Tensor self)", import_matrix_transpose},
                    {"moveaxis.int(Tensor self, int source, int destination)", import_movedim},
                    {"moveaxis.intlist(Tensor self, int[] source, int[] destination)", import_movedim},
                    {"movedim.int(Tensor self, int source, int destination)", import_movedim},
                    {"movedim.intlist(Tensor self, int[] source, int[] destination)", import_movedim}},
          .canonical = {"aten.permute(Tensor self, int[] dims)"},
          .infer = infer,
          .evaluate = evaluate_permute,
          .quantize = quantize,
          .lower = lower,
          .lower_float = lower};
}

}  // namespace cormorant::ops
