// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <type_traits>

#include "cormorant/cormorant.h"
#include "kernels/move.h"
#include "ops/rows/rows.h"
#include "runtime/feed.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

Error load_rows(Call& call);
Error load_rows_strips(Call& call);
Error load_rows_fed(Call& call, void (*advance)(Feed&));
Error load_rows_strips_fed(Call& call, void (*advance)(Feed&));
Error load_rows_sum(Call& call);
Error load_rows_mean(Call& call);

namespace rows {

// The table stays in the program; addresses of its tensors follow the plan.
struct Plan {
  static constexpr std::uint32_t kStateBytes = 12;
  const Entry* entries;
  const cormorant_step* steps;
  std::uint16_t count;
  std::uint16_t ticks;

  [[nodiscard]] std::byte* const* tensors() const { return reinterpret_cast<std::byte* const*>(this + 1); }
  [[nodiscard]] std::byte** tensors() { return reinterpret_cast<std::byte**>(this + 1); }
};

// For a group to which rows are pushed.
struct Fed {
  static constexpr std::uint32_t kStateBytes = 36;
  Feed feed;  // first: what the runtime sees of it
  const Entry* arrival;
  Plan plan;  // last: its tensors follow it

  // The tick that waits for a row; after the last row, the one at which everything is done.
  [[nodiscard]] std::uint32_t tick_of(std::uint32_t row) const {
    if (row == 0) return 0;
    return row >= arrival->rows ? plan.ticks : arrival->start + arrival->period * (arrival->before + row);
  }
};
static_assert(std::is_standard_layout_v<Fed>);

// Kept out of line, so that the stack analysis sees from the type of `execute` what is called.
void call_stage(void (*execute)(const void*), const void* plan);

// From beginning to end: `to` may be before `from` and overlap it. In a foreign file tensors may overlap otherwise;
// their contents are then arbitrary.
template <Loops kLoops>
void copy(std::byte* to, const std::byte* from, std::uint32_t bytes) {
  if constexpr (kLoops == Loops::reference) {
    std::memmove(to, from, bytes);
  } else {
    copy_bytes<kLoops>(reinterpret_cast<std::int8_t*>(to), reinterpret_cast<const std::int8_t*>(from), bytes);
  }
}
template <Loops kLoops>
void fill(std::byte* to, std::int8_t value, std::uint32_t bytes) {
  if constexpr (kLoops == Loops::reference) {
    std::memset(to, value, bytes);
  } else {
    fill_bytes<kLoops>(reinterpret_cast<std::int8_t*>(to), value, bytes);
  }
}

// Fills the part of a patch outside the image, wherever the patch comes from.
template <Loops kLoops>
void fill_outside(const Part& part, std::byte* patch, const Inside& x, const Inside& y) {
  const std::uint32_t row_bytes = std::uint32_t{part.columns} * part.pixel_bytes;
  if (y.begin != 0) fill<kLoops>(patch, part.fill, y.begin * row_bytes);
  if (y.end != part.rows) fill<kLoops>(patch + y.end * row_bytes, part.fill, (part.rows - y.end) * row_bytes);
  if (x.begin == 0 && x.end == part.columns) return;
  for (std::uint32_t row = y.begin; row < y.end; ++row) {
    std::byte* const to = patch + row * row_bytes;
    fill<kLoops>(to, part.fill, x.begin * part.pixel_bytes);
    fill<kLoops>(to + x.end * part.pixel_bytes, part.fill, (part.columns - x.end) * part.pixel_bytes);
  }
}

// The functions that move rows are not inlined into a tick, whose frame is beneath those of all stages.

// Rows move up by a batch, which is filled if all of it is above or below the image. Returns whether some of it is
// inside.
template <Loops kLoops>
[[gnu::noinline]] bool make_room(const Plan& plan, const Entry& e, std::uint32_t n) {
  const bool is_inside = batch_of(e, n).count() != 0;
  if (e.slab == Entry::kNone || e.kind == Entry::Kind::collect) return is_inside;
  std::byte* const slab = plan.tensors()[e.slab];
  const std::uint32_t older = e.older_bytes();
  if (older != 0) copy<kLoops>(slab, slab + e.batch_bytes(), older);
  if (!is_inside) fill<kLoops>(slab + older, e.fill, e.batch_bytes());
  return is_inside;
}

// Fills rows that were computed outside the image.
template <Loops kLoops>
[[gnu::noinline]] void fill_rest(const Plan& plan, const Entry& e, std::uint32_t n) {
  const Inside batch = batch_of(e, n);
  if (e.slab == Entry::kNone || batch.count() == e.batch) return;
  std::byte* const newest = plan.tensors()[e.slab] + e.older_bytes();
  fill<kLoops>(newest, e.fill, batch.begin * e.row_bytes);
  fill<kLoops>(newest + batch.end * e.row_bytes, e.fill, (e.batch - batch.end) * e.row_bytes);
}

// Copies between a whole image and the newest rows.
template <Loops kLoops>
[[gnu::noinline]] void move_rows(const Plan& plan, const Entry& e, std::uint32_t n, const std::byte* arrived) {
  const Inside batch = batch_of(e, n);
  const std::uint32_t bytes = batch.count() * e.row_bytes;
  std::byte* const newest = plan.tensors()[e.slab] + e.older_bytes() + batch.begin * e.row_bytes;
  if (e.kind == Entry::Kind::push) return copy<kLoops>(newest, arrived, bytes);
  const auto row = static_cast<std::uint32_t>(batch.first + static_cast<std::int32_t>(batch.begin));
  std::byte* const whole = plan.tensors()[e.whole] + row * e.row_bytes;
  if (e.kind == Entry::Kind::collect) return copy<kLoops>(whole, newest, bytes);
  copy<kLoops>(newest, whole, bytes);
  fill_rest<kLoops>(plan, e, n);
}

// Copies a strip's patch out of an image, or into its newest row, or neither, and fills the border of patches.
template <Loops kLoops>
[[gnu::noinline]] void move_part(const Plan& plan, const Entry& e, const Part& part, std::uint32_t strip,
                                 std::uint32_t row) {
  const Inside x(static_cast<std::int32_t>(strip * part.step_x) - part.left, part.columns, part.image_columns);
  std::byte* const patch = plan.tensors()[part.tensor];
  const std::uint32_t bytes = (x.end - x.begin) * part.pixel_bytes;
  const std::uint32_t at = static_cast<std::uint32_t>(x.first + static_cast<std::int32_t>(x.begin)) * part.pixel_bytes;
  std::byte* to = patch + x.begin * part.pixel_bytes;
  if (part.kind == Part::Kind::paste) {
    std::byte* const newest = plan.tensors()[e.slab] + e.older_bytes();
    if (bytes != 0) copy<kLoops>(newest + at, to, bytes);
    return;
  }
  if (part.kind == Part::Kind::cut && bytes != 0) {
    const std::byte* from = plan.tensors()[part.source] + at;
    for (std::uint32_t count = part.rows; count != 0; --count) {
      copy<kLoops>(to, from, bytes);
      from += std::uint32_t{part.image_columns} * part.pixel_bytes;
      to += std::uint32_t{part.columns} * part.pixel_bytes;
    }
  }
  const Inside y(static_cast<std::int32_t>(row * part.step_y) - part.top, part.rows, part.image_rows);
  fill_outside<kLoops>(part, patch, x, y);
}

// One entry, due for the n-th time. `arrived` is the row that was pushed. Inlined, to save stack.
template <Loops kLoops, bool kIsFed, bool kHasStrips>
[[gnu::always_inline]] inline void fire(const Plan& plan, const Entry& e, const cormorant_step* step, std::uint32_t n,
                                        const std::byte* arrived) {
  if (!make_room<kLoops>(plan, e, n)) return;
  if constexpr (kHasStrips) {
    if (e.kind == Entry::Kind::strips) {
      const auto* const parts = reinterpret_cast<const Part*>(&e + 1);
      for (std::uint32_t strip = 0; strip < e.strips(); ++strip) {
        const cormorant_step* next = step;
        for (const Part* part = parts; part != parts + e.parts(); ++part) {
          if (part->kind == Part::Kind::call) {
            call_stage(next->execute, next->plan);
            ++next;
          }
          move_part<kLoops>(plan, e, *part, strip, n - e.before);
        }
      }
      return;
    }
  }
  if (e.kind != Entry::Kind::call) return move_rows<kLoops>(plan, e, n, arrived);
  if constexpr (kIsFed) {
    call_stage(step->execute, step->plan);
  } else {
    step->execute(step->plan);
  }
  if (e.batch != 1) fill_rest<kLoops>(plan, e, n);
}

// The entry after this one and its parts; `step` advances by as many as they call.
template <bool kHasStrips>
const Entry* after(const Entry* e, const cormorant_step*& step) {
  if (e->kind == Entry::Kind::call) ++step;
  if constexpr (kHasStrips) {
    if (e->kind == Entry::Kind::strips) {
      for (std::uint32_t count = e->parts(); count != 0; --count) {
        step += reinterpret_cast<const Part*>(++e)->kind == Part::Kind::call ? 1 : 0;
      }
    }
  }
  return e + 1;
}

// Stages of one tick.
template <Loops kLoops, bool kIsFed, bool kHasStrips>
inline void run_tick(const Plan& plan, std::uint32_t tick, const std::byte* arrived = nullptr) {
  const cormorant_step* step = plan.steps;
  for (const Entry* e = plan.entries; e != plan.entries + plan.count; e = after<kHasStrips>(e, step)) {
    if (tick < e->start) continue;
    const std::uint32_t since = tick - e->start;
    const std::uint32_t n = since / e->period;
    if (n * e->period != since || n * e->batch >= e->all_rows()) continue;
    fire<kLoops, kIsFed, kHasStrips>(plan, *e, step, n, arrived);
  }
}

struct SumPlan {
  static constexpr std::uint32_t kStateBytes = 12;
  const std::int8_t* input;
  std::int32_t* sums;
  std::uint16_t pixels;
  std::uint16_t channels;
};

struct MeanPlan {
  static constexpr std::uint32_t kStateBytes = 28;
  const std::int32_t* sums;
  std::int8_t* out;
  std::uint32_t channels;
  std::int32_t offset;  // of each sum: zero points
  std::int32_t multiplier;
  std::uint8_t shift;
  std::uint8_t left;
  std::int8_t zero_point;
  std::int8_t low, high;
};

}  // namespace rows

template <Loops kLoops>
void execute_rows_sum(const void* raw) {
  const auto& p = *static_cast<const rows::SumPlan*>(raw);
  for (std::uint32_t c = 0; c < p.channels; ++c) {
    const std::int8_t* from = p.input + c;
    std::int32_t sum = 0;
    for (std::uint32_t x = p.pixels; x != 0; --x, from += p.channels) sum += *from;
    // Without overflow, whatever is there.
    p.sums[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(p.sums[c]) + static_cast<std::uint32_t>(sum));
  }
}

void execute_rows_mean(const void* plan);

template <Loops kLoops, bool kHasStrips = false>
void execute_rows(const void* raw) {
  const auto& plan = *static_cast<const rows::Plan*>(raw);
  for (std::uint32_t tick = 0; tick < plan.ticks; ++tick) rows::run_tick<kLoops, false, kHasStrips>(plan, tick);
}
template <Loops kLoops>
inline constexpr auto* execute_rows_strips = execute_rows<kLoops, true>;

template <Loops kLoops, bool kHasStrips>
void advance_rows(Feed& feed) {
  const auto& fed = reinterpret_cast<const rows::Fed&>(feed);
  const std::uint32_t end = fed.tick_of(feed.row + 1U);
  for (std::uint32_t tick = fed.tick_of(feed.row); tick < end; ++tick) {
    rows::run_tick<kLoops, true, kHasStrips>(fed.plan, tick, feed.source);
  }
}

template <Loops kLoops>
Error load_rows_fed(Call& call) {
  return load_rows_fed(call, advance_rows<kLoops, false>);
}
template <Loops kLoops>
Error load_rows_strips_fed(Call& call) {
  return load_rows_strips_fed(call, advance_rows<kLoops, true>);
}

}  // namespace cormorant::ops
