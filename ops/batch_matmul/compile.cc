// SPDX-License-Identifier: Apache-2.0
//
// aten.bmm(self, mat2, transposed, scale): scale · self · mat2, of any rank, down to cortex_m.quantized_batch_matmul.
#include <algorithm>
#include <cmath>

#include "base/diagnostic.h"
#include "evaluate/onednn.h"
#include "ops/batch_matmul/batch_matmul.h"
#include "ops/batch_matmul/products.h"
#include "ops/batch_matmul/reference.h"
#include "ops/host/advice.h"
#include "ops/host/multiplier.h"
#include "ops/host/words.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace batch_matmul {

namespace {

std::int64_t count(const ir::Shape& shape) { return ir::float_type(shape).elements(); }

[[noreturn]] void refuse(const ir::Node& node, std::string problem, std::string advice) {
  throw InputError(
      {.problem = std::move(problem), .advice = std::move(advice), .node = node.name, .source = node.location.text()});
}

}  // namespace

std::int64_t Product::batches() const { return count(batch); }

ir::Shape Product::result() const {
  ir::Shape shape = batch;
  shape.insert(shape.end(), {rows, columns});
  return shape;
}

std::optional<Product> product_of(const ir::Shape& self, const ir::Shape& mat2, bool transposed) {
  if (self.size() < 2 || mat2.size() < 2) return {};
  const std::size_t a = self.size() - 2;
  const std::size_t b = mat2.size() - 2;
  Product p{.rows = self[a],
            .inner = self[a + 1],
            .columns = transposed ? mat2[b] : mat2[b + 1],
            .batch = ir::Shape(std::max(a, b)),
            .lhs_batches = 1,
            .rhs_batches = 1,
            .mixed = false};
  if (p.inner != (transposed ? mat2[b + 1] : mat2[b])) return {};
  bool repeats_self = false;
  bool repeats_mat2 = false;
  for (std::size_t i = 1; i <= p.batch.size(); ++i) {
    const std::int64_t x = i <= a ? self[a - i] : 1;
    const std::int64_t y = i <= b ? mat2[b - i] : 1;
    if (x != y && x != 1 && y != 1) return {};
    p.batch[p.batch.size() - i] = x == 1 ? y : x;
    p.lhs_batches *= x;
    p.rhs_batches *= y;
    repeats_self = repeats_self || x < y;
    repeats_mat2 = repeats_mat2 || y < x;
  }
  p.mixed = (repeats_self && p.lhs_batches != 1) || (repeats_mat2 && p.rhs_batches != 1);
  return p;
}

namespace {

Product product_of_node(const ir::Node& node) {
  const std::optional<Product> p =
      batch_matmul::product_of(node.tensor("self")->type.shape, node.tensor("mat2")->type.shape,
                               node.has("transposed") && node.boolean("transposed"));
  if (!p) {
    refuse(node, "the shapes of a matrix product do not match", kInconsistent);
  }
  return *p;
}

std::vector<ir::TensorType> infer(const ir::Node& node) { return {ir::float_type(product_of_node(node).result())}; }

// One matrix per batch of the result, [batches, rows, columns], with rows and columns swapped if requested.
evaluate::Tensor matrices(const evaluate::Tensor& source, const ir::Shape& batch, bool exchanged, double scale) {
  const std::size_t rank = source.shape.size();
  const auto rows = static_cast<std::size_t>(source.shape[rank - 2]);
  const auto columns = static_cast<std::size_t>(source.shape[rank - 1]);
  const std::size_t size = rows * columns;
  std::vector<float> out;
  out.reserve(size * static_cast<std::size_t>(count(batch)));
  std::vector<std::int64_t> at(batch.size(), 0);
  for (std::int64_t n = 0; n < count(batch); ++n) {
    std::size_t index = 0;
    for (std::size_t d = 0; d < batch.size(); ++d) {
      const std::size_t missing = batch.size() + 2 - rank;
      if (d < missing) continue;
      const std::int64_t extent = source.shape[d - missing];
      index = index * static_cast<std::size_t>(extent) + static_cast<std::size_t>(extent == 1 ? 0 : at[d]);
    }
    const float* from = source.values().data() + index * size;
    for (std::size_t i = 0; i < size; ++i) {
      const float value = exchanged ? from[i % rows * columns + i / rows] : from[i];
      out.push_back(static_cast<float>(value * scale));
    }
    for (std::size_t d = batch.size(); d-- > 0 && ++at[d] == batch[d];) at[d] = 0;
  }
  const auto r = static_cast<std::int64_t>(exchanged ? columns : rows);
  const auto c = static_cast<std::int64_t>(exchanged ? rows : columns);
  return {{count(batch), r, c}, std::move(out)};
}

std::vector<evaluate::Tensor> evaluate_bmm(const ir::Node& node, const evaluate::Frame& frame) {
  const Product p = product_of_node(node);
  if (p.inner == 0) {  // which oneDNN does not take
    return {evaluate::Tensor(p.result(),
                             std::vector<float>(static_cast<std::size_t>(p.batches() * p.rows * p.columns), 0))};
  }
  const evaluate::Tensor left = matrices(frame.get(node.tensor("self")), p.batch, false, node.number("scale"));
  const evaluate::Tensor right = matrices(frame.get(node.tensor("mat2")), p.batch, node.boolean("transposed"), 1.0);
  return {evaluate::matmul(left, right).reshaped(p.result())};
}

QuantRule quantize(const ir::Node& node) {
  QuantRule rule;
  for (const char* name : {"self", "mat2"}) {
    if (node.tensor(name)->kind == ir::ValueKind::constant) rule.weights.push_back({.argument = name, .axis = {}});
  }
  rule.precisions = precisions::w8a8_w8a16();
  const Product p = product_of_node(node);
  if (rule.weights.size() == 2) rule.output = QuantRule::Reject{"both of its operands are constant"};
  if (p.mixed) {
    rule.output =
        QuantRule::Reject{"its operands are broadcast along different dimensions; expand one of them in the model"};
  }
  if (p.inner > kMaxInner) {
    rule.output = QuantRule::Reject{"it sums more than " + std::to_string(kMaxInner) + " products"};
  }
  return rule;
}

// ---- lowering -------------------------------------------------------------------------------------------------------

const ir::QuantParams& per_tensor(const ir::Node& node, const ir::Value* value) {
  const ir::QuantParams& q = value->type.quant.value();
  if (q.dtype != DType::i8 || q.per_channel()) {
    refuse(node, "a matrix product is supported only with int8 tensors of one scale each",
           "quantize both operands per tensor");
  }
  return q;
}

ir::Value* viewed(const Rewriter& rewriter, ir::Value* value, const ir::Shape& shape) {
  if (value->type.shape == shape) return value;
  ir::TensorType type = value->type;
  type.shape = shape;
  type.dim_order.clear();
  if (value->kind == ir::ValueKind::constant) {
    return rewriter.graph.add_constant(value->name + "_view", std::move(type), value->data);
  }
  return rewriter.graph
      .add_node(rewriter.node.name + "_view", nodes::aten_view, {{"self", value}, {"size", shape}}, {std::move(type)},
                rewriter.node.location, &rewriter.node)
      ->result();
}

// The last two of three dimensions swapped; T is the type of a constant's elements.
template <class T>
ir::Value* turned(const Rewriter& rewriter, ir::Value* value) {
  ir::TensorType type = value->type;
  std::swap(type.shape[1], type.shape[2]);
  if (type.shape[1] == 1 || type.shape[2] == 1) return viewed(rewriter, value, type.shape);
  if (value->kind != ir::ValueKind::constant) {
    return rewriter.graph
        .add_node(rewriter.node.name + "_transpose", nodes::cortex_m_transpose,
                  {{"input", value}, {"perm", std::vector<std::int64_t>{0, 2, 1}}}, {std::move(type)},
                  rewriter.node.location, &rewriter.node)
        ->result();
  }
  const auto data = value->data.as<T>();
  const auto rows = static_cast<std::size_t>(type.shape[1]);
  const auto columns = static_cast<std::size_t>(type.shape[2]);
  std::vector<T> out(data.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t matrix = i / (rows * columns);
    const std::size_t at = i % (rows * columns);
    out[i] = data[matrix * rows * columns + at % columns * rows + at / columns];
  }
  return rewriter.constant("transposed", std::move(type), std::span<const T>(out));
}

// In a model that arrived quantized: the operand of a transposition of the last two dimensions.
ir::Value* before_transposition(ir::Value* value) {
  if (value->producer == nullptr || value->producer->op != nodes::cortex_m_transpose) return nullptr;
  std::vector<std::int64_t> perm = value->producer->integers("perm");
  if (perm.size() < 2) return nullptr;
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return std::ranges::is_sorted(perm) ? value->producer->tensor("input") : nullptr;
}

std::int64_t scratch_of(const Rewriter& rewriter, std::int64_t columns) {
  const Config& config = rewriter.config;
  if (config.runtime == Runtime::cormorant) return 0;
  if (config.target.is_any()) {
    refuse(rewriter.node, "ExecuTorch's matrix product needs a scratch size that depends on the instruction set",
           "compile for one CPU instead of 'any'");
  }
  return upstream_scratch_bytes(config.target.isa, static_cast<std::uint32_t>(columns));
}

// Both sides as [batches, rows, inner] and [batches, columns, inner].
struct Sides {
  Product product;
  std::int64_t batches;
  ir::Value* lhs;
  ir::Value* rhs_transposed;
};

template <class T>
Sides sides_of(const Rewriter& rewriter, ir::Value* self, ir::Value* mat2) {
  const ir::Node& node = rewriter.node;
  Product p = product_of_node(node);
  bool transposed = node.boolean("transposed");
  if (p.mixed || p.inner > kMaxInner || p.columns > kMaxColumns) {
    refuse(node, "a matrix product of these shapes is not supported", "expand the operands, or split the product");
  }
  if (ir::Value* source = before_transposition(mat2); source != nullptr) {
    mat2 = source;
    transposed = !transposed;
  }
  // A right side without batches serves all rows at once.
  std::int64_t batches = p.batches();
  if (p.rhs_batches == 1) {
    p.rows *= batches;
    batches = p.lhs_batches = 1;
  }
  if (p.lhs_batches != batches && rewriter.config.runtime == Runtime::executorch) {
    refuse(node, "ExecuTorch's batch_matmul cannot broadcast the left operand over the right operand's batch",
           "expand it in the model");
  }
  self = viewed(rewriter, self, {p.lhs_batches, p.rows, p.inner});
  mat2 = viewed(rewriter, mat2,
                transposed ? ir::Shape{batches, p.columns, p.inner} : ir::Shape{batches, p.inner, p.columns});
  if (!transposed) mat2 = turned<T>(rewriter, mat2);
  return {p, batches, self, mat2};
}

// The result of an instruction with these sides, in the shape that the node's has.
template <class Call>
ir::Value* emit_product(const Rewriter& rewriter, Call call, const Sides& sides, const char* name) {
  ir::TensorType type = rewriter.node.result()->type;
  type.shape = {sides.batches, sides.product.rows, sides.product.columns};
  type.dim_order.clear();
  return viewed(rewriter, rewriter.emit(std::move(call), std::move(type), name)->result(),
                rewriter.node.result()->type.shape);
}

// An int8 constant as int16: there is no product of the two types, and few models have such a constant.
ir::Value* as_words(const Rewriter& rewriter, ir::Value* value) {
  const auto& quant = value->type.quant;
  if (value->kind != ir::ValueKind::constant || !quant || quant->dtype != DType::i8 || quant->per_channel() ||
      quant->zero_point() != 0) {
    return value;
  }
  const auto bytes = value->data.as<std::int8_t>();
  const std::vector<std::int16_t> words(bytes.begin(), bytes.end());
  ir::QuantParams wide = *quant;
  wide.dtype = DType::i16;
  return rewriter.graph.add_constant(value->name + "_words", ir::quantized_type(value->type.shape, wide),
                                     ir::Bytes::of(std::span<const std::int16_t>(words)));
}

ir::Value* lower_words(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  ir::Value* const self = as_words(rewriter, node.tensor("self"));
  ir::Value* const mat2 = as_words(rewriter, node.tensor("mat2"));
  require_runtime_with_words(rewriter);
  require_symmetric_words(node, {self, mat2});
  const double factor =
      self->type.quant->scale() * mat2->type.quant->scale() * node.number("scale") / node.result()->type.quant->scale();
  const Multiplier m = quantize_multiplier(factor);
  WordsBatchMatmul<HostWorld> call;
  call.multiplier = m.multiplier < 0x7FFF0000 ? (m.multiplier + (1 << 15)) >> 16 : kMaxWordsMultiplier;
  call.shift = m.multiplier == 0 ? 1 : 15 - m.shift;
  if (factor < 0 || call.shift < 1) {
    refuse(node, "the output's scale is too small for its operands' scales", "calibrate with representative data");
  }
  if (call.shift > kMaxWordsShift) {  // so small that every result is 0
    call.multiplier = 0;
    call.shift = 1;
  }
  const Sides sides = sides_of<std::int16_t>(rewriter, self, mat2);
  call.lhs = sides.lhs;
  call.rhs_transposed = sides.rhs_transposed;
  return emit_product(rewriter, std::move(call), sides, words_variant(rewriter.config.target));
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  if (has_words(node)) return lower_words(rewriter);
  const ir::QuantParams& self_q = per_tensor(node, node.tensor("self"));
  const ir::QuantParams& mat2_q = per_tensor(node, node.tensor("mat2"));
  const ir::QuantParams& out_q = per_tensor(node, node.result());
  const Sides sides = sides_of<std::int8_t>(rewriter, node.tensor("self"), node.tensor("mat2"));
  const Multiplier m =
      quantize_multiplier(self_q.scale() * mat2_q.scale() * std::abs(node.number("scale")) / out_q.scale());
  const std::int64_t largest = std::int64_t{255} * 255 * sides.product.inner;
  if (node.number("scale") < 0 || m.shift > 20 || (m.shift > 0 && largest << m.shift >= std::int64_t{1} << 31)) {
    refuse(node, "the output's scale is too small for its operands' scales", "calibrate with representative data");
  }
  QuantizedBatchMatmul<HostWorld> call{.lhs = sides.lhs, .rhs_transposed = sides.rhs_transposed};
  call.lhs_zero_point = -self_q.zero_point();
  call.rhs_zero_point = -mat2_q.zero_point();
  call.output_zero_point = out_q.zero_point();
  call.output_multiplier = m.multiplier;
  call.output_shift = std::max(m.shift, -31);
  call.scratch.bytes = scratch_of(rewriter, sides.product.columns);
  return emit_product(rewriter, std::move(call), sides, names::cortex_m_quantized_batch_matmul_out);
}

// The right side in its orientation before any transposition, laid out for the inner loop at run time.
ir::Value* prepack(const Rewriter& rewriter) {
  if (rewriter.node.op != graph_name(names::cortex_m_quantized_batch_matmul_out)) return nullptr;
  const auto call = read_node<QuantizedBatchMatmul<HostWorld>>(rewriter.node);
  ir::Value* source = before_transposition(call.rhs_transposed);
  const bool transposed = source == nullptr;
  ir::Value* rhs = transposed ? call.rhs_transposed : source;
  const ir::Shape& left = call.lhs->type.shape;
  const Size size{static_cast<std::uint32_t>(left[1]), static_cast<std::uint32_t>(left[2]),
                  static_cast<std::uint32_t>(call.rhs_transposed->type.shape[1])};
  if (!is_computable(size) || !is_worth_packing(size, transposed)) return nullptr;
  const Variant& variant = choose_variant(rewriter.config.target);
  PackedBatchMatmul<HostWorld> packed{.lhs = call.lhs, .lhs_offset = call.lhs_zero_point, .rhs = rhs};
  packed.rhs_offset = call.rhs_zero_point;
  packed.rhs_is_transposed = transposed;
  packed.output_offset = call.output_zero_point;
  packed.multiplier = call.output_multiplier;
  packed.shift = call.output_shift;
  packed.scratch.bytes = scratch_bytes(variant, size);
  return rewriter.emit(std::move(packed), rewriter.node.result()->type, variant.name)->result();
}

std::int64_t macs(const ir::Node& node) {
  const Product p = product_of_node(node);
  return p.batches() * p.rows * p.inner * p.columns;
}

}  // namespace
}  // namespace batch_matmul

Operator batch_matmul_operator() {
  return {.name = "batch_matmul",
          .limits = "at most 16384 products per sum; broadcast operands only along the same dimensions",
          .layout = MemoryOrder::contiguous,
          .keeps_types = true,  // a mask of booleans is not added
          .canonical = {"aten.bmm(Tensor self, Tensor mat2, bool transposed, float scale)"},
          .infer = batch_matmul::infer,
          .evaluate = batch_matmul::evaluate_bmm,
          .quantize = batch_matmul::quantize,
          .lower = batch_matmul::lower,
          .prepack = batch_matmul::prepack,
          .macs = batch_matmul::macs};
}

}  // namespace cormorant::ops
