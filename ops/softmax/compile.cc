// SPDX-License-Identifier: Apache-2.0
//
// aten.softmax(self, dim) and aten.log_softmax(self, dim), dim not negative, from PyTorch's forms down to
// cortex_m.softmax and cormorant.log_softmax.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/diagnostic.h"
#include "ops/host/advice.h"
#include "ops/host/build.h"
#include "ops/host/multiplier.h"
#include "ops/host/words.h"
#include "ops/nodes.h"
#include "ops/op.h"
#include "ops/softmax/arithmetic.h"
#include "ops/softmax/reference.h"
#include "ops/softmax/softmax.h"

namespace cormorant::ops {
namespace softmax {
namespace {

constexpr const char* kSoftmax = nodes::aten_softmax;
constexpr const char* kLogSoftmax = nodes::aten_log_softmax;

std::vector<ir::Value*> make_node(Importer& importer, const char* op) {
  ir::Value* self = importer.call->tensor("self");
  const auto rank = static_cast<std::int64_t>(self->type.rank());
  const std::int64_t dim = importer.call->integer("dim");
  if (rank == 0) return {Build(importer).filled(op == kSoftmax ? 1 : 0, importer.types.at(0))};  // of one number
  const std::int64_t wrapped = dim < 0 ? dim + rank : dim;
  if (wrapped < 0 || wrapped >= rank) {
    importer.reject("softmax over a dimension that its input does not have", kInconsistent);
  }
  for (const ir::NamedArgument& argument : importer.call->args) {
    const auto* type = std::get_if<DType>(&argument.value);
    if (type != nullptr && *type != DType::f32) {
      importer.reject("softmax in a type other than float32", "remove its argument dtype");
    }
  }
  return importer.node(op, {{"self", self}, {"dim", wrapped}})->results;
}

std::vector<ir::Value*> import_softmax(Importer& importer) { return make_node(importer, kSoftmax); }
// Where everything is minus infinity the result is zero instead of NaN.
std::vector<ir::Value*> import_safe_softmax(Importer& importer) {
  const std::vector<ir::Value*> shares = make_node(importer, kSoftmax);
  const Build b(importer);
  V self = b.tensor("self");
  if (self->type.rank() == 0 || !may_be_minus_infinity(self)) return shares;
  V largest = b.amax(self, {b.dim("dim", self->type.rank())});
  return {b.where(b.ne(largest, b.number(-std::numeric_limits<double>::infinity())), shares.front(), 0.0)};
}
std::vector<ir::Value*> import_log_softmax(Importer& importer) { return make_node(importer, kLogSoftmax); }

std::vector<ir::TensorType> infer(const ir::Node& node) {
  const ir::Shape& shape = node.tensor("self")->type.shape;
  const std::int64_t dim = node.integer("dim");
  if (dim < 0 || dim >= std::ranges::ssize(shape)) {
    throw InputError({.problem = "softmax over a dimension that its input does not have",
                      .advice = kInconsistent,
                      .node = node.name,
                      .source = node.location.text()});
  }
  return {ir::float_type(shape)};
}

// The extents around a dimension: elements are (outer, size, inner) in logical order.
struct Extents {
  std::size_t outer = 1, size = 1, inner = 1;
};
Extents extents(const ir::Shape& shape, std::int64_t dim) {
  Extents e;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto n = static_cast<std::size_t>(shape[d]);
    const auto here = static_cast<std::size_t>(dim);
    (d < here ? e.outer : d == here ? e.size : e.inner) *= n;
  }
  return e;
}

std::vector<evaluate::Tensor> evaluate_softmax(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& self = frame.get(node.tensor("self"));
  const Extents e = extents(self.shape, node.integer("dim"));
  const bool is_log = node.op == kLogSoftmax;
  std::vector<float> out(self.values().begin(), self.values().end());
  for (std::size_t o = 0; o < e.outer; ++o) {
    for (std::size_t i = 0; i < e.inner; ++i) {
      const auto at = [&](std::size_t k) -> float& { return out[(o * e.size + k) * e.inner + i]; };
      float largest = -INFINITY;
      for (std::size_t k = 0; k < e.size; ++k) largest = std::max(largest, at(k));
      float sum = 0;
      for (std::size_t k = 0; k < e.size; ++k) sum += std::exp(at(k) -= largest);
      const float logarithm = std::log(sum);
      for (std::size_t k = 0; k < e.size; ++k) at(k) = is_log ? at(k) - logarithm : std::exp(at(k)) / sum;
    }
  }
  return {evaluate::Tensor(self.shape, std::move(out))};
}

QuantRule quantize(const ir::Node& node) {
  const std::int64_t size = node.tensor("self")->type.shape[static_cast<std::size_t>(node.integer("dim"))];
  if (size > kMaxRow) {
    return {.output = QuantRule::Reject{"softmax is supported over at most " + std::to_string(kMaxRow) +
                                        " values; this one is over " + std::to_string(size)},
            .weights = {}};
  }
  if (node.op == kLogSoftmax) return {.weights = {}, .precisions = precisions::w8a8_w8a16()};
  return {.output = QuantRule::Fixed{kOutputScale, kOutputZeroPoint, DType::i8, kMostHalvings},
          .weights = {},
          .fixed_words = QuantRule::Fixed{kWordsOutputScale, 0, DType::i16},
          .precisions = precisions::w8a8_w8a16()};
}

// ---- lowering -------------------------------------------------------------------------------------------------------

[[noreturn]] void refuse(const ir::Node& node, std::string problem, std::string advice) {
  throw InputError(
      {.problem = std::move(problem), .advice = std::move(advice), .node = node.name, .source = node.location.text()});
}

// From stored differences to fixed-point exponents, and the difference below which an exponential counts as zero.
struct Exponents {
  Multiplier multiplier;
  std::int64_t diff_min;
};
Exponents exponents_of(const ir::QuantParams& input) {
  // The largest factor makes every difference but 0 vanish, the smallest makes all exponents 0: both as intended.
  constexpr int kFractionBits = 31 - kInputIntegerBits;
  const double factor = std::clamp(std::ldexp(input.scale(), kFractionBits), 0.5, std::ldexp(1.0, 31) - 1);
  const Multiplier m = quantize_multiplier(factor);
  const double range = std::ldexp((1 << kInputIntegerBits) - 1, kFractionBits - m.shift);
  return {m, -static_cast<std::int64_t>(std::floor(range))};
}

ir::Value* emit_with_table(const Rewriter& rewriter, const Softmax<HostWorld>& call, std::int64_t halvings) {
  std::vector<std::int32_t> table(kDifferences, 0);
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(kDifferences) && -i >= call.diff_min; ++i) {
    const std::int32_t exponent = exponent_of<doubling_high_multiply>(
        -i, static_cast<std::int32_t>(call.input_multiplier), static_cast<std::int32_t>(call.input_shift));
    table[static_cast<std::size_t>(i)] = exp_of_negative<doubling_high_multiply>(exponent);
  }
  TableSoftmax<HostWorld> quick{.input = call.input};
  quick.exponentials = rewriter.constant(
      "exponentials", {.dtype = DType::i32, .shape = {kDifferences}, .dim_order = {}, .quant = std::nullopt},
      std::span<const std::int32_t>(table));
  quick.dim = call.dim;
  quick.halvings = halvings;
  return rewriter.emit(std::move(quick), rewriter.node.result()->type, table_variant(rewriter.config.target.isa))
      ->result();
}

Softmax<HostWorld> softmax_of(ir::Value* input, std::int64_t dim) {
  const ir::QuantParams& input_q = input->type.quant.value();
  const Exponents e = exponents_of(input_q);
  Softmax<HostWorld> call{.input = input, .dim = dim};
  call.input_zero_point = input_q.zero_point();
  call.output_zero_point = kOutputZeroPoint;
  call.input_multiplier = e.multiplier.multiplier;
  call.input_shift = e.multiplier.shift;
  call.diff_min = e.diff_min;
  return call;
}

ir::Value* emit_softmax(const Rewriter& rewriter, ir::Value* input, std::int64_t dim) {
  const Softmax<HostWorld> call = softmax_of(input, dim);
  ir::TensorType type = rewriter.node.result()->type;
  type.shape = input->type.shape;
  type.dim_order.clear();
  return rewriter.emit(call, std::move(type), names::cortex_m_softmax_out)->result();
}

// ExecuTorch's kernel needs contiguous rows: the dimension is moved after the others, and the rest is treated as one.
ir::Value* emit_for_executorch(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const auto add = [&](const char* op, std::vector<ir::NamedArgument> args, ir::TensorType type, ir::Shape shape) {
    type.shape = std::move(shape);
    type.dim_order.clear();
    return rewriter.graph.add_node(node.name, op, std::move(args), {std::move(type)}, node.location, &rewriter.node)
        ->result();
  };
  ir::Value* input = node.tensor("self");
  const ir::Shape shape = input->type.shape;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t dim = node.integer("dim");
  if (rank < 4 && dim + 1 == rank) return emit_softmax(rewriter, input, dim);
  std::vector<std::int64_t> there, back;
  for (std::int64_t d = 0; d < rank; ++d) {
    if (d != dim) there.push_back(d);
    back.push_back(d < dim ? d : d == dim ? rank - 1 : d - 1);
  }
  there.push_back(dim);
  ir::Shape turned;
  for (const std::int64_t d : there) turned.push_back(shape[static_cast<std::size_t>(d)]);
  if (dim + 1 != rank) {
    input = add(nodes::cortex_m_transpose, {{"input", input}, {"perm", there}}, input->type, turned);
  }
  const ir::Shape rows = {input->type.elements() / turned.back(), turned.back()};
  ir::Value* result =
      emit_softmax(rewriter, add(nodes::aten_view, {{"self", input}, {"size", rows}}, input->type, rows), 1);
  result = add(nodes::aten_view, {{"self", result}, {"size", turned}}, result->type, turned);
  if (dim + 1 == rank) return result;
  return add(nodes::cortex_m_transpose, {{"input", result}, {"perm", back}}, result->type, shape);
}

// Every number that the kernels add up stays below 2^29.
ir::Value* lower_log(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const bool wide = has_words(node);
  if (wide) require_words(rewriter, {"self"});
  const ir::QuantParams& input_q = node.tensor("self")->type.quant.value();
  const ir::QuantParams& output_q = node.result()->type.quant.value();
  if (rewriter.config.runtime == Runtime::executorch) {
    refuse(node, "ExecuTorch's Cortex-M kernels have no log_softmax in int8",
           "use softmax, or Cormorant's own runtime");
  }
  const Exponents e = exponents_of(input_q);
  const double ratio = input_q.scale() / output_q.scale();
  const double log_step = std::log(2.0) / output_q.scale();  // of one bit of a binary logarithm
  const double largest_difference = wide ? 65535 : 255, largest_level = wide ? 32770 : 130;
  const double reach = std::max({largest_difference * ratio, log_step * (kLargestLog + 1), largest_level});
  const int shift = std::min(28 - (std::ilogb(reach) + 1), 24);
  if (shift < 0) {
    refuse(node, "the output's scale is too small for log_softmax", "calibrate with representative data");
  }
  const Multiplier log = quantize_multiplier(std::ldexp(log_step, shift - kLogBits));
  LogSoftmax<HostWorld> call{.input = node.tensor("self"), .dim = node.integer("dim")};
  call.input_multiplier = e.multiplier.multiplier;
  call.input_shift = e.multiplier.shift;
  call.diff_min = e.diff_min;
  call.factor = std::llround(std::ldexp(ratio, wide ? shift + 16 : shift));
  call.term = std::llround(std::ldexp(output_q.zero_point() + 0.5, shift));
  call.shift = shift;
  call.log_multiplier = log.multiplier;
  call.log_shift = std::max(log.shift, -31);
  const char* const name = wide ? names::cormorant_log_softmax_words : log_variant(rewriter.config.target);
  return rewriter.emit(call, node.result()->type, name)->result();
}

ir::Value* lower_words(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  require_words(rewriter, {"self"});
  const double scale = node.tensor("self")->type.quant->scale();
  if (std::abs(node.result()->type.quant->scale() - kWordsOutputScale) > 1e-12) {
    refuse(node, "softmax of 16-bit activations is supported only with an output of scale 1/32768",
           "let the compiler quantize softmax");
  }
  const auto table = [&](const char* name, double step) {
    std::vector<std::int32_t> entries;
    for (std::int32_t i = 0; i < kWordsParts; ++i) {
      const double exponential = std::round(std::ldexp(std::exp(-i * step), 31));
      entries.push_back(static_cast<std::int32_t>(std::min(exponential, std::ldexp(1.0, 31) - 1)));
    }
    return rewriter.constant(name,
                             {.dtype = DType::i32, .shape = {kWordsParts}, .dim_order = {}, .quant = std::nullopt},
                             std::span<const std::int32_t>(entries));
  };
  WordsSoftmax<HostWorld> call{.input = node.tensor("self")};
  call.coarse = table("coarse", kWordsParts * scale);
  call.fine = table("fine", scale);
  call.dim = node.integer("dim");
  return rewriter.emit(std::move(call), node.result()->type, names::cormorant_softmax_words)->result();
}

// How often the scale of 1/256 was halved, up to `most` times; none if it is another scale.
std::optional<std::int64_t> halvings_of(const ir::QuantParams& output, std::int64_t most) {
  if (output.zero_point() != kOutputZeroPoint) return std::nullopt;
  for (std::int64_t k = 0; k <= most; ++k) {
    const double scale = std::ldexp(kOutputScale, -static_cast<int>(k));
    if (std::abs(output.scale() - scale) < 1e-6 * scale) return k;
  }
  return std::nullopt;
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  if (has_words(node)) return node.op == kSoftmax ? lower_words(rewriter) : lower_log(rewriter);
  const ir::QuantParams& input_q = node.tensor("self")->type.quant.value();
  const ir::QuantParams& output_q = node.result()->type.quant.value();
  if (input_q.dtype != DType::i8 || output_q.dtype != DType::i8 || input_q.per_channel() || output_q.per_channel()) {
    refuse(node, "softmax is supported only with int8 tensors of one scale each", "quantize the model to int8");
  }
  if (node.op == kLogSoftmax) return lower_log(rewriter);
  const bool is_ours = rewriter.config.runtime == Runtime::cormorant && !rewriter.config.target.is_any();
  const std::optional<std::int64_t> halvings = halvings_of(output_q, is_ours ? kMostHalvings : 0);
  if (!halvings) {
    refuse(node, "softmax is supported only with an output of scale 1/256 and zero point -128",
           "let the compiler quantize softmax");
  }
  if (rewriter.config.runtime == Runtime::executorch) return emit_for_executorch(rewriter);
  if (*halvings != 0) {
    return emit_with_table(rewriter, softmax_of(node.tensor("self"), node.integer("dim")), *halvings);
  }
  return emit_softmax(rewriter, node.tensor("self"), node.integer("dim"));
}

// ---- prepacking -----------------------------------------------------------------------------------------------------

ir::Value* prepack(const Rewriter& rewriter) {
  if (rewriter.node.op != graph_name(names::cortex_m_softmax_out)) return nullptr;
  const auto call = read_node<Softmax<HostWorld>>(rewriter.node);
  // A program that is compiled again may have any numbers: what its load refuses is left to it.
  const bool is_sound = call.output_zero_point == kOutputZeroPoint && call.input_multiplier >= 0 &&
                        call.input_shift >= 0 && call.input_shift <= 31 && call.diff_min <= 0;
  const bool is_small = rewriter.config.target.optimize == Optimize::size;
  if (!is_sound || is_small || call.input->type.elements() < kElementsWorthATable) return nullptr;
  return emit_with_table(rewriter, call, 0);
}

// A row's values are read for the last time just before the same positions are written.
bool in_place(const ir::Node& /*node*/, std::string_view argument) { return argument == "input" || argument == "self"; }

}  // namespace
}  // namespace softmax

Operator softmax_operator() {
  return {
      .name = "softmax",
      .limits = "rows of at most 4095",
      .forms = {{"softmax.int(Tensor self, int dim, ScalarType? dtype=None)", softmax::import_softmax},
                {"_softmax.default(Tensor self, int dim, bool half_to_float)", softmax::import_softmax},
                {"_safe_softmax.default(Tensor self, int dim, ScalarType? dtype=None)", softmax::import_safe_softmax},
                {"special_softmax.default(Tensor self, int dim, ScalarType? dtype=None)", softmax::import_softmax},
                {"log_softmax.int(Tensor self, int dim, ScalarType? dtype=None)", softmax::import_log_softmax},
                {"_log_softmax.default(Tensor self, int dim, bool half_to_float)", softmax::import_log_softmax},
                {"special_log_softmax.default(Tensor self, int dim, *, ScalarType? dtype=None)",
                 softmax::import_log_softmax}},
      .canonical = {"aten.softmax(Tensor self, int dim)", "aten.log_softmax(Tensor self, int dim)"},
      .infer = softmax::infer,
      .evaluate = softmax::evaluate_softmax,
      .quantize = softmax::quantize,
      .lower = softmax::lower,
      .prepack = softmax::prepack,
      .in_place = softmax::in_place};
}

}  // namespace cormorant::ops
