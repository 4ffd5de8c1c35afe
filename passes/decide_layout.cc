// SPDX-License-Identifier: Apache-2.0
//
// Tensors keep PyTorch's logical dimensions; this pass decides their order in memory. One walk in execution order: each
// node says what it prefers (ops::MemoryOrder), and a value in another order is transposed, once per value and order.
// Permutations and views do not move data: they only change how the same bytes are read, and a transpose is inserted
// where a reader cannot take them that way. Hence permutations cancel, flatten-and-transpose of a channels-last image
// is free, and a channel shuffle is one transpose of its groups. A flatten before a linear layer costs no transpose
// either: the weights' columns are reordered instead.
#include <algorithm>
#include <map>

#include "ops/nodes.h"
#include "passes/memory_order.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

bool is_activation(const ir::Value* value) {
  return value->kind != ir::ValueKind::constant && value->kind != ir::ValueKind::scratch;
}

class LayoutPass {
 public:
  LayoutPass(ir::Graph& graph, const ops::Config& config)
      : graph_(graph), is_for_executorch_(config.runtime == ops::Runtime::executorch) {}

  void run() {
    // Quantized inputs are a contract between this compiler and its caller: channels-last, so that no transpose is
    // needed at all. Float inputs stay as the model has them.
    for (ir::Value* input : graph_.inputs()) {
      if (input->type.rank() == 4 && input->type.is_quantized()) input->type.dim_order = ir::kChannelsLast;
    }
    for (ir::Value& value : graph_.values()) {
      if (value.kind == ir::ValueKind::state) place_state(value);
    }
    // A relayout, from an earlier walk, reads bytes as they were when it was made.
    for (ir::Node& node : graph_.nodes()) {
      if (node.op == ops::nodes::cormorant_relayout) read_as_[&node] = node.inputs().front()->type.dim_order;
    }
    for (ir::Node* node : graph_.snapshot()) visit(*node);
    for (ir::Value*& output : graph_.outputs()) {
      const bool free = output->type.is_quantized() && output->type.dim_order == ir::kChannelsLast;
      if (is_activation(output) && !free) output = in_order(output, {}, nullptr);
    }
    for (ir::Update& update : graph_.updates()) {
      update.value = in_order(update.value, update.state->type.dim_order, nullptr);
    }
    merge_relayouts();
  }

 private:
  // A state has the order its readers prefer, perhaps through operators that take any order: its initial contents are
  // transposed now, so that no execution has to.
  void place_state(ir::Value& state) {
    if (state.type.rank() != 4 || !state.type.dim_order.empty() || !is_read_channels_last(&state)) return;
    ir::TensorType type = state.type;
    type.dim_order = ir::kChannelsLast;
    state.data = ir::Bytes::own(reordered(state.data.bytes, state.type, type));
    state.type = std::move(type);
  }
  [[nodiscard]] bool is_read_channels_last(const ir::Value* value) const {
    return std::ranges::any_of(graph_.users(value), [&](const ir::Node* user) {
      const ops::MemoryOrder layout = layout_of(*user);
      if (layout == ops::MemoryOrder::channels_last) return true;
      return layout == ops::MemoryOrder::same && user->op != ops::nodes::aten_view &&
             user->op != ops::nodes::cortex_m_transpose &&
             std::ranges::any_of(user->results, [&](const ir::Value* result) { return is_read_channels_last(result); });
    });
  }

  void visit(ir::Node& node) {
    if (const auto reading = read_as_.find(&node); reading != read_as_.end()) {
      ir::Value* input = node.inputs().front();
      node.replace_use(input, in_order(input, reading->second, &node));
    } else if (node.op == ops::nodes::aten_view) {
      visit_view(node);
    } else if (node.op == ops::nodes::cortex_m_transpose) {
      visit_transpose(node);
    } else {
      const Order order = wanted(node);
      const ops::Operator* op = ops::find(node);
      const bool any = op != nullptr && op->layout == ops::MemoryOrder::same;
      const std::vector<ir::Value*> inputs = node.inputs();
      for (ir::Value* input : inputs) {
        const bool four = input->type.rank() == 4;
        if (is_activation(input)) node.replace_use(input, in_order(input, four ? order : Order{}, &node));
        // An image may be a constant; weights have an order of their own.
        const bool is_turned = any || input == inputs.front();
        if (input->kind == ir::ValueKind::constant && four && is_turned) node.replace_use(input, turned(input, order));
      }
      for (ir::Value* result : node.results) result->type.dim_order = result->type.rank() == 4 ? order : Order{};
    }
  }

  [[nodiscard]] ops::MemoryOrder layout_of(const ir::Node& node) const {
    const ops::Operator* op = ops::find(node);
    if (op == nullptr) return ops::MemoryOrder::contiguous;
    if (is_for_executorch_ && repeats(node) && op->executorch_repeats != ops::MemoryOrder::same) {
      return op->executorch_repeats;
    }
    // Portable float kernels support only the logical order, unless they work in any.
    const bool other = op->layout != ops::MemoryOrder::same && ops::is_float(node);
    return other ? ops::MemoryOrder::contiguous : op->layout;
  }

  // Whether an operand is smaller than the result.
  static bool repeats(const ir::Node& node) {
    return std::ranges::any_of(node.inputs(), [&](const ir::Value* input) {
      return input->type.rank() == 4 && input->type.shape != node.result()->type.shape;
    });
  }

  Order wanted(const ir::Node& node) const {
    const ops::MemoryOrder layout = layout_of(node);
    if (layout == ops::MemoryOrder::channels_last) return ir::kChannelsLast;
    if (layout == ops::MemoryOrder::contiguous) return {};
    // A float output of the graph is contiguous: turn the int8 tensor before it is widened, not the floats after it.
    for (const ir::Value* result : node.results) {
      if (graph_.is_output(result) && !result->type.is_quantized()) return {};
    }
    for (const ir::Value* input : node.inputs()) {
      if (is_activation(input) && input->type.dim_order == ir::kChannelsLast) return ir::kChannelsLast;
    }
    return {};
  }

  // A view keeps its input's order if the dimensions that it merges are next to each other.
  void visit_view(ir::Node& node) {
    ir::Value* input = node.tensor("self");
    ir::Value* result = node.result();
    if (!is_activation(input)) return;
    std::optional<Order> order = order_of_view(input->type, result->type.shape);
    if (!order) {
      if (fold_into_linear(node)) return;
      input = in_order(input, order_for_view(input->type, result->type.shape), &node);
      node.set("self", input);
      order = order_of_view(input->type, result->type.shape);
    }
    result->type.dim_order = std::move(order).value();
  }

  // view([N, C, H, W] channels-last -> [N, C·H·W]) into a linear: the linear reads H, W, C with its columns in that
  // order. The view's result is then a relayout, whose logical order is that of its bytes.
  bool fold_into_linear(ir::Node& view) {
    ir::Value* input = view.tensor("self");
    ir::Node* linear = graph_.only_user(view.result());
    const ir::Shape& shape = input->type.shape;
    if (linear == nullptr || linear->op != ops::nodes::cortex_m_quantized_linear ||
        linear->tensor("input") != view.result() || input->type.rank() != 4 ||
        view.result()->type.shape != ir::Shape{shape[0], shape[1] * shape[2] * shape[3]}) {
      return false;
    }
    // A row of the matrix is one image: the batch has to be outermost in memory, too.
    if (shape[0] != 1 && input->type.dim_order.front() != 0) return false;
    const ir::Value* weights = linear->tensor("weights");
    if (weights->kind != ir::ValueKind::constant || weights->type.dtype != DType::i8) return false;
    const std::vector<std::size_t> columns = memory_sequence(input->type);
    const auto rows = static_cast<std::size_t>(weights->type.shape[0]);
    const std::size_t width = columns.size() / static_cast<std::size_t>(shape[0]);
    const auto from = weights->data.as<std::int8_t>();
    std::vector<std::int8_t> to(from.size());
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t k = 0; k < width; ++k) to[row * width + k] = from[row * width + columns[k]];
    }
    linear->set("weights", graph_.add_constant(weights->name + "_columns", weights->type,
                                               ir::Bytes::of(std::span<const std::int8_t>(to))));
    linear->set("input", relabel(input, view.result()->type, linear));
    return true;
  }

  // Nothing is moved yet: the result is the input's bytes, read in another order.
  void visit_transpose(ir::Node& node) {
    ir::Value* input = node.tensor("input");
    if (!is_activation(input)) return;
    ir::TensorType type = node.result()->type;
    type.dim_order = order_of_permutation(input->type, node.integers("perm"));
    graph_.replace_uses(node.result(), relabel(input, std::move(type), &node));
    graph_.erase(&node);
  }

  // The value in that order, created before `before` if it does not exist yet.
  ir::Value* in_order(ir::Value* value, const Order& order, ir::Node* before) {
    if (value->type.dim_order == order) return value;
    ir::Value*& made = made_[{value, order}];
    if (made == nullptr) {
      ir::TensorType type = value->type;
      type.dim_order = order;
      made = same_bytes(value->type, type) ? relabel(value, type, before) : turn(value, type, before);
    }
    return made;
  }

  ir::Value* relabel(ir::Value* value, ir::TensorType type, ir::Node* before) {
    return graph_
        .add_node(value->name + "_relayout", ops::nodes::cormorant_relayout, {{"self", value}}, {std::move(type)},
                  location_of(value, before), before)
        ->result();
  }

  // The kernel permutes contiguous tensors, so memory order is presented to it as the logical one.
  ir::Value* turn(ir::Value* value, const ir::TensorType& type, ir::Node* before) {
    const Permutation p = permutation_between(value->type, type);
    ir::TensorType seen = value->type;
    seen.shape = p.from;
    seen.dim_order.clear();
    ir::Value* source = seen == value->type ? value : relabel(value, seen, before);
    seen.shape = p.to;
    // The operator of the Cortex-M kernels is for quantized tensors; the portable one takes any type.
    const bool real = value->type.dtype != DType::i8 && !value->type.is_quantized();
    ir::Value* result =
        graph_
            .add_node(value->name + "_transpose", real ? ops::nodes::aten_permute_copy : ops::nodes::cortex_m_transpose,
                      {{real ? "self" : "input", source}, {real ? "dims" : "perm", p.dims}}, {seen},
                      location_of(value, before), before)
            ->result();
    return seen == type ? result : relabel(result, type, before);
  }

  // A constant is transposed here.
  ir::Value* turned(ir::Value* constant, const Order& order) {
    ir::TensorType type = constant->type;
    if (type.dim_order == order) return constant;
    ir::Value*& made = made_[{constant, order}];
    if (made != nullptr) return made;
    type.dim_order = order;
    std::vector<std::byte> bytes = reordered(constant->data.bytes, constant->type, type);
    made = graph_.add_constant(constant->name + "_turned", std::move(type), ir::Bytes::own(std::move(bytes)));
    return made;
  }

  // A view that is only viewed again.
  void merge_relayouts() {
    for (ir::Node* node : graph_.snapshot()) {
      if (node->op != ops::nodes::cormorant_relayout) continue;
      ir::Value* source = node->inputs().front();
      while (source->producer != nullptr && ops::is_alias(*source->producer))
        source = source->producer->inputs().front();
      node->set("self", source);
      if (source->type == node->result()->type) graph_.replace_uses(node->result(), source);
    }
    graph_.erase_unused();
  }

  static ir::Location location_of(const ir::Value* value, const ir::Node* before) {
    if (value->producer != nullptr) return value->producer->location;
    return before == nullptr ? ir::Location{} : before->location;
  }

  ir::Graph& graph_;
  const bool is_for_executorch_;
  std::map<std::pair<const ir::Value*, Order>, ir::Value*> made_;
  std::map<const ir::Node*, Order> read_as_;
};

}  // namespace

void decide_layout(ir::Graph& graph, const ops::Config& config) { LayoutPass(graph, config).run(); }

}  // namespace cormorant::passes
