// SPDX-License-Identifier: Apache-2.0
#include "compiler/rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <ranges>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/diagnostic.h"
#include "compiler/bands.h"
#include "memory/buffers.h"
#include "memory/map.h"
#include "ops/nodes.h"
#include "ops/rows/cover.h"
#include "passes/passes.h"
#include "passes/rows.h"

namespace cormorant::compiler {
namespace {

using passes::Rows;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 4;
// Units. Each of them may begin a group of any length up to this, which is priced by what is live around it: the search
// grows with the square of the graph, not with its cube.
constexpr std::size_t kLongestGroup = 256;
constexpr std::size_t kLongestWithStrips = 64;

std::int64_t align(std::int64_t bytes) { return (bytes + 15) & ~std::int64_t{15}; }

// A value that several copies of a graph have, whatever they call it: the number of the node that computes it and of
// the result, or an input's name.
using Key = std::string;

Key key_of(const ir::Value* value, const std::string& number) {
  if (value->producer == nullptr) return value->name;
  const auto result = std::ranges::find(value->producer->results, value) - value->producer->results.begin();
  return fmt::format("{}.{}", number, result);
}

// What a node needs besides its operands and results, by its number, since names may repeat.
struct Needs {
  std::int64_t scratch = 0;
  std::int64_t work = 0;      // cycles, estimated
  std::int64_t saving = 0;    // of memory, if the operand `saved` dies here
  std::int64_t distance = 0;  // by which the result then begins before it
  Key saved;
  bool is_sum = false;  // a convolution that does its reader's addition as well
};
using NeedsByNumber = std::unordered_map<std::string, Needs>;

// The operand that a result may overwrite, and how much that saves.
void find_saving(const ir::Node& node, Needs& needs) {
  const ops::Operator* op = ops::find(node);
  if (op == nullptr || node.results.size() != 1) return;
  for (const ir::NamedArgument& argument : node.args) {
    const auto* value = std::get_if<ir::Value*>(&argument.value);
    if (value == nullptr || *value == nullptr || (*value)->kind == ir::ValueKind::constant) continue;
    // What other arguments read as well stays, as in memory::map_memory.
    const auto is_same = [&](const ir::Value* input) { return ops::root(input) == ops::root(*value); };
    if (std::ranges::count_if(node.inputs(), is_same) != 1) continue;
    const std::int64_t in = (*value)->type.bytes(), out = node.result()->type.bytes();
    std::int64_t saving = 0, distance = 0;
    if (op->in_place != nullptr && in == out && op->in_place(node, argument.name)) {
      saving = in;
    } else if (op->overlap != nullptr) {
      const auto exact = op->overlap(node, argument.name);
      if (!exact) continue;
      distance = align(static_cast<std::int64_t>(*exact));
      saving = std::min(in, out - distance);
    }
    if (saving <= needs.saving) continue;
    const ir::Value* const saved = ops::root(*value);
    needs.saving = saving;
    needs.distance = distance;
    needs.saved = key_of(saved, saved->producer == nullptr ? "" : saved->producer->name);
  }
}

NeedsByNumber needs_of(const ir::Graph& graph) {
  NeedsByNumber all;
  for (const ir::Node& node : graph.nodes()) {
    if (node.op.starts_with(ops::nodes::cormorant_rows_)) continue;
    Needs& needs = all[node.name];
    needs.is_sum = node.has("residual");
    for (const ir::Value* input : node.inputs()) {
      if (input->kind == ir::ValueKind::scratch) needs.scratch += align(input->type.bytes());
    }
    const ops::Operator* op = ops::find(node);
    if (op != nullptr && op->estimate != nullptr) needs.work += op->estimate(node).value_or(0);
    find_saving(node, needs);
  }
  return all;
}

// A copy in which numbers serve as node names, which nodes derived from them keep.
ir::Graph numbered(const ir::Graph& graph) {
  ir::Graph copy = graph.copy();
  std::size_t number = 0;
  for (ir::Node& node : copy.nodes()) node.name = std::to_string(number++);
  return copy;
}

// The program without rows: what its nodes need, and its arena.
struct ByLayer {
  NeedsByNumber needs;
  std::int64_t bytes = 0;
};
ByLayer by_layer(const ir::Graph& graph, const ops::Config& config) {
  ir::Graph copy = numbered(graph);
  passes::prepack(copy, config);
  passes::update_states(copy, config);
  passes::place_updates(copy);
  passes::clean_up(copy);
  if (has_bands(config)) lower_bands(copy, config.runtime);
  const memory::MemoryMap memory = memory::map_memory(copy, {}, config.runtime);
  return {needs_of(copy), static_cast<std::int64_t>(memory.plan.regions.front().peak)};
}

// Needs after prepacking, with every node that can be in a group of its own: with `batch` rows at a time, or chains in
// strips, which are groups of their own.
NeedsByNumber needs_by_rows(const ir::Graph& graph, const ops::Config& config, std::int64_t batch,
                            const std::vector<Rows::Strips>& chains) {
  ir::Graph copy = numbered(graph);
  Rows rows(copy, config.target.isa);
  std::vector<Rows::Group> groups;
  auto chain = chains.begin();
  for (std::size_t u = 0; u < rows.units().size(); ++u) {
    std::optional<Rows::Group> group;
    if (chain != chains.end() && chain->first == u) {
      group = rows.group(u, chain->last, {*chain});
      if (group) u = chain->last;
      ++chain;
    }
    if (!group) group = rows.group(u, u, {}, std::vector<std::int64_t>(rows.units().size(), batch));
    if (group) groups.push_back(std::move(*group));
  }
  rows.rewrite(groups);
  passes::prepack(copy, config);
  return needs_of(copy);
}

// A chain in strips, and what it costs.
struct Chain {
  Rows::Strips strips;
  std::int64_t macs = 0;    // computed more than once
  std::int64_t work = 0;    // of one row
  std::int64_t saving = 0;  // of slabs, about
};

// Whole plans are made for each of these: what patches may need at most, if possible, as a share of what the network
// needs without them. Narrow strips need less, and compute more at their edges.
constexpr std::int64_t kPatchShares[] = {24, 14, 8};
constexpr std::int64_t kMostStrips = 32, kNarrowestStrip = 2;

// Levels of rows at a time: at least so many pixels, unless that takes more rows than kMostRows.
constexpr std::int64_t kPixels[] = {1, 8, 12, 16, 24, 32, 48};
constexpr std::int64_t kMostRows = 8;

// What the least memory may cost in time, as a share of the time layer by layer. With a budget, any time.
constexpr double kMostExtra = 0.125;

class Search {
 public:
  // An input that arrives by rows, or null.
  Search(ir::Graph& graph, const ops::Config& config, ir::Value* pushed, const Progress& progress)
      : graph_(graph),
        config_(config),
        pushed_(pushed),
        rows_(graph, config.target.isa),
        by_layer_(by_layer(graph, config)) {
    for (const ir::Node& node : graph.nodes()) numbers_.emplace(&node, std::to_string(numbers_.size()));
    if (pushed != nullptr) {
      rows_.push(pushed);
      find_readers();
    }
    find_sums();
    find_lives();
    find_levels();
    find_prices(progress);
  }

  [[nodiscard]] RowsFacts look() const {
    RowsFacts facts;
    facts.bytes_by_layer = by_layer_.bytes;
    for (const Rows::Unit& unit : rows_.units()) {
      facts.work_by_layer += of(by_layer_.needs, unit).work;
      facts.able += unit.has_rows ? 1 : 0;
    }
    for (std::int64_t limit = kNever - 1;;) {
      const std::optional<Groups> groups = cheapest(limit);
      if (!groups) break;
      const RowsPoint point = point_of(*groups);
      // The same work with less memory: only the last of them is listed.
      if (!facts.curve.empty() && facts.curve.back().extra == point.extra) facts.curve.pop_back();
      facts.curve.push_back(point);
      limit = point.bytes - 1;
    }
    return facts;
  }

  RowsFacts run(const RowsOptions& options) {
    RowsFacts facts = look();
    if (facts.curve.empty()) refuse_readers();
    std::optional<Groups> plan = cheapest(options.bytes ? *options.bytes : least_worth_its_time(facts));
    const bool fits = options.bytes && plan;
    if (!plan) plan = cheapest(facts.curve.back().bytes);  // as near as possible
    RowsPoint chosen = point_of(*plan);
    std::vector<Rows::Group> groups;
    for (const Price* own : *plan) groups.push_back(*rows_.group(own->first, own->last, {}, levels_[own->level]));
    if (options.recompute > 1 && !fits) {
      const Repeating best = search_strips(options, chosen.bytes);
      if (best.point.bytes < chosen.bytes) {
        chosen = best.point;
        groups = best.groups;
      }
    }
    facts.bytes = chosen.bytes;
    facts.extra = chosen.extra;
    facts.nodes = chosen.nodes;
    facts.extra_macs = chosen.macs;
    facts.groups = groups.size();
    rows_.rewrite(groups);
    return facts;
  }

 private:
  struct Price {
    std::int64_t bytes = kNever;
    std::int64_t work = 0;  // more than by layers
    std::size_t first = 0, last = 0, level = 0;
  };
  using Groups = std::vector<const Price*>;  // of a plan, in order; what is in none is computed whole
  // A whole value, and the range of units for which it is live.
  struct Life {
    const ir::Value* value = nullptr;
    std::int64_t first = -1, last = -1;  // −1: it comes in
    std::int64_t bytes = 0;
  };
  // Units.
  struct Sum {
    std::size_t convolution = 0, addition = 0;
  };
  // A unit that is computed whole.
  struct Layer {
    std::int64_t bytes = 0;                                // of all that is live, and scratch
    std::int64_t saving = 0, distance = 0;                 // if the result overwrites an operand that dies here
    const Life *overwritten = nullptr, *result = nullptr;  // null: none can be
  };

  [[nodiscard]] std::size_t count() const { return rows_.units().size(); }
  [[nodiscard]] const Needs& of(const NeedsByNumber& needs, const Rows::Unit& unit) const {
    static const Needs kNothing;
    const auto found = needs.find(numbers_.at(unit.node));
    return found == needs.end() ? kNothing : found->second;
  }

  // Layer by layer, an addition that a convolution does as well is where both are computed.
  void find_sums() {
    std::unordered_map<const ir::Node*, std::size_t> index;
    for (std::size_t u = 0; u < count(); ++u) {
      const ir::Node* const node = rows_.units()[u].node;
      index.emplace(node, u);
      if (by_layer_.needs.contains(numbers_.at(node))) continue;
      for (const ir::Value* input : node->inputs()) {
        const auto unit = index.find(input->producer);
        if (unit == index.end()) continue;
        const auto needs = by_layer_.needs.find(numbers_.at(input->producer));
        if (needs == by_layer_.needs.end() || !needs->second.is_sum) continue;
        by_layer_.needs[numbers_.at(node)] = std::exchange(needs->second, {});
        sums_.push_back({unit->second, u});
        break;
      }
    }
  }
  [[nodiscard]] bool separates_sum(std::size_t first, std::size_t last) const {
    const auto is_inside = [&](std::size_t unit) { return first <= unit && unit <= last; };
    return std::ranges::any_of(sums_,
                               [&](const Sum& sum) { return is_inside(sum.convolution) != is_inside(sum.addition); });
  }

  void find_lives() {
    std::unordered_map<const ir::Value*, std::size_t> index;
    const auto life_of = [&](const ir::Value* value) -> Life& {
      const auto [found, is_new] = index.try_emplace(ops::root(value), lives_.size());
      if (is_new) lives_.push_back({.value = ops::root(value), .bytes = align(ops::root(value)->type.bytes())});
      return lives_[found->second];
    };
    const auto is_activation = [](const ir::Value* value) {
      const ir::ValueKind kind = ops::root(value)->kind;
      return kind == ir::ValueKind::input || kind == ir::ValueKind::result;
    };
    const auto read_at = [&](const Rows::Unit& unit, std::size_t u) {
      for (const ir::Value* input : (unit.pad != nullptr ? unit.pad : unit.node)->inputs()) {
        if (is_activation(input)) life_of(input).last = static_cast<std::int64_t>(u);
      }
    };
    for (const ir::Value* input : graph_.inputs()) life_of(input);
    for (std::size_t u = 0; u < count(); ++u) {
      const Rows::Unit& unit = rows_.units()[u];
      read_at(unit, u);
      const auto sum = std::ranges::find(sums_, u, &Sum::addition);
      if (sum != sums_.end()) {
        const Rows::Unit& convolution = rows_.units()[sum->convolution];
        read_at(convolution, u);
        life_of(convolution.node->result()).bytes = 0;
      }
      for (const ir::Value* result : unit.node->results) {
        Life& life = life_of(result);
        life.first = life.last = static_cast<std::int64_t>(u);
      }
    }
    for (const ir::Value* output : graph_.outputs()) life_of(output).last = static_cast<std::int64_t>(count());
    for (const ir::Update& update : graph_.updates()) {
      if (is_activation(update.value)) life_of(update.value).last = static_cast<std::int64_t>(count());
    }
    for (const ir::Value& value : graph_.values()) {
      if (value.kind == ir::ValueKind::state) life_of(&value).last = static_cast<std::int64_t>(count());
    }
  }

  // Those of the image that arrives: all of them are in one group, or there is no plan.
  void find_readers() {
    for (std::size_t u = 0; u < count(); ++u) {
      const Rows::Unit& unit = rows_.units()[u];
      for (const ir::Value* input : (unit.pad != nullptr ? unit.pad : unit.node)->inputs()) {
        if (ops::root(input) != pushed_) continue;
        readers_.push_back(u);
        break;
      }
    }
    if (readers_.empty() || graph_.is_kept(pushed_)) {
      throw InputError(
          {.problem = fmt::format("--feed=rows: no layer reads the image '{}', or the image itself is an output",
                                  pushed_->name),
           .advice = "remove --feed"});
    }
    for (const std::size_t reader : readers_) {
      const Rows::Unit& unit = rows_.units()[reader];
      const bool reads_rows =
          std::ranges::any_of(unit.reads, [&](const Rows::Read& read) { return read.image == pushed_; });
      if (!unit.has_rows || !reads_rows) refuse(unit, why_whole(unit));
    }
  }
  [[nodiscard]] std::string why_whole(const Rows::Unit& unit) const {
    const ir::Node& node = *unit.node;
    if (ops::is_float(node)) return "it is computed in float, but only quantized layers can be computed by rows";
    if (node.result()->type.dtype == DType::i16)
      return "its activations have 16 bits, but only layers with 8 can be computed by rows";
    const auto inputs = node.inputs();
    if (std::ranges::find(inputs, pushed_) == inputs.end() && unit.pad == nullptr) {
      return "it takes the image in a different shape";
    }
    return fmt::format("{} needs the whole image", ops::program_name(node.op));
  }
  [[noreturn]] static void refuse(const Rows::Unit& unit, const std::string& why) {
    throw InputError({.problem = fmt::format("--feed=rows: this layer cannot take the image by rows: {}", why),
                      .advice = "the layers that read the image must be convolutions, max-pooling or elementwise, and "
                                "quantized (--calibrate); otherwise remove --feed",
                      .node = unit.node->name,
                      .source = unit.node->location.text()});
  }
  // Each of them could be, but not together with the others.
  [[noreturn]] void refuse_readers() const {
    for (std::size_t u = readers_.front(); u <= readers_.back(); ++u) {
      if (!rows_.units()[u].has_rows)
        refuse(rows_.units()[u], "it is between layers that take the image by rows, but cannot take rows itself");
    }
    refuse(rows_.units()[readers_.back()],
           readers_.size() == 1 ? "its rows do not line up with those of the layers after it"
                                : "it reads the image at a different rate than the other layers that do");
  }
  [[nodiscard]] bool separates_readers(std::size_t first, std::size_t last) const {
    const auto inside =
        std::ranges::count_if(readers_, [&](std::size_t reader) { return first <= reader && reader <= last; });
    return inside != 0 && static_cast<std::size_t>(inside) != readers_.size();
  }

  // A row of few pixels is not worth a call, so such rows are computed several at a time: enough to have the level's
  // pixels.
  void find_levels() {
    for (const std::int64_t pixels : kPixels) {
      std::vector<std::int64_t> batches;
      for (const Rows::Unit& unit : rows_.units()) {
        const std::int64_t width = unit.has_rows ? unit.node->result()->type.shape[3] : pixels;
        batches.push_back(std::clamp((pixels + width - 1) / width, std::int64_t{1}, kMostRows));
      }
      if (levels_.empty() || batches != levels_.back()) levels_.push_back(std::move(batches));
    }
  }

  [[nodiscard]] const Needs& by_rows(std::size_t unit, std::int64_t batch) const {
    auto found = by_rows_.find(batch);
    if (found == by_rows_.end()) {
      found = by_rows_.emplace(batch, needs_by_rows(graph_, config_, batch, {})).first;
    }
    return of(found->second, rows_.units()[unit]);
  }
  [[nodiscard]] std::vector<std::int64_t> scratch_of(const Rows::Group& group) const {
    std::vector<std::int64_t> scratch(group.last - group.first + 1);
    for (const Rows::Value& value : group.values) {
      if (value.unit && !value.strips) scratch[*value.unit - group.first] = by_rows(*value.unit, value.batch).scratch;
    }
    return scratch;
  }

  void find_prices(const Progress& progress) {
    find_layers();
    std::int64_t most = by_layer_.bytes;
    if (pushed_ != nullptr) {
      // A group with all readers may need more than that, and there is no other plan.
      for (const Layer& layer : layers_) most = std::max(most, layer.bytes);
      std::ranges::find(lives_, pushed_, &Life::value)->bytes = align(pushed_->type.bytes() / pushed_->type.shape[2]);
      find_layers();
      for (const std::size_t reader : readers_) layers_[reader] = {.bytes = kNever};
    }
    prices_.resize(count());
    const auto tell_of = [&](std::size_t unit) { tell(progress, "planning rows", unit, count()); };
    for (std::size_t first = 0; first < count(); ++first) {
      tell_of(first);
      for (std::size_t last = first; last < std::min(count(), first + kLongestGroup); ++last) {
        if (!rows_.units()[last].has_rows) break;
        std::vector<Price>& prices = prices_[first].emplace_back();
        if (separates_readers(first, last) || separates_sum(first, last)) continue;
        bool is_too_large = false;
        for (std::size_t level = 0; level < levels_.size(); ++level) {
          const auto group = rows_.group(first, last, {}, levels_[level]);
          if (!group) continue;
          Price own = price_of(*group);
          own.first = first;
          own.last = last;
          own.level = level;
          // Slabs only become more.
          if (level == 0) is_too_large = rows_.bytes_of(*group, scratch_of(*group)) > most;
          const bool is_beaten = std::ranges::any_of(
              prices, [&](const Price& other) { return other.bytes <= own.bytes && other.work <= own.work; });
          if (!is_beaten) prices.push_back(own);
        }
        if (is_too_large) break;
      }
    }
    tell_of(count());
  }

  void find_layers() {
    layers_.assign(count(), {});
    for (std::size_t u = 0; u < count(); ++u) {
      const auto at = static_cast<std::int64_t>(u);
      const Needs& needs = of(by_layer_.needs, rows_.units()[u]);
      Layer& layer = layers_[u];
      layer.bytes = needs.scratch;
      for (const Life& life : lives_) {
        if (life.first > at || life.last < at) continue;
        layer.bytes += life.bytes;
        if (life.first == at) layer.result = &life;
        if (life.first < at && life.last == at && key_of(life) == needs.saved) layer.overwritten = &life;
      }
      if (layer.overwritten == nullptr || layer.result == nullptr) continue;
      layer.saving = needs.saving;
      layer.distance = needs.distance;
    }
  }
  [[nodiscard]] Key key_of(const Life& life) const {
    const ir::Node* const producer = life.value->producer;
    return compiler::key_of(life.value, producer == nullptr ? "" : numbers_.at(producer));
  }

  // The first unit, at or after this one, before which a run of units computed whole must end to need at most `limit`.
  // A result that overwrites its operand begins before it, so a run of them wanders through memory; where both have
  // room, the result is anywhere.
  [[nodiscard]] std::size_t end_of_run(std::size_t first, std::int64_t limit) const {
    const Life* newest = nullptr;               // of the results that overwrite one another,
    std::int64_t begin = 0, low = 0, high = 0;  // where it begins, and what all of them cover
    for (std::size_t u = first; u < count(); ++u) {
      const Layer& layer = layers_[u];
      if (layer.bytes <= limit) {
        newest = nullptr;
        continue;
      }
      if (layer.bytes - layer.saving > limit) return u;
      if (newest == nullptr || newest != layer.overwritten) {
        begin = low = 0;
        high = layer.overwritten->bytes;
      }
      begin -= layer.distance;
      low = std::min(low, begin);
      high = std::max(high, begin + layer.result->bytes);
      newest = layer.result;
      if (high - low > limit) return u;
    }
    return count();
  }
  // For every unit, where a run that begins with it must end.
  [[nodiscard]] std::vector<std::size_t> ends_of_runs(std::int64_t limit) const {
    std::vector<std::size_t> ends(count());
    for (std::size_t first = 0; first < count(); ++first) ends[first] = end_of_run(first, limit);
    // What all of them need is known.
    if (pushed_ == nullptr && count() != 0)
      ends[0] = by_layer_.bytes <= limit ? count() : std::min(ends[0], count() - 1);
    return ends;
  }
  [[nodiscard]] std::int64_t bytes_of_run(std::size_t first, std::size_t end) const {
    if (pushed_ == nullptr && first == 0 && end == count()) return by_layer_.bytes;
    std::int64_t low = -1, high = 0;
    for (std::size_t u = first; u < end; ++u) high = std::max(high, layers_[u].bytes);
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (end_of_run(first, middle) >= end ? high : low) = middle;
    }
    return high;
  }

  // A plan in which some MACs are computed more than once.
  struct Repeating {
    RowsPoint point{.bytes = kNever};
    std::vector<Rows::Group> groups;
  };
  // The forms of a group, from no strips to all of them, with fewer and fewer bytes.
  struct Choice {
    std::int64_t bytes = kNever, work = 0, macs = 0;
    std::vector<std::size_t> chains;  // in strips
  };
  using Choices = std::vector<std::vector<std::vector<Choice>>>;  // as prices_

  // The least memory that the permitted MACs allow; with a limit, as few MACs as keep it.
  [[nodiscard]] Repeating search_strips(const RowsOptions& options, std::int64_t most_bytes) const {
    std::int64_t macs = 0;
    for (std::size_t u = 0; u < count(); ++u) macs += rows_.macs_of(u);
    const auto most_macs = static_cast<std::int64_t>((options.recompute - 1) * static_cast<double>(macs));
    Repeating best;
    for (const std::int64_t share : kPatchShares) {
      const std::vector<Chain> chains = chains_of(most_bytes / share);
      if (chains.empty()) continue;
      const Choices choices = choices_of(chains, most_macs);
      // More bytes never need more MACs.
      std::int64_t low = options.bytes.value_or(0) - 1, high = most_bytes;
      while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        const auto plan = fewest_products(choices, middle);
        (plan && plan->point.macs <= most_macs ? high : low) = middle;
      }
      const auto plan = fewest_products(choices, high);
      if (!plan || plan->point.macs > most_macs || plan->point.bytes >= best.point.bytes) continue;
      best.point = plan->point;
      best.groups.clear();
      for (const auto& [first, last, choice] : plan->groups) {
        std::vector<Rows::Strips> strips;
        for (const std::size_t chain : choice->chains) strips.push_back(chains[chain].strips);
        best.groups.push_back(*rows_.group(first, last, strips));
      }
    }
    return best;
  }

  // In as few strips as keep the patches within the limit.
  [[nodiscard]] std::vector<Chain> chains_of(std::int64_t patch_bytes) const {
    std::vector<Rows::Strips> strips = rows_.chains();
    const NeedsByNumber one_by_one = needs_by_rows(graph_, config_, 1, {});
    for (Rows::Strips& chain : strips) {
      const std::int64_t width = rows_.units()[chain.last].node->result()->type.shape[3];
      while (bytes_of_patches(chain, one_by_one) > patch_bytes && chain.count < kMostStrips &&
             width / (chain.count + 1) >= kNarrowestStrip) {
        ++chain.count;
      }
    }
    const NeedsByNumber needs = needs_by_rows(graph_, config_, 1, strips);
    std::vector<Chain> chains;
    for (Rows::Strips& chain : strips) {
      chain.bytes = bytes_of_patches(chain, needs);
      Chain priced{.strips = chain, .macs = rows_.macs_of(chain)};
      const std::vector<Rows::Patch> patches = rows_.patches_of(chain);
      for (std::size_t u = chain.first; u <= chain.last; ++u) {
        priced.macs -= rows_.macs_of(u);
        priced.work += chain.count * (of(needs, rows_.units()[u]).work + kCall);
        const ir::Value* read = rows_.units()[u].reads.front().image;
        const std::int64_t row_bytes = read->type.bytes() / read->type.shape[2];
        const std::int64_t reach = rows_.units()[u].reads.front().reach;
        if (u != chain.first && reach > 1) priced.saving += reach * row_bytes;
        if (u == chain.first) priced.saving -= (patches.front().rows - 1) * row_bytes;
      }
      const Rows::Patch& in = patches.front();
      const std::int64_t channels = rows_.units()[chain.first].reads.front().image->type.shape[1];
      priced.work += chain.count * (kCall + in.rows * (kMove + in.columns * channels / 4));
      priced.macs = std::max<std::int64_t>(priced.macs, 0);
      if (priced.saving > 0) chains.push_back(priced);
    }
    return chains;
  }
  [[nodiscard]] std::int64_t bytes_of_patches(const Rows::Strips& chain, const NeedsByNumber& needs) const {
    const std::vector<Rows::Patch> patches = rows_.patches_of(chain);
    const auto bytes = [&](const ir::Value* image, const Rows::Patch& patch) {
      return align(patch.rows * patch.columns * image->type.bytes() / (image->type.shape[2] * image->type.shape[3]));
    };
    std::int64_t most = 0;
    for (std::size_t u = chain.first; u <= chain.last; ++u) {
      const Rows::Unit& unit = rows_.units()[u];
      most = std::max(most, bytes(unit.reads.front().image, patches[u - chain.first]) +
                                bytes(unit.node->result(), patches[u - chain.first + 1]) + of(needs, unit).scratch);
    }
    return most;
  }

  // For every group, the chains that save the most memory per MAC, one more each time.
  [[nodiscard]] Choices choices_of(const std::vector<Chain>& chains, std::int64_t most_macs) const {
    std::vector<std::size_t> order(chains.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, std::ranges::greater(), [&](std::size_t i) {
      return static_cast<double>(chains[i].saving) / static_cast<double>(chains[i].macs + 1);
    });
    Choices all(count());
    for (std::size_t first = 0; first < count(); ++first) {
      for (std::size_t last = first; last < std::min(count(), first + kLongestWithStrips); ++last) {
        if (!rows_.units()[last].has_rows) break;
        std::vector<Choice>& choices = all[first].emplace_back();
        if (separates_readers(first, last) || separates_sum(first, last)) continue;
        Choice choice;
        const auto add = [&] {
          std::vector<Rows::Strips> strips;
          for (const std::size_t chain : choice.chains) strips.push_back(chains[chain].strips);
          const auto group = rows_.group(first, last, strips);
          if (!group) return;
          const Price own = price_of(*group, chains, choice.chains);
          if (!choices.empty() && own.bytes >= choices.back().bytes) return;
          choices.push_back({own.bytes, own.work, choice.macs, choice.chains});
        };
        add();
        for (const std::size_t i : order) {
          const Rows::Strips& strips = chains[i].strips;
          if (strips.first < first || strips.last > last || choice.macs + chains[i].macs > most_macs) continue;
          choice.chains.insert(std::ranges::upper_bound(choice.chains, i), i);
          choice.macs += chains[i].macs;
          add();
        }
      }
    }
    return all;
  }

  struct Chosen {
    std::size_t first = 0, last = 0;
    const Choice* choice = nullptr;
  };
  struct Plan {
    RowsPoint point;
    std::vector<Chosen> groups;
  };
  // Among the plans that need at most `limit` bytes, the one with the fewest MACs, then with the least work.
  [[nodiscard]] std::optional<Plan> fewest_products(const Choices& choices, std::int64_t limit) const {
    struct Best {
      std::int64_t macs = kNever, work = 0;
      std::size_t end = 0;
      const Choice* choice = nullptr;  // none: a run of units that are computed whole
    };
    const std::vector<std::size_t> ends = ends_of_runs(limit);
    std::vector<Best> best(count() + 1), best_group(count() + 1);  // the second: that begins with a group
    best[count()].macs = best_group[count()].macs = 0;
    const auto improve = [](Best& now, const Best& other) {
      if (other.macs < now.macs || (other.macs == now.macs && other.work < now.work)) now = other;
    };
    for (std::size_t at = count(); at-- > 0;) {
      for (std::size_t i = 0; i < choices[at].size(); ++i) {
        const Best& rest = best[at + i + 1];
        if (rest.macs >= kNever) continue;
        for (const Choice& choice : choices[at][i]) {
          if (choice.bytes > limit) continue;
          improve(best_group[at], {rest.macs + choice.macs, rest.work + choice.work, at + i + 1, &choice});
        }
      }
      best[at] = best_group[at];
      for (std::size_t end = at + 1; end <= ends[at]; ++end) {
        improve(best[at], {best_group[end].macs, best_group[end].work, end, nullptr});
      }
    }
    if (best[0].macs >= kNever) return std::nullopt;
    Plan plan;
    for (std::size_t at = 0; at < count();) {
      if (best[at].choice == nullptr) {  // a run, after which comes a group
        plan.point.bytes = std::max(plan.point.bytes, bytes_of_run(at, best[at].end));
        at = best[at].end;
      }
      if (at == count()) break;
      const Best& own = best_group[at];
      plan.point.bytes = std::max(plan.point.bytes, own.choice->bytes);
      plan.point.extra += own.choice->work;
      plan.point.macs += own.choice->macs;
      plan.point.nodes += own.end - at;
      plan.groups.push_back({at, own.end - 1, own.choice});
      at = own.end;
    }
    return plan;
  }

  // `chains` are those that are computed in strips, of all that could be.
  [[nodiscard]] Price price_of(const Rows::Group& group, const std::vector<Chain>& all = {},
                               const std::vector<std::size_t>& chains = {}) const {
    const auto first = static_cast<std::int64_t>(group.first), last = static_cast<std::int64_t>(group.last);
    Price price;
    std::int64_t others = 0;  // that are needed before and after the group, or whole at every tick
    std::vector<Rows::Whole> fed, collected;
    const auto is_whole = [&](const ir::Value* image) {
      return std::ranges::any_of(std::views::iota(group.first, group.last + 1), [&](std::size_t u) {
        return std::ranges::count(rows_.units()[u].wholes, image) != 0;
      });
    };
    for (const Life& life : lives_) {
      if (life.first >= first || life.last < first) continue;
      const auto own = std::ranges::find_if(
          group.values, [&](const Rows::Value& value) { return !value.unit && value.image == life.value; });
      const bool ends_here = life.last <= last && life.value != pushed_ && own != group.values.end();
      if (ends_here && !is_whole(life.value)) {
        fed.push_back({.bytes = life.bytes, .fed = &*own});
      } else {
        others += life.bytes;
      }
    }
    // Collected rows replace the fed ones in memory, if possible; or else what comes late does.
    std::vector<Rows::Whole> wholes = fed;
    std::vector<const Rows::Value*> free;
    for (const Rows::Whole& whole : fed) free.push_back(whole.fed);
    bool covers = false;
    for (const Rows::Value& value : group.values) {
      if (!value.is_collected) continue;
      collected.push_back({.bytes = align(value.image->type.bytes()), .from = value.start});
      const auto source = std::ranges::find_if(
          free, [&](const Rows::Value* image) { return ops::rows::may_cover(image->flow(), value.flow()); });
      if (source == free.end()) {
        wholes.push_back(collected.back());
        continue;
      }
      std::ranges::find(wholes, *source, &Rows::Whole::fed)->fed = nullptr;
      free.erase(source);
      covers = true;
    }
    const std::vector<std::int64_t> scratch = scratch_of(group);
    price.bytes = rows_.bytes_of(group, scratch, wholes);
    if (covers) {
      fed.insert(fed.end(), collected.begin(), collected.end());
      price.bytes = std::min(price.bytes, rows_.bytes_of(group, scratch, fed));
    }
    price.bytes += others;
    auto chain = chains.begin();
    for (std::size_t u = group.first; u <= group.last; ++u) {
      if (chain != chains.end() && all[*chain].strips.first == u) {
        const Chain& own = all[*chain++];
        for (; u <= own.strips.last; ++u) price.work -= of(by_layer_.needs, rows_.units()[u]).work;
        price.work += own.work * rows_.units()[--u].node->result()->type.shape[2];
        continue;
      }
      price.work -= of(by_layer_.needs, rows_.units()[u]).work;
    }
    for (const Rows::Value& value : group.values) {
      const std::int64_t batches = (value.above + value.rows + value.batch - 1) / value.batch;
      if (value.unit && !value.strips) price.work += (by_rows(*value.unit, value.batch).work + kCall) * batches;
      const std::int64_t moved = value.is_kept ? (value.slab_rows - value.batch) * batches : 0;
      const std::int64_t copied = (value.unit ? 0 : value.rows) + (value.is_collected ? value.rows : 0);
      price.work += (moved + copied) * value.row_bytes / 4;
    }
    price.work = std::max<std::int64_t>(price.work, 0);
    return price;
  }

  // Among the plans that need at most `limit`, the one with the least work and then the fewest nodes by rows; none if
  // there is no such plan.
  [[nodiscard]] std::optional<Groups> cheapest(std::int64_t limit) const {
    struct Best {
      std::int64_t work = kNever;
      std::size_t nodes = 0;
      const Price* group = nullptr;  // that begins here; none: a run of units that are computed whole
      std::size_t end = 0;           // of either
    };
    const std::vector<std::size_t> ends = ends_of_runs(limit);
    std::vector<Best> best(count() + 1), best_group(count() + 1);  // the second: that begins with a group
    best[count()].work = best_group[count()].work = 0;
    const auto improve = [](Best& now, const Best& other) {
      if (other.work < now.work || (other.work == now.work && other.nodes < now.nodes)) now = other;
    };
    for (std::size_t at = count(); at-- > 0;) {
      for (const std::vector<Price>& prices : prices_[at]) {
        for (const Price& price : prices) {
          const Best& rest = best[price.last + 1];
          if (price.bytes > limit || rest.work >= kNever) continue;
          const std::size_t end = price.last + 1;
          improve(best_group[at], {rest.work + price.work, rest.nodes + end - at, &price, end});
        }
      }
      best[at] = best_group[at];
      for (std::size_t end = at + 1; end <= ends[at]; ++end) {
        improve(best[at], {best_group[end].work, best_group[end].nodes, nullptr, end});
      }
    }
    if (best[0].work >= kNever) return std::nullopt;
    Groups groups;
    for (std::size_t at = 0; at < count();) {
      if (best[at].group == nullptr) at = best[at].end;  // a run, after which comes a group
      if (at == count()) break;
      groups.push_back(best_group[at].group);
      at = best_group[at].end;
    }
    return groups;
  }

  [[nodiscard]] RowsPoint point_of(const Groups& groups) const {
    RowsPoint point;
    std::size_t at = 0;
    const auto run_to = [&](std::size_t end) {
      if (at < end) point.bytes = std::max(point.bytes, bytes_of_run(at, end));
    };
    for (const Price* group : groups) {
      run_to(group->first);
      point.bytes = std::max(point.bytes, group->bytes);
      point.extra += group->work;
      point.nodes += group->last + 1 - group->first;
      at = group->last + 1;
    }
    run_to(count());
    return point;
  }

  // The fewest bytes of a plan whose extra time is at most kMostExtra; of any plan if all are slower, as pushed rows
  // can require.
  [[nodiscard]] static std::int64_t least_worth_its_time(const RowsFacts& facts) {
    const auto most = static_cast<std::int64_t>(kMostExtra * static_cast<double>(facts.work_by_layer));
    for (const RowsPoint& point : facts.curve | std::views::reverse) {
      if (point.extra <= most) return point.bytes;
    }
    return facts.curve.back().bytes;
  }

  // Cycles that a call costs besides its pixels, and a row of a patch.
  static constexpr std::int64_t kCall = 100, kMove = 20;

  ir::Graph& graph_;
  const ops::Config& config_;
  ir::Value* pushed_;
  Rows rows_;
  std::unordered_map<const ir::Node*, std::string> numbers_;
  ByLayer by_layer_;
  mutable std::map<std::int64_t, NeedsByNumber> by_rows_;  // by rows at a time
  std::vector<std::vector<std::int64_t>> levels_;          // rows at a time, per unit
  std::vector<std::size_t> readers_;                       // of the image that arrives by rows
  std::vector<Sum> sums_;                                  // that are one instruction layer by layer
  std::vector<Life> lives_;
  std::vector<Layer> layers_;  // per unit
  // Groups by where they begin, then by how many more units they have, then by level: those that no other beats.
  std::vector<std::vector<std::vector<Price>>> prices_;
};

}  // namespace

void lay_out_rows(ir::Graph& graph) {
  const std::vector<ir::Value*>& inputs = graph.inputs();
  if (inputs.size() != 1) {
    std::vector<std::string> names;
    for (const ir::Value* input : inputs) names.push_back(input->name);
    throw InputError({.problem = fmt::format("--feed=rows needs a model with one input; this one has {}: {}",
                                             inputs.size(), fmt::join(names, ", ")),
                      .advice = "remove --feed"});
  }
  ir::Value* const input = inputs.front();
  if (input->type.rank() != 4 || input->type.shape[0] != 1) {
    throw InputError(
        {.problem = fmt::format("--feed=rows: the input '{}' is {}, not an image [1, channels, height, width]",
                                input->name, memory::short_text(input->type)),
         .advice = "remove --feed"});
  }
  input->type.dim_order = ir::kChannelsLast;
}

RowsFacts plans_by_rows(const ir::Graph& graph, const ops::Config& config, const Progress& progress) {
  ir::Graph copy = graph.copy();
  return copy.nodes().empty() ? RowsFacts() : Search(copy, config, nullptr, progress).look();
}

RowsFacts compute_by_rows(ir::Graph& graph, const ops::Config& config, const RowsOptions& options,
                          const Progress& progress) {
  if (graph.nodes().empty()) return {};
  return Search(graph, config, options.feed ? graph.inputs().front() : nullptr, progress).run(options);
}

}  // namespace cormorant::compiler
