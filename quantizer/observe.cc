// SPDX-License-Identifier: Apache-2.0
#include "quantizer/observe.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "evaluate/graph.h"
#include "ops/op.h"
#include "quantizer/parallel.h"
#include "quantizer/trial.h"

namespace cormorant::quantizer {
namespace {

using evaluate::Tensor;
using Tensors = std::unordered_map<const ir::Value*, Tensor>;

// A place where the proposals for a group can be compared: a node that reads tensors of the group, or an output of the
// graph (no node).
struct Place {
  const ir::Node* node = nullptr;
  const ir::Value* output = nullptr;
  std::size_t group = 0;
};

// Squared errors of the proposals at one place, and the signal to compare them with.
struct Errors {
  double signal = 0;
  std::vector<double> noise;
};

double squared_distance(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.values().size(); ++k) {
    const double difference = static_cast<double>(a.values()[k]) - static_cast<double>(b.values()[k]);
    sum += difference * difference;
  }
  return sum;
}

double energy(const Tensor& tensor) {
  double sum = 0;
  for (const float value : tensor.values()) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

class Judge {
 public:
  Judge(const ir::Graph& graph, const Annotation& annotation, const std::vector<std::vector<Proposal>>& proposals)
      : annotation_(annotation), proposals_(proposals), run_(graph) {
    const auto open_group = [&](const ir::Value* value) -> std::optional<std::size_t> {
      const auto at = annotation.group_of.find(value);
      if (at == annotation.group_of.end() || proposals[at->second].size() < 2) return std::nullopt;
      return at->second;
    };
    for (const ir::Node& node : graph.nodes()) {
      const auto own = open_group(node.result());
      std::vector<std::size_t> seen;
      for (const ir::Value* operand : node.inputs()) {
        const auto group = open_group(operand);
        if (!group || group == own || std::ranges::find(seen, *group) != seen.end()) continue;
        seen.push_back(*group);
        places_.push_back({&node, nullptr, *group});
      }
    }
    for (const ir::Value* output : graph.outputs()) {
      if (const auto group = open_group(output)) places_.push_back({nullptr, output, *group});
    }
  }

  [[nodiscard]] const std::vector<Place>& places() const { return places_; }

  [[nodiscard]] std::vector<Errors> measure(const Sample& sample) const {
    Tensors tensors;
    (void)run_.run(sample, [&](const ir::Value& value, const Tensor& tensor) { tensors[&value] = tensor; });
    std::vector<Errors> errors;
    for (const Place& place : places_) {
      Errors& at = errors.emplace_back();
      const Tensor& exact = tensors.at(place.node == nullptr ? place.output : place.node->result());
      at.signal = energy(exact);
      for (const Proposal& proposal : proposals_[place.group]) {
        at.noise.push_back(squared_distance(exact, result_with(place, proposal.params, tensors)));
      }
    }
    return errors;
  }

 private:
  [[nodiscard]] Tensor result_with(const Place& place, const ir::QuantParams& params, const Tensors& tensors) const {
    if (place.node == nullptr) return evaluate::round_to(params, tensors.at(place.output));
    evaluate::Frame frame(constants_);
    for (const ir::Value* operand : place.node->inputs()) {
      const auto group = annotation_.group_of.find(operand);
      const bool rounded = group != annotation_.group_of.end() && group->second == place.group;
      const auto at = tensors.find(operand);  // not there: a constant
      if (!rounded && at == tensors.end()) continue;
      const Tensor& exact = at == tensors.end() ? constants_->get(operand) : at->second;
      frame.set(operand, rounded ? evaluate::round_to(params, exact) : exact);
    }
    return ops::find(*place.node)->evaluate(*place.node, frame).at(0);
  }

  const Annotation& annotation_;
  const std::vector<std::vector<Proposal>>& proposals_;
  const evaluate::Evaluator run_;
  std::shared_ptr<evaluate::Constants> constants_ = std::make_shared<evaluate::Constants>();
  std::vector<Place> places_;
};

// Per proposal, the error of one sample at all places of the group, relative to what each place computes.
using Costs = std::vector<double>;

// The first proposal unless another is clearly better: by a tenth of the error, and by more than the samples disagree.
// Less does not show at the model's outputs, and chance differences in these samples do not recur in others.
std::size_t best_of(const std::vector<Costs>& of_sample, std::size_t proposals) {
  if (proposals < 2) return 0;
  const auto count = static_cast<double>(of_sample.size());
  constexpr double kClearly = 0.9, kDeviations = 3, kVanishing = 0.01;
  double first = 0;
  for (const Costs& costs : of_sample) first += costs[0] / count;
  std::size_t best = 0;
  double best_bound = 0;
  for (std::size_t k = 1; k < proposals; ++k) {
    double sum = 0, squares = 0;
    for (const Costs& costs : of_sample) {
      const double difference = costs[k] - costs[0];
      sum += difference;
      squares += difference * difference;
    }
    const double mean = sum / count;
    const double deviation = count > 1 ? std::sqrt(std::max(0.0, squares / count - mean * mean) / (count - 1)) : 0;
    // An error that all but vanishes, as with an image's own levels, is better however samples differ.
    const double bound = first + mean < kVanishing * first ? mean : mean + kDeviations * deviation;
    if (bound >= best_bound || first + mean > kClearly * first) continue;
    best = k;
    best_bound = bound;
  }
  return best;
}

// The same by the error of the graph's outputs: one tensor of the graph in integers, everything else in float. Errors
// of several tensors add up nearly as if they were independent, so what is best for each alone is best together.
class OutputJudge {
 public:
  OutputJudge(const ir::Graph& graph, const Annotation& annotation, const std::vector<std::vector<Proposal>>& proposals)
      : graph_(graph), proposals_(proposals), run_(graph) {
    for (const ir::Value* output : graph.outputs()) {
      if (output->producer == nullptr) continue;  // a constant, or an unchanged input: no choice matters
      outputs_.push_back(output);
      const ir::Value* const read = read_by_softmax(output);
      if (read != nullptr && read->producer != nullptr) outputs_.push_back(read);
    }
    members_.resize(proposals.size());
    for (const auto& [value, group] : annotation.group_of) members_[group].insert(value);
    for (std::size_t g = 0; g < proposals.size(); ++g) {
      if (proposals[g].size() > 1) behind_[g] = nodes_after(members_[g]);
    }
  }

  // MACs and elements of one sample.
  [[nodiscard]] std::int64_t work() const {
    std::int64_t sum = 0;
    for (const auto& [group, nodes] : behind_) {
      const auto times = static_cast<std::int64_t>(proposals_[group].size());
      for (const ir::Node* node : nodes) sum += times * work_of(*node);
    }
    return sum;
  }

  struct Result {
    std::vector<Tensor> outputs;                                // exact
    std::unordered_map<std::size_t, std::vector<Costs>> noise;  // per group and proposal, of each output
  };
  [[nodiscard]] Result measure(const Sample& sample) const {
    Tensors exact;
    Result result;
    (void)run_.run(sample, [&](const ir::Value& value, const Tensor& tensor) { exact[&value] = tensor; });
    for (const ir::Value* output : outputs_) result.outputs.push_back(exact.at(output));
    for (const auto& [group, nodes] : behind_) {
      for (const Proposal& proposal : proposals_[group]) {
        result.noise[group].push_back(noise_with(group, nodes, proposal.params, exact));
      }
    }
    return result;
  }

 private:
  using Members = std::unordered_set<const ir::Value*>;

  [[nodiscard]] std::vector<const ir::Node*> nodes_after(const Members& members) const {
    std::unordered_set<const ir::Value*> touched(members.begin(), members.end());
    std::vector<const ir::Node*> nodes;
    for (const ir::Node& node : graph_.nodes()) {
      if (std::ranges::none_of(node.inputs(), [&](const ir::Value* value) { return touched.contains(value); }))
        continue;
      nodes.push_back(&node);
      touched.insert(node.results.begin(), node.results.end());
    }
    return nodes;
  }
  static std::int64_t work_of(const ir::Node& node) {
    const ops::Operator* op = ops::find(node);
    constexpr std::int64_t kPerElement = 16;  // MACs that take as long
    return (op->macs == nullptr ? 0 : op->macs(node)) + kPerElement * node.results.at(0)->type.elements();
  }

  [[nodiscard]] Costs noise_with(std::size_t group, const std::vector<const ir::Node*>& nodes,
                                 const ir::QuantParams& params, const Tensors& exact) const {
    Tensors changed;
    for (const ir::Value* member : members_[group]) {
      const auto at = exact.find(member);
      changed[member] = evaluate::round_to(params, at == exact.end() ? constants_->get(member) : at->second);
    }
    for (const ir::Node* node : nodes) {
      evaluate::Frame frame(constants_);
      for (const ir::Value* operand : node->inputs()) {
        const auto other = changed.find(operand);
        const auto same = exact.find(operand);
        if (other != changed.end()) {
          frame.set(operand, other->second);
        } else if (same != exact.end()) {
          frame.set(operand, same->second);
        }
      }
      std::vector<Tensor> results = ops::find(*node)->evaluate(*node, frame);
      for (std::size_t k = 0; k < results.size(); ++k) {
        const ir::Value* value = node->results[k];
        changed[value] =
            members_[group].contains(value) ? evaluate::round_to(params, results[k]) : std::move(results[k]);
      }
    }
    Costs noise;
    for (const ir::Value* output : outputs_) {
      const auto at = changed.find(output);
      noise.push_back(at == changed.end() ? 0.0 : squared_distance(exact.at(output), at->second));
    }
    return noise;
  }

  const ir::Graph& graph_;
  std::vector<const ir::Value*> outputs_;
  const std::vector<std::vector<Proposal>>& proposals_;
  const evaluate::Evaluator run_;
  std::shared_ptr<evaluate::Constants> constants_ = std::make_shared<evaluate::Constants>();
  std::vector<Members> members_;
  std::map<std::size_t, std::vector<const ir::Node*>> behind_;  // of groups with a choice
};

using AllCosts = std::vector<std::vector<Costs>>;  // per group and sample

AllCosts none(const std::vector<std::vector<Proposal>>& proposals, std::size_t samples) {
  AllCosts costs(proposals.size());
  for (std::size_t g = 0; g < proposals.size(); ++g) costs[g].assign(samples, Costs(proposals[g].size(), 0.0));
  return costs;
}

AllCosts costs_at_readers(const ir::Graph& graph, const Annotation& annotation,
                          const std::vector<std::vector<Proposal>>& proposals, const Samples& samples,
                          std::size_t threads) {
  const Judge judge(graph, annotation, proposals);
  const std::size_t count = samples_to_judge_by(graph, samples);
  std::vector<std::vector<Errors>> of_sample(count);
  parallel_for(count, thread_count(threads, count), [&](std::size_t k, std::size_t) {
    of_sample[k] = judge.measure(samples.load(k * samples.count / count));
  });
  AllCosts costs = none(proposals, count);
  for (std::size_t p = 0; p < judge.places().size(); ++p) {
    const std::size_t group = judge.places()[p].group;
    double signal = 0;
    for (const std::vector<Errors>& errors : of_sample) signal += errors[p].signal;
    if (signal <= 0) continue;
    for (std::size_t s = 0; s < count; ++s) {
      for (std::size_t k = 0; k < proposals[group].size(); ++k) {
        costs[group][s][k] += of_sample[s][p].noise[k] / signal;
      }
    }
  }
  return costs;
}

AllCosts costs_at_outputs(const OutputJudge& judge, const std::vector<std::vector<Proposal>>& proposals,
                          const Samples& samples, std::size_t count, std::size_t threads) {
  std::vector<OutputJudge::Result> of_sample(count);
  parallel_for(count, thread_count(threads, count), [&](std::size_t k, std::size_t) {
    of_sample[k] = judge.measure(samples.load(k * samples.count / count));
  });
  AllCosts costs = none(proposals, count);
  for (std::size_t output = 0; output < of_sample.at(0).outputs.size(); ++output) {
    double energy = 0, constant = 0;
    std::vector<double> sums(of_sample[0].outputs[output].values().size(), 0.0);
    for (const OutputJudge::Result& result : of_sample) {
      const std::span<const float> values = result.outputs[output].values();
      for (std::size_t k = 0; k < values.size() && k < sums.size(); ++k) sums[k] += static_cast<double>(values[k]);
      energy += quantizer::energy(result.outputs[output]);
    }
    for (const double sum : sums) constant += sum * sum / static_cast<double>(count);
    const double signal = count > 1 ? energy - constant : energy;
    if (!(signal > 0)) continue;
    for (std::size_t s = 0; s < count; ++s) {
      for (const auto& [group, noise] : of_sample[s].noise) {
        for (std::size_t k = 0; k < noise.size(); ++k) costs[group][s][k] += noise[k][output] / signal;
      }
    }
  }
  return costs;
}

}  // namespace

std::size_t samples_to_judge_by(const ir::Graph& graph, const Samples& samples) {
  constexpr std::int64_t kElements = 1 << 25;
  std::int64_t elements = 1;
  for (const ir::Node& node : graph.nodes()) elements += node.results.at(0)->type.elements();
  return std::min<std::size_t>(samples.count,
                               static_cast<std::size_t>(std::clamp<std::int64_t>(kElements / elements, 4, 32)));
}

std::vector<std::size_t> best_proposals(const ir::Graph& graph, const Annotation& annotation,
                                        const std::vector<std::vector<Proposal>>& proposals, const Samples& samples,
                                        std::size_t threads) {
  // Limits this to a few seconds; larger networks are judged where the tensors are read.
  constexpr std::int64_t kWork = std::int64_t{1} << 36, kFewest = 4, kMost = 32;
  const OutputJudge judge(graph, annotation, proposals);
  const std::int64_t affordable = kWork / std::max<std::int64_t>(1, judge.work());
  const auto count = std::min(samples.count, static_cast<std::size_t>(std::min(kMost, affordable)));
  const AllCosts costs = affordable < kFewest ? costs_at_readers(graph, annotation, proposals, samples, threads)
                                              : costs_at_outputs(judge, proposals, samples, count, threads);
  std::vector<std::size_t> best(proposals.size(), 0);
  for (std::size_t g = 0; g < proposals.size(); ++g) best[g] = best_of(costs[g], proposals[g].size());
  return best;
}

std::vector<std::size_t> proposals_by(Observer observer, const std::vector<std::vector<Proposal>>& proposals) {
  std::vector<std::size_t> choice(proposals.size(), 0);
  for (std::size_t g = 0; g < proposals.size(); ++g) {
    for (std::size_t k = 0; k < proposals[g].size(); ++k) {
      if (std::ranges::find(proposals[g][k].observers, observer) != proposals[g][k].observers.end()) choice[g] = k;
    }
  }
  return choice;
}

}  // namespace cormorant::quantizer
