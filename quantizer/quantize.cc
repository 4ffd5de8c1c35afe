// SPDX-License-Identifier: Apache-2.0
#include "quantizer/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "quantizer/balance.h"
#include "quantizer/calibrate.h"
#include "quantizer/copy.h"
#include "quantizer/held_out.h"
#include "quantizer/masks.h"
#include "quantizer/recurrence.h"
#include "quantizer/trial.h"
#include "quantizer/weights.h"

namespace cormorant::quantizer {
namespace {

constexpr std::size_t kRandomSamples = 16;
constexpr std::uint64_t kRandomSeed = 20;

std::vector<ValueRange> describe(const Annotation& annotation, const Observations& observations,
                                 const std::vector<ir::QuantParams>& params, const ir::Graph& graph) {
  std::vector<ValueRange> ranges;
  for (const ir::Value& value : graph.values()) {
    const auto group = annotation.group_of.find(&value);
    if (group == annotation.group_of.end()) continue;
    const Distribution distribution = observations.at(&value).distribution();
    const ir::QuantParams& quant = params[group->second];
    const RangeError error = range_error(distribution, quant);
    const double sqnr = error.squared_error > 0 ? 10 * std::log10(error.signal / error.squared_error)
                                                : std::numeric_limits<double>::infinity();
    ranges.push_back({value.name, distribution.min(), distribution.max(), quant.scale(), quant.zero_point(),
                      error.clipped_share, sqnr});
  }
  return ranges;
}

std::string names_of_others(const Group& group, const ir::Value* self) {
  std::string names;
  for (const ir::Value* member : group.members) {
    if (member != self) names += (names.empty() ? "" : ", ") + member->name;
  }
  return names;
}

std::vector<Decision> decisions(const ir::Graph& graph, const Annotation& annotation, const Observations& observations,
                                const std::vector<ir::QuantParams>& params, const std::vector<std::string>& chosen_by) {
  std::vector<Decision> all;
  auto left = annotation.float_nodes.begin();  // in the graph's order, too
  for (const ir::Node& node : graph.nodes()) {
    Decision decision{node.name, node.op, node.location.text()};
    const auto found = annotation.quantized.find(&node);
    if (found == annotation.quantized.end()) {
      decision.rule = "float";
      // What computes with integers that are not quantized has no reason.
      const bool is_told = left != annotation.float_nodes.end() && left->node == node.name && left->op == node.op;
      if (is_told) decision.reason = (left++)->reason;
      all.push_back(std::move(decision));
      continue;
    }
    const ops::QuantRule& rule = found->second.rule;
    decision.precision = ops::name_of(found->second.precision);
    decision.instead = found->second.instead;
    const auto at = annotation.group_of.find(node.result());
    if (at != annotation.group_of.end()) {
      const Group& group = annotation.groups[at->second];
      const Distribution seen = observations.at(node.result()).distribution();
      const bool is_halved = group.fixed && params[at->second].scale() < group.fixed->scale;
      decision.rule = is_halved                  ? "part of a known range"
                      : group.fixed              ? "known range"
                      : group.members.size() > 1 ? "shared range"
                                                 : "own range";
      decision.observer = chosen_by[at->second];
      decision.shares = names_of_others(group, node.result());
      decision.seen = {seen.min(), seen.max()};
      decision.scale = params[at->second].scale();
      decision.zero_point = params[at->second].zero_point();
    }
    if (!rule.weights.empty()) {
      const WeightScales first =
          weight_scales(node, rule, annotation.factors_of(node, params), found->second.precision).at(0);
      decision.weights = describe_scales(first.axis.has_value(), first.scales, first.largest);
    }
    all.push_back(std::move(decision));
  }
  return all;
}

// One form of the float graph, and the best that was made of it.
struct Attempt {
  ir::Graph graph;
  std::shared_ptr<const ir::Graph> real;  // its copy
  Annotation annotation;
  Watched watched;
  std::vector<Parameters> candidates;
  Judged judged;
};

// `yardstick` computes the same; null: the graph itself.
Attempt attempt(ir::Graph graph, const ir::Graph* yardstick, const Split& split, const Samples& samples,
                const QuantizeOptions& options) {
  auto real = std::make_shared<const ir::Graph>(copy_of(graph));
  Annotation annotation = annotate(graph, options);
  Watched watched = calibrate(graph, annotation, samples, split, options);
  std::vector<Parameters> candidates = choose_parameters(graph, annotation, watched.fitted, split.judged, options);
  Judged judged = quantize_with_best(*real, yardstick == nullptr ? *real : *yardstick, candidates, split, options);
  return {std::move(graph),   std::move(real),       std::move(annotation),
          std::move(watched), std::move(candidates), std::move(judged)};
}

ir::Graph balanced(const ir::Graph& graph, const Samples& samples, const QuantizeOptions& options) {
  ir::Graph other = copy_of(graph);
  balance(other, samples, options);
  return other;
}

struct Final {
  Parameters parameters;
  Trial trial;
};

// What was chosen on a part of the samples, by all of them.
Final finish(Attempt& attempt, const Split& split, const Samples& samples, const QuantizeOptions& options) {
  const Parameters& best = attempt.candidates.at(attempt.judged.trial.chosen);
  if (!split.held_out) return {best, std::move(attempt.judged.trial)};
  Parameters parameters = parameters_by(observers_of(attempt.annotation, best), attempt.graph, attempt.annotation,
                                        attempt.watched.all(), options);
  Trial trial = quantize_with(*attempt.real, parameters, samples, options);
  return {std::move(parameters), std::move(trial)};
}

}  // namespace

QuantizeReport quantize(ir::Graph& graph, const Samples& samples, const QuantizeOptions& options) {
  QuantizeReport report;
  const bool is_random = samples.count == 0;
  if (is_random) {
    report.warnings.emplace_back(
        "no calibration data: activation ranges come from random inputs and are not representative; use --calibrate");
  }
  if (!is_random && samples.steps == 1 && !graph.states().empty()) {
    report.warnings.emplace_back(
        "the model keeps state, and every calibration sample starts from its initial contents, so the ranges of later "
        "contents are not seen; calibrate on sequences with --sequence");
  }
  const Samples given = is_random ? random_samples(graph, kRandomSamples, kRandomSeed) : samples;
  const Samples inputs = with_states(graph, given, options.threads);
  if (!is_random) std::ranges::move(write_out_unbounded(graph, inputs), std::back_inserter(report.warnings));
  keep_last_states(graph, wide_ends(graph, options));
  bound_masks(graph, inputs);
  if (options.equalize) report.equalized = equalize(graph, options.layers);
  const Split split = hold_out(inputs);
  Attempt best = attempt(copy_of(graph), nullptr, split, inputs, options);
  if (options.equalize && split.held_out && best.judged.error) {
    Attempt other = attempt(balanced(graph, inputs, options), best.real.get(), split, inputs, options);
    constexpr double kClearly = 1;  // dB: it is better more often than not
    if (*other.judged.error < *best.judged.error + kClearly) best = std::move(other);
  }
  Final chosen = finish(best, split, inputs, options);
  if (options.bits) {
    const Observations observations = best.watched.all();
    ChosenBits bits = choose_bits({best.graph, *best.real, observations, inputs, chosen.parameters}, options);
    chosen = {std::move(bits.parameters), std::move(bits.trial)};
    if (options.equalize && split.held_out) {
      // Channels were balanced for 8 bits everywhere; 4-bit weights want others.
      Attempt other = attempt(balanced(graph, inputs, bits.options), best.real.get(), split, inputs, bits.options);
      Final again = finish(other, split, inputs, bits.options);
      if (improves(bits.report, again.trial.graph, *best.real, inputs, options)) {
        best = std::move(other);
        chosen = std::move(again);
      }
    }
    report.bits = std::move(bits.report);
    best.annotation = annotate(best.graph, bits.options);
  }
  report.real = best.real;
  graph = std::move(best.graph);
  report.float_nodes = best.annotation.float_nodes;
  const Observations observations = best.watched.all();
  report.decisions =
      decisions(graph, best.annotation, observations, chosen.parameters.params, chosen.parameters.chosen_by);
  report.ranges = describe(best.annotation, observations, chosen.parameters.params, graph);
  for (Decision& decision : report.decisions) {
    const auto at = chosen.trial.rounded.find(decision.node);
    if (at != chosen.trial.rounded.end()) decision.rounded_otherwise = at->second;
  }
  graph = std::move(chosen.trial.graph);
  return report;
}

}  // namespace cormorant::quantizer
