// SPDX-License-Identifier: Apache-2.0
//
// A delay line in front of a dilated convolution is long, and few of its entries are read: shifting all of it by one
// entry can cost more than the layer. If an execution adds one entry and computes one result, the line becomes a ring
// and stays where it is: the new entry takes the oldest one's place, and only the entries under the convolution's taps
// are copied, next to each other, to where a convolution without dilation reads them.
//
//   state ← cat(state[1:], x) ── conv, kernel k, dilation d ── y
//   state ← update_ring(state, x) ── k entries ── conv, kernel k ── y
//
// Entries of a ring are contiguous, as convolutions read them. A line that the model keeps as [1, C, T] is transposed
// for them in every execution, so it may become a ring without dilation too. Otherwise a line of which every entry is
// read gains nothing: copying what is read is shifting it.
#include <algorithm>
#include <optional>

#include "ops/nodes.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

using Dims = std::vector<std::int64_t>;

// In bytes copied, to compare: what transposing a byte costs, what a copy costs whatever its length, and what must be
// saved to be worth a ring's code (docs/kernels.md).
constexpr std::int64_t kTransposed = 3, kCopy = 64, kLeastSaved = 1024;

struct Line {
  ir::Value* state = nullptr;
  ir::Node* cat = nullptr;
  ir::Node* conv = nullptr;
  ir::Value* image = nullptr;  // what the convolution reads: the concatenation, or a view of it
  std::size_t dim = 0;         // of the image, along which entries arrive
  std::int64_t step = 1;       // from tap to tap
  std::int64_t taps = 0;
};

class Rings {
 public:
  explicit Rings(ir::Graph& graph) : graph_(graph) {}

  void run() {
    const std::vector<ir::Update> updates = graph_.updates();
    for (const ir::Update& update : updates) {
      if (const std::optional<Line> line = find(update)) replace(*line);
    }
    graph_.erase_unused();
  }

 private:
  [[nodiscard]] std::optional<Line> find(const ir::Update& update) {
    Line line{.state = update.state, .cat = update.value->producer};
    if (line.cat == nullptr || line.cat->op != ops::nodes::aten_cat || !is_shift(line)) return {};
    const ir::Value* joined = update.value;
    const auto same = [&](const ir::Update& other) { return other.value == joined; };
    const std::vector<ir::Node*> readers = graph_.users(joined);
    if (readers.size() != 1 || graph_.is_output(joined) || std::ranges::count_if(graph_.updates(), same) != 1) {
      return {};
    }
    line.image = update.value;
    line.conv = readers.front();
    line.dim = static_cast<std::size_t>(line.cat->integer("dim"));
    const ir::Shape& shape = joined->type.shape;
    if (line.conv->op == ops::nodes::aten_view && shape.size() == 3 &&
        line.dim == 2) {  // a one-dimensional convolution's
      line.image = line.conv->result();
      line.conv = graph_.only_user(line.image);
      if (line.image->type.shape != ir::Shape{shape[0], shape[1], 1, shape[2]}) return {};
      line.dim = 3;
    }
    if (!is_worth_it(line)) return {};
    return line;
  }

  // Whether the state loses its first entry and gets another one at its end.
  [[nodiscard]] bool is_shift(const Line& line) {
    const std::vector<ir::Value*>& parts = line.cat->tensors("tensors");
    if (parts.size() != 2 || !(line.cat->result()->type == line.state->type)) return false;
    ir::Node* slice = parts[0]->producer;
    const std::int64_t dim = line.cat->integer("dim");
    return slice != nullptr && slice->op == ops::nodes::aten_slice && slice->tensor("self") == line.state &&
           slice->integer("dim") == dim && slice->integer("start") == 1 && slice->integer("step") == 1 &&
           parts[1]->type.shape.at(static_cast<std::size_t>(dim)) == 1 && graph_.only_user(line.state) == slice &&
           graph_.only_user(parts[0]) == line.cat;
  }

  // Whether the reader is a convolution of which one result is computed, and copying its taps costs less.
  static bool is_worth_it(Line& line) {
    const ir::Node* conv = line.conv;
    if (conv == nullptr || conv->op != ops::nodes::aten_conv2d || conv->tensor("input") != line.image || line.dim < 2)
      return false;
    if (conv->tensor("weight") == line.image || !conv->has("dilation")) return false;
    const ir::TensorType& type = line.image->type;
    const std::size_t side = line.dim - 2;
    line.step = conv->integers("dilation").at(side);
    line.taps = conv->tensor("weight")->type.shape.at(line.dim);
    const std::int64_t entries = type.shape.at(line.dim);
    // Entries that are images themselves lie in memory as they are read only if they are rows of the image.
    if (type.shape[0] != 1 || (line.dim == 3 && type.shape[2] != 1)) return false;
    const bool is_transposed = line.image != line.cat->result();
    const std::int64_t saved =
        type.bytes() * (is_transposed ? 1 + kTransposed : 1) - line.taps * (type.bytes() / entries + kCopy);
    return line.taps > 1 && conv->integers("padding").at(side) == 0 && conv->result()->type.shape.at(line.dim) == 1 &&
           entries == line.step * (line.taps - 1) + 1 && saved >= kLeastSaved;
  }

  void replace(const Line& line) {
    const ir::TensorType& type = line.image->type;
    const std::int64_t channels = type.shape[1], entries = type.shape[line.dim];
    const std::int64_t width = line.dim == 2 ? type.shape[3] : 1, unit = channels * width;
    ir::TensorType ring_type = type;
    ring_type.shape = {entries, unit};
    const ir::TensorType index{.dtype = DType::i32, .shape = {1}, .dim_order = {}, .quant = {}};
    ir::Value* ring = graph_.add_state(line.state->name, ring_type, arranged(*line.state, entries, width));
    ir::Value* position = graph_.add_state(line.state->name + "_oldest", index,
                                           ir::Bytes::own(std::vector<std::byte>(sizeof(std::int32_t))));

    // [1, C, 1, W] and, for a convolution along the last dimension, [1, C, 1, 1].
    ir::Value* source = line.cat->tensors("tensors")[1];
    if (source->type.rank() == 3) source = view(line, source, {1, channels, 1, 1});
    source = view(line, permute(line, source, line.dim == 2 ? Dims{0, 2, 3, 1} : Dims{0, 3, 2, 1}), {1, unit});
    ir::TensorType read = ring_type;
    read.shape[0] = line.taps;
    const ir::Node* update =
        graph_.add_node(line.cat->name, ops::nodes::aten_update_ring,
                        {{"self", ring}, {"position", position}, {"source", source}, {"step", line.step}},
                        {read, ring_type, index}, line.cat->location, line.conv);
    ir::Value* taps = view(line, update->results[0], {1, line.taps, width, channels});
    taps = permute(line, taps, line.dim == 2 ? Dims{0, 3, 1, 2} : Dims{0, 3, 2, 1});

    line.conv->replace_use("input", line.image, taps);
    Dims dilation = line.conv->integers("dilation");
    dilation.at(line.dim - 2) = 1;
    line.conv->set("dilation", std::move(dilation));
    std::erase_if(graph_.updates(), [&](const ir::Update& other) { return other.state == line.state; });
    graph_.add_update(ring, update->results[1]);
    graph_.add_update(position, update->results[2]);
  }

  // The initial contents [channels, entries, width] as [entries, width, channels].
  static ir::Bytes arranged(const ir::Value& state, std::int64_t entries, std::int64_t width) {
    const auto size = static_cast<std::int64_t>(size_of(state.type.dtype));
    const std::int64_t channels = state.type.elements() / entries / width;
    const std::span<const std::byte> from = state.data.bytes;
    std::vector<std::byte> to;
    to.reserve(from.size());
    for (std::int64_t t = 0; t < entries; ++t) {
      for (std::int64_t x = 0; x < width; ++x) {
        for (std::int64_t c = 0; c < channels; ++c) {
          const auto element = from.subspan(static_cast<std::size_t>(((c * entries + t) * width + x) * size),
                                            static_cast<std::size_t>(size));
          to.insert(to.end(), element.begin(), element.end());
        }
      }
    }
    return ir::Bytes::own(std::move(to));
  }

  ir::Value* view(const Line& line, ir::Value* value, ir::Shape shape) {
    ir::TensorType type = value->type;
    type.shape = shape;
    return graph_
        .add_node(line.cat->name + "_view", ops::nodes::aten_view, {{"self", value}, {"size", std::move(shape)}},
                  {std::move(type)}, line.cat->location, line.conv)
        ->result();
  }
  ir::Value* permute(const Line& line, ir::Value* value, const Dims& dims) {
    ir::TensorType type = value->type;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      type.shape[i] = value->type.shape.at(static_cast<std::size_t>(dims[i]));
    }
    return graph_
        .add_node(line.cat->name + "_turned", ops::nodes::aten_permute, {{"self", value}, {"dims", dims}},
                  {std::move(type)}, line.cat->location, line.conv)
        ->result();
  }

  ir::Graph& graph_;
};

}  // namespace

void ring_states(ir::Graph& graph) { Rings(graph).run(); }

}  // namespace cormorant::passes
