// SPDX-License-Identifier: Apache-2.0
//
// Every kind of matrix product in PyTorch: with a two-dimensional constant on the right it is a linear layer, else
// aten.bmm. Attention is decomposed into two products and a softmax.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/diagnostic.h"
#include "ops/batch_matmul/products.h"
#include "ops/host/advice.h"
#include "ops/host/build.h"
#include "ops/nodes.h"

namespace cormorant::ops::batch_matmul {
namespace {

using Dims = std::vector<std::int64_t>;

bool is_float_constant(const ir::Value* value) {
  return value->kind == ir::ValueKind::constant && value->type.dtype == DType::f32;
}

// The elements of a constant with its dimensions in another order.
ir::Value* permute_constant(Importer& importer, const ir::Value* value, const Dims& dims) {
  const evaluate::Tensor source = evaluate::constant_tensor(*value);
  Dims strides(dims.size(), 1), shape(dims.size()), at(dims.size(), 0);
  for (std::size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * source.shape[i];
  for (std::size_t i = 0; i < dims.size(); ++i) shape[i] = source.shape[static_cast<std::size_t>(dims[i])];
  std::vector<float> out(source.values().size());
  for (float& element : out) {
    std::int64_t from = 0;
    for (std::size_t i = 0; i < dims.size(); ++i) from += at[i] * strides[static_cast<std::size_t>(dims[i])];
    element = source.values()[static_cast<std::size_t>(from)];
    for (std::size_t i = dims.size(); i-- > 0 && ++at[i] == shape[i];) at[i] = 0;
  }
  return importer.graph->add_constant(value->name + "_transposed", ir::float_type(shape),
                                      ir::Bytes::of(std::span<const float>(out)));
}

ir::Value* reshaped(Importer& importer, ir::Value* value, const Dims& shape) {
  if (value->type.shape == shape) return value;
  if (is_float_constant(value)) {
    return importer.graph->add_constant(value->name + "_view", ir::float_type(shape), value->data);
  }
  return importer.node(nodes::aten_view, {{"self", value}, {"size", shape}}, {ir::float_type(shape)})->result();
}

// ---- the right side as a linear layer's weight ------------------------------------------------------------------

// Constant, or the dequantized constant of a model that comes quantized.
bool is_weight(const ir::Value* value) {
  if (value->kind == ir::ValueKind::constant) return true;
  const ir::Node* producer = value->producer;
  return producer != nullptr && nodes::is_dequantization(producer->op) &&
         producer->inputs().front()->kind == ir::ValueKind::constant;
}

// The matrix that `right` is the transpose of: the source of an exported transposition, or a constant made by
// transposing one. Null if `right` is no such constant.
ir::Value* transposed_weight(Importer& importer, ir::Value* right) {
  if (right->type.rank() != 2) return nullptr;
  if (const ir::Node* producer = right->producer; producer != nullptr && producer->op == nodes::aten_permute) {
    ir::Value* source = producer->inputs().front();  // of two dimensions, and never the identity
    return is_weight(source) ? source : nullptr;
  }
  return is_float_constant(right) ? permute_constant(importer, right, {1, 0}) : nullptr;
}

ir::Value* linear(Importer& importer, ir::Value* input, ir::Value* weight, ir::Value* bias) {
  Dims shape = input->type.shape;
  shape.back() = weight->type.shape[0];
  return importer
      .node(nodes::aten_linear,
            {{"input", input}, {"weight", weight}, {"bias", bias == nullptr ? ir::Argument{} : ir::Argument{bias}}},
            {ir::float_type(shape)})
      ->result();
}

// ---- products -------------------------------------------------------------------------------------------------------

bool swaps_last_two(const ir::Node* node) {
  if (node == nullptr || node->op != nodes::aten_permute) return false;
  Dims dims = node->integers("dims");
  if (dims.size() < 2) return false;
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return std::ranges::is_sorted(dims);
}

// At least two dimensions on both sides. A transposition before the right side becomes part of the product.
ir::Value* product(Importer& importer, ir::Value* self, ir::Value* mat2, bool transposed, double scale) {
  while (swaps_last_two(mat2->producer)) {
    mat2 = mat2->producer->tensor("self");
    transposed = !transposed;
  }
  if (scale < 0) importer.reject("a matrix product with a negative factor", "negate one of its operands in the model");
  const std::optional<Product> p = product_of(self->type.shape, mat2->type.shape, transposed);
  if (!p) importer.reject("the shapes of a matrix product do not match", kInconsistent);
  const Build b(importer);
  if (p->inner == 0) return b.filled(0, ir::float_type(p->result()));  // sums of nothing
  if (p->mixed) {                                                      // kernels repeat one matrix for all, or none
    const auto repeated = [&](ir::Value* side, std::int64_t batches) {
      if (batches == 1 || batches == p->batches()) return side;
      ir::Shape shape = p->batch;
      shape.insert(shape.end(), side->type.shape.end() - 2, side->type.shape.end());
      return b.expand(side, shape);
    };
    self = repeated(self, p->lhs_batches);
    mat2 = repeated(mat2, p->rhs_batches);
  }
  return importer
      .node(kCanonical, {{"self", self}, {"mat2", mat2}, {"transposed", transposed}, {"scale", scale}},
            {ir::float_type(p->result())})
      ->result();
}

ir::Value* add(Importer& importer, ir::Value* self, ir::Value* other, double alpha) {
  return importer.node(nodes::aten_add, {{"self", self}, {"other", other}, {"alpha", alpha}}, {self->type})->result();
}

ir::Value* scaled_constant(Importer& importer, const ir::Value* value, double factor) {
  const evaluate::Tensor source = evaluate::constant_tensor(*value);
  std::vector<float> out(source.values().begin(), source.values().end());
  for (float& element : out) element = static_cast<float>(element * factor);
  return importer.graph->add_constant(value->name + "_scaled", value->type, ir::Bytes::of(std::span<const float>(out)));
}

std::vector<ir::Value*> matmul(Importer& importer, ir::Value* self, ir::Value* other) {
  const Dims& shape = importer.types.at(0).shape;
  if (self->type.rank() == 0 || other->type.rank() == 0) {
    importer.reject("a matrix product with a number", "multiply by it with '*' instead");
  }
  if (self->type.rank() == 1) self = reshaped(importer, self, {1, self->type.shape[0]});
  if (other->type.rank() == 1) {  // a column
    ir::Value* row = reshaped(importer, other, {1, other->type.shape[0]});
    ir::Value* result =
        is_float_constant(row) ? linear(importer, self, row, nullptr) : product(importer, self, row, true, 1.0);
    return {reshaped(importer, result, shape)};
  }
  if (ir::Value* weight = transposed_weight(importer, other); weight != nullptr) {
    return {reshaped(importer, linear(importer, self, weight, nullptr), shape)};
  }
  return {reshaped(importer, product(importer, self, other, false, 1.0), shape)};
}

std::vector<ir::Value*> import_matmul(Importer& importer) {
  return matmul(importer, importer.call->tensor("self"), importer.call->tensor("other"));
}
std::vector<ir::Value*> import_mm(Importer& importer) {
  return matmul(importer, importer.call->tensor("self"), importer.call->tensor("mat2"));
}
std::vector<ir::Value*> import_mv(Importer& importer) {
  return matmul(importer, importer.call->tensor("self"), importer.call->tensor("vec"));
}
std::vector<ir::Value*> import_dot(Importer& importer) {
  return matmul(importer, importer.call->tensor("self"), importer.call->tensor("tensor"));
}

std::vector<ir::Value*> import_bmm(Importer& importer) {
  return {product(importer, importer.call->tensor("self"), importer.call->tensor("mat2"), false, 1.0)};
}

// beta · self + alpha · left · right.
std::vector<ir::Value*> add_product(Importer& importer, ir::Value* left, ir::Value* right) {
  ir::Value* self = importer.call->tensor("self");
  const double alpha = importer.call->number("alpha");
  const double beta = importer.call->number("beta");
  if (left->type.rank() < 2 || right->type.rank() < 2) {
    importer.reject("a matrix product of fewer than two dimensions", kInconsistent);
  }
  const bool is_bias = is_weight(self) && self->type.shape == Dims{right->type.shape.back()};
  if (left->type.rank() == 2 && is_bias && alpha == 1 && (beta == 1 || beta == 0 || is_float_constant(self))) {
    if (ir::Value* weight = transposed_weight(importer, right); weight != nullptr) {
      ir::Value* bias = beta == 1 ? self : beta == 0 ? nullptr : scaled_constant(importer, self, beta);
      return {linear(importer, left, weight, bias)};
    }
  }
  ir::Value* result = product(importer, left, right, false, alpha);
  return {beta == 0 ? result : add(importer, result, self, beta)};
}

std::vector<ir::Value*> import_addmm(Importer& importer) {
  return add_product(importer, importer.call->tensor("mat1"), importer.call->tensor("mat2"));
}
std::vector<ir::Value*> import_baddbmm(Importer& importer) {
  return add_product(importer, importer.call->tensor("batch1"), importer.call->tensor("batch2"));
}

// ---- attention --------------------------------------------------------------------------------------------------

// Added to a score that must not count. Quantization bounds it (quantizer/masks.h).
constexpr float kMasked = -std::numeric_limits<float>::infinity();

ir::Value* causal_mask(Importer& importer, std::int64_t rows, std::int64_t columns) {
  std::vector<float> mask(static_cast<std::size_t>(rows * columns));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = r + 1; c < columns; ++c) mask[static_cast<std::size_t>(r * columns + c)] = kMasked;
  }
  return importer.graph->add_constant(importer.call->name + "_mask", ir::float_type({rows, columns}),
                                      ir::Bytes::of(std::span<const float>(mask)));
}

// A mask as numbers to add: true becomes zero, false minus infinity.
ir::Value* mask_to_add(Importer& importer, ir::Value* mask) {
  if (mask->kind != ir::ValueKind::constant) {
    if (mask->type.dtype == DType::f32) return mask;
    const Build b(importer);
    ir::Value* zero = b.number(0);
    return b.where(mask, zero, b.number(kMasked));
  }
  if (mask->type.dtype == DType::f32) return mask;
  std::vector<float> values;
  if (mask->type.dtype == DType::boolean) {
    for (const std::uint8_t keep : mask->data.as<std::uint8_t>()) values.push_back(keep != 0 ? 0.0F : kMasked);
  } else {
    const evaluate::Tensor source = evaluate::constant_tensor(*mask);
    values.assign(source.values().begin(), source.values().end());
  }
  return importer.graph->add_constant(mask->name + "_to_add", ir::float_type(mask->type.shape),
                                      ir::Bytes::of(std::span<const float>(values)));
}

// A mask that is computed chooses between a score and minus infinity; any other is added.
ir::Value* masked(Importer& importer, ir::Value* scores, ir::Value* mask) {
  if (mask->kind != ir::ValueKind::constant && mask->type.dtype == DType::boolean) {
    return Build(importer).where(mask, scores, kMasked);
  }
  return add(importer, scores, mask_to_add(importer, mask), 1.0);
}

// Where numbers that a condition chooses, and that were moved since, are not minus infinity: by the condition itself.
// Null if they come from elsewhere.
ir::Value* chosen_seen(const Build& b, const ir::Value* numbers, int moves_left = 16) {
  const ir::Node* node = numbers->producer;
  if (node == nullptr || moves_left == 0) return nullptr;
  if (node->op == nodes::aten_where_self_out) {
    const auto masks = [&](const char* side) -> std::optional<bool> {  // all of it, nothing of it
      const auto known = b.numbers_of(node->tensor(side));
      if (!known || known->empty()) return {};
      const auto count = std::ranges::count(*known, double{kMasked});
      if (count != 0 && count != std::ssize(*known)) return {};
      return count != 0;
    };
    const auto self = masks("self"), other = masks("other");
    if (!self || !other || *self == *other) return nullptr;
    ir::Value* condition = b.expand(node->tensor("condition"), numbers->type.shape);
    return *self ? b.map(nodes::aten_logical_not, b.truth(condition)) : b.truth(condition);
  }
  const bool moves = node->op == nodes::aten_view || node->op == nodes::aten_expand || node->op == nodes::aten_permute;
  ir::Value* seen = moves ? chosen_seen(b, node->tensor("self"), moves_left - 1) : nullptr;
  if (seen == nullptr) return nullptr;
  if (node->op == nodes::aten_permute) return b.permute(seen, node->integers("dims"));
  return node->op == nodes::aten_view ? b.view(seen, numbers->type.shape) : b.expand(seen, numbers->type.shape);
}

// Shares of rows that see something; those of a row whose every score is masked are zero, as in PyTorch, and not what a
// softmax makes of nothing but minus infinity.
ir::Value* shares_of_seeing(Importer& importer, ir::Value* shares, ir::Value* mask) {
  const Build b(importer);
  if (mask->type.rank() == 0 || mask->type.elements() == 0) return shares;
  // What is masked has no share in any row, so that it need not be found out which rows see nothing.
  if (mask->kind != ir::ValueKind::constant) {
    if (mask->type.dtype == DType::boolean) return b.where(mask, shares, 0.0);
    if (!may_be_minus_infinity(mask)) return shares;
    if (ir::Value* seen = chosen_seen(b, mask); seen != nullptr) return b.where(seen, shares, 0.0);
    return b.where(b.ne(b.real(mask), b.number(kMasked)), shares, 0.0);
  }
  const evaluate::Tensor numbers = evaluate::constant_tensor(*mask);
  const float unseen = mask->type.dtype == DType::boolean ? 0.0F : kMasked;
  const auto columns = static_cast<std::size_t>(mask->type.shape.back());
  std::vector<double> sees;
  for (std::size_t i = 0; i < numbers.values().size(); i += columns) {
    const auto row = numbers.values().subspan(i, columns);
    sees.push_back(std::ranges::all_of(row, [&](float x) { return x == unseen; }) ? 0 : 1);
  }
  if (std::ranges::find(sees, 0) == sees.end()) return shares;
  ir::Shape shape = mask->type.shape;
  shape.back() = 1;
  return b.where(b.constant(DType::boolean, shape, sees), shares, 0.0);
}

ir::Value* attention(Importer& importer) {
  const ir::Node& call = *importer.call;
  ir::Value* query = call.tensor("query");
  ir::Value* key = call.tensor("key");
  const auto flag = [&](const char* name) {
    return std::ranges::any_of(call.args, [&](const auto& a) { return a.name == name; }) && call.boolean(name);
  };
  if (call.number("dropout_p") != 0) importer.reject("attention with dropout", "call model.eval() before torch.export");
  ir::Value* value = call.tensor("value");
  if (flag("enable_gqa")) {  // several heads of the query share one of key and value
    const auto repeated = [&](ir::Value* x) {
      const std::size_t heads = x->type.rank() - 3;
      Dims repeats(x->type.rank(), 1);
      const std::int64_t shared = x->type.shape.at(heads);
      if (shared < 1) importer.reject("attention without heads", kInconsistent);
      repeats.at(heads) = query->type.shape.at(query->type.rank() - 3) / shared;
      return repeats[heads] == 1 ? x : Mover(importer).repeat_interleave(x, std::move(repeats));
    };
    if (std::min({query->type.rank(), key->type.rank(), value->type.rank()}) < 3) {
      importer.reject("attention with grouped queries needs heads", kInconsistent);
    }
    key = repeated(key);
    value = repeated(value);
  }
  if (query->type.rank() < 2 || key->type.rank() < 2) {
    importer.reject("attention needs at least two dimensions", kInconsistent);
  }
  const double width = static_cast<double>(query->type.shape.back());
  const double scale = call.has("scale") ? call.number("scale") : 1 / std::sqrt(width);
  ir::Value* scores = product(importer, query, key, true, scale);
  const Dims& shape = scores->type.shape;
  if (flag("is_causal")) {
    scores = add(importer, scores, causal_mask(importer, shape[shape.size() - 2], shape.back()), 1.0);
  }
  if (call.has("attn_mask")) scores = masked(importer, scores, call.tensor("attn_mask"));
  ir::Value* shares =
      importer
          .node(nodes::aten_softmax, {{"self", scores}, {"dim", static_cast<std::int64_t>(scores->type.rank()) - 1}},
                {scores->type})
          ->result();
  if (call.has("attn_mask")) shares = shares_of_seeing(importer, shares, call.tensor("attn_mask"));
  return product(importer, shares, value, false, 1.0);
}

std::vector<ir::Value*> import_attention(Importer& importer) { return {attention(importer)}; }
// The second result is for training.
std::vector<ir::Value*> import_attention_pair(Importer& importer) { return {attention(importer), nullptr}; }

}  // namespace

std::vector<ir::Value*> import_linear(Importer& importer) {
  const ir::Node& call = *importer.call;
  ir::Value* input = call.tensor("input");
  ir::Value* weight = call.tensor("weight");
  ir::Value* bias = call.tensor("bias");
  if (weight->type.rank() == 1) weight = reshaped(importer, weight, {1, weight->type.shape[0]});
  const Dims& shape = importer.types.at(0).shape;
  if (is_weight(weight) && (bias == nullptr || is_weight(bias))) {
    return {reshaped(importer, linear(importer, input, weight, bias), shape)};
  }
  if (input->type.rank() == 1) input = reshaped(importer, input, {1, input->type.shape[0]});
  ir::Value* result =
      is_weight(weight) ? linear(importer, input, weight, nullptr) : product(importer, input, weight, true, 1.0);
  if (bias != nullptr) result = add(importer, result, bias, 1.0);
  return {reshaped(importer, result, shape)};
}

}  // namespace cormorant::ops::batch_matmul

namespace cormorant::ops {

std::vector<AtenForm> batch_matmul_forms() {
  using namespace batch_matmul;
  return {
      {"bmm.default(Tensor self, Tensor mat2)", import_bmm},
      {"matmul.default(Tensor self, Tensor other)", import_matmul},
      {"linalg_matmul.default(Tensor self, Tensor other)", import_matmul},
      {"mm.default(Tensor self, Tensor mat2)", import_mm},
      {"mv.default(Tensor self, Tensor vec)", import_mv},
      {"dot.default(Tensor self, Tensor tensor)", import_dot},
      {"addmm.default(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)", import_addmm},
      {"addmm_.default(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1)", import_addmm},
      {"baddbmm.default(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)", import_baddbmm},
      {"baddbmm_.default(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)", import_baddbmm},
      {"scaled_dot_product_attention.default(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
       "float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False)",
       import_attention},
      {"_scaled_dot_product_flash_attention_for_cpu.default(Tensor query, Tensor key, Tensor value, "
       "float dropout_p=0.0, bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None)",
       import_attention_pair},
      {"_scaled_dot_product_attention_math.default(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
       "float dropout_p=0.0, bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, "
       "bool enable_gqa=False)",
       import_attention_pair},
  };
}

}  // namespace cormorant::ops
