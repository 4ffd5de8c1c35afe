// SPDX-License-Identifier: Apache-2.0
#include "evaluate/graph.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <unordered_set>

#include "base/diagnostic.h"
#include "ops/op.h"

namespace cormorant::evaluate {
namespace {

void check_evaluable(const ir::Node& node) {
  const ops::Operator* op = ops::find(node);
  if (op != nullptr && op->evaluate != nullptr) return;
  throw InputError({.problem = "operator " + node.op + " cannot be computed in float on the host",
                    .advice = op == nullptr
                                  ? "this operator is not supported; express it with others before exporting the model"
                                  : "calibration and float evaluation need it; express it with other operators",
                    .node = node.name,
                    .source = node.location.text()});
}

Tensor settled(const ir::Value& value, Tensor tensor) {
  if (tensor.shape != value.type.shape) throw std::logic_error("'" + value.name + "' was computed with another shape");
  return value.type.quant ? round_to(*value.type.quant, tensor) : std::move(tensor);
}

}  // namespace

Evaluator::Evaluator(const ir::Graph& graph)
    : graph_(graph), states_(graph.states()), constants_(std::make_shared<Constants>()) {
  std::unordered_set<const ir::Value*> kept(graph.outputs().begin(), graph.outputs().end());
  kept.insert(states_.begin(), states_.end());
  for (const ir::Update& update : graph.updates()) kept.insert(update.value);
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    check_evaluable(*node);
    std::vector<const ir::Value*>& last = last_uses_[&*node];
    // Results count as uses: one without readers is dropped at once.
    std::vector<ir::Value*> touched = node->inputs();
    touched.insert(touched.end(), node->results.begin(), node->results.end());
    for (const ir::Value* value : touched) {
      if (kept.insert(value).second) last.push_back(value);
    }
  }
}

std::vector<Tensor> Evaluator::initial_states() const {
  std::vector<Tensor> states;
  for (const ir::Value* state : states_) states.push_back(constant_tensor(*state));
  return states;
}

std::vector<Tensor> Evaluator::run(std::span<const Tensor> inputs, const ValueCallback& on_value) const {
  const std::size_t count = graph_.inputs().size();
  std::vector<Tensor> states = initial_states();
  if (inputs.size() == count + states.size())
    states.assign(inputs.begin() + static_cast<std::ptrdiff_t>(count), inputs.end());
  return step(inputs.size() < count ? inputs : inputs.first(count), states, on_value);
}

std::vector<Tensor> Evaluator::step(std::span<const Tensor> inputs, std::vector<Tensor>& states,
                                    const ValueCallback& on_value) const {
  if (inputs.size() != graph_.inputs().size()) throw std::logic_error("evaluation needs one tensor per graph input");
  if (states.size() != states_.size()) throw std::logic_error("evaluation needs one tensor per state");
  Frame frame(constants_);
  const auto define = [&](const ir::Value& value, Tensor tensor) {
    frame.set(&value, settled(value, std::move(tensor)));
    if (on_value) on_value(value, frame.get(&value));
  };
  for (std::size_t k = 0; k < inputs.size(); ++k) define(*graph_.inputs()[k], inputs[k]);
  for (std::size_t k = 0; k < states.size(); ++k) define(*states_[k], states[k]);
  for (const ir::Node& node : graph_.nodes()) {
    std::vector<Tensor> results = ops::find(node)->evaluate(node, frame);
    if (results.size() != node.results.size())
      throw std::logic_error(node.op + " evaluates to another number of results");
    for (std::size_t k = 0; k < results.size(); ++k) define(*node.results[k], std::move(results[k]));
    for (const ir::Value* value : last_uses_.at(&node)) frame.drop(value);
  }
  std::vector<Tensor> outputs;
  outputs.reserve(graph_.outputs().size());
  for (const ir::Value* value : graph_.outputs()) outputs.push_back(frame.get(value));
  for (std::size_t k = 0; k < states.size(); ++k) states[k] = frame.get(states_[k]);
  for (const ir::Update& update : graph_.updates()) {
    const auto at = std::ranges::find(states_, update.state);
    states[static_cast<std::size_t>(at - states_.begin())] = frame.get(update.value);
  }
  return outputs;
}

std::vector<Tensor> evaluate_graph(const ir::Graph& graph, std::span<const Tensor> inputs,
                                   const ValueCallback& on_value) {
  return Evaluator(graph).run(inputs, on_value);
}

Tensor round_to(const ir::QuantParams& quant, const Tensor& tensor) {
  if (quant.per_channel()) throw std::logic_error("activations have one scale");
  const double scale = quant.scale();
  const double low = quant.qmin - quant.zero_point();
  const double high = quant.qmax - quant.zero_point();
  std::vector<float> out(tensor.values().begin(), tensor.values().end());
  for (float& value : out) {
    value = static_cast<float>(scale * std::clamp(std::round(static_cast<double>(value) / scale), low, high));
  }
  return {tensor.shape, std::move(out)};
}

}  // namespace cormorant::evaluate
