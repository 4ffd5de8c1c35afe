// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's recurrent modules: several layers, both directions, states given or zero. Each layer and direction becomes
// one aten.recurrent; a cell is one step of it. Layers whose weights the model computes are written out instead.
#include "ops/recurrent/import.h"

#include <algorithm>

#include "ops/host/movement.h"
#include "ops/nodes.h"
#include "ops/recurrent/recurrent.h"
#include "ops/recurrent/written_out.h"

namespace cormorant::ops::recurrent {
namespace {

using Values = std::vector<ir::Value*>;

bool is_zero(const ir::Value& value) {
  return value.kind == ir::ValueKind::constant && value.type.dtype == DType::f32 &&
         std::ranges::all_of(value.data.as<float>(), [](float v) { return v == 0; });
}

const char* kind_of(Form form) {
  constexpr const char* kKinds[] = {"lstm", "gru", "rnn_tanh", "rnn_relu"};
  return kKinds[static_cast<std::size_t>(form)];
}

// One layer and direction. A state that is null is zero.
class Layer {
 public:
  Layer(Importer& importer, Form form) : importer_(importer), mover_(importer), form_(form) {}

  // input [steps, batch, inputs] → h of all steps, and the last state
  std::pair<ir::Value*, State> run(const Cell& cell, ir::Value* input, State state, bool backwards) {
    if (!is_fused(cell)) {
      const ir::Shape shape = {input->type.shape.at(1), cell.w_hh->type.shape.at(1)};
      const std::int64_t gates = form_ == Form::lstm ? 4 : form_ == Form::gru ? 3 : 1;
      if (state.h == nullptr) state.h = zeros(shape);
      if (state.c == nullptr && form_ == Form::lstm) {
        state.c = zeros({shape[0], cell.w_hh->type.shape.at(0) / gates});
      }
      return WrittenOut(importer_, form_).run(cell, input, state, backwards);
    }
    const std::int64_t steps = input->type.shape.at(0), batch = input->type.shape.at(1);
    const std::int64_t outputs = cell.w_hh->type.shape.at(1);
    const std::int64_t units = cell.w_hr == nullptr ? outputs : cell.w_hr->type.shape.at(1);
    const auto optional = [](ir::Value* value) { return value == nullptr ? ir::Argument() : ir::Argument(value); };
    std::vector<ir::NamedArgument> arguments = {{"input", input},
                                                {"h", optional(state.h)},
                                                {"c", optional(state.c)},
                                                {"w_ih", cell.w_ih},
                                                {"w_hh", cell.w_hh},
                                                {"b_ih", optional(cell.b_ih)},
                                                {"b_hh", optional(cell.b_hh)},
                                                {"kind", std::string(kind_of(form_))},
                                                {"backwards", backwards}};
    if (cell.w_hr != nullptr) arguments.push_back({"w_hr", cell.w_hr});
    std::vector<ir::TensorType> results = {ir::float_type({steps, batch, outputs})};
    if (form_ != Form::rnn_relu) results.push_back(ir::float_type({batch, units}));
    const ir::Node* node = importer_.node(nodes::aten_recurrent, std::move(arguments), std::move(results));
    ir::Value* states = node->results.at(0);
    // Readers that compute with h take the first result; a recurrence continues with the second
    // (quantizer/recurrence.h).
    const std::int64_t last = backwards ? 0 : steps - 1;
    return {states,
            {mover_.view(mover_.slice(states, 0, last, last + 1), {batch, outputs}),
             form_ == Form::lstm ? node->results.at(1) : nullptr}};
  }

 private:
  [[nodiscard]] bool is_fused(const Cell& cell) const {
    const auto is_plain = [](const ir::Value* value) {
      return value == nullptr || (value->kind == ir::ValueKind::constant && value->type.dtype == DType::f32);
    };
    const auto is_matrix = [](const ir::Value* weight) { return weight->type.rank() == 2; };
    if (!std::ranges::all_of(Values{cell.w_ih, cell.w_hh, cell.b_ih, cell.b_hh, cell.w_hr}, is_plain)) return false;
    if (!std::ranges::all_of(Values{cell.w_ih, cell.w_hh}, is_matrix) ||
        !fits(cell.w_ih->type.shape[1], cell.w_hh->type.shape[1])) {
      return false;
    }
    return cell.w_hr == nullptr || (is_matrix(cell.w_hr) && fits(cell.w_hr->type.shape[0], cell.w_hr->type.shape[1]));
  }
  ir::Value* zeros(const ir::Shape& shape) {
    const ir::TensorType type = ir::float_type(shape);
    const std::vector<float> values(static_cast<std::size_t>(type.elements()));
    return importer_.graph->add_constant(importer_.call->name + "_zeros", type,
                                         ir::Bytes::of(std::span<const float>(values)));
  }

  Importer& importer_;
  Mover mover_;
  Form form_;
};

// The parameters of one layer and direction, in PyTorch's order: w_ih, w_hh, b_ih, b_hh, w_hr, as far as it has them.
std::vector<Cell> cells_of(const Importer& importer, std::size_t count) {
  const Values& all = importer.call->tensors("params");
  const bool has_biases = importer.call->boolean("has_biases");
  const std::size_t each = count == 0 ? 0 : all.size() / count;
  const std::size_t plain = has_biases ? 4 : 2;
  if (all.size() != each * count || each < plain || each > plain + 1) {
    importer.reject("the number of weights does not match the recurrent layer's layers and directions",
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

// hx [layers · directions, batch, units] → one of its states [batch, units]; null for zeros.
ir::Value* initial(const Mover& mover, ir::Value* hx, std::size_t k) {
  if (is_zero(*hx)) return nullptr;
  const auto at = static_cast<std::int64_t>(k);
  return mover.view(mover.slice(hx, 0, at, at + 1), {hx->type.shape.at(1), hx->type.shape.at(2)});
}

Values import_layers(Importer& importer, Form form) {
  const ir::Node& call = *importer.call;
  if (call.boolean("train") && call.number("dropout") != 0) {
    importer.reject("a recurrent layer with dropout, in training mode", "call model.eval() before torch.export");
  }
  Layer layer(importer, form);
  const Mover mover(importer);
  const std::size_t directions = call.boolean("bidirectional") ? 2 : 1;
  const auto layers = static_cast<std::size_t>(call.integer("num_layers"));
  const std::vector<Cell> cells = cells_of(importer, layers * directions);
  const Values given = form == Form::lstm ? call.tensors("hx") : Values{call.tensor("hx")};

  ir::Value* x = call.tensor("input");
  if (x->type.rank() != 3 || given.empty()) importer.reject("a recurrent layer needs a tensor of rank 3", "");
  const bool batch_first = call.boolean("batch_first");
  if (batch_first) x = mover.permute(x, {1, 0, 2});
  const std::int64_t batch = x->type.shape[1];
  if (x->type.shape[0] < 1) {
    importer.reject("a recurrent layer over an empty sequence", "give it at least one step");
  }

  Values last_h, last_c;
  for (std::size_t at = 0; at < layers; ++at) {
    Values both;
    for (std::size_t direction = 0; direction < directions; ++direction) {
      const std::size_t k = at * directions + direction;
      const State state{initial(mover, given[0], k), form == Form::lstm ? initial(mover, given.at(1), k) : nullptr};
      auto [states, last] = layer.run(cells[k], x, state, direction == 1);
      both.push_back(states);
      const auto stacked = [&](ir::Value* value) { return mover.view(value, {1, batch, value->type.shape.at(1)}); };
      last_h.push_back(stacked(last.h));
      if (form == Form::lstm) last_c.push_back(stacked(last.c));
    }
    x = mover.cat(std::move(both), 2);
  }
  Values results = {batch_first ? mover.permute(x, {1, 0, 2}) : x, mover.cat(std::move(last_h), 0)};
  if (form == Form::lstm) results.push_back(mover.cat(std::move(last_c), 0));
  return results;
}

// One step, with two dimensions: [batch, inputs].
Values import_cell(Importer& importer, Form form) {
  const ir::Node& call = *importer.call;
  const Mover mover(importer);
  ir::Value* x = call.tensor("input");
  const Cell cell{call.tensor("w_ih"), call.tensor("w_hh"), call.tensor("b_ih"), call.tensor("b_hh"), nullptr};
  const Values given = form == Form::lstm ? call.tensors("hx") : Values{call.tensor("hx")};
  if (x->type.rank() != 2) importer.reject("a recurrent cell needs a tensor of rank 2", "");
  const auto state_of = [](ir::Value* value) { return is_zero(*value) ? nullptr : value; };
  const State state{state_of(given.at(0)), form == Form::lstm ? state_of(given.at(1)) : nullptr};
  auto [states, last] =
      Layer(importer, form).run(cell, mover.view(x, {1, x->type.shape[0], x->type.shape[1]}), state, false);
  return form == Form::lstm ? Values{last.h, last.c} : Values{last.h};
}

template <Form form>
Values layers(Importer& importer) {
  return import_layers(importer, form);
}
template <Form form>
Values cell(Importer& importer) {
  return import_cell(importer, form);
}

}  // namespace

bool fits(std::int64_t inputs, std::int64_t units) { return inputs <= kMaxFeatures && units <= kMaxFeatures; }

}  // namespace cormorant::ops::recurrent

namespace cormorant::ops {

// Layers and cells of all kinds.
std::vector<AtenForm> recurrent_forms() {
  using namespace recurrent;
#define LAYERS                                                                                        \
  "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, " \
  "bool batch_first)"
#define CELL "Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)"
  return {{"lstm.input(Tensor input, Tensor[] hx, " LAYERS, layers<Form::lstm>},
          {"gru.input(Tensor input, Tensor hx, " LAYERS, layers<Form::gru>},
          {"rnn_tanh.input(Tensor input, Tensor hx, " LAYERS, layers<Form::rnn_tanh>},
          {"rnn_relu.input(Tensor input, Tensor hx, " LAYERS, layers<Form::rnn_relu>},
          {"lstm_cell.default(Tensor input, Tensor[] hx, " CELL, cell<Form::lstm>},
          {"gru_cell.default(Tensor input, Tensor hx, " CELL, cell<Form::gru>},
          {"rnn_tanh_cell.default(Tensor input, Tensor hx, " CELL, cell<Form::rnn_tanh>},
          {"rnn_relu_cell.default(Tensor input, Tensor hx, " CELL, cell<Form::rnn_relu>}};
#undef LAYERS
#undef CELL
}

}  // namespace cormorant::ops
