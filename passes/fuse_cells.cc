// SPDX-License-Identifier: Apache-2.0
//
// LSTM, GRU and RNN cells that a model spells out (by hand, or because PyTorch decomposed its recurrent layer) become
// the recurrent layer they are: one operator with the cell's state in 16 bits, where a product and a sum per step would
// round it to 8. Steps that follow each other through a sequence become one layer over it.
//
// The gates' sums may come from one linear layer or several, of x and h apart or concatenated, with the gates in any
// order; for several steps at once, too. What matters is which rows of which weights multiply what.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "ops/nodes.h"
#include "ops/recurrent/import.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

// Rows of a tensor whose last dimension are its columns.
struct Rows {
  ir::Value* of = nullptr;
  std::int64_t first = 0;
  friend bool operator==(const Rows&, const Rows&) = default;
};

std::int64_t columns_of(const ir::Value* value) { return value->type.shape.empty() ? 1 : value->type.shape.back(); }

std::int64_t rows_of(const ir::Value* value) {
  const std::int64_t columns = columns_of(value);
  return columns == 0 ? 0 : value->type.elements() / columns;
}

const ir::Node* maker(const ir::Value* value, std::string_view op) {
  return value->producer != nullptr && value->producer->op == op ? value->producer : nullptr;
}

// How many rows a slice skips; none if what it takes are not whole rows that follow each other.
std::optional<std::int64_t> skipped_rows(const ir::Node& slice) {
  const ir::Shape& shape = slice.tensor("self")->type.shape;
  const auto dim = static_cast<std::size_t>(slice.integer("dim"));
  if (slice.integer("step") != 1 || dim + 1 >= shape.size()) return std::nullopt;
  if (std::any_of(shape.begin(), shape.begin() + slice.integer("dim"), [](std::int64_t n) { return n != 1; })) {
    return std::nullopt;
  }
  std::int64_t inner = 1;
  for (std::size_t d = dim + 1; d + 1 < shape.size(); ++d) inner *= shape[d];
  return slice.integer("start") * inner;
}

// Where a flip finds `count` rows that follow each other; none if it takes them apart. PyTorch's decompositions compute
// a layer's backward direction from flipped products.
std::optional<std::int64_t> unflipped_row(const ir::Node& flip, std::int64_t first, std::int64_t count) {
  const ir::Shape& shape = flip.tensor("self")->type.shape;
  std::int64_t inner = 1, steps = 1;  // rows that keep their order, and how many times as many there are
  for (const std::int64_t dim : flip.integers("dims")) {
    if (static_cast<std::size_t>(dim) + 1 >= shape.size()) return std::nullopt;
    if (shape[static_cast<std::size_t>(dim)] == 1) continue;
    if (std::any_of(shape.begin(), shape.begin() + dim, [](std::int64_t n) { return n != 1; })) return std::nullopt;
    steps = shape[static_cast<std::size_t>(dim)];
  }
  for (std::size_t d = 0; d + 1 < shape.size(); ++d) inner *= shape[d];
  if (steps == 1) return first;
  if (inner == 0) return std::nullopt;
  inner /= steps;
  if (first % inner + count > inner) return std::nullopt;
  return (steps - 1 - first / inner) * inner + first % inner;
}

// The same `count` rows one node earlier, if that only moves rows.
std::optional<Rows> moved_from(Rows rows, std::int64_t count) {
  const ir::Node* node = rows.of->producer;
  if (node == nullptr) return std::nullopt;
  const bool is_slice = node->op == ops::nodes::aten_slice, is_flip = node->op == ops::nodes::aten_flip;
  if (!is_slice && !is_flip && node->op != ops::nodes::aten_view) return std::nullopt;
  ir::Value* self = node->tensor("self");
  if (columns_of(self) != columns_of(rows.of)) return std::nullopt;
  if (is_flip) {
    const std::optional<std::int64_t> first = unflipped_row(*node, rows.first, count);
    return first ? std::optional(Rows{self, *first}) : std::nullopt;
  }
  const std::optional<std::int64_t> skipped = is_slice ? skipped_rows(*node) : 0;
  return skipped ? std::optional(Rows{self, rows.first + *skipped}) : std::nullopt;
}

// The same `count` rows where they come from, past views, slices and flips.
Rows origin(Rows rows, std::int64_t count) {
  while (const std::optional<Rows> earlier = moved_from(rows, count)) rows = *earlier;
  return rows;
}

bool joins_columns(const ir::Node* cat) {
  return cat != nullptr && cat->integer("dim") + 1 == static_cast<std::int64_t>(cat->result()->type.rank());
}

bool joins_rows(const ir::Node* cat) {
  if (cat == nullptr || joins_columns(cat)) return false;
  const ir::Shape& shape = cat->result()->type.shape;
  return std::all_of(shape.begin(), shape.begin() + cat->integer("dim"), [](std::int64_t n) { return n == 1; });
}

// As origin(), and past concatenations of rows: the states of several layers may be one buffer.
Rows origin_in_parts(Rows rows, std::int64_t count) {
  for (;;) {
    rows = origin(rows, count);
    const ir::Node* cat = maker(rows.of, ops::nodes::aten_cat);
    if (!joins_rows(cat)) return rows;
    const ir::Value* const joined = rows.of;
    for (ir::Value* part : cat->tensors("tensors")) {
      if (rows.first + count <= rows_of(part)) rows.of = part;
      if (rows.of == part || rows.first < rows_of(part)) break;
      rows.first -= rows_of(part);
    }
    if (rows.of == joined) return rows;
  }
}

ir::Value* past_views(ir::Value* value) {
  while (const ir::Node* view = maker(value, ops::nodes::aten_view)) value = view->tensor("self");
  return value;
}

// Part of a constant matrix, times rows of activations.
struct Term {
  Rows rows;
  const ir::Value* weight = nullptr;
  std::int64_t row = 0, column = 0, columns = 0;
};
struct Bias {
  const ir::Value* values = nullptr;
  std::int64_t first = 0;
  friend bool operator==(const Bias&, const Bias&) = default;
};
// The sums that one gate is a function of.
struct Gate {
  std::vector<Term> terms;
  std::vector<Bias> biases;
};

// Whether a product with concatenated columns is one product, one with each of them, or one with the first or last of
// them and one with the others. What is before a layer may be concatenated (the two directions of another), and so may
// x and h, and what x consists of.
enum class Columns : std::uint8_t { together, apart, but_last, but_first };

// The same concatenation without its first or last part, before it in the graph. What no cell needs is erased.
class Shortened {
 public:
  explicit Shortened(ir::Graph& graph) : graph_(graph) {}
  [[nodiscard]] bool is_empty() const { return made_.empty(); }
  ir::Value* of(const ir::Node& cat, Columns without) {
    ir::Value*& made = made_[{&cat, without}];
    if (made != nullptr) return made;
    std::vector<ir::Value*> parts = cat.tensors("tensors");
    ir::TensorType type = cat.result()->type;
    const auto left_out = without == Columns::but_last ? std::prev(parts.end()) : parts.begin();
    type.shape.back() -= columns_of(*left_out);
    parts.erase(left_out);
    made = graph_
               .add_node(cat.name, ops::nodes::aten_cat, {{"tensors", std::move(parts)}, {"dim", cat.integer("dim")}},
                         {std::move(type)}, cat.location, cat.result()->producer)
               ->result();
    return made;
  }

 private:
  ir::Graph& graph_;
  std::map<std::pair<const ir::Node*, Columns>, ir::Value*> made_;
};

// The weight [outputs, inputs] of a product of matrices that all have it, transposed: what PyTorch makes of a linear
// layer whose input is not contiguous, as after a convolution along time. Null if it is something else.
const ir::Value* repeated_weight(const ir::Node& node) {
  if (node.op != ops::nodes::aten_bmm || node.boolean("transposed") || node.number("scale") != 1) return nullptr;
  const ir::Value* value = node.tensor("mat2");
  if (const ir::Node* expand = maker(value, ops::nodes::aten_expand)) value = expand->tensor("self");
  while (const ir::Node* view = maker(value, ops::nodes::aten_view)) value = view->tensor("self");
  const ir::Node* permute = maker(value, ops::nodes::aten_permute);
  if (permute == nullptr || permute->integers("dims") != std::vector<std::int64_t>{1, 0}) return nullptr;
  const ir::Shape& shape = node.tensor("mat2")->type.shape;
  if (value->type.shape != ir::Shape{shape.end() - 2, shape.end()}) return nullptr;
  return permute->tensor("self");
}

// What `count` columns of rows of a value, from `first` on, are the sums of.
class Sums {
 public:
  Sums(std::int64_t batch, std::int64_t count, Columns columns, Shortened& shortened)
      : batch_(batch), count_(count), columns_(columns), shortened_(shortened) {}

  [[nodiscard]] std::optional<Gate> of(ir::Value* value) const {
    Gate gate;
    if (columns_of(value) != count_ || rows_of(value) != batch_) return std::nullopt;
    return add({value, 0}, 0, kDeepest, gate) ? std::optional(gate) : std::nullopt;
  }

 private:
  // No cell is deeper or has more; a file may be.
  static constexpr int kDeepest = 16;
  static constexpr std::size_t kMost = 8;

  bool add(Rows at, std::int64_t first, int deeper, Gate& gate) const {
    if (deeper == 0 || gate.terms.size() + gate.biases.size() > kMost) return false;
    if (is_float_constant(at.of)) {
      if (at.of->type.elements() != columns_of(at.of)) return false;
      gate.biases.push_back({at.of, first});
      return true;
    }
    const ir::Node* node = at.of->producer;
    if (node == nullptr) return false;
    if (node->op == ops::nodes::aten_linear) {
      const ir::Value* bias = node->tensor("bias");
      if (bias != nullptr && !is_float_constant(bias)) return false;
      if (bias != nullptr) gate.biases.push_back({bias, first});
      return add_product(node->tensor("input"), node->tensor("weight"), at.first, first, gate);
    }
    if (const ir::Value* weight = repeated_weight(*node)) {
      return add_product(node->tensor("self"), weight, at.first, first, gate);
    }
    if (node->op == ops::nodes::aten_add && node->number("alpha") == 1) {
      for (const char* name : {"self", "other"}) {
        ir::Value* operand = node->tensor(name);
        const bool fits = columns_of(operand) == columns_of(at.of) &&
                          (is_float_constant(operand) || rows_of(operand) == rows_of(at.of));
        if (!fits || !add({operand, at.first}, first, deeper - 1, gate)) return false;
      }
      return true;
    }
    if (const std::optional<Rows> earlier = moved_from(at, batch_)) return add(*earlier, first, deeper - 1, gate);
    if (node->op != ops::nodes::aten_slice || node->integer("step") != 1) return false;
    ir::Value* self = node->tensor("self");
    const bool takes_columns = static_cast<std::size_t>(node->integer("dim")) + 1 == self->type.rank();
    return takes_columns && add({self, at.first}, first + node->integer("start"), deeper - 1, gate);
  }

  bool add_product(ir::Value* of, const ir::Value* weight, std::int64_t row, std::int64_t first, Gate& gate) const {
    if (!is_float_constant(weight) || weight->type.rank() != 2) return false;
    const Rows input = origin({of, row}, batch_);
    std::int64_t column = 0;
    for (ir::Value* part : parts_of(input.of)) {
      gate.terms.push_back({origin({part, input.first}, batch_), weight, first, column, columns_of(part)});
      column += columns_of(part);
    }
    return true;
  }

  [[nodiscard]] std::vector<ir::Value*> parts_of(ir::Value* input) const {
    const ir::Node* cat = maker(input, ops::nodes::aten_cat);
    if (columns_ == Columns::together || !joins_columns(cat)) return {input};
    const std::vector<ir::Value*>& all = cat->tensors("tensors");
    if (columns_ == Columns::apart || all.size() < 3) return all;
    ir::Value* others = shortened_.of(*cat, columns_);
    return columns_ == Columns::but_last ? std::vector{others, all.back()} : std::vector{all.front(), others};
  }

  std::int64_t batch_, count_;
  Columns columns_;
  Shortened& shortened_;
};

// Products of constants with x and with h, and what is added.
struct Part {
  std::optional<Term> x, h;
  std::vector<Bias> biases;
};

bool same_weights(const std::optional<Term>& a, const std::optional<Term>& b) {
  if (a.has_value() != b.has_value()) return false;
  return !a || (a->weight == b->weight && a->row == b->row && a->column == b->column && a->columns == b->columns);
}

enum class Kind : std::uint8_t { lstm, gru, rnn_tanh, rnn_relu };

// One step of one layer.
struct Cell {
  Kind kind = Kind::lstm;
  ir::Node *h = nullptr, *c = nullptr;  // that compute the new states
  Rows x, old_h;
  ir::Value* old_c = nullptr;
  std::int64_t batch = 0, units = 0, outputs = 0;  // outputs: elements of h, fewer than units after a projection
  const ir::Value* projection = nullptr;           // its weights
  std::vector<Part> gates;  // in PyTorch's order: i f g o; r z n and what r multiplies; an RNN's only one

  [[nodiscard]] bool is_lstm() const { return kind == Kind::lstm; }
  [[nodiscard]] bool is_rnn() const { return kind == Kind::rnn_tanh || kind == Kind::rnn_relu; }
  [[nodiscard]] bool has_weights_of(const Cell& other) const {
    return kind == other.kind && units == other.units && batch == other.batch && projection == other.projection &&
           std::ranges::equal(gates, other.gates, [](const Part& a, const Part& b) {
             return same_weights(a.x, b.x) && same_weights(a.h, b.h) && a.biases == b.biases;
           });
  }
};

const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"lstm", "gru", "rnn_tanh", "rnn_relu"};
  return kNames[static_cast<std::size_t>(kind)];
}

// The two operands of a node that has them, in both orders.
std::vector<std::array<ir::Value*, 2>> both_ways(const ir::Node* node) {
  if (node == nullptr) return {};
  ir::Value *self = node->tensor("self"), *other = node->tensor("other");
  return {{self, other}, {other, self}};
}

// The argument of a function, if that is what a value is.
ir::Value* argument_of(ir::Value* value, std::string_view function) {
  const ir::Node* node = maker(past_views(value), function);
  return node == nullptr ? nullptr : node->tensor("self");
}

const ir::Node* product(ir::Value* value) { return maker(past_views(value), ops::nodes::aten_mul); }
const ir::Node* sum(ir::Value* value) {
  const ir::Node* node = maker(past_views(value), ops::nodes::aten_add);
  return node != nullptr && node->number("alpha") == 1 ? node : nullptr;
}
// a − b, as {a, b}.
std::optional<std::array<ir::Value*, 2>> difference(ir::Value* value) {
  const ir::Node* node = maker(past_views(value), ops::nodes::aten_add);
  if (node == nullptr || node->number("alpha") != -1) return std::nullopt;
  return std::array{node->tensor("self"), node->tensor("other")};
}

bool is_zero(const ir::Value* value) {
  return is_float_constant(value) && std::ranges::all_of(value->data.as<float>(), [](float v) { return v == 0; });
}

bool is_one(const ir::Value* value) {
  return is_float_constant(value) && std::ranges::all_of(value->data.as<float>(), [](float v) { return v == 1; });
}

class Finder {
 public:
  explicit Finder(ir::Graph& graph) : graph_(graph), shortened_(graph) {
    for (const ir::Update& update : graph.updates()) kept_.emplace(update.state, update.value);
    for (const ir::Node& node : graph.nodes()) {
      if (node.op == ops::nodes::aten_linear) note_product(node);
    }
  }

  [[nodiscard]] bool has_shortened() const { return !shortened_.is_empty(); }
  std::vector<Cell> cells() {
    for (ir::Node* node : graph_.snapshot()) {
      std::optional<Cell> cell;
      if (node->op == ops::nodes::aten_mul) cell = lstm(*node);
      if (node->op == ops::nodes::aten_add) cell = gru(*node);
      if (node->op == ops::nodes::aten_tanh) cell = rnn(*node, Kind::rnn_tanh);
      if (is_relu(*node)) cell = rnn(*node, Kind::rnn_relu);
      if (!cell) continue;
      made_.emplace(cell->h->result(), Made{cell->kind, *cell->gates[cell->kind == Kind::gru ? 3 : 0].h});
      cells_.push_back(std::move(*cell));
    }
    return std::move(cells_);
  }

 private:
  // h = σ(o) · tanh(c), c = σ(f) · c' + σ(i) · tanh(g)
  std::optional<Cell> lstm(ir::Node& h) {
    for (const auto& [gate, rest] : both_ways(&h)) {
      ir::Value* o = argument_of(gate, ops::nodes::aten_sigmoid);
      ir::Value* c = argument_of(rest, ops::nodes::aten_tanh);
      const ir::Node* new_c = c == nullptr ? nullptr : sum(c);
      if (o == nullptr || new_c == nullptr) continue;
      for (const auto& [kept, added] : both_ways(new_c)) {
        for (const auto& [forget, old_c] : both_ways(product(kept))) {
          for (const auto& [in, update] : both_ways(product(added))) {
            ir::Value* f = argument_of(forget, ops::nodes::aten_sigmoid);
            ir::Value* i = argument_of(in, ops::nodes::aten_sigmoid);
            ir::Value* g = argument_of(update, ops::nodes::aten_tanh);
            if (f == nullptr || i == nullptr || g == nullptr) continue;
            Cell cell = cell_of(h, Kind::lstm);
            cell.c = past_views(c)->producer;
            cell.old_c = past_views(old_c);
            if (rows_of(cell.old_c) != cell.batch || columns_of(cell.old_c) != cell.units) continue;
            if (take(cell, {i, f, g, o})) return cell;
            const ir::Node* linear = projection_of(h);
            if (linear == nullptr) continue;
            cell.projection = linear->tensor("weight");
            cell.outputs = columns_of(linear->result());
            cell.h = linear->result()->producer;
            if (take(cell, {i, f, g, o})) return cell;
          }
        }
      }
    }
    return std::nullopt;
  }

  // What takes o · tanh(c) to h, if it is projected, and nothing else reads it.
  [[nodiscard]] const ir::Node* projection_of(const ir::Node& made) const {
    const ir::Value* value = made.result();
    for (;;) {
      const std::vector<ir::Node*> users = graph_.users(value);
      if (users.size() != 1 || graph_.is_kept(value)) return nullptr;
      const ir::Node* user = users.front();
      if (user->op == ops::nodes::aten_view && columns_of(user->result()) == columns_of(value)) {
        value = user->result();
        continue;
      }
      const bool is_projection = user->op == ops::nodes::aten_linear && user->tensor("input") == value &&
                                 !user->has("bias") && is_float_constant(user->tensor("weight")) &&
                                 columns_of(user->result()) <= columns_of(value);
      return is_projection ? user : nullptr;
    }
  }

  static bool is_relu(const ir::Node& node) {
    if (node.op != ops::nodes::aten_clamp || !node.has("min") || node.has("max")) return false;
    return node.number("min") == 0;
  }

  // h = (1 − z) · n + z · h', or n + z · (h' − n)
  std::optional<Cell> gru(ir::Node& h) {
    if (h.number("alpha") != 1) return std::nullopt;
    for (const auto& [first, second] : both_ways(&h)) {
      for (const auto& [a, b] : both_ways(product(first))) {
        if (const auto off = difference(a)) {
          if (past_views((*off)[1]) == past_views(second)) {  // (h' − n) · z + n
            if (auto cell = gru(h, b, second, (*off)[0])) return cell;
          }
          if (!is_one((*off)[0])) continue;
          for (const auto& [z, old_h] : both_ways(product(second))) {  // (1 − z) · n + z · h'
            if (past_views((*off)[1]) != past_views(z)) continue;
            if (auto cell = gru(h, z, b, old_h)) return cell;
          }
        }
      }
    }
    return std::nullopt;
  }

  // n = tanh(sum of x + σ(r) · sum of h')
  std::optional<Cell> gru(ir::Node& h, ir::Value* update, ir::Value* candidate, ir::Value* old_h) {
    ir::Value* z = argument_of(update, ops::nodes::aten_sigmoid);
    ir::Value* n = argument_of(candidate, ops::nodes::aten_tanh);
    if (z == nullptr || n == nullptr) return std::nullopt;
    for (const auto& [from_x, from_h] : both_ways(sum(n))) {
      for (const auto& [reset, multiplied] : both_ways(product(from_h))) {
        ir::Value* r = argument_of(reset, ops::nodes::aten_sigmoid);
        if (r == nullptr) continue;
        Cell cell = cell_of(h, Kind::gru);
        cell.old_h = origin({old_h, 0}, cell.batch);
        if (columns_of(old_h) != cell.units || rows_of(old_h) != cell.batch) continue;
        if (take(cell, {r, z, from_x, multiplied})) return cell;
      }
    }
    return std::nullopt;
  }

  // h = tanh(sum) or relu(sum)
  std::optional<Cell> rnn(ir::Node& h, Kind kind) {
    Cell cell = cell_of(h, kind);
    return take(cell, {h.tensor("self")}) ? std::optional(cell) : std::nullopt;
  }

  static Cell cell_of(ir::Node& h, Kind kind) {
    Cell cell;
    cell.kind = kind;
    cell.h = &h;
    cell.units = cell.outputs = columns_of(h.result());
    cell.batch = rows_of(h.result());
    return cell;
  }

  // Whether the gates are sums of one x and one h: they are filled in then.
  bool take(Cell& cell, const std::vector<ir::Value*>& values) {
    constexpr std::array kAll = {Columns::together, Columns::apart, Columns::but_last, Columns::but_first};
    return std::ranges::any_of(kAll, [&](Columns columns) {
      Cell taken = cell;
      const bool fits = take(taken, values, columns);
      if (fits) cell = std::move(taken);
      return fits;
    });
  }

  bool take(Cell& cell, const std::vector<ir::Value*>& values, Columns columns) {
    std::vector<Gate> gates;
    for (ir::Value* value : values) {
      std::optional<Gate> gate = Sums(cell.batch, cell.units, columns, shortened_).of(value);
      if (!gate) return false;
      gates.push_back(std::move(*gate));
    }
    if (cell.kind != Kind::gru) {
      const std::optional<Rows> old_h = hidden_state(cell, gates.front());
      if (!old_h) return false;
      cell.old_h = *old_h;
    }
    for (Gate& gate : gates) {
      Part part{{}, {}, std::move(gate.biases)};
      for (const Term& term : gate.terms) {
        std::optional<Term>& place = term.rows == cell.old_h ? part.h : part.x;
        if (place || (&place == &part.x && cell.x.of != nullptr && term.rows != cell.x)) return false;
        if (&place == &part.x) cell.x = term.rows;
        place = term;
      }
      cell.gates.push_back(std::move(part));
    }
    // Every gate is of both, but for a GRU's last two.
    for (std::size_t k = 0; k < cell.gates.size(); ++k) {
      const bool is_candidate = cell.kind == Kind::gru && k >= 2;
      if (cell.gates[k].x.has_value() != (!is_candidate || k == 2)) return false;
      if (cell.gates[k].h.has_value() != (!is_candidate || k == 3)) return false;
    }
    return cell.gates[0].h->columns == cell.outputs && ops::recurrent::fits(columns_of(cell.x.of), cell.units);
  }

  [[nodiscard]] bool is_made(const ir::Value* h, Kind by) const {
    const auto made = made_.find(h);
    return made != made_.end() && made->second.by == by;
  }

  // Of two sources, the one that is h. A weight that multiplies the h of the step before, or this step's h in the next
  // one, leaves no doubt, nor does a state that becomes this step's h.
  [[nodiscard]] std::optional<Rows> hidden_state(const Cell& cell, const Gate& gate) const {
    if (gate.terms.size() != 2) return std::nullopt;
    const auto first_that = [&](auto is_it) -> std::optional<Rows> {
      for (const Term& term : gate.terms) {
        if (term.columns == cell.outputs && is_it(term)) return term.rows;
      }
      return std::nullopt;
    };
    const auto goes_on = [&](const Term& term) {
      const auto made = made_.find(term.rows.of);
      const auto next = products_.find(cell.h->result());
      return (made != made_.end() && made->second.by == cell.kind && made->second.h.weight == term.weight &&
              made->second.h.column == term.column) ||
             (next != products_.end() && next->second.contains({term.weight, term.column}));
    };
    if (auto found = first_that(goes_on)) return found;
    if (auto found = first_that([&](const Term& term) { return becomes_h(cell, term.rows); })) return found;
    // A relu of a relu may be any layer.
    const auto is_begun = [&](const Term& term) {
      return (cell.kind != Kind::rnn_relu && is_made(term.rows.of, cell.kind)) || is_zero(term.rows.of);
    };
    if (auto found = first_that(is_begun)) return found;
    // What the caller passes back, or another layer computes: not x, if x has other columns.
    const bool is_only = std::ranges::count(gate.terms, cell.outputs, &Term::columns) == 1;
    if (!cell.is_lstm() || !is_only) return std::nullopt;  // a tanh of two sums alone may be anything
    return first_that([](const Term&) { return true; });
  }

  // Whether rows of a state are this step's h from the next execution on.
  [[nodiscard]] bool becomes_h(const Cell& cell, const Rows& state) const {
    const auto kept = kept_.find(state.of);
    if (kept == kept_.end()) return false;
    const bool is_all = past_views(kept->second) == cell.h->result();
    return is_all || origin_in_parts({kept->second, state.first}, cell.batch) == Rows{cell.h->result(), 0};
  }

  void note_product(const ir::Node& linear) {
    ir::Value* const input = linear.tensor("input");
    const std::int64_t count = rows_of(input);
    const Rows rows = origin({input, 0}, count);
    const ir::Node* cat = maker(rows.of, ops::nodes::aten_cat);
    products_[rows.of].emplace(linear.tensor("weight"), 0);
    if (!joins_columns(cat)) return;
    std::int64_t column = 0;
    for (ir::Value* part : cat->tensors("tensors")) {
      products_[origin({part, rows.first}, count).of].emplace(linear.tensor("weight"), column);
      column += columns_of(part);
    }
  }

  struct Made {
    Kind by;
    Term h;
  };

  ir::Graph& graph_;
  Shortened shortened_;
  std::vector<Cell> cells_;
  std::map<const ir::Value*, Made> made_;        // h of the cells so far
  std::map<const ir::Value*, ir::Value*> kept_;  // what states become
  // Constants that multiply a value, and from which of their columns on.
  std::map<const ir::Value*, std::set<std::pair<const ir::Value*, std::int64_t>>> products_;
};

// Cells that follow each other, forwards or backwards through a sequence.
class Fusion {
 public:
  Fusion(ir::Graph& graph, std::vector<Cell> cells) : graph_(graph), cells_(std::move(cells)) {}

  void run() {
    std::map<const ir::Value*, const Cell*> after;  // what reads an h; if several do, the first
    for (const Cell& cell : cells_) after.try_emplace(cell.old_h.of, &cell);
    std::set<const Cell*> fused;
    for (const Cell& cell : cells_) {
      if (fused.contains(&cell)) continue;
      std::vector<const Cell*> chain = {&cell};
      for (;;) {
        const auto next = after.find(chain.back()->h->result());
        if (next == after.end() || !follows(chain, *next->second)) break;
        chain.push_back(next->second);
      }
      fused.insert(chain.begin(), chain.end());
      // The tanh (or relu) of a linear layer, if nothing came before and nothing comes after.
      const bool is_alone = cell.is_rnn() && chain.size() == 1 && is_zero(cell.old_h.of);
      if (!is_alone) fuse(chain);
    }
  }

 private:
  [[nodiscard]] bool follows(const std::vector<const Cell*>& chain, const Cell& cell) const {
    const Cell& last = *chain.back();
    const Rows x = now(cell.x), x_before = now(last.x);
    if (cell.old_h != Rows{last.h->result(), 0} || !cell.has_weights_of(last) || x.of != x_before.of) return false;
    if (last.is_lstm() && (cell.old_c != last.c->result() || !is_for_recurrence_only(last, cell))) return false;
    const std::int64_t step = x.first - x_before.first;
    const bool turns = chain.size() > 1 && step != x_before.first - now(chain[chain.size() - 2]->x).first;
    return (step == cell.batch || step == -cell.batch) && !turns;
  }

  // A layer returns the last c alone.
  [[nodiscard]] bool is_for_recurrence_only(const Cell& made, const Cell& read) const {
    std::vector<const ir::Value*> open = {made.c->result()};
    while (!open.empty()) {
      const ir::Value* value = open.back();
      open.pop_back();
      if (graph_.is_kept(value)) return false;
      for (const ir::Node* user : graph_.users(value)) {
        if (user->op == ops::nodes::aten_view) {
          open.push_back(user->result());
        } else if (user->op == ops::nodes::aten_tanh) {
          continue;  // for its own h, which is replaced; a tanh for something else would be the same node
        } else if (user->op != ops::nodes::aten_mul || !feeds(user->result(), read.c)) {
          return false;
        }
      }
    }
    return true;
  }
  static bool feeds(const ir::Value* value, const ir::Node* node) {
    return past_views(node->tensor("self")) == value || past_views(node->tensor("other")) == value;
  }

  void fuse(const std::vector<const Cell*>& chain) {
    const Cell& first = *chain.front();
    const Cell& last = *chain.back();
    before_ = first.is_lstm() ? first.c : first.h;
    name_ = last.h->name;
    const auto steps = static_cast<std::int64_t>(chain.size());
    const std::int64_t units = first.units, batch = first.batch, outputs = first.outputs;
    const auto given = [&](ir::Value* value, std::int64_t columns) {
      const bool is_none = is_zero(origin({value, 0}, batch).of);
      return is_none ? ir::Argument() : ir::Argument(view(value, {batch, columns}));
    };
    const Rows x = now(first.x), last_x = now(last.x);
    const bool backwards = last_x.first < x.first;
    const std::int64_t from = std::min(x.first, last_x.first);
    const auto [b_ih, b_hh] = biases(first);
    std::vector<ir::NamedArgument> arguments = {
        {"input", view(rows({x.of, from}, steps * batch), {steps, batch, columns_of(x.of)})},
        {"h", given(rows(now(first.old_h), batch), outputs)},
        {"c", first.is_lstm() ? given(now(first.old_c), units) : ir::Argument()},
        {"w_ih", weights(first, "_w_ih", &Part::x)},
        {"w_hh", weights(first, "_w_hh", &Part::h)},
        {"b_ih", b_ih},
        {"b_hh", b_hh},
        {"kind", std::string(name_of(first.kind))},
        {"backwards", backwards}};
    if (first.projection != nullptr) {
      const auto weights = first.projection->data.as<float>();
      arguments.push_back({"w_hr", constant("_w_hr", {outputs, units}, {weights.begin(), weights.end()})});
    }
    std::vector<ir::TensorType> results = {ir::float_type({steps, batch, outputs})};
    if (first.kind != Kind::rnn_relu) results.push_back(ir::float_type({batch, units}));
    const ir::Node* layer = graph_.add_node(name_, ops::nodes::aten_recurrent, std::move(arguments), std::move(results),
                                            last.h->location, before_);
    for (const Cell* cell : chain) {
      const ir::Value* h = cell->h->result();
      const Rows made{layer->results[0], now(cell->x).first - from};
      graph_.replace_uses(h, view(rows(made, batch), h->type.shape));
      moved_.emplace(h, made);
    }
    if (!first.is_lstm()) return;
    const ir::Value* c = last.c->result();
    ir::Value* last_c = view(layer->results[1], c->type.shape);
    graph_.replace_uses(c, last_c);
    moved_.emplace(c, Rows{last_c, 0});
  }

  // Where a state of an earlier layer is, after that has become one.
  [[nodiscard]] Rows now(Rows rows) const {
    const auto moved = moved_.find(rows.of);
    return moved == moved_.end() ? rows : Rows{moved->second.of, moved->second.first + rows.first};
  }
  [[nodiscard]] ir::Value* now(ir::Value* c) const { return now(Rows{c, 0}).of; }

  // [gates · units, columns], gate by gate.
  ir::Value* weights(const Cell& cell, const char* suffix, std::optional<Term> Part::* source) {
    std::vector<float> all;
    std::int64_t columns = 0;
    for (const Part& part : cell.gates) {
      const std::optional<Term>& term = part.*source;
      if (!term) continue;
      columns = term->columns;
      const auto from = term->weight->data.as<float>();
      const auto width = static_cast<std::size_t>(term->weight->type.shape[1]);
      for (std::int64_t row = term->row; row < term->row + cell.units; ++row) {
        const auto at =
            from.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * width) + term->column;
        all.insert(all.end(), at, at + columns);
      }
    }
    const auto rows = static_cast<std::int64_t>(all.size()) / columns;
    return constant(suffix, {rows, columns}, all);
  }

  // What is added to the sums of x, and of h where it matters: the reset gate multiplies the latter.
  std::pair<ir::Argument, ir::Argument> biases(const Cell& cell) {
    const auto units = static_cast<std::size_t>(cell.units);
    const auto sum_of = [&](const Part& part) {
      std::vector<float> sums(units);
      for (const Bias& bias : part.biases) {
        const auto from = bias.values->data.as<float>().subspan(static_cast<std::size_t>(bias.first), units);
        std::ranges::transform(sums, from, sums.begin(), std::plus<>());
      }
      return sums;
    };
    std::vector<float> to_x, to_h(2 * units);
    const std::size_t of_x = cell.kind == Kind::gru ? 3 : cell.gates.size();
    for (std::size_t gate = 0; gate < of_x; ++gate)
      std::ranges::copy(sum_of(cell.gates[gate]), std::back_inserter(to_x));
    const ir::Argument x = constant("_b_ih", {static_cast<std::int64_t>(to_x.size())}, to_x);
    if (cell.kind != Kind::gru) return {x, ir::Argument()};
    std::ranges::copy(sum_of(cell.gates[3]), std::back_inserter(to_h));
    return {x, constant("_b_hh", {static_cast<std::int64_t>(to_h.size())}, to_h)};
  }

  ir::Value* constant(const char* suffix, ir::Shape shape, const std::vector<float>& values) {
    return graph_.add_constant(name_ + suffix, ir::float_type(std::move(shape)),
                               ir::Bytes::of(std::span<const float>(values)));
  }
  // Whole steps of a layer's states are a slice of them, as in a model that has the layer itself.
  ir::Value* rows(const Rows& rows, std::int64_t count) {
    const std::int64_t all = rows_of(rows.of), columns = columns_of(rows.of);
    if (count == all) return rows.of;
    ir::Shape shape = rows.of->type.shape;
    const std::int64_t inner = shape.size() > 1 && shape[0] > 0 ? all / shape[0] : 1;
    const bool is_whole = inner > 0 && rows.first % inner == 0 && count % inner == 0;
    if (!is_whole || shape.size() < 2) shape = {all, columns};
    const std::int64_t each = is_whole ? inner : 1;
    ir::Value* const self = view(rows.of, shape);
    shape[0] = count / each;
    return add(ops::nodes::aten_slice,
               {{"self", self},
                {"dim", std::int64_t{0}},
                {"start", rows.first / each},
                {"end", (rows.first + count) / each},
                {"step", std::int64_t{1}}},
               shape);
  }
  ir::Value* view(ir::Value* value, ir::Shape shape) {
    if (value->type.shape == shape) return value;
    return add(ops::nodes::aten_view, {{"self", value}, {"size", shape}}, shape);
  }
  ir::Value* add(const char* op, std::vector<ir::NamedArgument> args, ir::Shape shape) {
    return graph_.add_node(name_, op, std::move(args), {ir::float_type(std::move(shape))}, before_->location, before_)
        ->result();
  }

  ir::Graph& graph_;
  std::vector<Cell> cells_;
  std::map<const ir::Value*, Rows> moved_;
  ir::Node* before_ = nullptr;
  std::string name_;
};

// Rows of a concatenation of layers' last states are those of one part.
void take_rows_of_parts(ir::Graph& graph) {
  for (ir::Node* slice : graph.snapshot()) {
    if (slice->op != ops::nodes::aten_slice) continue;
    const std::int64_t count = rows_of(slice->result());
    const Rows rows = origin({slice->result(), 0}, count);
    const ir::Node* cat = maker(rows.of, ops::nodes::aten_cat);
    if (!joins_rows(cat)) continue;
    std::int64_t first = 0;
    for (ir::Value* part : cat->tensors("tensors")) {
      const bool is_it = first == rows.first && rows_of(part) == count;
      first += rows_of(part);
      if (!is_it || maker(origin({part, 0}, count).of, ops::nodes::aten_recurrent) == nullptr) continue;
      const ir::Shape& shape = slice->result()->type.shape;
      const ir::Node* view = graph.add_node(slice->name, ops::nodes::aten_view, {{"self", part}, {"size", shape}},
                                            {ir::float_type(shape)}, slice->location, slice);
      graph.replace_uses(slice->result(), view->result());
      break;
    }
  }
}

// The steps' states, put together again, are what the layer returns, or that flipped.
void join_rows(ir::Graph& graph) {
  for (ir::Node* cat : graph.snapshot()) {
    if (cat->op != ops::nodes::aten_cat || !joins_rows(cat)) continue;
    const std::vector<ir::Value*>& parts = cat->tensors("tensors");
    const std::int64_t count = rows_of(parts.front());
    ir::Value* const all = origin({parts.front(), 0}, count).of;
    const std::int64_t rows = rows_of(all), columns = columns_of(all);
    if (maker(all, ops::nodes::aten_recurrent) == nullptr || columns_of(cat->result()) != columns) continue;
    if (rows_of(cat->result()) != rows) continue;
    const auto is_in_order = [&](bool backwards) {
      std::int64_t next = 0;
      return std::ranges::all_of(parts, [&](ir::Value* part) {
        const std::int64_t first = std::exchange(next, next + rows_of(part));
        const bool is_step = !backwards || rows_of(part) == count;
        return is_step && origin({part, 0}, rows_of(part)) == Rows{all, backwards ? rows - count - first : first};
      });
    };
    const bool is_forwards = is_in_order(false);
    if (!is_forwards && !is_in_order(true)) continue;
    const auto add = [&](const char* op, ir::NamedArgument argument, ir::Value* self, const ir::Shape& shape) {
      return graph
          .add_node(cat->name, op, {{"self", self}, std::move(argument)}, {ir::float_type(shape)}, cat->location, cat)
          ->result();
    };
    const ir::Shape& shape = cat->result()->type.shape;
    ir::Value* joined = nullptr;
    if (is_forwards) {
      joined = add(ops::nodes::aten_view, {"size", shape}, all, shape);
    } else {
      const ir::Shape steps = {rows / count, count, columns};
      joined = add(ops::nodes::aten_view, {"size", steps}, all, steps);
      joined = add(ops::nodes::aten_flip, {"dims", std::vector<std::int64_t>{0}}, joined, steps);
      joined = add(ops::nodes::aten_view, {"size", shape}, joined, shape);
    }
    graph.replace_uses(cat->result(), joined);
  }
  take_rows_of_parts(graph);
  // What was flipped twice.
  for (ir::Node* flip : graph.snapshot()) {
    if (flip->op != ops::nodes::aten_flip) continue;
    const std::int64_t rows = rows_of(flip->result());
    const Rows first = origin({flip->result(), 0}, 1);
    if (rows_of(first.of) != rows || columns_of(first.of) != columns_of(flip->result())) continue;
    if (first.of == flip->tensor("self") || maker(first.of, ops::nodes::aten_recurrent) == nullptr) continue;
    bool is_same = true;
    for (std::int64_t row = 0; row < rows && is_same; ++row) {
      is_same = origin({flip->result(), row}, 1) == Rows{first.of, row};
    }
    if (!is_same) continue;
    const ir::Shape& shape = flip->result()->type.shape;
    const ir::Node* view = graph.add_node(flip->name, ops::nodes::aten_view, {{"self", first.of}, {"size", shape}},
                                          {ir::float_type(shape)}, flip->location, flip);
    graph.replace_uses(flip->result(), view->result());
  }
  graph.erase_unused();
}

}  // namespace

void fuse_cells(ir::Graph& graph) {
  Finder finder(graph);
  std::vector<Cell> cells = finder.cells();
  if (cells.empty()) {
    if (finder.has_shortened()) graph.erase_unused();
    return;
  }
  Fusion(graph, std::move(cells)).run();
  join_rows(graph);
}

}  // namespace cormorant::passes
