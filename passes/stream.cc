// SPDX-License-Identifier: Apache-2.0
//
// A network over a window becomes one that takes only the new entries. Along the streamed axis a value then has the
// newest entries of the window that it had before; an operator that looks further back (a convolution, a pooling, a
// reduction) gets the older ones from a state. A state holds what its reader needs and no more.
//
//   window:  x[T] ── conv, kernel k ──────────────────────────── y[T − k + 1]
//   stream:  x[hop] ── cat(state[k − 1], x) ── conv ── y[hop]     state ← the last k − 1 of cat
//
// Entries keep their positions: a result's newest entry is the window's last one, so values of one size always fit
// together. Nodes that need the whole window (a linear layer over all of it) get it from a state, and what follows them
// is computed whole; so is whatever is not known here. For a mean over the window, the sums of its parts are kept: the
// newest is added, the oldest subtracted. Results are those of the window, to the bit, once the window is full.
//
// Where the window's beginning is padded, a stream has real entries. That does not affect results that do not read it:
// a value records how many of the window's first entries were computed from padding, and may differ. Padding at the end
// would need entries that are still to come. Only a causal stream does without: everything after it comes that many
// entries later, its lag, and values that meet it wait. Recurrent layers then begin with what the last hop left.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/diagnostic.h"
#include "ops/nodes.h"
#include "ops/op.h"
#include "ops/reduce/reduce.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

struct Streamed {
  std::size_t axis = 0;
  std::int64_t window = 0;            // entries that the value had
  std::int64_t fresh = 0;             // of them, those that are new in each execution: what the value has now
  std::int64_t lag = 0;               // newest entries of the window that the stream has not computed yet
  std::int64_t padded = 0;            // first entries of the window that depend on padding
  const ir::Node* padding = nullptr;  // whose
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

constexpr const char* kCausal =
    "pad only its beginning (causal padding, with F.pad before a layer without padding) and train it that way, or "
    "accept results that differ from the window's with --stream-causal";

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

class Streaming {
 public:
  Streaming(ir::Graph& graph, const StreamOptions& options) : graph_(graph), options_(options) {}

  StreamedNetwork run() {
    begin();
    const std::size_t own_states = graph_.updates().size();
    for (ir::Node* node : graph_.snapshot()) visit(*node);
    for (std::size_t i = 0; i < own_states; ++i) update_whole(i);
    StreamedNetwork network{.outputs = {}, .whole = std::move(first_whole_)};
    for (const ir::Value* output : graph_.outputs()) {
      const Streamed* out = stream_of(output);
      if (out != nullptr && out->padded > out->window - out->fresh) require_causal(*out, "an output");
      network.outputs.push_back(out == nullptr ? StreamedOutput() : StreamedOutput{out->axis, out->lag});
    }
    graph_.erase_unused();
    return network;
  }

 private:
  void begin() {
    if (graph_.inputs().empty()) {
      throw InputError({.problem = "a model without inputs has nothing to stream", .advice = "remove --stream"});
    }
    ir::Value* input = graph_.inputs().front();
    const auto rank = static_cast<std::int64_t>(input->type.rank());
    const std::int64_t axis = options_.axis < 0 ? options_.axis + rank : options_.axis;
    const auto refuse = [&](std::string problem) {
      throw InputError({.problem = std::move(problem), .advice = "give --stream=AXIS:HOP for the first input's shape"});
    };
    if (axis < 0 || axis >= rank) {
      refuse(fmt::format("the input {} has {} dimensions, so there is no axis {}", input->name, rank, options_.axis));
    }
    const std::int64_t window = input->type.shape[static_cast<std::size_t>(axis)];
    if (options_.hop < 1 || options_.hop > window) {
      refuse(fmt::format("a hop of {} does not fit a window of {} entries", options_.hop, window));
    }
    if (graph_.is_kept(input)) refuse(fmt::format("the input {} is itself an output", input->name));
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

  // A buffer of the model keeps what it kept: of the whole window.
  void update_whole(std::size_t index) {
    const ir::Update update = graph_.updates()[index];
    const Streamed* kept = stream_of(update.value);
    if (kept == nullptr) return;
    if (kept->padded > 0) require_causal(*kept, fmt::format("the buffer '{}'", update.state->name));
    ir::Value* all = whole(update.value);
    graph_.updates()[index].value = all;
  }

  // Readers of window entries that depend on padding.
  void require_causal(const Streamed& value, const std::string& reader) const {
    if (options_.causal) return;
    fail(*value.padding,
         fmt::format("it pads the window's edge along the streamed axis, and {} reads the result", reader),
         "train and export it without padding along this axis, or accept results that differ from the window's with "
         "--stream-causal");
  }

  // ---- one node -----------------------------------------------------------------------------------------------------

  void visit(ir::Node& node) {
    const std::vector<ir::Value*> inputs = node.inputs();
    if (std::ranges::none_of(inputs, [&](const ir::Value* v) { return stream_of(v) != nullptr; })) {
      if (std::ranges::any_of(inputs, [&](const ir::Value* v) { return over_window_.contains(v); })) note_whole(node);
      return;
    }
    if (node.results.size() == 1 && (slides(node) || cuts(node) || stays_in_place(node))) return;
    if (options_.causal && goes_on(node)) return;
    if (sums_up(node)) return;
    bool is_over_window = false;
    for (ir::Value* input : inputs) {
      const Streamed* in = stream_of(input);
      if (in == nullptr) continue;
      if (in->padded > 0) require_causal(*in, node.name);
      is_over_window = is_over_window || in->fresh != in->window;
      node.replace_use(input, whole(input));
    }
    if (is_over_window) note_whole(node);
  }

  // Of what is computed over the window, what gives one result for all of it has to be, and views cost nothing.
  void note_whole(const ir::Node& node) {
    const bool is_view = node.op == ops::nodes::aten_view || node.op == ops::nodes::aten_permute;
    if (!is_view) {
      if (sums_all(node)) return;
      if (!first_whole_) first_whole_ = WholeWindow{node.name, node.location.text(), 0};
      ++first_whole_->nodes;
    }
    over_window_.insert(node.results.begin(), node.results.end());
  }
  static bool sums_all(const ir::Node& node) {
    constexpr std::string_view kReductions[] = {ops::nodes::aten_mean,   ops::nodes::aten_sum,
                                                ops::nodes::aten_amax,   ops::nodes::aten_amin,
                                                ops::nodes::aten_argmax, ops::nodes::aten_argmin};
    if (std::ranges::find(kReductions, node.op) != std::end(kReductions)) return true;
    const ir::Shape& shape = node.result()->type.shape;
    if (node.op == ops::nodes::aten_linear) return node.result()->type.elements() == shape.back();
    const bool is_pooling = node.op == ops::nodes::aten_max_pool2d || node.op == ops::nodes::aten_avg_pool2d;
    if (!is_pooling && node.op != ops::nodes::aten_conv2d) return false;
    const ir::Shape& from = node.inputs().front()->type.shape;
    for (std::size_t side = 2; side < shape.size(); ++side) {
      if (shape[side] == 1 && from[side] > 1) return true;
    }
    return false;
  }

  // A recurrent layer along the axis begins with the state it ended with.
  bool goes_on(ir::Node& node) {
    if (node.op != ops::nodes::aten_recurrent || node.boolean("backwards")) return false;
    const Streamed* in = stream_of(node.tensor("input"));
    if (in == nullptr || in->axis != 0) return false;
    for (const char* const name : {"h", "c"}) {
      if (node.has(name) && node.tensor(name)->kind != ir::ValueKind::constant) return false;
    }
    const Streamed out = *in;
    become(node.results[0], out);
    ir::Node* const next = after(node);
    const bool is_lstm = node.string("kind") == "lstm";
    if (is_lstm) keep(node, "c", node.results[1]->type, node.results[1]);
    if (is_lstm || node.results.size() == 1) {
      ir::Value* last = slice(node.results[0], 0, out.fresh - 1, out.fresh, next);
      ir::TensorType type = last->type;
      type.shape.erase(type.shape.begin());
      ir::Value* flat = graph_
                            .add_node(node.name + "_last", ops::nodes::aten_view,
                                      {{"self", last}, {"size", type.shape}}, {type}, node.location, next)
                            ->result();
      keep(node, "h", type, flat);
    } else {
      keep(node, "h", node.results[1]->type, node.results[1]);
    }
    return true;
  }

  // The argument becomes a state, which begins with what it was, or with zeros.
  void keep(ir::Node& node, const char* argument, const ir::TensorType& type, ir::Value* next) {
    ir::Value* state = node.has(argument)
                           ? graph_.add_state(node.name + "_" + argument, type, node.tensor(argument)->data)
                           : graph_.add_state(node.name + "_" + argument, type, zeros(type));
    node.set(argument, state);
    graph_.add_update(state, next);
  }

  ir::Node* after(const ir::Node& node) {
    const auto at = std::ranges::find_if(graph_.nodes(), [&](const ir::Node& n) { return &n == &node; });
    return std::next(at) == graph_.nodes().end() ? nullptr : &*std::next(at);
  }

  // Convolutions and pooling.
  bool slides(ir::Node& node) {
    const bool is_convolution = node.op == ops::nodes::aten_conv2d;
    const bool is_pooling = node.op == ops::nodes::aten_max_pool2d || node.op == ops::nodes::aten_avg_pool2d;
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
    if (results == 1) return false;  // over all of the window
    // The window's last result that has all its entries; the window itself may have had fewer, and not read the last
    // entries.
    const std::int64_t there = in->window - in->lag;
    const std::int64_t last =
        std::min(results - 1, floor_divide(there - sliding.reach + sliding.padding, sliding.stride));
    Streamed out = *in;
    out.window = results;
    out.fresh = in->fresh / sliding.stride;
    out.lag = results - 1 - last;
    if (out.lag > 0 && !options_.causal) {
      fail(node, fmt::format("it pads the window's edge along the streamed axis {} by {}", in->axis, sliding.padding),
           kCausal);
    }
    out.padded = (in->padded + sliding.padding + sliding.stride - 1) / sliding.stride;
    if (sliding.padding > 0) out.padding = &node;
    if (in->fresh % sliding.stride != 0) {
      fail(node, fmt::format("{} new entries are not a multiple of its stride of {}", in->fresh, sliding.stride),
           "choose a HOP that is a multiple of the product of all strides along the axis");
    }
    const std::int64_t rest = there - last * sliding.stride + sliding.padding - sliding.reach;
    const std::int64_t wanted = (out.fresh - 1) * sliding.stride + sliding.reach;
    std::vector<std::int64_t> padding = node.integers("padding");
    padding.at(side) = 0;
    node.set("padding", std::move(padding));
    node.replace_use(input, newest(input, wanted, rest, &node));
    become(node.result(), out);
    return true;
  }

  // The values that a mean over the window adds up.
  struct Summed {
    ir::Value* input;
    std::vector<std::int64_t> dims;
    bool is_sum = false;
  };
  [[nodiscard]] std::optional<Summed> summed(const ir::Node& node) const {
    if (node.op == ops::nodes::aten_mean || node.op == ops::nodes::aten_sum) {
      return Summed{node.tensor("self"), node.integers("dim"), node.op == ops::nodes::aten_sum};
    }
    if (node.op != ops::nodes::aten_avg_pool2d || node.has("divisor_override")) return {};
    // Over all of an image's height, its width, or both; rounded as ExecuTorch does where parameters are the same.
    Summed all{node.tensor("self"), {}};
    const Streamed* in = stream_of(all.input);
    if (in == nullptr || all.input->type.quant == node.result()->type.quant) return {};
    for (std::size_t side = 0; side < 2; ++side) {
      const std::size_t dim = side + 2;
      const std::int64_t size = dim == in->axis ? in->window : all.input->type.shape.at(dim);
      const std::int64_t kernel = node.integers("kernel_size").at(side);
      if (node.integers("padding").at(side) != 0) return {};
      if (kernel == size) {
        all.dims.push_back(static_cast<std::int64_t>(dim));
      } else if (kernel != 1 || node.integers("stride").at(side) != 1) {
        return {};
      }
    }
    return all;
  }

  // A mean over the window, or a sum, of integers: exact, in whatever order it is added up.
  bool sums_up(ir::Node& node) {
    const std::optional<Summed> found = options_.keeps_sums ? summed(node) : std::nullopt;
    if (!found) return false;
    const Streamed* in = stream_of(found->input);
    if (in == nullptr || in->fresh == in->window) return false;
    if (std::ranges::find(found->dims, static_cast<std::int64_t>(in->axis)) == found->dims.end()) return false;
    const DType dtype = found->input->type.dtype;
    const auto is_fit = [&](const ir::Value* value) {
      return value->type.dtype == dtype && value->type.quant && !value->type.quant->per_channel();
    };
    if ((dtype != DType::i8 && dtype != DType::i16) || !is_fit(found->input) || !is_fit(node.result())) return false;
    // A window and its new entries, in parts of one size.
    const std::int64_t entries = std::gcd(in->window, in->fresh);
    if (in->padded > 0) require_causal(*in, node.name);
    const Streamed stream = *in;
    const std::int64_t results = node.result()->type.elements();
    const std::int64_t taps = found->input->type.elements() / stream.fresh * entries / results;
    if (dtype == DType::i16 && taps * (stream.window / entries) > std::int64_t{ops::kLargestWordsSum}) return false;
    const std::int64_t zero = found->input->type.quant->zero_point();
    ir::TensorType past{
        .dtype = ops::part_dtype(static_cast<std::uint32_t>(std::min<std::int64_t>(taps, 1 << 20)), dtype),
        .shape = {stream.window / entries, results},
        .dim_order = {},
        .quant = {}};
    const ir::TensorType sums{.dtype = DType::i32, .shape = {results + 1}, .dim_order = {}, .quant = {}};
    ir::Value* const past_state = graph_.add_state(node.name + "_past", past, filled(past, zero * taps));
    ir::Value* const sums_state = graph_.add_state(node.name + "_sums", sums, zeros(sums));
    const ir::Node* next = graph_.add_node(node.name, ops::nodes::aten_moving_mean,
                                           {{"self", found->input},
                                            {"past", past_state},
                                            {"sums", sums_state},
                                            {"dim", found->dims},
                                            {"axis", static_cast<std::int64_t>(stream.axis)},
                                            {"entries", entries},
                                            {"is_sum", found->is_sum}},
                                           {node.result()->type, past, sums}, node.location, &node);
    graph_.add_update(past_state, next->results[1]);
    graph_.add_update(sums_state, next->results[2]);
    graph_.replace_uses(node.result(), next->results[0]);
    return true;
  }

  template <class T>
  static ir::Bytes filled_with(const ir::TensorType& type, std::int64_t value) {
    const std::vector<T> all(static_cast<std::size_t>(type.elements()), static_cast<T>(value));
    return ir::Bytes::of(std::span<const T>(all));
  }
  static ir::Bytes filled(const ir::TensorType& type, std::int64_t value) {
    if (type.dtype == DType::i8) return filled_with<std::int8_t>(type, value);
    return type.dtype == DType::i16 ? filled_with<std::int16_t>(type, value) : filled_with<std::int32_t>(type, value);
  }

  // A part of the window: the same entries, later.
  bool cuts(ir::Node& node) {
    if (node.op != ops::nodes::aten_slice) return false;
    ir::Value* input = node.tensor("self");
    const Streamed in = *stream_of(input);
    if (static_cast<std::size_t>(node.integer("dim")) != in.axis) return false;
    const std::int64_t results = node.result()->type.shape.at(in.axis);
    if (node.integer("step") != 1) return false;
    const std::int64_t rest = in.window - node.integer("start") - results;
    if (results < in.fresh) {
      if (in.padded > node.integer("start")) require_causal(in, node.name);
      graph_.replace_uses(node.result(), newest(input, results, std::max<std::int64_t>(0, rest - in.lag), &node));
      return true;
    }
    Streamed out = in;
    out.window = results;
    out.lag = std::max<std::int64_t>(0, in.lag - rest);
    out.padded = std::max<std::int64_t>(0, in.padded - node.integer("start"));
    ir::Value* part = newest(input, in.fresh, std::max<std::int64_t>(0, rest - in.lag), &node);
    if (part == input) part = same(input, node);
    streams_[part] = out;
    graph_.replace_uses(node.result(), part);
    return true;
  }

  // Nodes that do the same at every entry of the axis.
  bool stays_in_place(ir::Node& node) {
    const std::optional<Streamed> out = place_of(node);
    if (!out) return false;
    if (node.has("size")) {
      std::vector<std::int64_t> size = node.integers("size");
      size.at(out->axis) = out->fresh;
      node.set("size", std::move(size));
    }
    become(node.result(), *out);
    if (node.op == ops::nodes::aten_pad &&
        std::ranges::all_of(node.integers("pad"), [](std::int64_t n) { return n == 0; })) {
      ir::Value* alias = same(node.tensor("self"), node);
      streams_[alias] = *out;
      graph_.replace_uses(node.result(), alias);
    }
    return true;
  }

  // Where the axis is in the result; none if the node changes the entries.
  std::optional<Streamed> place_of(ir::Node& node) {
    const ir::Value* first = node.inputs().front();
    const Streamed* in = stream_of(first);
    const ops::Operator* op = ops::find(node);
    // Lowered already: arguments are not the canonical ones.
    if (ops::find_signature(node.op) != nullptr && ops::find_canonical(node.op) == nullptr) return {};
    const bool is_elementwise = op != nullptr && (op->elementwise || ops::nodes::is_conversion(node.op));
    if (is_elementwise || node.op == ops::nodes::aten_div) return elementwise(node);
    if (in == nullptr) return {};
    Streamed out = *in;
    const auto is_axis = [&](std::int64_t dim) { return static_cast<std::size_t>(dim) == in->axis; };
    if (node.op == ops::nodes::aten_linear)
      return in->axis + 1 < first->type.rank() ? std::optional(out) : std::nullopt;
    if (node.op == ops::nodes::aten_softmax || node.op == ops::nodes::aten_log_softmax ||
        node.op == ops::nodes::aten_slice) {
      return is_axis(node.integer("dim")) ? std::nullopt : std::optional(out);
    }
    if (node.op == ops::nodes::aten_mean || node.op == ops::nodes::aten_sum || node.op == ops::nodes::aten_amax ||
        node.op == ops::nodes::aten_amin) {
      return std::ranges::any_of(node.integers("dim"), is_axis) ? std::nullopt : std::optional(out);
    }
    if (node.op == ops::nodes::aten_permute) {
      const auto& dims = node.integers("dims");
      out.axis = static_cast<std::size_t>(std::ranges::find_if(dims, is_axis) - dims.begin());
      return out;
    }
    // Slopes are the second dimension's.
    if (node.op == ops::nodes::aten_prelu) return in->axis == 1 ? std::nullopt : std::optional(out);
    if (node.op == ops::nodes::aten_flip) {
      return std::ranges::any_of(node.integers("dims"), is_axis) ? std::nullopt : std::optional(out);
    }
    if (node.op == ops::nodes::aten_expand) {
      out.axis += node.integers("size").size() - first->type.rank();
      return node.integers("size").at(out.axis) == in->window ? std::optional(out) : std::nullopt;
    }
    if (node.op == ops::nodes::aten_repeat_interleave) {
      return node.integers("repeats").at(in->axis) == 1 ? std::optional(out) : std::nullopt;
    }
    if (node.op == ops::nodes::aten_index_select) {
      return is_axis(node.integer("dim")) || stream_of(node.tensor("index")) != nullptr ? std::nullopt
                                                                                        : std::optional(out);
    }
    if (op != nullptr && op->name == "layer_norm") return normalized(node, *in);
    if (node.op == ops::nodes::aten_view) return viewed(node, *in);
    if (node.op == ops::nodes::aten_cat) return joined(node, *in);
    if (node.op == ops::nodes::aten_pad) return padded(node, *in);
    return {};
  }

  // Operands meet at their last dimensions. One that is not a stream must be the same for all entries.
  std::optional<Streamed> elementwise(ir::Node& node) {
    std::optional<Streamed> out;
    const std::size_t rank = node.result()->type.rank();
    for (const ir::Value* input : node.inputs()) {
      const Streamed* in = stream_of(input);
      if (in == nullptr) continue;
      Streamed here = *in;
      here.axis += rank - input->type.rank();
      if (out && !meet(*out, here)) return {};
      if (!out) out = here;
    }
    for (const ir::Value* input : node.inputs()) {
      if (stream_of(input) != nullptr || input->type.rank() + out->axis < rank) continue;
      if (input->type.shape.at(input->type.rank() + out->axis - rank) != 1) return {};
    }
    wait(node, out->lag);
    return out;
  }

  // Whether entries of the two correspond; then `one` describes both.
  static bool meet(Streamed& one, const Streamed& other) {
    if (one.axis != other.axis || one.window != other.window || one.fresh != other.fresh) return false;
    one.lag = std::max(one.lag, other.lag);
    if (other.padded > one.padded) {
      one.padded = other.padded;
      one.padding = other.padding;
    }
    return true;
  }

  // Operands that are ahead of the others are delayed.
  void wait(ir::Node& node, std::int64_t lag) {
    for (ir::Value* input : node.inputs()) {
      const Streamed* in = stream_of(input);
      if (in == nullptr || in->lag == lag) continue;
      Streamed later = *in;
      ir::Value* part = newest(input, in->fresh, lag - in->lag, &node);
      later.lag = lag;
      streams_[part] = later;
      node.replace_use(input, part);
    }
  }

  // A norm is over groups that follow each other in memory: within entries, if these are whole groups.
  static std::optional<Streamed> normalized(const ir::Node& node, const Streamed& in) {
    const ir::Shape& shape = node.tensor("input")->type.shape;
    std::int64_t entry = 1;
    for (std::size_t d = in.axis + 1; d < shape.size(); ++d) entry *= shape[d];
    const std::int64_t all = node.integer("groups") * node.integer("channels") * node.integer("inner");
    return all > 0 && entry % all == 0 ? std::optional(in) : std::nullopt;
  }

  // The dimension of the same size with as many elements before it.
  static std::optional<Streamed> viewed(const ir::Node& node, const Streamed& in) {
    const ir::Shape& from = node.tensor("self")->type.shape;
    const ir::Shape& to = node.result()->type.shape;
    std::int64_t before = 1, seen = 1;
    for (std::size_t i = 0; i < in.axis; ++i) before *= from[i];
    for (std::size_t i = 0; i < to.size(); seen *= to[i++]) {
      if (seen != before || to[i] != in.window) continue;
      Streamed out = in;
      out.axis = i;
      return out;
    }
    return {};
  }

  std::optional<Streamed> joined(ir::Node& node, const Streamed& in) {
    if (static_cast<std::size_t>(node.integer("dim")) == in.axis) return {};
    Streamed out = in;
    for (const ir::Value* part : node.tensors("tensors")) {
      const Streamed* other = stream_of(part);
      if (other == nullptr || !meet(out, *other)) return {};
    }
    wait(node, out.lag);
    return out;
  }

  // Nothing is padded along the axis: before the first entry there are others, and those after the last are waited for.
  std::optional<Streamed> padded(ir::Node& node, const Streamed& in) const {
    std::vector<std::int64_t> pad = node.integers("pad");  // pairs, the last dimension first
    const std::size_t pair = node.tensor("self")->type.rank() - 1 - in.axis;
    if (2 * pair + 1 >= pad.size()) return in;
    const std::int64_t before = std::exchange(pad[2 * pair], 0), after = std::exchange(pad[2 * pair + 1], 0);
    if (before < 0 || after < 0) return {};
    if (before == 0 && after == 0) return in;
    if (after > 0 && !options_.causal) {
      fail(node, fmt::format("it pads the window's edge along the streamed axis {}", in.axis), kCausal);
    }
    node.set("pad", std::move(pad));
    Streamed out = in;
    out.window += before + after;
    out.lag += after;
    out.padded += before;
    if (before > 0) out.padding = &node;
    return out;
  }

  // ---- states -------------------------------------------------------------------------------------------------------

  // `wanted` entries; the last has `rest` newer ones.
  ir::Value* newest(ir::Value* value, std::int64_t wanted, std::int64_t rest, ir::Node* before) {
    const Streamed in = *stream_of(value);
    const std::int64_t kept = wanted + rest - in.fresh;
    ir::Value* all = kept > 0 ? with_kept(value, kept, before) : value;
    const std::int64_t count = all->type.shape[in.axis];
    if (count == wanted) return all;
    return slice(all, in.axis, count - rest - wanted, count - rest, before);
  }

  static ir::Bytes zeros(const ir::TensorType& type) {
    const int zero =
        type.quant && !type.quant->per_channel() && size_of(type.dtype) == 1 ? type.quant->zero_point() : 0;
    return ir::Bytes::own(std::vector<std::byte>(static_cast<std::size_t>(type.bytes()), static_cast<std::byte>(zero)));
  }

  // Another name, since its entries are at other positions in the window.
  ir::Value* same(ir::Value* value, ir::Node& before) {
    return graph_
        .add_node(value->name + "_same", ops::nodes::aten_view, {{"self", value}, {"size", value->type.shape}},
                  {value->type}, before.location, &before)
        ->result();
  }

  // The value appended to what a state kept of it. A state that is longer than the new entries holds both and is
  // shifted; otherwise it holds only what is kept.
  ir::Value* with_kept(ir::Value* value, std::int64_t kept, ir::Node* before) {
    const Streamed in = *stream_of(value);
    const bool has_all = in.fresh <= kept;
    const std::int64_t count = kept + in.fresh;
    ir::TensorType type = value->type;
    type.shape[in.axis] = has_all ? count : kept;
    ir::Value* state = graph_.add_state(value->name + "_past", type, zeros(type));
    ir::TensorType joined = value->type;
    joined.shape[in.axis] = count;
    ir::Value* past = has_all ? slice(state, in.axis, in.fresh, count, before) : state;
    const ir::Location location = before != nullptr ? before->location : ir::Location{};
    ir::Value* all =
        graph_
            .add_node(value->name + "_window", ops::nodes::aten_cat,
                      {{"tensors", std::vector<ir::Value*>{past, value}}, {"dim", static_cast<std::int64_t>(in.axis)}},
                      {joined}, location, before)
            ->result();
    graph_.add_update(state, has_all ? all : slice(all, in.axis, in.fresh, count, before));
    return all;
  }

  ir::Value* slice(ir::Value* value, std::size_t axis, std::int64_t start, std::int64_t end, ir::Node* before) {
    ir::TensorType type = value->type;
    type.shape[axis] = end - start;
    return graph_
        .add_node(value->name + "_part", ops::nodes::aten_slice,
                  {{"self", value},
                   {"dim", static_cast<std::int64_t>(axis)},
                   {"start", start},
                   {"end", end},
                   {"step", std::int64_t{1}}},
                  {type}, before != nullptr ? before->location : ir::Location{}, before)
        ->result();
  }

  // The whole window, for readers that need all of it; once for all of them.
  ir::Value* whole(ir::Value* value) {
    const auto at = wholes_.find(value);
    if (at != wholes_.end()) return at->second;
    const Streamed in = *stream_of(value);
    // Right after its producer, so that all readers come later.
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
  std::unordered_set<const ir::Value*> over_window_;  // results that hold all entries of the window
  std::optional<WholeWindow> first_whole_;
};

}  // namespace

StreamedNetwork stream(ir::Graph& graph, const StreamOptions& options) { return Streaming(graph, options).run(); }

}  // namespace cormorant::passes
