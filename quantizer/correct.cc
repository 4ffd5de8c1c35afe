// SPDX-License-Identifier: Apache-2.0
#include "quantizer/correct.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "evaluate/graph.h"
#include "ops/nodes.h"
#include "ops/op.h"
#include "quantizer/parallel.h"
#include "quantizer/rounding.h"

namespace cormorant::quantizer {
namespace {

// All of them are processed at once, so memory does not depend on the number of samples; fewer for a model with many
// or large tensors.
constexpr std::size_t kSamples = 32, kSamplesOfLarge = 16;
constexpr std::size_t kElements = std::size_t{1} << 25;
constexpr std::size_t kBytes = std::size_t{256} << 20;

std::size_t samples_at_once(const ir::Graph& graph, const Samples& samples) {
  std::int64_t largest = 1, results = 1;
  for (const ir::Node& node : graph.nodes()) {
    results += node.results.at(0)->type.elements();
    std::int64_t elements = 0;
    for (const ir::Value* value : node.inputs()) {
      if (value->kind != ir::ValueKind::constant) elements += value->type.elements();
    }
    for (const ir::Value* value : node.results) elements += value->type.elements();
    largest = std::max(largest, elements);
  }
  const std::size_t bytes = 2 * sizeof(float) * static_cast<std::size_t>(largest);  // in both graphs
  const std::size_t affordable = std::clamp(kElements / static_cast<std::size_t>(results), kSamplesOfLarge, kSamples);
  return std::min({samples.count, affordable, std::max<std::size_t>(2, kBytes / bytes)});
}

constexpr double kBiasMax = 1 << 30;  // half of int32: the sum of products has the other half

// Where a layer's output channels are, for the operators whose bias is one number per channel.
std::optional<std::size_t> channel_axis(const ir::Node& node) {
  if (node.op == ops::nodes::aten_linear) return node.result()->type.rank() - 1;
  if (node.op == ops::nodes::aten_conv2d) return 1;
  return std::nullopt;
}

bool is_correctable(const ir::Node& node) {
  if (!channel_axis(node) || !node.has("bias") || !node.result()->type.quant) return false;
  const ir::Value* bias = node.tensor("bias");
  return bias->kind == ir::ValueKind::constant && bias->type.dtype == DType::i32 && bias->type.quant.has_value();
}

// The node without the activation that was fused into it: after a clamp, an error of the mean is partly hidden.
ir::Node before_activation(const ir::Node& node) {
  ir::Node bare = node;
  std::erase_if(bare.args, [](const ir::NamedArgument& a) { return a.name.starts_with("activation_"); });
  return bare;
}

struct Channels {
  std::size_t count, inner;
  Channels(const ir::Shape& shape, std::size_t axis) : count(static_cast<std::size_t>(shape[axis])), inner(1) {
    for (std::size_t k = axis + 1; k < shape.size(); ++k) inner *= static_cast<std::size_t>(shape[k]);
  }
};

std::vector<double> mean_difference(const evaluate::Tensor& wanted, const evaluate::Tensor& got, std::size_t axis) {
  const Channels channels(wanted.shape, axis);
  std::vector<double> sums(channels.count, 0.0);
  const std::span<const float> a = wanted.values(), b = got.values();
  for (std::size_t at = 0, channel = 0; at < a.size(); at += channels.inner, channel = (channel + 1) % channels.count) {
    double sum = 0;
    for (std::size_t k = 0; k < channels.inner; ++k) sum += static_cast<double>(a[at + k] - b[at + k]);
    sums[channel] += sum;
  }
  for (double& sum : sums) sum /= static_cast<double>(a.size() / channels.count);
  return sums;
}

evaluate::Tensor plus(const evaluate::Tensor& tensor, const std::vector<double>& per_channel, std::size_t axis) {
  const Channels channels(tensor.shape, axis);
  std::vector<float> out(tensor.values().begin(), tensor.values().end());
  for (std::size_t at = 0, channel = 0; at < out.size();
       at += channels.inner, channel = (channel + 1) % channels.count) {
    for (std::size_t k = 0; k < channels.inner; ++k) out[at + k] += static_cast<float>(per_channel[channel]);
  }
  return {tensor.shape, std::move(out)};
}

// The error that all samples have in common. The spread between samples says how much of their mean is chance: that
// share is ignored, so that a correction learned from a few samples does not harm others.
double consistent_part(const std::vector<std::vector<double>>& means, std::size_t channel) {
  const auto count = static_cast<double>(means.size());
  double sum = 0, squares = 0;
  for (const std::vector<double>& of_sample : means) {
    sum += of_sample[channel];
    squares += of_sample[channel] * of_sample[channel];
  }
  const double mean = sum / count;
  if (means.size() < 2 || mean == 0) return 0;
  const double variance_of_mean = std::max(0.0, squares / count - mean * mean) / (count - 1);
  return mean * std::max(0.0, 1 - variance_of_mean / (mean * mean));
}

// What a sample provides: the inputs, then the states.
std::vector<const ir::Value*> given(const ir::Graph& graph) {
  std::vector<const ir::Value*> values(graph.inputs().begin(), graph.inputs().end());
  for (const ir::Value* state : graph.states()) values.push_back(state);
  return values;
}

class Refinement {
 public:
  Refinement(ir::Graph& quantized, const ir::Graph& real, const Samples& samples, const QuantizeOptions& options)
      : options_(options),
        quantized_(quantized),
        real_(real),
        count_(samples_at_once(real, samples)),
        threads_(thread_count(options.threads, count_)) {
    const auto constants = std::make_shared<evaluate::Constants>();
    const auto real_constants = std::make_shared<evaluate::Constants>();
    const std::vector<const ir::Value*> begin = given(quantized), real_begin = given(real);
    for (std::size_t k = 0; k < count_; ++k) {
      const Sample sample = samples.load(k * samples.count / count_);
      Lane& lane = lanes_.emplace_back(evaluate::Frame(constants), evaluate::Frame(real_constants));
      for (std::size_t i = 0; i < sample.size(); ++i) {
        lane.integers.set(begin[i], settled(*begin[i], sample[i]));
        lane.reals.set(real_begin[i], sample[i]);
      }
    }
    for (const ir::Node& node : real.nodes()) real_nodes_[node.results.at(0)->name] = &node;
  }

  std::unordered_map<std::string, std::size_t> run() {
    const Uses uses = last_uses(quantized_), real_uses = last_uses(real_);
    const std::size_t nodes = quantized_.nodes().size();
    std::size_t done = 0;
    const auto tell_of_node = [&] { tell(options_.progress, "rounding weights", done++, nodes); };
    for (ir::Node& node : quantized_.nodes()) {
      tell_of_node();
      const auto at = real_nodes_.find(node.results.at(0)->name);
      const ir::Node* real = at != real_nodes_.end() && at->second->op == node.op ? at->second : nullptr;
      const LayerSettings own = settings_for(options_.layers, node.location.module);
      const bool corrects = options_.correct_biases && own.correct_bias.value_or(true);
      const bool rounds = options_.round_weights && own.round_weights.value_or(true);
      if (rounds && real != nullptr) {
        for (const std::string& weight : refinable_weights(quantized_, node)) {
          round(node, *real, weight, corrects && is_correctable(node));
        }
      }
      if (corrects && real != nullptr && is_correctable(node)) {
        correct(node, *real);
      } else {
        each_lane([&](Lane& lane, std::size_t) {
          if (real != nullptr) define(*real, lane.reals, run_node(*real, lane.reals));
          define(node, lane.integers, run_node(node, lane.integers));
        });
      }
      if (options_.refine_alone && real != nullptr) {
        for (Lane& lane : lanes_) {
          for (std::size_t k = 0; k < node.results.size(); ++k) {
            lane.integers.set(node.results[k], lane.reals.get(real->results[k]));
          }
        }
      }
      for (Lane& lane : lanes_) {
        for (const ir::Value* value : uses.at(&node)) lane.integers.drop(value);
        if (real == nullptr) continue;
        for (const ir::Value* value : real_uses.at(real)) lane.reals.drop(value);
      }
    }
    tell_of_node();
    return std::move(changed_);
  }

 private:
  struct Lane {  // one sample in both graphs
    evaluate::Frame integers, reals;
  };
  using Uses = std::unordered_map<const ir::Node*, std::vector<const ir::Value*>>;

  static Uses last_uses(const ir::Graph& graph) {
    Uses uses;
    std::unordered_set<const ir::Value*> seen;
    for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
      std::vector<const ir::Value*>& last = uses[&*node];
      std::vector<ir::Value*> touched = node->inputs();
      touched.insert(touched.end(), node->results.begin(), node->results.end());
      for (const ir::Value* value : touched) {
        if (seen.insert(value).second) last.push_back(value);
      }
    }
    return uses;
  }

  static std::vector<evaluate::Tensor> run_node(const ir::Node& node, const evaluate::Frame& frame) {
    return ops::find(node)->evaluate(node, frame);
  }
  static evaluate::Tensor settled(const ir::Value& value, const evaluate::Tensor& tensor) {
    return value.type.quant ? evaluate::round_to(*value.type.quant, tensor) : tensor;
  }
  static void define(const ir::Node& node, evaluate::Frame& frame, const std::vector<evaluate::Tensor>& results) {
    for (std::size_t k = 0; k < results.size(); ++k) {
      frame.set(node.results[k], settled(*node.results[k], results[k]));
    }
  }
  template <class Body>
  void each_lane(const Body& body) {
    parallel_for(lanes_.size(), threads_, [&](std::size_t k, std::size_t) { body(lanes_[k], k); });
  }

  void round(ir::Node& node, const ir::Node& real, const std::string& argument, bool bias_takes_mean) {
    std::vector<evaluate::Tensor> inputs(count_);
    each_lane([&](Lane& lane, std::size_t k) {
      inputs[k] = argument == "w_hh" ? h_before_steps(node, lane.integers) : lane.integers.get(node.tensor("input"));
    });
    const ir::Value* old = node.tensor(argument);
    const RoundedWeights rounded = refine_weights(node, argument, evaluate::constant_tensor(*real.tensor(argument)),
                                                  inputs, bias_takes_mean, options_.threads);
    changed_[node.name] += rounded.changed;
    if (rounded.changed == 0) return;
    node.set(argument, quantized_.add_constant(old->name, old->type,
                                               ir::Bytes::of(std::span<const std::int8_t>(rounded.weights))));
  }

  // What a recurrent layer multiplies by its second weights: h of the step before, for every step.
  static evaluate::Tensor h_before_steps(const ir::Node& node, const evaluate::Frame& frame) {
    const evaluate::Tensor states = settled(*node.results[0], run_node(node, frame).at(0));
    const auto step = static_cast<std::size_t>(states.shape[1] * states.shape[2]);
    std::vector<float> first(step);
    if (node.has("h")) std::ranges::copy(frame.get(node.tensor("h")).values(), first.begin());
    std::vector<float> before(states.values().begin(), states.values().end());
    if (node.boolean("backwards")) {
      std::shift_left(before.begin(), before.end(), static_cast<std::ptrdiff_t>(step));
      std::ranges::copy(first, before.end() - static_cast<std::ptrdiff_t>(step));
    } else {
      std::shift_right(before.begin(), before.end(), static_cast<std::ptrdiff_t>(step));
      std::ranges::copy(first, before.begin());
    }
    return {states.shape, std::move(before)};
  }

  void correct(ir::Node& node, const ir::Node& real) {
    const ir::Node bare = before_activation(node), bare_real = before_activation(real);
    const std::size_t axis = *channel_axis(node);
    std::vector<evaluate::Tensor> sums(count_);
    std::vector<std::vector<double>> means(count_);
    each_lane([&](Lane& lane, std::size_t k) {
      const evaluate::Tensor wanted = run_node(bare_real, lane.reals).at(0);
      sums[k] = run_node(bare, lane.integers).at(0);
      means[k] = mean_difference(wanted, sums[k], axis);
      define(real, lane.reals, {evaluate::with_activation(real, wanted)});
    });
    const std::vector<double> added = add_to_bias(node, means);
    each_lane([&](Lane& lane, std::size_t k) {
      define(node, lane.integers, {evaluate::with_activation(node, plus(sums[k], added, axis))});
    });
  }

  // Returns what was actually added, in whole units of the bias.
  std::vector<double> add_to_bias(ir::Node& node, const std::vector<std::vector<double>>& means) {
    const ir::Value* bias = node.tensor("bias");
    const ir::QuantParams& quant = *bias->type.quant;
    const std::span<const std::int32_t> old = bias->data.as<std::int32_t>();
    std::vector<std::int32_t> corrected(old.begin(), old.end());
    std::vector<double> added(old.size());
    for (std::size_t c = 0; c < old.size(); ++c) {
      const double unit = quant.scales[quant.per_channel() ? c : 0];
      const double wanted = std::round(old[c] + consistent_part(means, c) / unit);
      if (std::abs(wanted) > kBiasMax) continue;
      corrected[c] = static_cast<std::int32_t>(wanted);
      added[c] = (static_cast<double>(corrected[c]) - old[c]) * unit;
    }
    node.set("bias",
             quantized_.add_constant(bias->name, bias->type, ir::Bytes::of(std::span<const std::int32_t>(corrected))));
    return added;
  }

  const QuantizeOptions& options_;
  ir::Graph& quantized_;
  const ir::Graph& real_;
  const std::size_t count_, threads_;
  std::vector<Lane> lanes_;
  std::unordered_map<std::string, const ir::Node*> real_nodes_;
  std::unordered_map<std::string, std::size_t> changed_;
};

}  // namespace

std::unordered_map<std::string, std::size_t> refine(ir::Graph& quantized, const ir::Graph& real, const Samples& samples,
                                                    const QuantizeOptions& options) {
  if (!options.round_weights && !options.correct_biases) return {};
  std::unordered_map<std::string, std::size_t> changed = Refinement(quantized, real, samples, options).run();
  quantized.erase_unused();
  return changed;
}

}  // namespace cormorant::quantizer
