// SPDX-License-Identifier: Apache-2.0
#include "quantizer/balance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "evaluate/graph.h"
#include "ops/nodes.h"
#include "quantizer/annotate.h"
#include "quantizer/parallel.h"

namespace cormorant::quantizer {
namespace {

using evaluate::Tensor;

constexpr std::size_t kSamples = 64;    // enough to know each channel's range
constexpr double kSmallest = 1.0 / 64;  // factor; what is smaller matters little, or is dead
constexpr double kDead = 1.0 / 512;     // of the tensor's range: half a step
constexpr double kMargin = 1.5;         // for what a channel may become beyond what was seen
constexpr double kRefined = 0.5;        // what is left of the weights' noise when their rounding was refined

bool is_real(const ir::Value* value) { return value->type.dtype == DType::f32; }

bool is_float_constant(const ir::Node& node, std::string_view argument) {
  const ir::Value* value = node.has(argument) ? node.tensor(argument) : nullptr;
  return value != nullptr && value->kind == ir::ValueKind::constant && is_real(value);
}

// Where a tensor has its channels: images along the second dimension, features and tokens along the last. A tensor
// without elements shows nothing that could be balanced.
std::optional<std::size_t> channel_axis(const ir::Shape& shape) {
  if (std::ranges::find(shape, 0) != shape.end()) return std::nullopt;
  if (shape.size() == 4) return 1;
  if (shape.size() == 2 || shape.size() == 3) return shape.size() - 1;
  return std::nullopt;
}

std::size_t channels_of(const ir::Value* value) {
  return static_cast<std::size_t>(value->type.shape[*channel_axis(value->type.shape)]);
}

std::size_t inner_of(const ir::Shape& shape, std::size_t axis) {
  std::size_t inner = 1;
  for (std::size_t k = axis + 1; k < shape.size(); ++k) inner *= static_cast<std::size_t>(shape[k]);
  return inner;
}

// A layer whose weights can take a factor per channel of its operand and of its result.
class Layer {
 public:
  explicit Layer(const ir::Node& node) : node_(&node), shape_(node.tensor("weight")->type.shape) {
    groups_ = node.op == ops::nodes::aten_linear ? 1 : static_cast<std::size_t>(node.integer("groups"));
    taps_ = 1;
    for (std::size_t k = 2; k < shape_.size(); ++k) taps_ *= static_cast<std::size_t>(shape_[k]);
  }

  static bool is_one(const ir::Graph& graph, const ir::Node& node) {
    const bool is_image = node.op == ops::nodes::aten_conv2d || node.op == ops::nodes::aten_conv_transpose2d;
    if ((!is_image && node.op != ops::nodes::aten_linear) || !is_float_constant(node, "weight")) return false;
    if (node.has("bias") && !is_float_constant(node, "bias")) return false;
    if (is_float_constant(node, "input")) return false;  // which has no channels of an activation
    if (!channel_axis(node.tensor("input")->type.shape) || !channel_axis(node.result()->type.shape)) return false;
    if (!is_image && node.result()->type.rank() == 4) return false;
    if (node.op == ops::nodes::aten_conv_transpose2d && node.integer("groups") != 1) return false;
    // Steps of a recurrence have the same constants, and keep them.
    return graph.users(node.tensor("weight")).size() == 1;
  }

  [[nodiscard]] const ir::Node& node() const { return *node_; }
  [[nodiscard]] std::size_t taps() const { return taps_; }
  [[nodiscard]] std::size_t outputs() const { return channels_of(node_->result()); }

  // f(index of the weight, channel of the operand, channel of the result)
  template <class Visit>
  void visit(Visit f) const {
    const auto first = static_cast<std::size_t>(shape_[0]), second = static_cast<std::size_t>(shape_[1]);
    const bool is_transposed = node_->op == ops::nodes::aten_conv_transpose2d;
    const std::size_t per_group = std::max<std::size_t>(1, first / groups_);
    for (std::size_t a = 0; a < first; ++a) {
      for (std::size_t b = 0; b < second; ++b) {
        const std::size_t in = is_transposed ? a : a / per_group * second + b, out = is_transposed ? b : a;
        for (std::size_t t = 0; t < taps_; ++t) f((a * second + b) * taps_ + t, in, out);
      }
    }
  }

 private:
  const ir::Node* node_;
  ir::Shape shape_;
  std::size_t groups_ = 1, taps_ = 1;
};

// Channels whose factors must be the same, over the whole graph, and those that keep their size.
class Classes {
 public:
  Classes(const ir::Graph& graph, const std::vector<LayerSettings>& settings) : graph_(graph), settings_(settings) {
    for (const ir::Value* input : graph.inputs()) add(input, true);
    for (const ir::Value* state : graph.states()) add(state, true);
    for (const ir::Node& node : graph.nodes()) {
      for (const ir::Value* result : node.results) add(result, false);
    }
    for (const ir::Node& node : graph.nodes()) visit(node);
    for (const ir::Value* output : graph.outputs()) fix(output);
    for (const ir::Update& update : graph.updates()) fix(update.value);
  }

  [[nodiscard]] bool has(const ir::Value* value) const { return first_.contains(value); }
  [[nodiscard]] std::size_t of(const ir::Value* value, std::size_t channel) const {
    return root(first_.at(value) + channel);
  }
  [[nodiscard]] bool is_fixed(std::size_t root) const { return fixed_[root]; }
  [[nodiscard]] double bound(std::size_t root) const { return bound_[root]; }
  [[nodiscard]] std::size_t count() const { return parent_.size(); }
  [[nodiscard]] const std::vector<Layer>& layers() const { return layers_; }

 private:
  void add(const ir::Value* value, bool fixed) {
    if (!is_real(value) || !channel_axis(value->type.shape)) return;
    first_[value] = parent_.size();
    for (std::size_t c = channels_of(value); c > 0; --c) {
      parent_.push_back(parent_.size());
      fixed_.push_back(fixed);
      bound_.push_back(std::numeric_limits<double>::infinity());
    }
  }
  [[nodiscard]] std::size_t root(std::size_t k) const {
    while (parent_[k] != k) k = parent_[k] = parent_[parent_[k]];
    return k;
  }
  void unite(std::size_t a, std::size_t b) {
    a = root(a);
    b = root(b);
    if (a == b) return;
    parent_[std::max(a, b)] = std::min(a, b);
    const std::size_t to = std::min(a, b), from = std::max(a, b);
    fixed_[to] = fixed_[to] || fixed_[from];
    bound_[to] = std::min(bound_[to], bound_[from]);
  }
  void fix(const ir::Value* value) {
    if (!has(value)) return;
    for (std::size_t c = 0; c < channels_of(value); ++c) fixed_[of(value, c)] = true;
  }
  void fix_all(const ir::Node& node) {
    for (const ir::Value* value : node.inputs()) fix(value);
    for (const ir::Value* value : node.results) fix(value);
  }
  void unite(const ir::Value* a, const ir::Value* b) {
    if (!has(a) || !has(b) || channels_of(a) != channels_of(b)) {
      fix(a);
      fix(b);
      return;
    }
    for (std::size_t c = 0; c < channels_of(a); ++c) unite(first_.at(a) + c, first_.at(b) + c);
  }

  // A clamp at 0 from below, and at any number from above, as part of the node that makes the value.
  void bound_by(const ir::Node& node, std::string_view min, std::string_view max) {
    const ir::Value* result = node.result();
    if (!has(result)) return;
    if (node.has(min) && node.number(min) != 0) return fix(result);
    if (!node.has(max)) return;
    const double bound = node.number(max);
    if (!(bound > 0)) return fix(result);
    for (std::size_t c = 0; c < channels_of(result); ++c) {
      double& known = bound_[of(result, c)];
      known = std::min(known, bound);
    }
  }

  void visit(const ir::Node& node) {
    const bool is_allowed = settings_for(settings_, node.location.module).equalize.value_or(true);
    if (is_allowed && Layer::is_one(graph_, node)) {
      layers_.emplace_back(node);
      return bound_by(node, "activation_min", "activation_max");
    }
    if (!moves(node)) fix_all(node);
  }

  // Whether the node leaves channels unchanged, or sums channels of the same factor. Then they are united.
  bool moves(const ir::Node& node) {
    const std::string& op = node.op;
    ir::Value* result = node.results.at(0);
    if (node.results.size() != 1 || !has(result)) return false;
    const auto from = [&](std::string_view argument) { return node.tensor(argument); };
    const bool one_operand =
        op == ops::nodes::aten_max_pool2d || op == ops::nodes::aten_avg_pool2d || op == ops::nodes::aten_prelu ||
        op == ops::nodes::aten_leaky_relu || op == ops::nodes::aten_clamp || op == ops::nodes::aten_pad ||
        op == ops::nodes::aten_slice || op == ops::nodes::aten_mean || op == ops::nodes::aten_sum ||
        op == ops::nodes::aten_view || op == ops::nodes::cormorant_taps_float;
    if (one_operand && !has(from("self"))) return false;
    const auto axis = static_cast<std::int64_t>(*channel_axis(result->type.shape));
    if (op == ops::nodes::aten_max_pool2d || op == ops::nodes::aten_avg_pool2d || op == ops::nodes::aten_leaky_relu) {
      unite(from("self"), result);
    } else if (op == ops::nodes::aten_prelu) {
      if (axis != 1) return false;
      unite(from("self"), result);
    } else if (op == ops::nodes::aten_clamp) {
      unite(from("self"), result);
      bound_by(node, "min", "max");
      return true;
    } else if (op == ops::nodes::aten_pad) {
      const std::vector<std::int64_t> pad = node.integers("pad");
      const std::size_t at = 2 * (result->type.rank() - 1 - static_cast<std::size_t>(axis));
      const bool pads_channels = at + 1 < pad.size() && (pad[at] != 0 || pad[at + 1] != 0);
      if (pads_channels || node.number("value") != 0) return false;
      unite(from("self"), result);
    } else if (op == ops::nodes::aten_slice) {
      if (node.integer("dim") != axis) {
        unite(from("self"), result);
      } else {
        const auto start = static_cast<std::size_t>(node.integer("start"));
        const auto step = static_cast<std::size_t>(node.integer("step"));
        for (std::size_t c = 0; c < channels_of(result); ++c) {
          unite(first_.at(from("self")) + start + c * step, first_.at(result) + c);
        }
      }
    } else if (op == ops::nodes::aten_mean || op == ops::nodes::aten_sum || op == ops::nodes::cormorant_taps_float) {
      const bool is_taps = op == ops::nodes::cormorant_taps_float;
      const std::vector<std::int64_t> dims =
          is_taps ? std::vector<std::int64_t>{node.integer("dim")} : node.integers("dim");
      if (std::ranges::find(dims, axis) != dims.end()) return false;
      unite(from("self"), result);
    } else if (op == ops::nodes::aten_view) {
      return views(from("self"), result);
    } else if (op == ops::nodes::aten_cat) {
      std::size_t at = 0;
      for (const ir::Value* part : node.tensors("tensors")) {
        if (!has(part)) return false;
      }
      for (const ir::Value* part : node.tensors("tensors")) {
        if (node.integer("dim") != axis) {
          unite(part, result);
          continue;
        }
        for (std::size_t c = 0; c < channels_of(part); ++c) unite(first_.at(part) + c, first_.at(result) + at + c);
        at += channels_of(part);
      }
    } else if (op == ops::nodes::aten_add) {
      for (const char* argument : {"self", "other"}) {
        if (!has(from(argument)) || from(argument)->type.shape != result->type.shape) return false;
      }
      unite(from("self"), result);
      unite(from("other"), result);
    } else if (op == ops::nodes::aten_mul) {
      const ir::Value *self = from("self"), *other = from("other");
      if (self == other) return false;
      if (!has(self) || self->type.shape != result->type.shape) std::swap(self, other);
      if (!has(self) || self->type.shape != result->type.shape) return false;
      unite(self, result);
      fix(other);
    } else {
      return false;
    }
    bound_by(node, "activation_min", "activation_max");
    return true;
  }

  // [1, C, H, W] and [1, C · H · W]: features of a channel stay together.
  bool views(const ir::Value* from, const ir::Value* to) {
    const ir::Shape &a = from->type.shape, &b = to->type.shape;
    const bool both_known = (a.size() == 4 || a.size() == 2) && (b.size() == 4 || b.size() == 2);
    if (!both_known || a[0] != b[0]) return false;
    if (a == b) {
      unite(from, to);
      return true;
    }
    const std::size_t ca = channels_of(from), cb = channels_of(to);
    const std::size_t more = std::max(ca, cb), fewer = std::min(ca, cb);
    if (fewer == 0 || more % fewer != 0 || (a.size() == b.size())) return false;
    for (std::size_t c = 0; c < more; ++c) {
      unite(first_.at(from) + (ca == more ? c : c / (more / fewer)),
            first_.at(to) + (cb == more ? c : c / (more / fewer)));
    }
    return true;
  }

  const ir::Graph& graph_;
  const std::vector<LayerSettings>& settings_;
  std::unordered_map<const ir::Value*, std::size_t> first_;
  mutable std::vector<std::size_t> parent_;
  std::vector<bool> fixed_;
  std::vector<double> bound_;
  std::vector<Layer> layers_;
};

// The largest value so far, and an estimate of the next record: beyond the largest by as much as that is beyond the
// third.
struct Record {
  std::array<double, 3> best = {};
  void add(double value) {
    for (double& known : best) {
      if (value > known) std::swap(value, known);
    }
  }
  [[nodiscard]] double next() const { return kMargin * (best[0] + (best[0] - best[2])); }
};

// What the samples show of each channel of a tensor.
struct Seen {
  std::vector<double> low, high, sum, squares;
  std::vector<Record> lows, highs;  // one number of each sample, both positive
  double count = 0;                 // of each channel

  void add(const Tensor& tensor) {
    const std::size_t axis = *channel_axis(tensor.shape), inner = inner_of(tensor.shape, axis);
    const auto channels = static_cast<std::size_t>(tensor.shape[axis]);
    if (low.empty()) {
      low.assign(channels, 0);
      high = sum = squares = low;
      lows.resize(channels);
      highs.resize(channels);
    }
    const std::span<const float> values = tensor.values();
    for (std::size_t at = 0, c = 0; at < values.size(); at += inner, c = c + 1 == channels ? 0 : c + 1) {
      float least = 0, most = 0;
      double total = 0, energy = 0;
      for (std::size_t k = at; k < at + inner; ++k) {
        least = std::min(least, values[k]);
        most = std::max(most, values[k]);
        total += static_cast<double>(values[k]);
        energy += static_cast<double>(values[k]) * static_cast<double>(values[k]);
      }
      low[c] = std::min(low[c], static_cast<double>(least));
      high[c] = std::max(high[c], static_cast<double>(most));
      sum[c] += total;
      squares[c] += energy;
    }
    count += static_cast<double>(values.size() / std::max<std::size_t>(1, channels));
    for (std::size_t c = 0; c < channels; ++c) {
      lows[c].add(-low[c]);
      highs[c].add(high[c]);
    }
  }
  void merge(const Seen& other) {
    if (other.low.empty()) return;
    if (low.empty()) {
      *this = other;
      return;
    }
    for (std::size_t c = 0; c < low.size(); ++c) {
      low[c] = std::min(low[c], other.low[c]);
      high[c] = std::max(high[c], other.high[c]);
      sum[c] += other.sum[c];
      squares[c] += other.squares[c];
      for (const double value : other.lows[c].best) lows[c].add(value);
      for (const double value : other.highs[c].best) highs[c].add(value);
    }
    count += other.count;
  }
  [[nodiscard]] double energy(std::size_t c) const { return squares[c] / count; }
  [[nodiscard]] double variance(std::size_t c) const {
    const double mean = sum[c] / count;
    return std::max(0.0, squares[c] / count - mean * mean);
  }
};
using AllSeen = std::unordered_map<const ir::Value*, Seen>;

AllSeen watch(const ir::Graph& graph, const Classes& classes, const Samples& samples, std::size_t wanted_threads) {
  const std::size_t count = std::min(kSamples, samples.count);
  const evaluate::Evaluator evaluator(graph);
  // Inserted one by one in an order that does not depend on threads.
  std::vector<AllSeen> of_sample(count);
  parallel_for(count, thread_count(wanted_threads, count), [&](std::size_t k, std::size_t) {
    (void)evaluator.run(samples.load(k * samples.count / count), [&](const ir::Value& value, const Tensor& tensor) {
      if (classes.has(&value)) of_sample[k][&value].add(tensor);
    });
  });
  AllSeen all;
  for (const AllSeen& seen : of_sample) {
    for (const auto& [value, channels] : seen) all[value].merge(channels);
  }
  return all;
}

class Balance {
 public:
  Balance(ir::Graph& graph, const QuantizeOptions& options, const Samples& samples)
      : graph_(graph), classes_(graph, options.layers), seen_(watch(graph, classes_, samples, options.threads)) {
    for (ir::Node& node : graph.nodes()) nodes_[&node] = &node;
    for (const auto& [node, how] : annotate(graph, options).quantized) precisions_[node] = how.precision;
  }

  // A channel is divided by a power of its share, at most the square root. All of it would give every channel all
  // levels, but none of them room for what calibration has not seen: on networks with other data than they were
  // calibrated with, that cost more than it gained.
  void run() {
    find_shares();
    find_parts();
    for (const auto& [part, layers] : layers_of_part_) {
      double least = std::numeric_limits<double>::infinity();
      double chosen = 0;
      for (const double power : {0.0, 0.25, 0.5}) {
        const double noise = noise_of(layers, power);
        if (noise < least * (1 - 1e-3)) {
          least = noise;
          chosen = power;
        }
      }
      power_of_part_[part] = chosen;
    }
    apply();
  }

 private:
  // For each class, the largest share of a tensor's range that one of its channels has.
  void find_shares() {
    share_.assign(classes_.count(), 0.0);
    for (const auto& [value, seen] : seen_) {
      const double high = std::ranges::max(seen.high), low = std::ranges::min(seen.low);
      for (std::size_t c = 0; c < seen.high.size(); ++c) {
        double& share = share_[classes_.of(value, c)];
        if (high > 0) share = std::max(share, seen.highs[c].next() / high);
        if (low < 0) share = std::max(share, -seen.lows[c].next() / low);
      }
    }
    for (const auto& [value, seen] : seen_) {
      for (std::size_t c = 0; c < seen.high.size(); ++c) {
        const std::size_t k = classes_.of(value, c);
        const double bound = classes_.bound(k);
        if (bound < std::numeric_limits<double>::infinity())
          share_[k] = std::max(share_[k], seen.highs[c].next() / bound);
      }
    }
    // A channel that never leaves zero is dead, and stays so.
    for (double& share : share_) share = share < kDead ? 1.0 : std::clamp(share, kSmallest, 1.0);
  }

  // Tensors whose factors depend on each other, and the layers that read them.
  void find_parts() {
    part_.resize(classes_.count());
    std::iota(part_.begin(), part_.end(), std::size_t{0});
    const auto root = [&](std::size_t k) {
      while (part_[k] != k) k = part_[k] = part_[part_[k]];
      return k;
    };
    for (const auto& [value, seen] : seen_) {
      std::optional<std::size_t> first;
      for (std::size_t c = 0; c < seen.high.size(); ++c) {
        const std::size_t k = classes_.of(value, c);
        if (classes_.is_fixed(k)) continue;
        if (!first) first = root(k);
        const std::size_t other = root(k), to = std::min(*first, other);
        part_[std::max(*first, other)] = to;
        first = to;
      }
    }
    for (std::size_t k = 0; k < part_.size(); ++k) part_[k] = root(k);
    for (std::size_t l = 0; l < classes_.layers().size(); ++l) {
      const ir::Value* input = classes_.layers()[l].node().tensor("input");
      for (std::size_t c = 0; c < channels_of(input); ++c) {
        const std::size_t k = classes_.of(input, c);
        if (classes_.is_fixed(k)) continue;
        layers_of_part_[part_[k]].push_back(l);
        break;
      }
    }
  }

  [[nodiscard]] double factor(std::size_t k, double power) const {
    return classes_.is_fixed(k) ? 1.0 : std::pow(share_[k], power);
  }

  // Relative to what the layers compute: the noise of rounding their operands and their weights.
  [[nodiscard]] double noise_of(const std::vector<std::size_t>& layers, double power) const {
    double sum = 0;
    for (const std::size_t l : layers) {
      const Layer& layer = classes_.layers()[l];
      const ir::Node& node = layer.node();
      const auto known = precisions_.find(&node);
      const ops::Precision precision = known == precisions_.end() ? ops::Precision::w8a8 : known->second;
      const double levels = precision == ops::Precision::w8a16 ? 65535 : 255;
      const double largest = precision == ops::Precision::w4a8 ? 7 : 127;
      const ir::Value* input = node.tensor("input");
      const Seen &in = seen_.at(input), &out = seen_.at(node.result());
      double signal = 0;
      for (std::size_t o = 0; o < out.high.size(); ++o) signal += out.variance(o);
      if (!(signal > 0)) continue;
      std::vector<double> factors(in.high.size());
      double high = 0, low = 0;
      for (std::size_t c = 0; c < factors.size(); ++c) {
        factors[c] = factor(classes_.of(input, c), power);
        high = std::max(high, in.high[c] / factors[c]);
        low = std::min(low, in.low[c] / factors[c]);
      }
      const double step = (high - low) / levels;
      const Tensor weights = evaluate::constant_tensor(*node.tensor("weight"));
      std::vector<double> most(layer.outputs(), 0.0), energy(layer.outputs(), 0.0);
      double rounded = 0;
      layer.visit([&](std::size_t k, std::size_t c, std::size_t o) {
        const double weight = std::abs(static_cast<double>(weights.values()[k])) * factors[c];
        rounded += weight * weight;
        most[o] = std::max(most[o], weight);
        energy[o] += in.variance(c) / (factors[c] * factors[c]);
      });
      double of_weights = 0;
      for (std::size_t o = 0; o < most.size(); ++o) of_weights += most[o] * most[o] * energy[o];
      sum += (step * step * rounded + kRefined * of_weights / (largest * largest)) / signal;
    }
    return sum;
  }

  void apply() {
    std::vector<double> factors(classes_.count(), 1.0);
    for (std::size_t k = 0; k < factors.size(); ++k) {
      const auto power = power_of_part_.find(part_[k]);
      if (classes_.is_fixed(k) || power == power_of_part_.end()) continue;
      factors[k] = factor(k, power->second);
    }
    for (const Layer& layer : classes_.layers()) {
      ir::Node& node = *nodes_.at(&layer.node());
      const ir::Value *input = node.tensor("input"), *result = node.result();
      const auto in = [&](std::size_t c) { return classes_.has(input) ? factors[classes_.of(input, c)] : 1.0; };
      const auto out = [&](std::size_t c) { return factors[classes_.of(result, c)]; };
      const Tensor old = evaluate::constant_tensor(*node.tensor("weight"));
      std::vector<float> weights(old.values().begin(), old.values().end());
      bool changed = false;
      layer.visit([&](std::size_t k, std::size_t c, std::size_t o) {
        const double by = in(c) / out(o);
        if (by == 1) return;
        changed = true;
        weights[k] = static_cast<float>(static_cast<double>(weights[k]) * by);
      });
      if (!changed) continue;
      replace(node, "weight", weights);
      if (!node.has("bias")) continue;
      const Tensor bias = evaluate::constant_tensor(*node.tensor("bias"));
      std::vector<float> numbers(bias.values().begin(), bias.values().end());
      for (std::size_t o = 0; o < numbers.size(); ++o) {
        numbers[o] = static_cast<float>(static_cast<double>(numbers[o]) / out(o));
      }
      replace(node, "bias", numbers);
    }
    graph_.erase_unused();
  }

  void replace(ir::Node& node, std::string_view argument, const std::vector<float>& values) {
    const ir::Value* old = node.tensor(argument);
    node.set(argument, graph_.add_constant(old->name, ir::float_type(old->type.shape),
                                           ir::Bytes::of(std::span<const float>(values))));
  }

  ir::Graph& graph_;
  std::unordered_map<const ir::Node*, ir::Node*> nodes_;
  std::unordered_map<const ir::Node*, ops::Precision> precisions_;
  const Classes classes_;
  const AllSeen seen_;
  std::vector<double> share_;
  std::vector<std::size_t> part_;
  std::map<std::size_t, std::vector<std::size_t>> layers_of_part_;
  std::map<std::size_t, double> power_of_part_;
};

}  // namespace

void balance(ir::Graph& graph, const Samples& samples, const QuantizeOptions& options) {
  Balance(graph, options, samples).run();
}

}  // namespace cormorant::quantizer
