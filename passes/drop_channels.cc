// SPDX-License-Identifier: Apache-2.0
//
// Training with weight decay lets channels die: their weights become zero, or so small next to the bias that
// requantization gives the same integer for every input. Such a channel is a constant. What it contributes to the
// convolutions and linear layers that read it goes into their biases, to the bit, and the channel is removed from its
// producers and readers.
//
// Channels are tied across operators that treat each one separately: what is dropped from a convolution's result is
// dropped from the depthwise convolution, the padding and the pooling after it as well. Such a run of values is a
// family. It begins with the results of convolutions and linear layers and ends where others read all channels at once;
// a channel may be removed if every reader knows what it would have read, or has no weights for it. Its producer need
// not be known. All of this holds for 8-bit and for 16-bit activations.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "ops/host/channel_sums.h"
#include "ops/host/multiplier.h"
#include "ops/nodes.h"
#include "ops/op.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

using Known = std::vector<std::optional<std::int32_t>>;  // per channel: the integer that all of its elements are

constexpr std::size_t kChannelAxis = 1;

// The integers that a tensor's elements can be.
struct Range {
  std::int32_t low, high;
};

bool has_words(const ir::Value* value) { return value->type.quant && value->type.quant->dtype == DType::i16; }
// int8, or int16 with a zero point of 0.
bool has_levels(const ir::Value* value) {
  const auto& quant = value->type.quant;
  return quant && (quant->dtype == DType::i8 || (quant->dtype == DType::i16 && quant->zero_point() == 0)) &&
         !quant->per_channel();
}
bool have_same_levels(const ir::Value* a, const ir::Value* b) {
  return has_levels(a) && has_levels(b) && has_words(a) == has_words(b);
}

// A convolution or linear layer in integers, as numbers. Weights are [outputs, inputs per group, taps].
struct Products {
  ir::Node* node = nullptr;
  bool is_depthwise = false;
  bool is_padded = false;
  std::int64_t outputs = 0, inputs = 0, taps = 1;  // inputs: per output
  std::span<const std::int8_t> weights;

  [[nodiscard]] const ir::Value* input() const { return node->tensor("input"); }
  [[nodiscard]] std::int32_t zero_point() const { return input()->type.quant->zero_point(); }
  [[nodiscard]] std::int32_t weight(std::int64_t output, std::int64_t input, std::int64_t tap) const {
    return weights[static_cast<std::size_t>((output * inputs + input) * taps + tap)];
  }
  [[nodiscard]] std::int64_t bias(std::int64_t output) const {
    const ir::Value* value = node->tensor("bias");
    return value == nullptr ? 0 : value->data.as<std::int32_t>()[static_cast<std::size_t>(output)];
  }
  [[nodiscard]] std::int64_t column_sum(std::int64_t output, std::int64_t input) const {
    std::int64_t sum = 0;
    for (std::int64_t tap = 0; tap < taps; ++tap) sum += weight(output, input, tap);
    return sum;
  }
  [[nodiscard]] bool has_weights(std::int64_t output, std::int64_t input) const {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      if (weight(output, input, tap) != 0) return true;
    }
    return false;
  }
  // Whether a channel with this one value adds the same to every sum. Padding has the zero point.
  [[nodiscard]] bool is_even(std::int32_t value) const { return !is_padded || value == zero_point(); }
};

bool is_plain_constant(const ir::Value* value, DType dtype) {
  return value != nullptr && value->kind == ir::ValueKind::constant && value->type.dtype == dtype &&
         value->type.dim_order.empty();
}

std::optional<Products> products_of(ir::Node& node) {
  const bool is_linear = node.op == ops::nodes::aten_linear;
  if (!is_linear && node.op != ops::nodes::aten_conv2d) return {};
  const ir::Value* weight = node.tensor("weight");
  const ir::Value* bias = node.tensor("bias");
  if (!have_same_levels(node.tensor("input"), node.result()) || !is_plain_constant(weight, DType::i8)) return {};
  if (bias != nullptr && !is_plain_constant(bias, DType::i32)) return {};
  const auto& quant = weight->type.quant;
  if (!quant || std::ranges::any_of(quant->zero_points, [](std::int32_t z) { return z != 0; })) return {};
  if (quant->per_channel() && quant->axis != 0) return {};
  if (node.tensor("input")->type.rank() != (is_linear ? 2 : 4)) return {};
  Products p;
  p.node = &node;
  p.outputs = weight->type.shape[0];
  p.inputs = weight->type.shape[1];
  p.weights = weight->data.as<std::int8_t>();
  if (is_linear) return p;
  const std::int64_t groups = node.integer("groups");
  p.taps = weight->type.shape[2] * weight->type.shape[3];
  p.is_padded = std::ranges::any_of(node.integers("padding"), [](std::int64_t n) { return n != 0; });
  p.is_depthwise = groups > 1 && p.inputs == 1 && groups == p.outputs;
  if (groups != 1 && !p.is_depthwise) return {};
  return p;
}

// The range of a sum, given what is known about the inputs.
ops::ChannelSums sums_of(const Products& p, std::int64_t output, const Known& known, const Range& range) {
  const std::int64_t zero_point = p.zero_point();
  // Padding has the zero point.
  const std::int64_t low = std::min<std::int64_t>(range.low - zero_point, 0),
                     high = std::max<std::int64_t>(range.high - zero_point, 0);
  ops::ChannelSums sums{p.bias(output), p.bias(output)};
  for (std::int64_t i = 0; i < p.inputs; ++i) {
    const auto& value = known[static_cast<std::size_t>(p.is_depthwise ? output : i)];
    for (std::int64_t tap = 0; tap < p.taps; ++tap) {
      const std::int64_t w = p.weight(output, i, tap);
      if (value && p.is_even(*value)) {
        sums.low += w * (*value - zero_point);
        sums.high += w * (*value - zero_point);
      } else if (value) {  // that value, or padding
        sums.low += std::min<std::int64_t>(0, w * (*value - zero_point));
        sums.high += std::max<std::int64_t>(0, w * (*value - zero_point));
      } else {
        sums.low += std::min(w * low, w * high);
        sums.high += std::max(w * low, w * high);
      }
    }
  }
  return sums;
}

std::int32_t bound_of(const ir::Node& node, const char* argument, std::int32_t otherwise) {
  if (!node.has(argument)) return otherwise;
  const ir::QuantParams& q = *node.result()->type.quant;
  return ops::quantize_value(node.number(argument), q.scale(), q.zero_point(), q.qmin, q.qmax);
}

const std::vector<double>* slopes_of(const ir::Node& node) {
  return node.has("activation_slopes") ? &std::get<std::vector<double>>(node.get("activation_slopes")) : nullptr;
}

// With 16-bit activations factors are rounded to 16 bits (docs/numerics.md). Where results at both ends of the range
// would be the same even if they were a little further out, they are.
std::optional<std::int32_t> constant_word(const ops::ChannelSums& sums, double factor,
                                          const ops::ChannelOutput& output) {
  const auto result = [&](double sum, double sign) {
    const double exact = sum * factor;
    const double level = std::floor(exact + sign * (0.01 + std::abs(exact) / (1 << 14)) + 0.5);
    return static_cast<std::int32_t>(std::clamp<double>(level, output.min, output.max));
  };
  const std::int32_t low = result(static_cast<double>(sums.low), -1);
  return low == result(static_cast<double>(sums.high), 1) ? std::optional(low) : std::nullopt;
}

Range results_range(const Products& p) {
  const ir::QuantParams& out = *p.node->result()->type.quant;
  return {bound_of(*p.node, "activation_min", out.qmin), bound_of(*p.node, "activation_max", out.qmax)};
}

Known results_of(const Products& p, const Known& known, const Range& inputs) {
  const ir::QuantParams& in = *p.input()->type.quant;
  const ir::QuantParams& weights = *p.node->tensor("weight")->type.quant;
  const ir::QuantParams& out = *p.node->result()->type.quant;
  const Range results = results_range(p);
  const ops::ChannelOutput range = {out.zero_point(), results.low, results.high};
  Known all;
  for (std::int64_t o = 0; o < p.outputs; ++o) {
    const double scale = weights.per_channel() ? weights.scales[static_cast<std::size_t>(o)] : weights.scale();
    const double factor = in.scale() * scale / out.scale();
    const ops::ChannelSums sums = sums_of(p, o, known, inputs);
    if (has_words(p.node->result())) {
      all.push_back(constant_word(sums, factor, range));
    } else if (const std::vector<double>* slopes = slopes_of(*p.node)) {
      const double slope = slopes->at(static_cast<std::size_t>(o) % slopes->size());
      const auto [positive, negative, shift] = ops::multipliers_by_sign(factor, factor * slope);
      all.push_back(ops::constant_result(sums, {positive, shift}, negative, range));
    } else {
      all.push_back(ops::constant_result(sums, ops::quantize_multiplier(factor), range));
    }
  }
  return all;
}

class Dropping {
 public:
  Dropping(ir::Graph& graph, std::size_t multiple) : graph_(graph), multiple_(multiple) {}

  std::size_t run() {
    for (ir::Node& node : graph_.nodes()) visit(node);
    // The last family first: removed rows leave columns without readers.
    std::size_t dropped = 0;
    for (auto at = order_.rbegin(); at != order_.rend(); ++at) {
      if (family_of(*at) == *at) dropped += drop_from(*at);
    }
    graph_.erase_unused();
    return dropped;
  }

 private:
  struct Family {
    std::vector<ir::Value*> values;
    std::vector<ir::Node*> within;   // that treat each channel separately
    std::vector<ir::Node*> readers;  // of all channels
    ir::Node* maker = nullptr;
  };

  // ---- what is known, and what is tied ------------------------------------------------------------------------------

  void visit(ir::Node& node) {
    if (const std::optional<Products> p = products_of(node)) {
      const Known& read = known_of(p->input());
      known_[node.result()] = results_of(*p, read, range_of(p->input()));
      ranges_[node.result()] = results_range(*p);
      if (p->is_depthwise) {
        extend(node, p->input());
        return;
      }
      if (ir::Value* family = family_of(p->input())) families_.at(family).readers.push_back(&node);
      if (begins_family(node.result())) begin(node);
      return;
    }
    const ops::Operator* op = ops::find(node);
    const bool is_channelwise = op != nullptr && op->channelwise != nullptr &&
                                ops::find_signature(node.op) == nullptr && op->channelwise(node) &&
                                node.results.size() == 1 && have_same_levels(node.result(), node.inputs().front());
    if (is_channelwise) {
      pass_on(node);
      extend(node, node.inputs().front());
      return;
    }
    for (const ir::Value* input : node.inputs()) close(input);
  }

  // Zero stays zero, whatever the scales.
  void pass_on(const ir::Node& node) {
    const ir::Value* input = node.inputs().front();
    const ir::QuantParams& in = *input->type.quant;
    const ir::QuantParams& out = *node.result()->type.quant;
    Known known;
    for (const auto& value : known_of(input)) {
      const bool is_zero = value && *value == in.zero_point();
      known.push_back(is_zero ? std::optional(out.zero_point()) : std::nullopt);
    }
    known_[node.result()] = std::move(known);
    // Nor does what is not negative become so.
    if (has_words(input) && range_of(input).low >= 0) ranges_[node.result()] = {0, 32767};
  }
  [[nodiscard]] Range range_of(const ir::Value* value) const {
    if (!has_words(value)) return {-128, 127};
    const auto known = ranges_.find(value);
    return known != ranges_.end() ? known->second : Range{-32768, 32767};
  }

  static std::size_t channels_of(const ir::Value* value) {
    return value->type.rank() > kChannelAxis ? static_cast<std::size_t>(value->type.shape[kChannelAxis]) : 0;
  }
  const Known& known_of(const ir::Value* value) {
    const auto [at, is_new] = known_.try_emplace(value);
    if (is_new) at->second.resize(channels_of(value));
    return at->second;
  }

  [[nodiscard]] bool begins_family(const ir::Value* value) const {
    return !graph_.is_kept(value) && channels_of(value) > 1 && (value->type.rank() == 4 || value->type.rank() == 2);
  }
  void begin(ir::Node& node) {
    Family family;
    family.maker = &node;
    family.values = {node.result()};
    families_.emplace(node.result(), std::move(family));
    first_[node.result()] = node.result();
    order_.push_back(node.result());
  }
  void extend(ir::Node& node, const ir::Value* input) {
    ir::Value* family = family_of(input);
    if (family == nullptr) return;
    if (graph_.is_kept(node.result()) || channels_of(node.result()) != channels_of(input)) return close(input);
    first_[node.result()] = family;
    families_.at(family).values.push_back(node.result());
    families_.at(family).within.push_back(&node);
  }
  // A reader uses all of it in a way that is not known here.
  void close(const ir::Value* value) {
    if (ir::Value* family = family_of(value)) families_.erase(family);
  }
  // The first value of the family; null where there is none.
  ir::Value* family_of(const ir::Value* value) {
    const auto at = first_.find(value);
    return at != first_.end() && families_.contains(at->second) ? at->second : nullptr;
  }

  // ---- what goes ----------------------------------------------------------------------------------------------------

  std::size_t drop_from(ir::Value* first) {
    const Family& family = families_.at(first);
    std::vector<Products> readers;
    readers.reserve(family.readers.size());
    for (ir::Node* reader : family.readers) readers.push_back(*products_of(*reader));
    const std::size_t channels = channels_of(first);
    std::vector<bool> goes(channels);
    for (std::size_t c = 0; c < channels; ++c) goes[c] = can_go(readers, c);
    if (std::ranges::all_of(goes, [](bool b) { return b; })) goes[0] = false;  // a tensor has at least one
    auto count = static_cast<std::size_t>(std::ranges::count(goes, true));
    for (std::size_t c = channels; c-- > 0 && count != 0 && (channels - count) % multiple_ != 0;) {
      if (goes[c]) --count;
      goes[c] = false;
    }
    if (count == 0) return 0;
    std::vector<std::vector<std::int32_t>> biases;
    for (const Products& reader : readers) {
      std::optional<std::vector<std::int32_t>> folded = folded_biases(reader, goes);
      if (!folded) return 0;
      biases.push_back(std::move(*folded));
    }
    for (std::size_t i = 0; i < readers.size(); ++i) drop_inputs(readers[i], goes, biases[i]);
    for (ir::Node* node : family.within) {
      if (const auto p = products_of(*node)) drop_outputs(*p, goes);
    }
    drop_outputs(*products_of(*family.maker), goes);
    for (ir::Value* value : family.values) {
      value->type.shape[kChannelAxis] -= static_cast<std::int64_t>(count);
      std::erase_if(known_.at(value), [&, i = std::size_t{0}](const auto&) mutable { return goes[i++]; });
    }
    for (ir::Node* node : family.within) {
      if (node->has("groups")) node->set("groups", node->result()->type.shape[kChannelAxis]);
      if (node->has("size")) node->set("size", node->result()->type.shape);
    }
    return count;
  }

  bool can_go(const std::vector<Products>& readers, std::size_t channel) {
    return std::ranges::all_of(readers, [&](const Products& p) {
      const auto at = static_cast<std::int64_t>(channel);
      const auto& value = known_of(p.input()).at(channel);
      for (std::int64_t o = 0; o < p.outputs; ++o) {
        if (!p.has_weights(o, at)) continue;
        if (!value || !p.is_even(*value)) return false;
      }
      return true;
    });
  }

  // Including what the removed channels contribute; none if that does not fit in 32 bits.
  std::optional<std::vector<std::int32_t>> folded_biases(const Products& p, const std::vector<bool>& goes) {
    const Known& known = known_of(p.input());
    std::vector<std::int32_t> biases;
    for (std::int64_t o = 0; o < p.outputs; ++o) {
      std::int64_t bias = p.bias(o);
      for (std::size_t c = 0; c < goes.size(); ++c) {
        if (goes[c] && known[c]) bias += p.column_sum(o, static_cast<std::int64_t>(c)) * (*known[c] - p.zero_point());
      }
      if (bias < std::numeric_limits<std::int32_t>::min() || bias > std::numeric_limits<std::int32_t>::max()) return {};
      biases.push_back(static_cast<std::int32_t>(bias));
    }
    return biases;
  }

  static ir::Bytes select(const ir::Value& value, std::size_t outer, const std::vector<bool>& goes, std::size_t inner) {
    std::vector<std::byte> kept;
    const std::span<const std::byte> bytes = value.data.bytes;
    for (std::size_t o = 0; o < outer; ++o) {
      for (std::size_t c = 0; c < goes.size(); ++c) {
        if (goes[c]) continue;
        const auto from = bytes.subspan((o * goes.size() + c) * inner, inner);
        kept.insert(kept.end(), from.begin(), from.end());
      }
    }
    return ir::Bytes::own(std::move(kept));
  }
  static void drop_scales(ir::TensorType& type, const std::vector<bool>& goes) {
    if (!type.quant || !type.quant->per_channel()) return;
    std::erase_if(type.quant->scales, [&, i = std::size_t{0}](double) mutable { return goes[i++]; });
    std::erase_if(type.quant->zero_points, [&, i = std::size_t{0}](std::int32_t) mutable { return goes[i++]; });
  }

  void drop_outputs(const Products& p, const std::vector<bool>& goes) {
    if (const std::vector<double>* slopes = slopes_of(*p.node); slopes != nullptr && slopes->size() > 1) {
      std::vector<double> kept = *slopes;
      std::erase_if(kept, [&, i = std::size_t{0}](double) mutable { return goes[i++]; });
      p.node->set("activation_slopes", std::move(kept));
    }
    for (const char* const argument : {"weight", "bias"}) {
      const ir::Value* before = p.node->tensor(argument);
      if (before == nullptr) continue;
      ir::TensorType type = before->type;
      const std::size_t inner = before->data.bytes.size() / goes.size();
      type.shape[0] = std::ranges::count(goes, false);
      drop_scales(type, goes);
      p.node->set(argument, graph_.add_constant(before->name, std::move(type), select(*before, 1, goes, inner)));
    }
  }

  void drop_inputs(const Products& p, const std::vector<bool>& goes, const std::vector<std::int32_t>& biases) {
    const ir::Value* weight = p.node->tensor("weight");
    const ir::QuantParams& scales = *weight->type.quant;
    bool differs = false;
    for (std::int64_t o = 0; o < p.outputs; ++o) differs = differs || biases[static_cast<std::size_t>(o)] != p.bias(o);
    if (differs) {
      ir::QuantParams quant = scales;
      quant.dtype = DType::i32;
      quant.qmin = std::numeric_limits<std::int32_t>::min();
      quant.qmax = std::numeric_limits<std::int32_t>::max();
      for (double& scale : quant.scales) scale *= p.input()->type.quant->scale();
      const ir::Value* before = p.node->tensor("bias");
      const ir::TensorType type =
          before != nullptr
              ? before->type
              : ir::TensorType{.dtype = DType::i32, .shape = {p.outputs}, .dim_order = {}, .quant = quant};
      const std::string name = before != nullptr ? before->name : weight->name + "_bias";
      p.node->set("bias", graph_.add_constant(name, type, ir::Bytes::of(std::span<const std::int32_t>(biases))));
    }
    ir::TensorType type = weight->type;
    type.shape[1] = std::ranges::count(goes, false);
    p.node->set("weight", graph_.add_constant(weight->name, std::move(type),
                                              select(*weight, static_cast<std::size_t>(p.outputs), goes,
                                                     static_cast<std::size_t>(p.taps))));
  }

  ir::Graph& graph_;
  std::size_t multiple_;
  std::unordered_map<const ir::Value*, Known> known_;
  std::unordered_map<const ir::Value*, Range> ranges_;  // of 16-bit results; 8 bits are all used
  std::unordered_map<const ir::Value*, ir::Value*> first_;
  std::unordered_map<const ir::Value*, Family> families_;
  std::vector<ir::Value*> order_;
};

}  // namespace

std::size_t drop_channels(ir::Graph& graph, std::size_t multiple) { return Dropping(graph, multiple).run(); }

}  // namespace cormorant::passes
