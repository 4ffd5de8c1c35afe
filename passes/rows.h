// SPDX-License-Identifier: Apache-2.0
//
// Computing row by row (ops/rows/rows.h): which nodes of a graph can be, what a group of them needs, and the rewrite.
//
// A group is a run of nodes in execution order. A value inside has a period, the ticks between two of its rows, and a
// start, the tick of its row 0. A unit that reads `reach` rows at a time, with a stride, starting `top` rows above the
// image, is due when the last of them is there:
//
//   start of the result = start + period · (reach − 1 − top)        period of the result = period · stride
//
// Where its own readers wait for something else, it may start that much later: then its rows need not be kept, but more
// of its operands' rows may have to be (a shortcut beside two convolutions: what it reads is there anyway).
//
// If a reader waits for another operand (a residual connection), its row is by then `lag` rows above the newest, so the
// slab has reach + lag rows. All of this is exact: nothing is computed twice, and nothing stalls.
//
// A unit may compute a batch of rows at a time, from stride · (batch − 1) + reach of its operand's, and a period is
// then that of batches. The first batch is aligned so that the operand's batches end where a reader's windows do:
// `above` of its rows are above the image.
//
// Where memory is worth more than time, a chain inside a group can be computed in strips: for each row of its result
// and each strip of columns, everything needed is computed from the rows that the chain reads. Its own images then need
// no slabs, but only a patch each, as large as the strip needs; what neighbouring rows and strips also read is computed
// again for each of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "ops/rows/cover.h"
#include "target/target.h"

namespace cormorant::passes {

class Rows {
 public:
  // How a node reads rows of an operand.
  struct Read {
    std::string argument;
    ir::Value* image = nullptr;
    std::int64_t reach = 1;                            // rows from the first to the last that it looks at
    std::int64_t stride = 1;                           // rows of the operand per row of the result
    std::int64_t top = 0;                              // rows above the image that it looks at
    std::optional<std::int64_t> pad = {};              // what rows outside the image hold; none: it reads none
    bool is_mean = false;                              // adds all rows up, and has a result when the last has come
    std::int64_t reach_x = 1, stride_x = 1, left = 0;  // the same of columns
  };
  // A node that becomes an instruction, with the pad before it that becomes part of it.
  struct Unit {
    ir::Node* node = nullptr;
    ir::Node* pad = nullptr;
    bool has_rows = false;  // whether it can be computed row by row
    std::vector<Read> reads;
    std::vector<ir::Value*> wholes;  // operands that it needs whole for every row
  };
  // A chain that is computed in strips.
  struct Strips {
    std::size_t first = 0, last = 0;  // units
    std::int64_t count = 1;           // of strips
    std::int64_t bytes = 0;           // of patches and scratch, at most
  };
  // The part of an image that a strip of a row reads: see ops/rows/rows.h.
  struct Patch {
    std::int64_t columns = 1, rows = 1, step_x = 1, step_y = 1, left = 0, top = 0;
  };
  // A value of a group.
  struct Value {
    ir::Value* image = nullptr;
    std::optional<std::size_t> unit;               // that computes it; none: it is fed
    std::int64_t period = 0, start = 0;            // in ticks; the first row of the image is there at the start
    std::int64_t batch = 1, above = 0;             // rows at a time; those of the first that are not in the image
    std::int64_t before = 0, rows = 0, after = 0;  // rows above the image, of it, and below it: whole batches
    std::int64_t slab_rows = 1, row_bytes = 0;
    std::int64_t last_batch = 0;  // that is needed, the one with the first row being 0
    bool is_sum = false;          // of the rows of what the unit reads, for its mean
    bool is_kept = false;         // from tick to tick
    bool is_collected = false;
    std::optional<std::int64_t> fill = {};  // of rows outside the image, if they are read
    std::size_t last_read = 0;              // the last unit that reads it
    std::optional<Strips> strips = {};      // by which it is computed; the unit is the last of their chain

    // The ticks at which it is due: the first, to be filled or computed, the first to be computed, and the last.
    [[nodiscard]] std::int64_t first_due() const { return start - period * (before / batch); }
    [[nodiscard]] std::int64_t last_due() const { return start + period * last_batch; }
    [[nodiscard]] ops::rows::Flow flow() const { return {start, period, rows, row_bytes, batch, above}; }
  };
  struct Group {
    std::size_t first = 0, last = 0;  // units
    std::vector<Value> values;        // in the order of a tick
    // Per unit, per read: how many rows, whose, and how many rows above the newest they end.
    struct Window {
      std::size_t value = 0;
      std::int64_t lag = 0, rows = 1;
    };
    std::vector<std::vector<Window>> windows;
  };

  // For a lowered graph whose layout is decided.
  Rows(ir::Graph& graph, Isa isa);

  // The graph's input arrives by rows: they are pushed to the group that reads it, which contains all of its readers.
  void push(ir::Value* input) { pushed_ = input; }

  [[nodiscard]] const std::vector<Unit>& units() const { return units_; }
  // The units from first to last as a group; none if they cannot be one. Chains in strips are given in order; `wanted`
  // has, for each unit, how many rows it should compute at a time; empty: one. Units get a divisor of that, so that
  // their batches make up those of their readers.
  [[nodiscard]] std::optional<Group> group(std::size_t first, std::size_t last, const std::vector<Strips>& strips = {},
                                           const std::vector<std::int64_t>& wanted = {}) const;
  // The chains that are worth computing in strips, in order: consecutive units without other readers, of which some row
  // is needed several times, and whose images are larger than what goes in and out.
  [[nodiscard]] std::vector<Strips> chains() const;
  // What a strip of a row needs of the chain's input and of each unit's result.
  [[nodiscard]] std::vector<Patch> patches_of(const Strips& strips) const;
  // MACs of a unit that is computed once, and of a chain in strips.
  [[nodiscard]] std::int64_t macs_of(std::size_t unit) const;
  [[nodiscard]] std::int64_t macs_of(const Strips& strips) const;
  // A whole image that a group reads or makes.
  struct Whole {
    std::int64_t bytes = 0;
    std::int64_t from = 0;  // the first tick at which it is needed
    const Value* fed = {};  // where its rows go, and are no longer needed; none: it is needed to the end
  };
  // Bytes of the group's slabs, of what it needs within a tick, and of whole images, at the tick that needs the most.
  // Scratch is given per unit.
  [[nodiscard]] std::int64_t bytes_of(const Group& group, const std::vector<std::int64_t>& scratch,
                                      const std::vector<Whole>& wholes = {}) const;

  // Replaces the groups' nodes. Groups are given in order and share no units; this object must not be used afterwards.
  void rewrite(const std::vector<Group>& groups);

 private:
  void add_unit(ir::Node& node);
  [[nodiscard]] bool find_reads(Unit& unit) const;
  [[nodiscard]] bool is_between(const Unit& first, const Unit& last) const;
  void rewrite(const Group& group);
  [[nodiscard]] Read read_of(const Strips& strips) const;
  // For the images that a group computes or is fed with.
  using Batches = std::unordered_map<const ir::Value*, std::int64_t>;
  using Delays = std::unordered_map<std::size_t, std::int64_t>;  // of units, in ticks
  [[nodiscard]] std::optional<Group> group_with(const Delays& delays, std::size_t first, std::size_t last,
                                                const std::vector<Strips>& strips,
                                                const std::vector<std::int64_t>& wanted) const;
  // The ticks that all readers of a value wait for something else.
  [[nodiscard]] std::int64_t slack_of(const Group& group, std::size_t value) const;
  [[nodiscard]] Batches batches_of(std::size_t first, std::size_t last, const std::vector<Strips>& strips,
                                   const std::vector<std::int64_t>& wanted) const;
  [[nodiscard]] bool is_stage_of_strips(std::size_t unit) const;
  [[nodiscard]] bool is_link(std::size_t unit) const;
  [[nodiscard]] bool add_mean(std::size_t unit, Group& group,
                              std::unordered_map<const ir::Value*, std::size_t>& known) const;
  // The row that a chain computes from `rows`.
  ir::Value* add_strips(const Strips& strips, ir::Value* rows, ir::Node* before);
  // The parts of a mean over an image.
  ir::Value* add_sum(const ir::Node& node, ir::Value* row, ir::Node* before);
  ir::Value* add_mean(const ir::Node& node, ir::Value* sums, ir::Node* before);

  ir::Graph& graph_;
  Isa isa_;
  ir::Value* pushed_ = nullptr;
  std::vector<Unit> units_;
  std::unordered_map<const ir::Node*, std::size_t> index_;
};

}  // namespace cormorant::passes
