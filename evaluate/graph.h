// SPDX-License-Identifier: Apache-2.0
//
// Evaluates a graph of aten nodes on the host, in float. For a float graph that is PyTorch's result. In a quantized
// graph every tensor holds the real numbers that its integers stand for: constants are dequantized, and a result with
// quantization parameters is rounded to them. That is the meaning of a quantized aten node, so the same evaluator
// predicts an int8 program (except for the last bit of its requantization) before any kernel exists.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "evaluate/tensor.h"

namespace cormorant::evaluate {

// Called for every graph input, every state and every node's result, as soon as it exists.
using ValueCallback = std::function<void(const ir::Value&, const Tensor&)>;

// Bound to one graph, which must not change meanwhile. run() may be called by several threads at once: they share the
// constants, everything else is on their stacks.
class Evaluator {
 public:
  // Throws InputError for a node that has no float semantics here.
  explicit Evaluator(const ir::Graph& graph);

  // One tensor per graph input, in the graph's order; returns one per output. A tensor lives until its last use.
  // The inputs may be followed by one tensor per state, in the order of Graph::states(): what the states hold when this
  // execution begins. Without them they hold their initial contents.
  [[nodiscard]] std::vector<Tensor> run(std::span<const Tensor> inputs, const ValueCallback& on_value = {}) const;

  // One execution of several: `states`, one tensor each, are updated to what the next execution begins with.
  [[nodiscard]] std::vector<Tensor> step(std::span<const Tensor> inputs, std::vector<Tensor>& states,
                                         const ValueCallback& on_value = {}) const;
  [[nodiscard]] std::vector<Tensor> initial_states() const;

 private:
  const ir::Graph& graph_;
  std::vector<const ir::Value*> states_;
  std::shared_ptr<Constants> constants_;
  std::unordered_map<const ir::Node*, std::vector<const ir::Value*>> last_uses_;
};

// The same for a single evaluation.
[[nodiscard]] std::vector<Tensor> evaluate_graph(const ir::Graph& graph, std::span<const Tensor> inputs,
                                                 const ValueCallback& on_value = {});

// Each element as the nearest real number that the parameters can express (ties away from zero).
[[nodiscard]] Tensor round_to(const ir::QuantParams& quant, const Tensor& tensor);

}  // namespace cormorant::evaluate
