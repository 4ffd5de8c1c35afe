// SPDX-License-Identifier: Apache-2.0
//
// A one-dimensional convolution is imported as a two-dimensional one between two views, [N, C, L] -> [N, C, 1, L] and
// back. Between two of them are elementwise operators, slices, pads: done on the four-dimensional side, views meet and
// vanish, clamps and batch norms reach the convolution they can be fused with, and nothing has to leave the
// channels-last order. Views of views are merged on the way. In a model that is already quantized, views are of its
// integers: then the convolution is next to what quantizes its input and its result.
#include <algorithm>
#include <optional>

#include "ops/nodes.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

using Dims = std::vector<std::int64_t>;

// shape with a 1 inserted at `place`.
ir::Shape with_one(ir::Shape shape, std::size_t place) {
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(place), 1);
  return shape;
}

constexpr std::size_t kPlace = 2;  // of the dimension that views add: [N, C, 1, L]

ir::Value* add_view(ir::Graph& graph, ir::Value* value, ir::Shape shape, ir::Node* before) {
  ir::TensorType type = value->type;
  type.shape = shape;
  const ir::Location location = value->producer != nullptr ? value->producer->location : before->location;
  return graph
      .add_node(value->name + "_view", ops::nodes::aten_view, {{"self", value}, {"size", std::move(shape)}},
                {std::move(type)}, location, before)
      ->result();
}

bool is_view(const ir::Value* value) {
  return value->producer != nullptr && value->producer->op == ops::nodes::aten_view;
}

bool is_image_of(const ir::Value* image, const ir::Value* value) {
  return value->type.rank() == 3 && image->type.shape == with_one(value->type.shape, kPlace);
}

// Whether it is a view of a four-dimensional tensor.
bool is_lowered_image(const ir::Value* value) {
  return is_view(value) && is_image_of(value->producer->tensor("self"), value);
}

// Merges views; true if anything changed.
bool merge_views(ir::Graph& graph) {
  bool changed = false;
  for (ir::Node* node : graph.snapshot()) {
    if (node->op != ops::nodes::aten_view) continue;
    ir::Value* source = node->tensor("self");
    if (is_view(source) && source->producer->tensor("self")->type.quant == node->result()->type.quant) {
      source = source->producer->tensor("self");
      node->set("self", source);
      changed = true;
    }
    if (source->type == node->result()->type) {
      graph.replace_uses(node->result(), source);
      changed = true;
    }
  }
  graph.erase_unused();
  return changed;
}

constexpr const char* kQuantize = ops::nodes::quantized_decomposed_quantize_per_tensor;
constexpr const char* kDequantize = ops::nodes::quantized_decomposed_dequantize_per_tensor;

// The image of a dequantized tensor is the dequantized image of the integers.
void view_integers(ir::Graph& graph, ir::Node& node) {
  if (node.op != ops::nodes::aten_view || !is_image_of(node.result(), node.tensor("self"))) return;
  const ir::Node* dequantize = node.tensor("self")->producer;
  if (dequantize == nullptr || dequantize->op != kDequantize) return;
  std::vector<ir::NamedArgument> args = dequantize->args;
  ir::Value* integers = add_view(graph, dequantize->tensor("input"), node.result()->type.shape, &node);
  ir::Value* real =
      graph
          .add_node(dequantize->name, kDequantize, std::move(args), {node.result()->type}, dequantize->location, &node)
          ->result();
  real->producer->set("input", integers);
  graph.replace_uses(node.result(), real);
  graph.erase(&node);
}

bool is_liftable(const ir::Node& node) {
  if (node.results.size() != 1 || node.result()->type.rank() != 3) return false;
  const ops::Operator* op = ops::find(node);
  const bool pads_the_last = node.op == ops::nodes::aten_pad && node.integers("pad").size() == 2;
  if (node.op != ops::nodes::aten_slice && node.op != ops::nodes::aten_cat && node.op != ops::nodes::aten_batch_norm &&
      node.op != kQuantize && !pads_the_last && (op == nullptr || !op->elementwise)) {
    return false;
  }
  return std::ranges::any_of(node.inputs(), is_lowered_image);
}

// A batch norm's other arguments are vectors of channels, which have nothing to lift.
bool is_operand(const ir::Node& node, const ir::Value* value) {
  return node.op != ops::nodes::aten_batch_norm || value == node.tensor("input");
}

void lift(ir::Graph& graph, ir::Node& node) {
  // An argument that names a dimension means the same one, a dimension higher.
  if (node.op == ops::nodes::aten_slice || node.op == ops::nodes::aten_cat) {
    const std::int64_t dim = node.integer("dim");
    node.set("dim", dim >= static_cast<std::int64_t>(kPlace) ? dim + 1 : dim);
  }
  for (ir::Value* input : node.inputs()) {
    const std::size_t rank = input->type.rank();
    // Broadcasting aligns at the end: an operand of one dimension already means the last, and none means any.
    if (!is_operand(node, input) || rank < 2) continue;
    const std::size_t place = kPlace + rank - 3;
    if (is_lowered_image(input)) {
      node.replace_use(input, input->producer->tensor("self"));
    } else {
      node.replace_use(input, add_view(graph, input, with_one(input->type.shape, place), &node));
    }
  }
  ir::Value* result = node.result();
  const ir::Shape flat = result->type.shape;
  result->type.shape = with_one(flat, kPlace);
  // The view comes right after the node, in front of its first reader.
  const auto next = std::next(std::ranges::find_if(graph.nodes(), [&](const ir::Node& n) { return &n == &node; }));
  ir::Node* before = next == graph.nodes().end() ? nullptr : &*next;
  ir::TensorType type = result->type;
  type.shape = flat;
  ir::Node* view = graph.add_node(result->name + "_view", ops::nodes::aten_view,
                                  {{"self", result}, {"size", Dims(flat)}}, {type}, node.location, before);
  graph.replace_uses(result, view->result());
  view->set("self", result);
}

}  // namespace

void lift_views(ir::Graph& graph) {
  merge_views(graph);
  for (ir::Node* node : graph.snapshot()) view_integers(graph, *node);
  for (ir::Node* node : graph.snapshot()) {
    if (is_liftable(*node)) lift(graph, *node);
  }
  while (merge_views(graph)) {
  }
}

}  // namespace cormorant::passes
