// SPDX-License-Identifier: Apache-2.0
#include "quantizer/observe.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "evaluate/graph.h"
#include "ops/op.h"
#include "quantizer/parallel.h"

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

// Squared errors of the proposals at one place, and what they are to be compared with.
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
  constexpr double kClearly = 0.9, kDeviations = 3;
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
    const double bound = mean + kDeviations * deviation;
    if (bound >= best_bound || first + mean > kClearly * first) continue;
    best = k;
    best_bound = bound;
  }
  return best;
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
  const Judge judge(graph, annotation, proposals);
  const std::size_t count = samples_to_judge_by(graph, samples);
  std::vector<std::vector<Errors>> of_sample(count);
  parallel_for(count, thread_count(threads, count), [&](std::size_t k, std::size_t) {
    of_sample[k] = judge.measure(samples.load(k * samples.count / count));
  });
  std::vector<std::vector<Costs>> costs(proposals.size());  // per group and sample
  for (std::size_t g = 0; g < proposals.size(); ++g) costs[g].assign(count, Costs(proposals[g].size(), 0.0));
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
