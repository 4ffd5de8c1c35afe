// SPDX-License-Identifier: Apache-2.0
//
// Recurrent layers as the operators that they consist of: the products of all steps' inputs as one, then step by step
// the products of the state, gates and functions. For forms that the operator here does not support, and for
// ExecuTorch.
#pragma once

#include <utility>

#include "ops/host/movement.h"
#include "ops/op.h"

namespace cormorant::ops::recurrent {

enum class Form : std::uint8_t { lstm, gru, rnn_tanh, rnn_relu };

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

class WrittenOut {
 public:
  WrittenOut(const Importer& importer, Form form)
      : graph_(*importer.graph),
        name_(importer.call->name),
        location_(importer.call->location),
        before_(nullptr),
        mover_(importer),
        form_(form) {}
  WrittenOut(const Rewriter& rewriter, Form form)
      : graph_(rewriter.graph),
        name_(rewriter.node.name),
        location_(rewriter.node.location),
        before_(&rewriter.node),
        mover_(rewriter),
        form_(form) {}

  // input [steps, batch, inputs], states [batch, units]: h of all steps [steps, batch, units], and the last state.
  std::pair<ir::Value*, State> run(const Cell& cell, ir::Value* input, State state, bool backwards);

 private:
  State step(const Cell& cell, ir::Value* from_input, const State& state);
  [[nodiscard]] std::int64_t gates() const { return form_ == Form::lstm ? 4 : form_ == Form::gru ? 3 : 1; }

  ir::Value* node(const char* op, std::vector<ir::NamedArgument> args, ir::Shape shape);
  ir::Value* linear(ir::Value* input, ir::Value* weight, ir::Value* bias);
  ir::Value* function(const char* op, ir::Value* of);
  ir::Value* add(ir::Value* self, ir::Value* other, double alpha = 1);
  ir::Value* multiply(ir::Value* self, ir::Value* other);

  ir::Graph& graph_;
  const std::string& name_;
  const ir::Location& location_;
  ir::Node* before_;
  Mover mover_;
  Form form_;
};

}  // namespace cormorant::ops::recurrent
