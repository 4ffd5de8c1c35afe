// SPDX-License-Identifier: Apache-2.0
//
// aten.recurrent: one recurrent layer in one direction. input [steps, batch, inputs], h and c [batch, units] (none:
// zeros), weights as in PyTorch; results are h of all steps [steps, batch, units] and the other state that the next
// sequence would begin with [batch, units]: c of an LSTM, else h, which may have finer integers there. An RNN with relu
// has the states alone. With a projection w_hr, h and the states have its rows instead of units.
#include <cmath>

#include "base/checked64.h"
#include "base/diagnostic.h"
#include "evaluate/onednn.h"
#include "ops/host/advice.h"
#include "ops/op.h"
#include "ops/recurrent/arithmetic.h"
#include "ops/recurrent/import.h"
#include "ops/recurrent/pack.h"
#include "ops/recurrent/written_out.h"

namespace cormorant::ops {
namespace recurrent {
namespace {

[[noreturn]] void refuse(const ir::Node& node, std::string problem) {
  throw InputError(
      {.problem = std::move(problem), .advice = kInconsistent, .node = node.name, .source = node.location.text()});
}

const ir::Value* projection_of(const ir::Node& node) { return node.has("w_hr") ? node.tensor("w_hr") : nullptr; }

void check_states(const ir::Node& node, Kind kind, const ir::Shape& h, const ir::Shape& c) {
  for (const auto& [name, shape] : {std::pair{"h", &h}, {"c", &c}}) {
    const ir::Value* state = node.tensor(name);
    if (state != nullptr && state->type.shape != *shape)
      refuse(node, std::string("its ") + name + " is not [batch, units]");
  }
  if (kind != Kind::lstm && node.has("c")) refuse(node, "only an LSTM has a cell state c");
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  const std::optional<Kind> kind = kind_of(node);
  if (!kind) refuse(node, "its kind is not lstm, gru, rnn_tanh or rnn_relu");
  const ir::Shape& input = node.tensor("input")->type.shape;
  const ir::Value *w_ih = node.tensor("w_ih"), *w_hh = node.tensor("w_hh");
  if (input.size() != 3 || w_ih->type.rank() != 2 || w_hh->type.rank() != 2) {
    refuse(node, "its input does not have three dimensions, or its weights do not have two");
  }
  const ir::Value* w_hr = projection_of(node);
  const std::int64_t outputs = w_hh->type.shape[1];
  if (w_hr != nullptr && (*kind != Kind::lstm || w_hr->type.rank() != 2 || w_hr->type.shape[0] != outputs)) {
    refuse(node, "only an LSTM has a projection, which has a row per element of h");
  }
  const std::int64_t units = w_hr == nullptr ? outputs : w_hr->type.shape[1], rows = gates_of(*kind) * units;
  if (input[0] < 1 || input[1] < 1 || input[2] < 1 || units < 1) refuse(node, "it has nothing to compute");
  if (input[2] > kMaxFeatures || units > kMaxFeatures) refuse(node, "it has more than 4,096 inputs or units");
  if (w_hh->type.shape[0] != rows || w_ih->type.shape != ir::Shape{rows, input[2]} || outputs > units) {
    refuse(node, "its weights do not match its input, or each other");
  }
  for (const char* name : {"w_ih", "w_hh", "b_ih", "b_hh", "w_hr"}) {
    if (!node.has(name)) continue;
    const ir::Value* value = node.tensor(name);
    if (value->kind != ir::ValueKind::constant) refuse(node, std::string("its ") + name + " is not constant");
    if (*name == 'b' && value->type.shape != ir::Shape{rows}) refuse(node, "a bias does not have one entry per row");
  }
  check_states(node, *kind, {input[1], outputs}, {input[1], units});
  std::vector<ir::TensorType> results = {ir::float_type({input[0], input[1], outputs})};
  if (*kind != Kind::rnn_relu) results.push_back(ir::float_type({input[1], units}));
  return results;
}

float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

// One row of the batch: from its sums to the kept state, and h.
float next_h(Kind kind, const float* x, const float* h, std::size_t units, float& kept) {
  const auto sum = [&](std::size_t gate) { return x[gate * units] + h[gate * units]; };
  if (kind == Kind::lstm) {
    kept = sigmoid(sum(1)) * kept + sigmoid(sum(0)) * std::tanh(sum(2));
    return sigmoid(sum(3)) * std::tanh(kept);
  }
  if (kind == Kind::gru) {
    const float n = std::tanh(x[2 * units] + sigmoid(sum(0)) * h[2 * units]);
    kept = n + sigmoid(sum(1)) * (kept - n);
  } else {
    kept = kind == Kind::rnn_relu ? std::max(sum(0), 0.0F) : std::tanh(sum(0));
  }
  return kept;
}

std::vector<evaluate::Tensor> evaluate_recurrent(const ir::Node& node, const evaluate::Frame& frame) {
  const Kind kind = *kind_of(node);
  const auto get = [&](const char* name) { return node.has(name) ? &frame.get(node.tensor(name)) : nullptr; };
  const evaluate::Tensor& input = *get("input");
  const auto steps = static_cast<std::size_t>(input.shape[0]), batch = static_cast<std::size_t>(input.shape[1]);
  const evaluate::Tensor* const w_hr = get("w_hr");
  const ir::Shape h_shape = {input.shape[1], get("w_hh")->shape[1]};
  const ir::Shape kept_shape = {input.shape[1], w_hr == nullptr ? h_shape[1] : w_hr->shape[1]};
  const auto units = static_cast<std::size_t>(kept_shape[1]), rows = gates_of(kind) * units;
  const auto state = [&](const char* name, const ir::Shape& shape) {
    const evaluate::Tensor* given = get(name);
    return given == nullptr ? std::vector<float>(batch * static_cast<std::size_t>(shape[1]))
                            : std::vector<float>(given->values().begin(), given->values().end());
  };
  std::vector<float> h = state("h", h_shape), kept = kind == Kind::lstm ? state("c", kept_shape) : h;
  std::vector<float> states, made(batch * units);
  states.resize(steps * h.size());
  const evaluate::Tensor from_input = evaluate::linear(input, *get("w_ih"), get("b_ih"));
  for (std::size_t k = 0; k < steps; ++k) {
    const std::size_t t = node.boolean("backwards") ? steps - 1 - k : k;
    const evaluate::Tensor from_h = evaluate::linear(evaluate::Tensor(h_shape, h), *get("w_hh"), get("b_hh"));
    for (std::size_t b = 0; b < batch; ++b) {
      for (std::size_t u = 0; u < units; ++u) {
        const std::size_t at = b * units + u;
        made[at] = next_h(kind, from_input.values().data() + (t * batch + b) * rows + u,
                          from_h.values().data() + b * rows + u, units, kept[at]);
      }
    }
    if (w_hr == nullptr) {
      h = made;
    } else {
      const evaluate::Tensor projected = evaluate::linear(evaluate::Tensor(kept_shape, made), *w_hr, nullptr);
      h.assign(projected.values().begin(), projected.values().end());
    }
    std::ranges::copy(h, states.begin() + static_cast<std::ptrdiff_t>(t * h.size()));
  }
  std::vector<evaluate::Tensor> results = {{{input.shape[0], input.shape[1], h_shape[1]}, std::move(states)}};
  if (kind != Kind::rnn_relu) results.emplace_back(kept_shape, std::move(kept));
  return results;
}

QuantRule quantize(const ir::Node& node) {
  const bool is_lstm = *kind_of(node) == Kind::lstm;
  QuantRule rule;
  rule.weights = {{.argument = "w_ih", .axis = 0}};
  if (node.has("b_ih")) rule.weights.push_back({.argument = "b_ih", .axis = 0, .is_bias = true});
  rule.weights.push_back({.argument = "w_hh", .axis = 0, .times_result = true});
  if (node.has("b_hh")) rule.weights.push_back({.argument = "b_hh", .axis = 0, .is_bias = true, .times_result = true});
  if (node.has("w_hr")) rule.weights.push_back({.argument = "w_hr", .axis = 0});
  const bool own_h = keeps_own_h(node);
  if (is_lstm) {
    rule.words = {.scale = kCellScale, .arguments = {"c"}};
  } else if (!own_h) {
    rule.words = {.scale = kUnitScale, .arguments = {"h"}};
  }
  if (is_lstm || own_h) rule.as_result = {"h"};
  if (!own_h) rule.fixed_words = {{.scale = kUnitScale, .zero_point = 0, .dtype = DType::i16}};
  rule.precisions = precisions::w8a8_w8a16();
  return rule;
}

// For runtimes without a kernel for it.
std::vector<ir::Value*> write_out(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const Kind kind = *kind_of(node);
  constexpr Form kForms[] = {Form::lstm, Form::gru, Form::rnn_tanh, Form::rnn_relu};
  const Form form = kForms[static_cast<std::size_t>(kind)];
  const Cell cell{node.tensor("w_ih"), node.tensor("w_hh"), node.tensor("b_ih"), node.tensor("b_hh"),
                  rewriter.node.has("w_hr") ? rewriter.node.tensor("w_hr") : nullptr};
  const ir::Shape& states_shape = node.results.at(0)->type.shape;
  const auto state = [&](const char* name, const ir::TensorType& type) {
    if (node.has(name)) return node.tensor(name);
    const std::vector<float> zeros(static_cast<std::size_t>(type.elements()));
    return rewriter.constant(name, type, std::span<const float>(zeros));
  };
  const State before{state("h", ir::float_type({states_shape[1], states_shape[2]})),
                     kind == Kind::lstm ? state("c", node.results.at(1)->type) : nullptr};
  auto [states, last] = WrittenOut(rewriter, form).run(cell, node.tensor("input"), before, node.boolean("backwards"));
  if (kind == Kind::rnn_relu) return {states};
  return {states, kind == Kind::lstm ? last.c : last.h};
}

// A state's new contents may be computed in its own memory: a kernel reads each row of it before it writes one.
bool in_place(const ir::Node&, std::string_view argument) { return argument == "h" || argument == "c"; }

std::int64_t macs(const ir::Node& node) {
  const ir::Shape& input = node.tensor("input")->type.shape;
  const ir::Shape& w_hh = node.tensor("w_hh")->type.shape;
  const std::int64_t projected = node.has("w_hr") ? node.tensor("w_hr")->type.elements() : 0;
  const Checked64 step = Checked64(w_hh[0]) * (input[2] + w_hh[1]) + projected;
  return (Checked64(input[0]) * input[1] * step).get().value_or(0);
}

}  // namespace
}  // namespace recurrent

Operator recurrent_operator() {
  return {
      .name = "recurrent",
      .limits =
          "constant weights; programs for ExecuTorch, and quantized GRUs whose initial state leaves ±1, are unrolled "
          "step by step",
      .layout = MemoryOrder::contiguous,
      .canonical = {"aten.recurrent(Tensor input, Tensor? h, Tensor? c, Tensor w_ih, Tensor w_hh, Tensor? b_ih, "
                    "Tensor? b_hh, str kind, bool backwards, Tensor? w_hr=None)"},
      .infer = recurrent::infer,
      .evaluate = recurrent::evaluate_recurrent,
      .quantize = recurrent::quantize,
      .write_out = recurrent::write_out,
      .lower = recurrent::lower,
      .in_place = recurrent::in_place,
      .macs = recurrent::macs};
}

}  // namespace cormorant::ops
