// SPDX-License-Identifier: Apache-2.0
//
// (memory · filter).sum(−1): past activations, each weighted and added up, as in SVDF layers. A product per element in
// int8 and a sum after it lose what a convolution keeps in its accumulator, so the two become one: depthwise, with a
// kernel as long as the memory. If several filters form a unit (SVDF's rank), they are the rows of the kernel; a bias
// and a clamp after it become part of it too. A product of matrices with one filter for each of them (einsum
// "bct,ct->bc", bmm, matmul) is the same: it is spelled so first.
#include <algorithm>
#include <optional>

#include "ops/nodes.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

// [N, channels, time] or [N, time, channels] of activations, and a constant of as many filters.
struct Filter {
  ir::Value* memory = nullptr;
  const ir::Value* weights = nullptr;
  std::size_t time = 2;  // the dimension that is added up
};

std::optional<Filter> filter_of(ir::Graph& graph, const ir::Node& sum) {
  const ir::Node* mul = sum.tensor("self")->producer;
  if (mul == nullptr || mul->op != ops::nodes::aten_mul || graph.only_user(mul->result()) != &sum) return std::nullopt;
  const std::vector<std::int64_t>& dims = sum.integers("dim");
  if (mul->result()->type.rank() != 3 || dims.size() != 1) return std::nullopt;
  for (const auto& [memory, weights] : {std::pair("self", "other"), std::pair("other", "self")}) {
    Filter filter{mul->tensor(memory), mul->tensor(weights),
                  static_cast<std::size_t>(dims[0] < 0 ? dims[0] + 3 : dims[0])};
    const bool is_memory = filter.memory->kind != ir::ValueKind::constant && filter.memory->type.dtype == DType::f32 &&
                           filter.memory->type.shape == mul->result()->type.shape;
    if (!is_memory || !is_float_constant(filter.weights) || filter.time == 0) continue;
    // One filter per channel, none per image.
    const ir::Shape& shape = filter.weights->type.shape;
    const ir::Shape& all = filter.memory->type.shape;
    const bool fits = shape.size() >= 2 && std::equal(shape.rbegin(), shape.rbegin() + 2, all.rbegin()) &&
                      std::all_of(shape.begin(), shape.end() - 2, [](std::int64_t size) { return size == 1; });
    if (fits && all[filter.time] > 1) return filter;
  }
  return std::nullopt;
}

class Fusion {
 public:
  Fusion(ir::Graph& graph, ir::Node& sum, const Filter& filter) : graph_(graph), last_(&sum), filter_(filter) {
    const ir::Shape& shape = filter.memory->type.shape;
    batch_ = shape[0];
    time_ = shape[filter.time];
    channels_ = units_ = shape[3 - filter.time];
  }

  void run() {
    take_rank();
    take_bias();
    take_clamp();
    ir::Value* image = filter_.memory;
    if (filter_.time == 1) {
      image = add("_turned", ops::nodes::aten_permute, {{"self", image}, {"dims", std::vector<std::int64_t>{0, 2, 1}}},
                  {batch_, channels_, time_});
    }
    const std::vector<std::int64_t> one = {1, 1}, none = {0, 0};
    image = view(image, {batch_, units_, channels_ / units_, time_}, "_memory");
    ir::Value* sums = add("_filter", ops::nodes::aten_conv2d,
                          {{"input", image},
                           {"weight", weights()},
                           {"bias", bias_ == nullptr ? ir::Argument{} : ir::Argument{bias_}},
                           {"stride", one},
                           {"padding", none},
                           {"dilation", one},
                           {"groups", units_}},
                          {batch_, units_, 1, 1});
    if (clamp_ != nullptr) {
      sums = add("", ops::nodes::aten_clamp, {{"self", sums}, {"min", clamp_->get("min")}, {"max", clamp_->get("max")}},
                 {batch_, units_, 1, 1});
    }
    graph_.replace_uses(last_->result(), view(sums, last_->result()->type.shape, "_units"));
  }

 private:
  // The only reader of the result so far, past any views, which keep the order.
  ir::Node* reader() {
    ir::Node* node = graph_.only_user(last_->result());
    while (node != nullptr && node->op == ops::nodes::aten_view) node = graph_.only_user(node->result());
    return node;
  }

  // A sum over filters that are next to each other: view([N, units, rank]).sum(−1).
  void take_rank() {
    ir::Node* sum = reader();
    if (sum == nullptr || sum->op != ops::nodes::aten_sum) return;
    const ir::Shape& shape = sum->tensor("self")->type.shape;
    if (shape.size() != 3 || shape[0] != batch_ || shape[1] * shape[2] != channels_ ||
        sum->integers("dim") != std::vector<std::int64_t>{2}) {
      return;
    }
    units_ = shape[1];
    last_ = sum;
  }

  void take_bias() {
    ir::Node* add = reader();
    if (add == nullptr || add->op != ops::nodes::aten_add || add->number("alpha") != 1) return;
    const ir::Value* self = add->tensor("self");
    ir::Value* other = add->tensor("other");
    const bool fits = is_float_constant(other) && other->type.elements() == units_ && !other->type.shape.empty() &&
                      other->type.shape.back() == units_ && self->type.shape.back() == units_ &&
                      add->result()->type.shape == self->type.shape;
    if (!fits) return;
    bias_ = other->type.rank() == 1 ? other
                                    : graph_.add_constant(other->name + "_flat", ir::float_type({units_}), other->data);
    last_ = add;
  }

  void take_clamp() {
    ir::Node* clamp = reader();
    if (clamp == nullptr || clamp->op != ops::nodes::aten_clamp) return;
    clamp_ = clamp;
    last_ = clamp;
  }

  // [units, 1, filters of each, time]
  ir::Value* weights() {
    const auto from = filter_.weights->data.as<float>();
    const auto channels = static_cast<std::size_t>(channels_), time = static_cast<std::size_t>(time_);
    std::vector<float> to(from.begin(), from.end());
    for (std::size_t c = 0; c < channels && filter_.time == 1; ++c) {
      for (std::size_t t = 0; t < time; ++t) to[c * time + t] = from[t * channels + c];
    }
    return graph_.add_constant(filter_.weights->name + "_filter",
                               ir::float_type({units_, 1, channels_ / units_, time_}),
                               ir::Bytes::of(std::span<const float>(to)));
  }

  ir::Value* view(ir::Value* value, ir::Shape shape, const char* suffix) {
    if (value->type.shape == shape) return value;
    return add(suffix, ops::nodes::aten_view, {{"self", value}, {"size", shape}}, shape);
  }
  ir::Value* add(const char* suffix, const char* op, std::vector<ir::NamedArgument> args, ir::Shape shape) {
    return graph_
        .add_node(last_->name + suffix, op, std::move(args), {ir::float_type(std::move(shape))}, last_->location, last_)
        ->result();
  }

  ir::Graph& graph_;
  ir::Node* last_;  // of what becomes the convolution
  const Filter filter_;
  ir::Value* bias_ = nullptr;
  const ir::Node* clamp_ = nullptr;
  std::int64_t batch_ = 0, channels_ = 0, time_ = 0, units_ = 0;
};

// Dimensions of size 1 change their places: nothing moves.
bool is_view(const ir::Node& node) {
  if (node.op == ops::nodes::aten_view) return true;
  if (node.op != ops::nodes::aten_permute) return false;
  std::int64_t last = -1;
  for (const std::int64_t dim : node.integers("dims")) {
    if (node.tensor("self")->type.shape.at(static_cast<std::size_t>(dim)) == 1) continue;
    if (dim < last) return false;
    last = dim;
  }
  return true;
}

// As (memory · filter).sum(−1), and views in place of permutations that move nothing, up to the next operator.
void spell_as_sum(ir::Graph& graph, ir::Node& product) {
  const ir::Shape shape = product.result()->type.shape;
  // That of a program which is compiled again has no scale: it is lowered already.
  if (!product.has("scale") || product.number("scale") != 1) return;
  if (shape.size() != 3 || shape[1] != 1 || shape[2] != 1 || shape[0] < 2) return;
  for (const auto& [activations, constant] : {std::pair("self", "mat2"), std::pair("mat2", "self")}) {
    ir::Value* memory = product.tensor(activations);
    const ir::Value* weights = product.tensor(constant);
    if (memory->type.dtype != DType::f32 || memory->kind == ir::ValueKind::constant || !is_float_constant(weights))
      continue;
    while (memory->producer != nullptr && is_view(*memory->producer)) memory = memory->producer->tensor("self");
    const std::int64_t channels = shape[0], time = weights->type.elements() / channels;
    // A product that repeats one of its operands along the batch is none of filters.
    const std::int64_t filters = channels * time;
    if (time < 2 || weights->type.elements() != filters || memory->type.elements() != filters) return;
    const auto add = [&](const char* suffix, const char* op, std::vector<ir::NamedArgument> args, ir::Shape to) {
      return graph
          .add_node(product.name + suffix, op, std::move(args), {ir::float_type(std::move(to))}, product.location,
                    &product)
          ->result();
    };
    const auto view = [&](ir::Value* value, const ir::Shape& to) {
      return value->type.shape == to ? value : add("", ops::nodes::aten_view, {{"self", value}, {"size", to}}, to);
    };
    ir::Value* rows = graph.add_constant(weights->name, ir::float_type({channels, time}), weights->data);
    ir::Value* each = add("_each", ops::nodes::aten_mul, {{"self", view(memory, {1, channels, time})}, {"other", rows}},
                          {1, channels, time});
    ir::Value* sum =
        add("_sum", ops::nodes::aten_sum, {{"self", each}, {"dim", std::vector<std::int64_t>{2}}}, {1, channels, 1});
    graph.replace_uses(product.result(), view(sum, shape));
    for (ir::Node* node = graph.only_user(sum); node != nullptr && is_view(*node);) {
      ir::Node* next = graph.only_user(node->result());
      if (node->op == ops::nodes::aten_permute) {
        const ir::Shape to = node->result()->type.shape;
        const ir::Node* same =
            graph.add_node(node->name, ops::nodes::aten_view, {{"self", node->tensor("self")}, {"size", to}},
                           {ir::float_type(to)}, node->location, node);
        graph.replace_uses(node->result(), same->result());
      }
      node = next;
    }
    return;
  }
}

}  // namespace

void fuse_time_filter(ir::Graph& graph) {
  for (ir::Node* node : graph.snapshot()) {
    if (node->op == ops::nodes::aten_bmm) spell_as_sum(graph, *node);
  }
  graph.erase_unused();
  for (ir::Node* node : graph.snapshot()) {
    if (node->op != ops::nodes::aten_sum) continue;
    if (const auto filter = filter_of(graph, *node)) Fusion(graph, *node, *filter).run();
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
