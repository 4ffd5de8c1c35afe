// SPDX-License-Identifier: Apache-2.0
//
// A network over a window becomes one that takes only what is new. Along the streamed axis a value then has the newest
// entries of the window that it had before; whoever looks further back (a convolution, a pooling, a reduction) gets the
// older ones from a state. A state holds what its reader needs and no more.
//
//   window:  x[T] ── conv, kernel k ──────────────────────────── y[T − k + 1]
//   stream:  x[hop] ── cat(state[k − 1], x) ── conv ── y[hop]     state ← the last k − 1 of cat
//
// Entries keep their places: a result's newest entry is what the window's last one was, so that values of one size
// always fit together. Nodes that need the whole window (a mean over time, a linear layer over all of it) get it from a
// state, and what follows them is computed whole; so is whatever is not known here. Results are those of the window, to
// the bit, once the window is full.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/diagnostic.h"
#include "ops/op.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

struct Streamed {
  std::size_t axis = 0;
  std::int64_t window = 0;  // entries that the value had
  std::int64_t fresh = 0;   // of them, what is new in each execution: what the value has now
};

[[noreturn]] void fail(const ir::Node& node, std::string problem, std::string advice) {
  throw InputError(
      {.problem = std::move(problem), .advice = std::move(advice), .node = node.name, .source = node.location.text()});
}

// A window that slides along the axis: what convolutions and pooling do there.
struct Sliding {
  std::int64_t reach = 1;  // entries from the first to the last that one result looks at
  std::int64_t stride = 1;
  std::int64_t padding = 0;
};

class Streaming {
 public:
  Streaming(ir::Graph& graph, const StreamOptions& options) : graph_(graph), options_(options) {}

  void run() {
    begin();
    for (ir::Node* node : graph_.snapshot()) visit(*node);
    graph_.erase_unused();
  }

 private:
  void begin() {
    if (graph_.inputs().empty()) {
      throw InputError({.problem = "a model without inputs has nothing to stream", .advice = "leave --stream away"});
    }
    ir::Value* input = graph_.inputs().front();
    const auto rank = static_cast<std::int64_t>(input->type.rank());
    const std::int64_t axis = options_.axis < 0 ? options_.axis + rank : options_.axis;
    const auto refuse = [&](std::string problem) {
      throw InputError({.problem = std::move(problem), .advice = "give --stream=AXIS:HOP for the first input's shape"});
    };
    if (axis < 0 || axis >= rank) {
      refuse(fmt::format("the input {} has {} dimensions and no axis {}", input->name, rank, options_.axis));
    }
    const std::int64_t window = input->type.shape[static_cast<std::size_t>(axis)];
    if (options_.hop < 1 || options_.hop > window) {
      refuse(fmt::format("a hop of {} does not fit a window of {} entries", options_.hop, window));
    }
    if (graph_.is_kept(input)) refuse(fmt::format("the input {} is an output as it is", input->name));
    become(input, {static_cast<std::size_t>(axis), window, options_.hop});
  }

  void become(ir::Value* value, const Streamed& streamed) {
    value->type.shape[streamed.axis] = streamed.fresh;
    streams_[value] = streamed;
  }
  [[nodiscard]] const Streamed* stream_of(const ir::Value* value) const {
    const auto at = streams_.find(value);
    return at == streams_.end() ? nullptr : &at->second;
  }

  // ---- one node
  // ------------------------------------------------------------------------------------------------------

  void visit(ir::Node& node) {
    const std::vector<ir::Value*> inputs = node.inputs();
    if (std::ranges::none_of(inputs, [&](const ir::Value* v) { return stream_of(v) != nullptr; })) return;
    if (node.results.size() == 1 && (slides(node) || cuts(node) || stays_in_place(node))) return;
    for (ir::Value* input : inputs) {
      if (stream_of(input) != nullptr) node.replace_use(input, whole(input));
    }
  }

  // Convolutions and pooling.
  bool slides(ir::Node& node) {
    const bool is_convolution = node.op == "aten.conv2d";
    const bool is_pooling = node.op == "aten.max_pool2d" || node.op == "aten.avg_pool2d";
    if (!is_convolution && !is_pooling) return false;
    ir::Value* input = node.tensor(is_convolution ? "input" : "self");
    const Streamed* in = stream_of(input);
    if (in == nullptr || in->axis < 2) return false;
    const std::size_t side = in->axis - 2;
    if (is_pooling && node.boolean("ceil_mode")) return false;
    const std::int64_t kernel =
        is_convolution ? node.tensor("weight")->type.shape.at(in->axis) : node.integers("kernel_size").at(side);
    const std::int64_t dilation = node.has("dilation") ? node.integers("dilation").at(side) : 1;
    const Sliding sliding{(kernel - 1) * dilation + 1, node.integers("stride").at(side),
                          node.integers("padding").at(side)};
    const std::int64_t results = node.result()->type.shape.at(in->axis);
    if (results == 1 && sliding.padding == 0) return false;  // over all of the window
    if (sliding.padding != 0) {
      fail(
          node, fmt::format("it pads the window's edge along the streamed axis {} by {}", in->axis, sliding.padding),
          "streamed entries have neighbours where a window has padding: train and export it without padding along this "
          "axis");
    }
    if (in->fresh % sliding.stride != 0) {
      fail(node, fmt::format("{} new entries do not divide by its stride of {}", in->fresh, sliding.stride),
           "give a HOP that is a multiple of the product of all strides along the axis");
    }
    const Streamed out{in->axis, results, in->fresh / sliding.stride};
    // Entries behind the last result's, which the window never used.
    const std::int64_t rest = in->window - (results - 1) * sliding.stride - sliding.reach;
    const std::int64_t wanted = (out.fresh - 1) * sliding.stride + sliding.reach;
    node.replace_use(input, newest(input, wanted, rest, &node));
    become(node.result(), out);
    return true;
  }

  // A part of the window: the same entries, later.
  bool cuts(ir::Node& node) {
    if (node.op != "aten.slice") return false;
    ir::Value* input = node.tensor("self");
    const Streamed in = *stream_of(input);
    if (static_cast<std::size_t>(node.integer("dim")) != in.axis) return false;
    const std::int64_t results = node.result()->type.shape.at(in.axis);
    if (node.integer("step") != 1 || results < in.fresh) return false;
    const std::int64_t rest = in.window - node.integer("start") - results;
    ir::Value* part = newest(input, in.fresh, rest, &node);
    streams_[part] = {in.axis, results, in.fresh};
    graph_.replace_uses(node.result(), part);
    return true;
  }

  // Nodes for which the axis is one of many places where the same happens.
  bool stays_in_place(ir::Node& node) {
    const std::optional<Streamed> out = place_of(node);
    if (!out) return false;
    if (node.has("size")) {
      std::vector<std::int64_t> size = node.integers("size");
      size.at(out->axis) = out->fresh;
      node.set("size", std::move(size));
    }
    become(node.result(), *out);
    return true;
  }

  // Where the axis is in the result; none where the node does not leave entries alone.
  std::optional<Streamed> place_of(const ir::Node& node) {
    const ir::Value* first = node.inputs().front();
    const Streamed* in = stream_of(first);
    const ops::Operator* op = ops::find(node);
    if (ops::find_signature(node.op) != nullptr) return {};  // lowered already: arguments are not the canonical ones
    if (op != nullptr && (op->elementwise || node.op.starts_with("quantized_decomposed."))) return elementwise(node);
    if (in == nullptr) return {};
    Streamed out = *in;
    const auto is_axis = [&](std::int64_t dim) { return static_cast<std::size_t>(dim) == in->axis; };
    if (node.op == "aten.linear") return in->axis + 1 < first->type.rank() ? std::optional(out) : std::nullopt;
    if (node.op == "aten.softmax" || node.op == "aten.log_softmax" || node.op == "aten.slice") {
      return is_axis(node.integer("dim")) ? std::nullopt : std::optional(out);
    }
    if (node.op == "aten.mean" || node.op == "aten.sum" || node.op == "aten.amax" || node.op == "aten.amin") {
      return std::ranges::any_of(node.integers("dim"), is_axis) ? std::nullopt : std::optional(out);
    }
    if (node.op == "aten.permute") {
      const auto& dims = node.integers("dims");
      out.axis = static_cast<std::size_t>(std::ranges::find_if(dims, is_axis) - dims.begin());
      return out;
    }
    if (node.op == "aten.view") return viewed(node, *in);
    if (node.op == "aten.cat") return joined(node, *in);
    if (node.op == "aten.pad") return padded(node, *in);
    return {};
  }

  // Operands meet at their last dimensions. One that is no stream must be the same for all entries.
  std::optional<Streamed> elementwise(const ir::Node& node) {
    std::optional<Streamed> out;
    const std::size_t rank = node.result()->type.rank();
    for (const ir::Value* input : node.inputs()) {
      const Streamed* in = stream_of(input);
      if (in == nullptr) continue;
      const Streamed here{in->axis + rank - input->type.rank(), in->window, in->fresh};
      if (out && (out->axis != here.axis || out->window != here.window || out->fresh != here.fresh)) return {};
      out = here;
    }
    for (const ir::Value* input : node.inputs()) {
      if (stream_of(input) != nullptr || input->type.rank() + out->axis < rank) continue;
      if (input->type.shape.at(input->type.rank() + out->axis - rank) != 1) return {};
    }
    return out;
  }

  // The dimension of the same size with as many elements before it.
  static std::optional<Streamed> viewed(const ir::Node& node, const Streamed& in) {
    const ir::Shape& from = node.tensor("self")->type.shape;
    const ir::Shape& to = node.result()->type.shape;
    std::int64_t before = 1, seen = 1;
    for (std::size_t i = 0; i < in.axis; ++i) before *= from[i];
    for (std::size_t i = 0; i < to.size(); seen *= to[i++]) {
      if (seen == before && to[i] == in.window) return Streamed{i, in.window, in.fresh};
    }
    return {};
  }

  std::optional<Streamed> joined(const ir::Node& node, const Streamed& in) const {
    if (static_cast<std::size_t>(node.integer("dim")) == in.axis) return {};
    for (const ir::Value* part : node.tensors("tensors")) {
      const Streamed* other = stream_of(part);
      if (other == nullptr || other->axis != in.axis || other->window != in.window || other->fresh != in.fresh)
        return {};
    }
    return in;
  }

  static std::optional<Streamed> padded(const ir::Node& node, const Streamed& in) {
    const auto& pad = node.integers("pad");  // pairs, the last dimension first
    const std::size_t pair = node.tensor("self")->type.rank() - 1 - in.axis;
    if (2 * pair + 1 < pad.size() && (pad[2 * pair] != 0 || pad[2 * pair + 1] != 0)) {
      fail(node, fmt::format("it pads the window's edge along the streamed axis {}", in.axis),
           "streamed entries have neighbours where a window has padding: train and export the model without it");
    }
    return in;
  }

  // ---- states
  // --------------------------------------------------------------------------------------------------------

  // `wanted` entries, of which the last has `rest` newer ones.
  ir::Value* newest(ir::Value* value, std::int64_t wanted, std::int64_t rest, ir::Node* before) {
    const Streamed in = *stream_of(value);
    const std::int64_t kept = wanted + rest - in.fresh;
    ir::Value* all = kept > 0 ? with_kept(value, kept, before) : value;
    const std::int64_t count = all->type.shape[in.axis];
    if (count == wanted) return all;
    return slice(all, in.axis, count - rest - wanted, count - rest, before);
  }

  // The value behind what a state kept of it; the state then has the last entries of both.
  ir::Value* with_kept(ir::Value* value, std::int64_t kept, ir::Node* before) {
    const Streamed in = *stream_of(value);
    ir::TensorType type = value->type;
    type.shape[in.axis] = kept;
    const std::size_t bytes = static_cast<std::size_t>(type.bytes());
    const int zero =
        type.quant && !type.quant->per_channel() && size_of(type.dtype) == 1 ? type.quant->zero_point() : 0;
    ir::Value* state = graph_.add_state(value->name + "_past", type,
                                        ir::Bytes::own(std::vector<std::byte>(bytes, static_cast<std::byte>(zero))));
    ir::TensorType joined = value->type;
    joined.shape[in.axis] = kept + in.fresh;
    const ir::Location location = before != nullptr ? before->location : ir::Location{};
    ir::Value* all =
        graph_
            .add_node(value->name + "_window", "aten.cat",
                      {{"tensors", std::vector<ir::Value*>{state, value}}, {"dim", static_cast<std::int64_t>(in.axis)}},
                      {joined}, location, before)
            ->result();
    graph_.add_update(state, slice(all, in.axis, in.fresh, kept + in.fresh, before));
    return all;
  }

  ir::Value* slice(ir::Value* value, std::size_t axis, std::int64_t start, std::int64_t end, ir::Node* before) {
    ir::TensorType type = value->type;
    type.shape[axis] = end - start;
    return graph_
        .add_node(value->name + "_part", "aten.slice",
                  {{"self", value},
                   {"dim", static_cast<std::int64_t>(axis)},
                   {"start", start},
                   {"end", end},
                   {"step", std::int64_t{1}}},
                  {type}, before != nullptr ? before->location : ir::Location{}, before)
        ->result();
  }

  // As it was in the window, for those who need all of it; once for all of them.
  ir::Value* whole(ir::Value* value) {
    const auto at = wholes_.find(value);
    if (at != wholes_.end()) return at->second;
    const Streamed in = *stream_of(value);
    // Behind what makes it, so that all who ask come later.
    ir::Node* before = nullptr;
    for (auto node = graph_.nodes().begin(); node != graph_.nodes().end(); ++node) {
      if (value->producer != nullptr && &*node != value->producer) continue;
      if (value->producer != nullptr) ++node;
      before = node == graph_.nodes().end() ? nullptr : &*node;
      break;
    }
    ir::Value* all = in.window == in.fresh ? value : with_kept(value, in.window - in.fresh, before);
    return wholes_[value] = all;
  }

  ir::Graph& graph_;
  const StreamOptions& options_;
  std::unordered_map<const ir::Value*, Streamed> streams_;
  std::unordered_map<const ir::Value*, ir::Value*> wholes_;
};

}  // namespace

void stream(ir::Graph& graph, const StreamOptions& options) { Streaming(graph, options).run(); }

}  // namespace cormorant::passes
