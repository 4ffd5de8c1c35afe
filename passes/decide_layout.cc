// SPDX-License-Identifier: Apache-2.0
//
// Tensors keep PyTorch's logical NCHW dimensions; this pass decides in which order they lie in memory. One walk in
// execution order: each node says what it wants (ops::Layout), and where a value comes in another order a transpose is
// put between, once per value. Where both orders are the same bytes (one channel, or one pixel) it is only a
// relabelling. Constants among the operands of an elementwise node are turned here, not on the target.
#include <algorithm>
#include <map>
#include <numeric>

#include "passes/passes.h"

namespace cormorant::passes {
namespace {

using Order = std::vector<std::uint8_t>;

bool is_channels_last(const ir::TensorType& type) { return type.dim_order == ir::kChannelsLast; }

bool same_bytes(const ir::TensorType& type) { return type.shape[1] == 1 || (type.shape[2] == 1 && type.shape[3] == 1); }

bool is_activation(const ir::Value* value) {
  return value->kind != ir::ValueKind::constant && value->kind != ir::ValueKind::scratch && value->type.rank() == 4;
}

// The bytes of a 4-D tensor, laid out in another order.
std::vector<std::byte> turned_bytes(const ir::Value& value, const Order& to) {
  const ir::TensorType& type = value.type;
  const auto strides_of = [&](const Order& order) {
    std::vector<std::size_t> strides(type.rank());
    std::size_t stride = size_of(type.dtype);
    for (std::size_t i = type.rank(); i-- > 0;) {
      const std::size_t dim = order.empty() ? i : order[i];
      strides[dim] = stride;
      stride *= static_cast<std::size_t>(type.shape[dim]);
    }
    return strides;
  };
  const std::vector<std::size_t> from_strides = strides_of(type.dim_order);
  const std::vector<std::size_t> to_strides = strides_of(to);
  std::vector<std::byte> bytes(value.data.bytes.size());
  std::vector<std::int64_t> index(type.rank());
  for (std::int64_t left = type.elements(); left > 0; --left) {
    const auto offset = [&](const std::vector<std::size_t>& strides) {
      return std::inner_product(index.begin(), index.end(), strides.begin(), std::size_t{0});
    };
    std::copy_n(value.data.bytes.data() + offset(from_strides), size_of(type.dtype), bytes.data() + offset(to_strides));
    for (std::size_t d = type.rank(); d-- > 0;) {
      if (++index[d] < type.shape[d]) break;
      index[d] = 0;
    }
  }
  return bytes;
}

class LayoutPass {
 public:
  explicit LayoutPass(ir::Graph& graph) : graph_(graph) {}

  void run() {
    // Quantized inputs are a contract between this compiler and its caller: channels-last, so that no transpose is
    // needed at all. Float inputs stay as the model has them.
    for (ir::Value* input : graph_.inputs()) {
      if (is_activation(input) && input->type.is_quantized()) input->type.dim_order = ir::kChannelsLast;
    }
    for (ir::Node* node : graph_.snapshot()) visit(*node);
    for (ir::Value*& output : graph_.outputs()) {
      if (is_activation(output) && !output->type.is_quantized()) output = in_order(output, {}, nullptr);
    }
  }

 private:
  void visit(ir::Node& node) {
    if (node.op == "cormorant.relayout") return;  // an earlier walk's
    const Order order = wanted(node);
    for (ir::Value* input : node.inputs()) {
      if (is_activation(input)) node.replace_use(input, in_order(input, order, &node));
      if (is_elementwise_constant(node, input)) node.replace_use(input, constant_in_order(input, order));
    }
    for (ir::Value* result : node.results) {
      if (result->type.rank() == 4) result->type.dim_order = order;
    }
  }

  static bool is_elementwise_constant(const ir::Node& node, const ir::Value* value) {
    const ops::Operator* op = ops::find(node);
    return op != nullptr && op->layout == ops::Layout::same && value->kind == ir::ValueKind::constant &&
           value->type.rank() == 4;
  }

  ir::Value* constant_in_order(ir::Value* value, const Order& order) {
    if (value->type.dim_order == order) return value;
    ir::Value*& made = made_[{value, order}];
    if (made == nullptr) {
      ir::TensorType type = value->type;
      type.dim_order = order;
      made = graph_.add_constant(value->name + "_relayout", std::move(type),
                                 same_bytes(value->type) ? value->data : ir::Bytes::own(turned_bytes(*value, order)));
    }
    return made;
  }

  Order wanted(const ir::Node& node) const {
    const ops::Operator* op = ops::find(node);
    const ops::Layout layout = op == nullptr ? ops::Layout::contiguous : op->layout;
    if (layout == ops::Layout::channels_last) return ir::kChannelsLast;
    if (layout == ops::Layout::contiguous) return {};
    // A float output of the graph is contiguous: turn the int8 tensor before it is widened, not the floats after it.
    for (const ir::Value* result : node.results) {
      if (graph_.is_output(result) && !result->type.is_quantized()) return {};
    }
    for (const ir::Value* input : node.inputs()) {
      if (is_activation(input) && is_channels_last(input->type)) return ir::kChannelsLast;
    }
    return {};
  }

  // The value in that order, made before `before` if it does not exist yet.
  ir::Value* in_order(ir::Value* value, const Order& order, ir::Node* before) {
    if (value->type.dim_order == order) return value;
    ir::Value*& made = made_[{value, order}];
    if (made == nullptr)
      made = same_bytes(value->type) ? relabel(value, value->type, order, before) : turn(value, order, before);
    return made;
  }

  ir::Value* relabel(ir::Value* value, ir::TensorType type, const Order& order, ir::Node* before) {
    type.dim_order = order;
    return graph_
        .add_node(value->name + "_relayout", "cormorant.relayout", {{"self", value}}, {std::move(type)},
                  location_of(value, before), before)
        ->result();
  }

  // Transposing is a permutation of contiguous tensors, so the value is seen with its memory order as its logical one.
  ir::Value* turn(ir::Value* value, const Order& order, ir::Node* before) {
    const bool to_last = order == ir::kChannelsLast;
    const std::vector<std::int64_t> perm =
        to_last ? std::vector<std::int64_t>{0, 2, 3, 1} : std::vector<std::int64_t>{0, 3, 1, 2};
    const ir::Shape& logical = value->type.shape;
    const ir::Shape last = {logical[0], logical[2], logical[3], logical[1]};
    ir::TensorType turned = value->type;
    turned.dim_order.clear();
    ir::Value* source = value;
    if (!to_last) {
      ir::TensorType seen = turned;
      seen.shape = last;
      source = relabel(value, seen, {}, before);
    }
    turned.shape = to_last ? last : logical;
    ir::Value* result = graph_
                            .add_node(value->name + "_transpose", "cortex_m.transpose",
                                      {{"input", source}, {"perm", perm}}, {turned}, location_of(value, before), before)
                            ->result();
    return to_last ? relabel(result, value->type, order, before) : result;
  }

  static ir::Location location_of(const ir::Value* value, const ir::Node* before) {
    if (value->producer != nullptr) return value->producer->location;
    return before == nullptr ? ir::Location{} : before->location;
  }

  ir::Graph& graph_;
  std::map<std::pair<const ir::Value*, Order>, ir::Value*> made_;
};

}  // namespace

void decide_layout(ir::Graph& graph) { LayoutPass(graph).run(); }

}  // namespace cormorant::passes
