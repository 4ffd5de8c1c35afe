// SPDX-License-Identifier: Apache-2.0
//
// LSTM, GRU and RNN layers and their cells, written out as the operators that they consist of: the products of all
// steps' inputs as one, then step by step the products of the state, gates and functions. Layers, directions, missing
// biases, projections, states given or zero: all are the same few lines for one step of one cell. Weights are the same
// constants in every step.
#include "ops/movement.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

using Values = std::vector<ir::Value*>;

enum class Kind : std::uint8_t { lstm, gru, rnn_tanh, rnn_relu };

struct Cell {
  ir::Value* w_ih = nullptr;
  ir::Value* w_hh = nullptr;
  ir::Value* b_ih = nullptr;
  ir::Value* b_hh = nullptr;
  ir::Value* w_hr = nullptr;  // an LSTM's projection of its state, if it has one
};

struct State {
  ir::Value* h = nullptr;
  ir::Value* c = nullptr;  // of an LSTM
};

class Builder {
 public:
  Builder(Importer& importer, Kind kind) : importer_(importer), mover_(importer), kind_(kind) {}

  [[nodiscard]] const Mover& mover() const { return mover_; }

  // [rows, inputs] → [rows, outputs]
  ir::Value* linear(ir::Value* input, ir::Value* weight, ir::Value* bias) {
    const ir::Shape shape = {input->type.shape.at(0), weight->type.shape.at(0)};
    return node("aten.linear",
                {{"input", input}, {"weight", weight}, {"bias", bias ? ir::Argument(bias) : ir::Argument()}}, shape);
  }

  // One step, of which the input's products are known: [batch, gates · units].
  State step(const Cell& cell, ir::Value* from_input, const State& state) {
    ir::Value* from_state = linear(state.h, cell.w_hh, cell.b_hh);
    const std::int64_t units = cell.w_hh->type.shape.at(0) / gates();
    const auto part = [&](ir::Value* all, std::int64_t k) { return mover_.slice(all, 1, k * units, (k + 1) * units); };
    switch (kind_) {
      case Kind::lstm: {
        ir::Value* all = add(from_input, from_state);
        ir::Value* kept = multiply(function("sigmoid", part(all, 1)), state.c);
        ir::Value* c = add(kept, multiply(function("sigmoid", part(all, 0)), function("tanh", part(all, 2))));
        ir::Value* h = multiply(function("sigmoid", part(all, 3)), function("tanh", c));
        return {cell.w_hr == nullptr ? h : linear(h, cell.w_hr, nullptr), c};
      }
      case Kind::gru: {
        ir::Value* reset = function("sigmoid", add(part(from_input, 0), part(from_state, 0)));
        ir::Value* update = function("sigmoid", add(part(from_input, 1), part(from_state, 1)));
        ir::Value* fresh = function("tanh", add(part(from_input, 2), multiply(reset, part(from_state, 2))));
        return {add(fresh, multiply(update, add(state.h, fresh, -1))), nullptr};
      }
      case Kind::rnn_tanh:
        return {function("tanh", add(from_input, from_state)), nullptr};
      case Kind::rnn_relu:
        return {node("aten.clamp", {{"self", add(from_input, from_state)}, {"min", 0.0}, {"max", ir::None{}}},
                     from_state->type.shape),
                nullptr};
    }
    return {};
  }

  // The states of all steps, [steps, batch, units], and the last. `products` are those of the input, [steps · batch,
  // gates · units].
  std::pair<ir::Value*, State> run(const Cell& cell, ir::Value* products, State state, std::int64_t steps,
                                   bool backwards) {
    const std::int64_t batch = products->type.shape.at(0) / steps;
    Values states(static_cast<std::size_t>(steps));
    for (std::int64_t k = 0; k < steps; ++k) {
      const std::int64_t t = backwards ? steps - 1 - k : k;
      state = step(cell, mover_.slice(products, 0, t * batch, (t + 1) * batch), state);
      states[static_cast<std::size_t>(t)] = mover_.view(state.h, {1, batch, state.h->type.shape.at(1)});
    }
    return {mover_.cat(std::move(states), 0), state};
  }

 private:
  [[nodiscard]] std::int64_t gates() const { return kind_ == Kind::lstm ? 4 : kind_ == Kind::gru ? 3 : 1; }

  ir::Value* node(const char* op, std::vector<ir::NamedArgument> args, ir::Shape shape) {
    return importer_.node(op, std::move(args), {ir::float_type(std::move(shape))})->result();
  }
  ir::Value* function(const std::string& name, ir::Value* of) {
    return node(("aten." + name).c_str(), {{"self", of}}, of->type.shape);
  }
  ir::Value* add(ir::Value* self, ir::Value* other, double alpha = 1) {
    return node("aten.add", {{"self", self}, {"other", other}, {"alpha", alpha}}, self->type.shape);
  }
  ir::Value* multiply(ir::Value* self, ir::Value* other) {
    return node("aten.mul", {{"self", self}, {"other", other}}, self->type.shape);
  }

  Importer& importer_;
  Mover mover_;
  Kind kind_;
};

// The parameters of one layer and direction, in PyTorch's order: w_ih, w_hh, b_ih, b_hh, w_hr, as far as it has them.
std::vector<Cell> cells_of(const Importer& importer, std::size_t count) {
  const Values& all = importer.call->tensors("params");
  const bool has_biases = importer.call->boolean("has_biases");
  const std::size_t each = all.size() / count;
  const std::size_t plain = has_biases ? 4 : 2;
  if (all.size() != each * count || each < plain || each > plain + 1) {
    importer.reject("a recurrent layer with another number of weights than its layers and directions need",
                    "export the model again");
  }
  std::vector<Cell> cells;
  for (std::size_t k = 0; k < count; ++k) {
    Cell cell;
    cell.w_ih = all[k * each];
    cell.w_hh = all[k * each + 1];
    if (has_biases) {
      cell.b_ih = all[k * each + 2];
      cell.b_hh = all[k * each + 3];
    }
    if (each > plain) cell.w_hr = all[k * each + plain];
    cells.push_back(cell);
  }
  return cells;
}

// hx [layers · directions, batch, units] → one of its states [batch, units]
ir::Value* initial(const Mover& mover, ir::Value* hx, std::size_t k) {
  const auto at = static_cast<std::int64_t>(k);
  return mover.view(mover.slice(hx, 0, at, at + 1), {hx->type.shape.at(1), hx->type.shape.at(2)});
}

Values import_layers(Importer& importer, Kind kind) {
  const ir::Node& call = *importer.call;
  if (call.boolean("train") && call.number("dropout") != 0) {
    importer.reject("a recurrent layer with dropout, in training mode", "call model.eval() before torch.export");
  }
  Builder builder(importer, kind);
  const Mover& mover = builder.mover();
  const std::size_t directions = call.boolean("bidirectional") ? 2 : 1;
  const auto layers = static_cast<std::size_t>(call.integer("num_layers"));
  const std::vector<Cell> cells = cells_of(importer, layers * directions);
  const Values given = kind == Kind::lstm ? call.tensors("hx") : Values{call.tensor("hx")};

  ir::Value* x = call.tensor("input");
  if (x->type.rank() != 3 || given.empty())
    importer.reject("a recurrent layer over a tensor of another rank than 3", "");
  const bool batch_first = call.boolean("batch_first");
  if (batch_first) x = mover.permute(x, {1, 0, 2});
  const std::int64_t steps = x->type.shape[0], batch = x->type.shape[1];
  if (steps < 1) importer.reject("a recurrent layer over a sequence without steps", "give it one step at least");

  Values last_h, last_c;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    ir::Value* rows = mover.view(x, {steps * batch, x->type.shape.at(2)});
    Values both;
    for (std::size_t direction = 0; direction < directions; ++direction) {
      const std::size_t k = layer * directions + direction;
      State state{initial(mover, given[0], k), kind == Kind::lstm ? initial(mover, given.at(1), k) : nullptr};
      ir::Value* products = builder.linear(rows, cells[k].w_ih, cells[k].b_ih);
      auto [states, last] = builder.run(cells[k], products, state, steps, direction == 1);
      both.push_back(states);
      const auto stacked = [&](ir::Value* value) { return mover.view(value, {1, batch, value->type.shape.at(1)}); };
      last_h.push_back(stacked(last.h));
      if (kind == Kind::lstm) last_c.push_back(stacked(last.c));
    }
    x = mover.cat(std::move(both), 2);
  }
  Values results = {batch_first ? mover.permute(x, {1, 0, 2}) : x, mover.cat(std::move(last_h), 0)};
  if (kind == Kind::lstm) results.push_back(mover.cat(std::move(last_c), 0));
  return results;
}

// One step, with two dimensions: [batch, inputs].
Values import_cell(Importer& importer, Kind kind) {
  const ir::Node& call = *importer.call;
  Builder builder(importer, kind);
  const Cell cell{call.tensor("w_ih"), call.tensor("w_hh"), call.tensor("b_ih"), call.tensor("b_hh"), nullptr};
  const Values given = kind == Kind::lstm ? call.tensors("hx") : Values{call.tensor("hx")};
  const State state = builder.step(cell, builder.linear(call.tensor("input"), cell.w_ih, cell.b_ih),
                                   {given.at(0), kind == Kind::lstm ? given.at(1) : nullptr});
  return kind == Kind::lstm ? Values{state.h, state.c} : Values{state.h};
}

template <Kind kind>
Values layers(Importer& importer) {
  return import_layers(importer, kind);
}
template <Kind kind>
Values cell(Importer& importer) {
  return import_cell(importer, kind);
}

#define LAYERS                                                                                        \
  "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, " \
  "bool batch_first)"
#define CELL "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)"

}  // namespace

Operator recurrent_operator() {
  return {.name = "recurrent",
          .limits = "written out step by step",
          .forms = {{"lstm.input(Tensor input, Tensor[] hx, " LAYERS, layers<Kind::lstm>},
                    {"gru.input(Tensor input, Tensor hx, " LAYERS, layers<Kind::gru>},
                    {"rnn_tanh.input(Tensor input, Tensor hx, " LAYERS, layers<Kind::rnn_tanh>},
                    {"rnn_relu.input(Tensor input, Tensor hx, " LAYERS, layers<Kind::rnn_relu>},
                    {"lstm_cell.default(Tensor input, Tensor[] hx, " CELL, cell<Kind::lstm>},
                    {"gru_cell.default(Tensor input, Tensor hx, " CELL, cell<Kind::gru>},
                    {"rnn_tanh_cell.default(Tensor input, Tensor hx, " CELL, cell<Kind::rnn_tanh>},
                    {"rnn_relu_cell.default(Tensor input, Tensor hx, " CELL, cell<Kind::rnn_relu>}},
          .canonical = {}};
}

#undef LAYERS
#undef CELL

}  // namespace cormorant::ops
