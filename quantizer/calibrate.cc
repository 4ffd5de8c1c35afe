// SPDX-License-Identifier: Apache-2.0
#include "quantizer/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "ops/nodes.h"
#include "quantizer/held_out.h"
#include "quantizer/observe.h"
#include "quantizer/parallel.h"
#include "quantizer/weights.h"

namespace cormorant::quantizer {
namespace {

[[noreturn]] void reject_non_finite(const ir::Value& value, const std::string& when) {
  throw InputError({.problem = fmt::format("'{}' contains an infinity or NaN{}", value.name, when),
                    .advice = "integers cannot represent it; check the calibration data and the model's weights there",
                    .node = value.producer == nullptr ? value.name : value.producer->name,
                    .source = value.producer == nullptr ? std::string() : value.producer->location.text()});
}

void require_finite_weights(const ir::Graph& graph, const Annotation& annotation) {
  for (const ir::Node& node : graph.nodes()) {
    const auto found = annotation.quantized.find(&node);
    if (found == annotation.quantized.end()) continue;
    for (const ops::QuantRule::Weight& weight : found->second.rule.weights) {
      if (!node.has(weight.argument)) continue;
      const ir::Value* value = node.tensor(weight.argument);
      const evaluate::Tensor tensor = evaluate::constant_tensor(*value);
      if (!std::ranges::all_of(tensor.values(), [](float v) { return std::isfinite(v); }))
        reject_non_finite(*value, "");
    }
  }
}

// The factor from a node's accumulator to its result must not exceed 1: the accumulator would be shifted left, and
// inputs a little outside the calibration data would overflow it instead of saturating. Only results that are close to
// zero by cancellation get there; a wider range costs them nothing, since the accumulator is no finer.
void widen_results(const ir::Graph& graph, const Annotation& annotation, std::vector<ir::QuantParams>& params) {
  for (const ir::Node& node : graph.nodes()) {
    const auto found = annotation.quantized.find(&node);
    if (found == annotation.quantized.end() || found->second.rule.weights.empty()) continue;
    const ops::QuantRule& rule = found->second.rule;
    // The sums of a recurrence become gates, not results.
    if (!std::holds_alternative<ops::QuantRule::Observe>(rule.output) || rule.words) continue;
    const FactorScales factors = annotation.factors_of(node, params);
    const ops::Precision precision = found->second.precision;
    double unit = 0;
    const std::vector<WeightScales> scales = weight_scales(node, rule, factors, precision);
    for (std::size_t k = 0; k < scales.size(); ++k) {
      for (const double scale : scales[k].scales) unit = std::max(unit, scale * factors.of(rule.weights[k]));
    }
    // Kernels for 16 bits multiply by less than one half.
    if (precision == ops::Precision::w8a16) unit *= 2;
    for (const ir::Value* result : node.results) {
      const auto group = annotation.group_of.find(result);
      if (group == annotation.group_of.end()) continue;
      double& scale = params[group->second].scales[0];
      if (scale < unit) scale = std::nextafterf(static_cast<float>(unit), std::numeric_limits<float>::infinity());
    }
  }
}

// Tensors that share a range come from several layers; the first that has an exception decides for all.
LayerSettings settings_of(const Group& group, const QuantizeOptions& options) {
  for (const ir::Value* member : group.members) {
    if (member->producer == nullptr) continue;
    LayerSettings own = settings_for(options.layers, member->producer->location.module);
    if (own.observer || own.range) return own;
  }
  return {};
}

// The largest value that a group's tensors can have, given the activations they come from.
double largest_by_activation(const Group& group) {
  double largest = 0;
  for (const ir::Value* member : group.members) {
    const ir::Node* node = member->producer;
    const bool is_bounded = node != nullptr && node->has("activation_max") && node->number("activation_max") > 0;
    largest = std::max(largest, is_bounded ? node->number("activation_max") : std::numeric_limits<double>::infinity());
  }
  return largest;
}

// With 16 bits a finer step does not matter, but clipping does: nothing that was seen is clipped, nor anything up to
// half as large again. A ReLU6's result still ends at 6, so that kernels need only saturate, not clamp.
std::vector<Proposal> wide_proposals(const Distribution& seen, Observer observer, double largest) {
  constexpr double kBeyond = 1.5;
  if (observer != Observer::automatic) return {{{observer}, observed_range(observer, seen, kWords)}};
  return {
      {{Observer::minmax}, params_for_range(kBeyond * seen.min(), std::min(largest, kBeyond * seen.max()), kWords)}};
}

// How much inference may see that calibration has not: everything if the samples are far apart, little if the input has
// so few numbers that samples are close together, as for a function of one number.
double unseen_share(const ir::Graph& graph, const Observations& observations) {
  constexpr double kSideBySide = 4;  // with up to this many along every dimension, everything is open
  std::int64_t dimensions = 0;
  double samples = 1;
  for (const ir::Value* input : graph.inputs()) {
    const std::int64_t elements = std::max<std::int64_t>(1, input->type.elements());
    dimensions += elements;
    const auto seen = observations.find(input);
    if (seen == observations.end()) return 1;
    samples = std::max(samples, seen->second.distribution().count / static_cast<double>(elements));
  }
  for (const ir::Value* state : graph.states()) dimensions += state->type.elements();
  if (dimensions == 0) return 1;
  return std::min(1.0, kSideBySide / std::pow(samples, 1 / static_cast<double>(dimensions)));
}

// With only a few numbers, the largest says little about what inference will see. Among n numbers with tails like the
// normal distribution's, the next record is larger by about 1 / (2 ln n); there will be several, and those of one
// sample are alike. With many numbers, clipping a few does not matter.
ir::QuantParams somewhat_wider(const Distribution& seen, double largest, double unseen) {
  constexpr double kFew = 512;
  const double share = unseen * std::min(1.0, std::sqrt(kFew / std::max(seen.count, 1.0)));
  const double beyond = 1 + share / std::log(std::max(seen.count, 8.0));
  return params_for_range(beyond * seen.min(), std::min(largest, beyond * seen.max()), {});
}

// The alternatives, without duplicates.
std::vector<Proposal> proposals_for(const Distribution& seen, Observer observer, double largest, double unseen) {
  constexpr double kEnough = 2048, kMany = 16384;
  if (observer != Observer::automatic) {
    const bool is_enough = seen.count >= kEnough;
    return {{{is_enough ? observer : Observer::minmax},
             is_enough ? observed_range(observer, seen, {}) : minmax_range(seen, {})}};
  }
  std::vector<Proposal> proposals;  // the first is taken unless another is clearly better
  if (seen.count < kMany) proposals.push_back({{}, somewhat_wider(seen, largest, unseen)});
  if (seen.count < kEnough) return proposals;  // few samples do not show what clipping costs
  for (const Observer candidate : {Observer::mse, Observer::minmax, Observer::percentile, Observer::kl}) {
    const ir::QuantParams params = observed_range(candidate, seen, {});
    const auto known = std::ranges::find(proposals, params, &Proposal::params);
    if (known != proposals.end()) {
      known->observers.push_back(candidate);
    } else {
      proposals.push_back({{candidate}, params});
    }
  }
  return proposals;
}

}  // namespace

Watched calibrate(const ir::Graph& graph, const Annotation& annotation, const Samples& samples, const Split& split,
                  const QuantizeOptions& options) {
  require_finite_weights(graph, annotation);
  const std::size_t threads = thread_count(options.threads, samples.count);
  std::vector<Watched> per_thread(threads);
  Watched& all = per_thread[0];
  for (const auto& [value, group] : annotation.group_of) {
    for (Watched& watched : per_thread) {
      watched.fitted[value];
      watched.held[value];
    }
    if (value->kind == ir::ValueKind::constant) all.fitted[value].add(evaluate::constant_tensor(*value).values());
  }

  const evaluate::Evaluator evaluator(graph);
  SharedProgress progress(options.progress, kCalibrating, samples.count);
  parallel_for(samples.count, threads, [&](std::size_t index, std::size_t thread) {
    Observations& to = split.is_held(index) ? per_thread[thread].held : per_thread[thread].fitted;
    (void)evaluator.run(samples.load(index), [&](const ir::Value& value, const evaluate::Tensor& tensor) {
      const auto at = to.find(&value);
      if (at == to.end()) return;
      at->second.add(tensor.values());
      if (at->second.has_non_finite()) reject_non_finite(value, fmt::format(" for calibration sample {}", index));
    });
    progress.one_done();
  });
  for (std::size_t t = 1; t < threads; ++t) {
    for (auto& [value, histogram] : all.fitted) histogram.merge(per_thread[t].fitted.at(value));
    for (auto& [value, histogram] : all.held) histogram.merge(per_thread[t].held.at(value));
  }
  return std::move(per_thread[0]);
}

Observations calibrate(const ir::Graph& graph, const Annotation& annotation, const Samples& samples,
                       const QuantizeOptions& options) {
  return std::move(calibrate(graph, annotation, samples, Split{}, options).fitted);
}

Observations Watched::all() const {
  Observations merged;
  for (const auto& [value, histogram] : fitted) {
    merged[value].merge(histogram);
    merged[value].merge(held.at(value));
  }
  return merged;
}

namespace {

// A uint8 input has these levels and no others.
bool was_bytes(const Group& group) {
  return !group.is_wide && std::ranges::any_of(group.members, [](const ir::Value* value) {
    return value->producer != nullptr && value->producer->op == ops::nodes::cormorant_convert_any &&
           value->producer->tensor("self")->type.dtype == DType::u8;
  });
}

// The range of a camera's bytes, if the input's values may be pixels: 0 to 1, or 0 to 255. Values that fill little of
// it would lose bits, and are not pixels.
std::optional<ir::QuantParams> pixel_levels(const Group& group, const Observations& observations) {
  const auto is_input = [](const ir::Value* value) { return value->kind == ir::ValueKind::input; };
  const auto input = std::ranges::find_if(group.members, is_input);
  if (input == group.members.end() || group.is_wide) return std::nullopt;
  const Distribution seen = observations.at(*input).distribution();
  constexpr double kFilled = 0.25;
  for (const double highest : {1.0, 255.0}) {
    if (seen.min() >= 0 && seen.max() <= highest && seen.max() >= kFilled * highest) {
      return ir::per_tensor_i8(highest / 255, -128);
    }
  }
  return std::nullopt;
}

// The scale of a known range; halved as often as what occurs leaves room above it, since the shares of a long softmax
// would be a few levels otherwise. Once is not worth what it takes there: a table instead of computed exponentials.
// What the program returns keeps its range.
double scale_in_known_range(const ir::Graph& graph, const Group& group, const Observations& observations,
                            const QuantizeOptions& options) {
  const ops::QuantRule::Fixed& fixed = *group.fixed;
  const bool is_wide = fixed.dtype == DType::i16;
  const double room = is_wide ? 2 : 1.5;  // a state may be larger in between than at the end, where it is seen
  const auto is_returned = [&](const ir::Value* value) { return graph.is_output(value); };
  if (fixed.halvings == 0 || options.executorch_operators || std::ranges::any_of(group.members, is_returned)) {
    return fixed.scale;
  }
  double largest = 0;
  for (const ir::Value* member : group.members) {
    const Distribution seen = observations.at(member).distribution();
    largest = std::max({largest, seen.max(), -seen.min()});
  }
  double scale = fixed.scale;
  for (std::int32_t k = 0; k < fixed.halvings; ++k) {
    const double highest = ((is_wide ? 32767 : 127) - fixed.zero_point) * scale / 2;
    if (room * largest > highest) break;
    scale /= 2;
  }
  return is_wide || scale < fixed.scale / 2 ? scale : fixed.scale;
}

// The alternatives per group.
struct Proposals {
  std::vector<std::vector<Proposal>> of_group;  // none where the parameters are fixed
  std::vector<double> known_scale;              // there
  std::vector<std::string> asked;               // who requested a range of its own
};

Proposals proposals_of(const ir::Graph& graph, const Annotation& annotation, const Observations& observations,
                       const QuantizeOptions& options) {
  Proposals all{std::vector<std::vector<Proposal>>(annotation.groups.size()),
                std::vector<double>(annotation.groups.size()), std::vector<std::string>(annotation.groups.size())};
  const double unseen = unseen_share(graph, observations);
  const std::size_t threads = thread_count(options.threads, annotation.groups.size());
  parallel_for(annotation.groups.size(), threads, [&](std::size_t k, std::size_t) {
    const Group& group = annotation.groups[k];
    if (group.fixed) {
      all.known_scale[k] = scale_in_known_range(graph, group, observations, options);
      return;
    }
    const LayerSettings own = settings_of(group, options);
    if (own.range) {
      all.of_group[k] = {
          {{Observer::minmax}, params_for_range(own.range->first, own.range->second, group.is_wide ? kWords : Grid{})}};
      all.asked[k] = "range as requested";
      return;
    }
    if (was_bytes(group)) {
      all.of_group[k] = {{{Observer::minmax}, ir::per_tensor_i8(1, -128)}};
      all.asked[k] = "levels of uint8";
      return;
    }
    if (options.pixels) {
      if (const auto levels = pixel_levels(group, observations)) {
        all.of_group[k] = {{{Observer::minmax}, *levels}};
        all.asked[k] = "levels of pixels";
        return;
      }
    }
    Histogram merged;
    for (const ir::Value* member : group.members) merged.merge(observations.at(member));
    const Observer observer = own.observer.value_or(options.observer);
    const double largest = largest_by_activation(group);
    all.of_group[k] = group.is_wide ? wide_proposals(merged.distribution(), observer, largest)
                                    : proposals_for(merged.distribution(), observer, largest, unseen);
  });
  return all;
}

// `choice` has the index of a proposal per group.
Parameters parameters_of(const ir::Graph& graph, const Annotation& annotation, const Proposals& proposals,
                         const std::vector<std::size_t>& choice) {
  Parameters chosen;
  for (std::size_t k = 0; k < annotation.groups.size(); ++k) {
    if (const auto& fixed = annotation.groups[k].fixed) {
      ir::QuantParams params = ir::per_tensor_i8(proposals.known_scale[k], fixed->zero_point);
      if (fixed->dtype == DType::i16) {
        params.dtype = DType::i16;
        params.qmin = -32768;
        params.qmax = 32767;
      }
      chosen.params.push_back(std::move(params));
      chosen.chosen_by.emplace_back();
    } else {
      const Proposal& proposal = proposals.of_group[k][choice[k]];
      chosen.params.push_back(proposal.params);
      chosen.chosen_by.emplace_back(!proposals.asked[k].empty()  ? std::string_view(proposals.asked[k])
                                    : proposal.observers.empty() ? "more than minmax"
                                                                 : name_of(proposal.observers.front()));
    }
  }
  widen_results(graph, annotation, chosen.params);
  return chosen;
}

}  // namespace

std::vector<Parameters> choose_parameters(const ir::Graph& graph, const Annotation& annotation,
                                          const Observations& observations, const Samples& samples,
                                          const QuantizeOptions& options) {
  const Proposals proposals = proposals_of(graph, annotation, observations, options);
  std::vector<std::vector<std::size_t>> choices = {
      best_proposals(graph, annotation, proposals.of_group, samples, options.threads)};
  // Not by divergence, which ignores how large the clipped values are.
  for (const Observer observer : {Observer::minmax, Observer::percentile, Observer::mse}) {
    std::vector<std::size_t> choice = proposals_by(observer, proposals.of_group);
    if (std::ranges::find(choices, choice) == choices.end()) choices.push_back(std::move(choice));
  }
  std::vector<Parameters> all;
  for (const std::vector<std::size_t>& choice : choices) {
    all.push_back(parameters_of(graph, annotation, proposals, choice));
  }
  return all;
}

Observers observers_of(const Annotation& annotation, const Parameters& parameters) {
  Observers observers;
  for (std::size_t k = 0; k < annotation.groups.size(); ++k) {
    const auto observer = parse_observer(parameters.chosen_by[k]);
    if (observer) observers[annotation.groups[k].members.at(0)] = *observer;
  }
  return observers;
}

Parameters parameters_by(const Observers& observers, const ir::Graph& graph, const Annotation& annotation,
                         const Observations& observations, const QuantizeOptions& options) {
  const Proposals proposals = proposals_of(graph, annotation, observations, options);
  std::vector<std::size_t> choice(annotation.groups.size(), 0);
  for (std::size_t g = 0; g < choice.size(); ++g) {
    const auto known = observers.find(annotation.groups[g].members.at(0));
    if (known == observers.end()) continue;
    for (std::size_t k = 0; k < proposals.of_group[g].size(); ++k) {
      const std::vector<Observer>& proposing = proposals.of_group[g][k].observers;
      if (std::ranges::find(proposing, known->second) != proposing.end()) choice[g] = k;
    }
  }
  return parameters_of(graph, annotation, proposals, choice);
}

}  // namespace cormorant::quantizer
