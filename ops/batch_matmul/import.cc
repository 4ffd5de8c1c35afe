// SPDX-License-Identifier: Apache-2.0
//
// Everything that is a matrix product in PyTorch: with a constant of two dimensions on the right it is a linear layer,
// else aten.bmm. Attention is taken apart into two products and a softmax.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/diagnostic.h"
#include "ops/batch_matmul/products.h"

namespace cormorant::ops::batch_matmul {
namespace {

using Dims = std::vector<std::int64_t>;

std::int64_t count(const Dims& shape) { return ir::float_type(shape).elements(); }

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

ir::Value* permuted(Importer& importer, ir::Value* value, const Dims& dims) {
  if (std::ranges::is_sorted(dims)) return value;
  if (is_float_constant(value)) return permute_constant(importer, value, dims);
  Dims shape(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) shape[i] = value->type.shape[static_cast<std::size_t>(dims[i])];
  return importer.node("aten.permute", {{"self", value}, {"dims", dims}}, {ir::float_type(shape)})->result();
}

ir::Value* reshaped(Importer& importer, ir::Value* value, const Dims& shape) {
  if (value->type.shape == shape) return value;
  if (is_float_constant(value)) {
    return importer.graph->add_constant(value->name + "_view", ir::float_type(shape), value->data);
  }
  return importer.node("aten.view", {{"self", value}, {"size", shape}}, {ir::float_type(shape)})->result();
}

// ---- the right side as a linear layer's weight ------------------------------------------------------------------

// Constant, or the dequantized constant of a model that comes quantized.
bool is_weight(const ir::Value* value) {
  if (value->kind == ir::ValueKind::constant) return true;
  const ir::Node* producer = value->producer;
  return producer != nullptr && producer->op.starts_with("quantized_decomposed.dequantize") &&
         producer->inputs().front()->kind == ir::ValueKind::constant;
}

// The matrix that `right` is the transpose of: what stands before an exported transposition, or a constant made by
// transposing one. Null if `right` is no such constant.
ir::Value* transposed_weight(Importer& importer, ir::Value* right) {
  if (right->type.rank() != 2) return nullptr;
  if (const ir::Node* producer = right->producer; producer != nullptr && producer->op == "aten.permute") {
    ir::Value* source = producer->inputs().front();  // of two dimensions, and never the identity
    return is_weight(source) ? source : nullptr;
  }
  return is_float_constant(right) ? permute_constant(importer, right, {1, 0}) : nullptr;
}

ir::Value* linear(Importer& importer, ir::Value* input, ir::Value* weight, ir::Value* bias) {
  Dims shape = input->type.shape;
  shape.back() = weight->type.shape[0];
  return importer
      .node("aten.linear",
            {{"input", input}, {"weight", weight}, {"bias", bias == nullptr ? ir::Argument{} : ir::Argument{bias}}},
            {ir::float_type(shape)})
      ->result();
}

// ---- products -------------------------------------------------------------------------------------------------------

bool swaps_last_two(const ir::Node* node) {
  if (node == nullptr || node->op != "aten.permute") return false;
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
  if (!p) importer.reject("the shapes of a matrix product do not match", "the model's export is inconsistent");
  return importer
      .node(kCanonical, {{"self", self}, {"mat2", mat2}, {"transposed", transposed}, {"scale", scale}},
            {ir::float_type(p->result())})
      ->result();
}

ir::Value* add(Importer& importer, ir::Value* self, ir::Value* other, double alpha) {
  return importer.node("aten.add", {{"self", self}, {"other", other}, {"alpha", alpha}}, {self->type})->result();
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
    importer.reject("a matrix product with a number", "multiply with '*' instead");
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
    importer.reject("a matrix product of fewer than two dimensions", "the model is inconsistent: export it again");
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

// ---- einsum of two operands -----------------------------------------------------------------------------------------

// "bqd,bkd->bqk": letters in both operands and the result are batches, those of one operand and the result its rows or
// columns, and those missing from the result are summed over.
struct Equation {
  std::string left, right, result;
};

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

Equation parse_equation(Importer& importer) {
  std::string text = importer.call->string("equation");
  std::erase(text, ' ');
  const auto refuse = [&](const char* what) {
    importer.reject("einsum '" + text + "' " + what, "write it as matmul, transpose and sum");
  };
  const std::size_t comma = text.find(',');
  const std::size_t arrow = text.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || text.find(',', comma + 1) != std::string::npos ||
      text.find('.') != std::string::npos) {
    refuse("is supported only with two operands, a result and no ellipsis");
  }
  Equation e{text.substr(0, comma), text.substr(comma + 1, arrow - comma - 1), text.substr(arrow + 2)};
  for (const std::string* letters : {&e.left, &e.right, &e.result}) {
    std::string sorted = *letters;
    std::ranges::sort(sorted);
    if (std::ranges::adjacent_find(sorted) != sorted.end()) refuse("takes a diagonal, which is not supported");
  }
  for (const char letter : e.result) {
    if (!has(e.left, letter) && !has(e.right, letter)) refuse("has a result's letter that no operand has");
  }
  for (const std::string* letters : {&e.left, &e.right}) {
    const std::string& other = letters == &e.left ? e.right : e.left;
    for (const char letter : *letters) {
      if (!has(other, letter) && !has(e.result, letter)) refuse("sums over a dimension of one operand only");
    }
  }
  return e;
}

struct Operand {
  ir::Value* value;
  Dims batch, own, inner;  // sizes
};

Operand arrange(Importer& importer, ir::Value* value, const std::string& letters, const std::string& batch,
                const std::string& own, const std::string& inner) {
  Operand operand{};
  Dims dims;
  const auto place = [&](const std::string& group, Dims& sizes) {
    for (const char letter : group) {
      dims.push_back(static_cast<std::int64_t>(letters.find(letter)));
      sizes.push_back(value->type.shape[letters.find(letter)]);
    }
  };
  place(batch, operand.batch);
  place(own, operand.own);
  place(inner, operand.inner);
  operand.value = permuted(importer, value, dims);
  return operand;
}

std::vector<ir::Value*> import_einsum(Importer& importer) {
  const Equation e = parse_equation(importer);
  const auto& tensors = importer.call->tensors("tensors");
  if (tensors.size() != 2 || tensors[0]->type.rank() != e.left.size() || tensors[1]->type.rank() != e.right.size()) {
    importer.reject("the equation of an einsum does not fit its operands", "the model's export is inconsistent");
  }
  std::string batch, rows, columns, inner;
  for (const char letter : e.left) {
    const bool shared = has(e.right, letter);
    (has(e.result, letter) ? (shared ? batch : rows) : inner) += letter;
  }
  for (const char letter : e.right) {
    if (!has(e.left, letter)) columns += letter;
  }
  const Operand a = arrange(importer, tensors[0], e.left, batch, rows, inner);
  const Operand b = arrange(importer, tensors[1], e.right, batch, columns, inner);
  ir::Value* result;
  if (batch.empty() && is_float_constant(b.value)) {
    result = linear(importer, reshaped(importer, a.value, {count(a.own), count(a.inner)}),
                    reshaped(importer, b.value, {count(b.own), count(b.inner)}), nullptr);
  } else {
    result = product(importer, reshaped(importer, a.value, {count(a.batch), count(a.own), count(a.inner)}),
                     reshaped(importer, b.value, {count(b.batch), count(b.own), count(b.inner)}), true, 1.0);
  }
  Dims shape = a.batch;
  shape.insert(shape.end(), a.own.begin(), a.own.end());
  shape.insert(shape.end(), b.own.begin(), b.own.end());
  const std::string order = batch + rows + columns;
  Dims dims;
  for (const char letter : e.result) dims.push_back(static_cast<std::int64_t>(order.find(letter)));
  return {permuted(importer, reshaped(importer, result, shape), dims)};
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

// A mask as numbers to add: true and false become nothing and minus infinity.
ir::Value* mask_to_add(Importer& importer, ir::Value* mask) {
  if (mask->kind != ir::ValueKind::constant) {
    if (mask->type.dtype == DType::f32) return mask;
    importer.reject("an attention mask of truth values that the model computes",
                    "make the mask a constant, or a float tensor that is added");
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

ir::Value* attention(Importer& importer) {
  const ir::Node& call = *importer.call;
  ir::Value* query = call.tensor("query");
  ir::Value* key = call.tensor("key");
  const auto flag = [&](const char* name) {
    return std::ranges::any_of(call.args, [&](const auto& a) { return a.name == name; }) && call.boolean(name);
  };
  if (call.number("dropout_p") != 0) importer.reject("attention with dropout", "call model.eval() before torch.export");
  if (flag("enable_gqa")) importer.reject("attention with grouped queries", "repeat keys and values in the model");
  if (query->type.rank() < 2 || key->type.rank() < 2) {
    importer.reject("attention needs at least two dimensions", "the model's export is inconsistent");
  }
  const double width = static_cast<double>(query->type.shape.back());
  const double scale = call.has("scale") ? call.number("scale") : 1 / std::sqrt(width);
  ir::Value* scores = product(importer, query, key, true, scale);
  const Dims& shape = scores->type.shape;
  if (flag("is_causal")) {
    scores = add(importer, scores, causal_mask(importer, shape[shape.size() - 2], shape.back()), 1.0);
  }
  if (call.has("attn_mask")) scores = add(importer, scores, mask_to_add(importer, call.tensor("attn_mask")), 1.0);
  ir::Value* shares =
      importer
          .node("aten.softmax", {{"self", scores}, {"dim", static_cast<std::int64_t>(scores->type.rank()) - 1}},
                {scores->type})
          ->result();
  return product(importer, shares, call.tensor("value"), false, 1.0);
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

std::vector<AtenForm> product_forms() {
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
      {"einsum.default(str equation, Tensor[] tensors, *, int[]? path=None)", import_einsum},
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

}  // namespace cormorant::ops::batch_matmul
