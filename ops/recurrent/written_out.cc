// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/written_out.h"

#include "ops/nodes.h"

namespace cormorant::ops::recurrent {

ir::Value* WrittenOut::node(const char* op, std::vector<ir::NamedArgument> args, ir::Shape shape) {
  return graph_.add_node(name_, op, std::move(args), {ir::float_type(std::move(shape))}, location_, before_)->result();
}
ir::Value* WrittenOut::function(const char* op, ir::Value* of) { return node(op, {{"self", of}}, of->type.shape); }
ir::Value* WrittenOut::add(ir::Value* self, ir::Value* other, double alpha) {
  return node(nodes::aten_add, {{"self", self}, {"other", other}, {"alpha", alpha}}, self->type.shape);
}
ir::Value* WrittenOut::multiply(ir::Value* self, ir::Value* other) {
  return node(nodes::aten_mul, {{"self", self}, {"other", other}}, self->type.shape);
}

// [rows, inputs] → [rows, outputs]
ir::Value* WrittenOut::linear(ir::Value* input, ir::Value* weight, ir::Value* bias) {
  const ir::Shape shape = {input->type.shape.at(0), weight->type.shape.at(0)};
  return node(nodes::aten_linear,
              {{"input", input}, {"weight", weight}, {"bias", bias ? ir::Argument(bias) : ir::Argument()}}, shape);
}

// One step, of which the input's products are known: [batch, gates · units].
State WrittenOut::step(const Cell& cell, ir::Value* from_input, const State& state) {
  ir::Value* from_state = linear(state.h, cell.w_hh, cell.b_hh);
  const std::int64_t units = cell.w_hh->type.shape.at(0) / gates();
  const auto part = [&](ir::Value* all, std::int64_t k) { return mover_.slice(all, 1, k * units, (k + 1) * units); };
  const auto sigmoid = [&](ir::Value* of) { return function(nodes::aten_sigmoid, of); };
  const auto tanh = [&](ir::Value* of) { return function(nodes::aten_tanh, of); };
  switch (form_) {
    case Form::lstm: {
      ir::Value* all = add(from_input, from_state);
      ir::Value* kept = multiply(sigmoid(part(all, 1)), state.c);
      ir::Value* gate = sigmoid(part(all, 0));
      ir::Value* fresh = tanh(part(all, 2));
      ir::Value* c = add(kept, multiply(gate, fresh));
      ir::Value* output = sigmoid(part(all, 3));
      ir::Value* h = multiply(output, tanh(c));
      return {cell.w_hr == nullptr ? h : linear(h, cell.w_hr, nullptr), c};
    }
    case Form::gru: {
      const auto both = [&](std::int64_t k) {
        ir::Value* input = part(from_input, k);
        return add(input, part(from_state, k));
      };
      ir::Value* reset = sigmoid(both(0));
      ir::Value* update = sigmoid(both(1));
      ir::Value* input = part(from_input, 2);
      ir::Value* fresh = tanh(add(input, multiply(reset, part(from_state, 2))));
      return {add(fresh, multiply(update, add(state.h, fresh, -1))), nullptr};
    }
    case Form::rnn_tanh:
      return {tanh(add(from_input, from_state)), nullptr};
    case Form::rnn_relu:
      return {node(nodes::aten_clamp, {{"self", add(from_input, from_state)}, {"min", 0.0}, {"max", ir::None{}}},
                   from_state->type.shape),
              nullptr};
  }
  return {};
}

std::pair<ir::Value*, State> WrittenOut::run(const Cell& cell, ir::Value* input, State state, bool backwards) {
  const std::int64_t steps = input->type.shape.at(0), batch = input->type.shape.at(1);
  ir::Value* products = linear(mover_.view(input, {steps * batch, input->type.shape.at(2)}), cell.w_ih, cell.b_ih);
  std::vector<ir::Value*> states(static_cast<std::size_t>(steps));
  for (std::int64_t k = 0; k < steps; ++k) {
    const std::int64_t t = backwards ? steps - 1 - k : k;
    state = step(cell, mover_.slice(products, 0, t * batch, (t + 1) * batch), state);
    states[static_cast<std::size_t>(t)] = mover_.view(state.h, {1, batch, state.h->type.shape.at(1)});
  }
  return {mover_.cat(std::move(states), 0), state};
}

}  // namespace cormorant::ops::recurrent
