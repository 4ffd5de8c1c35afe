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
Error load_rows_fed(Call& call, void (*advance)(Feed&));
Error load_rows_sum(Call& call);
Error load_rows_mean(Call& call);

namespace rows {

// The table stays in the program; addresses of its tensors follow the plan.
struct Plan {
  const Entry* entries;
  const cormorant_step* steps;
  std::uint16_t count;
  std::uint16_t ticks;

  [[nodiscard]] std::byte* const* tensors() const { return reinterpret_cast<std::byte* const*>(this + 1); }
  [[nodiscard]] std::byte** tensors() { return reinterpret_cast<std::byte**>(this + 1); }
};

// Of a group that rows are pushed to.
struct Fed {
  Feed feed;  // first: what the runtime sees of it
  const Entry* arrival;
  Plan plan;  // last: its tensors follow it

  // The tick that waits for a row; behind the last row the one at which all is done.
  [[nodiscard]] std::uint32_t tick_of(std::uint32_t row) const {
    if (row == 0) return 0;
    return row >= arrival->rows ? plan.ticks : arrival->start + arrival->period * (arrival->before + row);
  }
};
static_assert(std::is_standard_layout_v<Fed>);

// Not part of its caller, so that whoever bounds the stack sees by the type of `execute` what is called.
void call_stage(void (*execute)(const void*), const void* plan);

// From the beginning to the end: `to` may lie before `from` and overlap it. Tensors of a foreign file may lie
// otherwise; what they hold is then anything.
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

// One entry, due for the n-th time. `arrived` is the row that was pushed. Part of its caller, for the stack's sake.
template <Loops kLoops, bool kIsFed>
[[gnu::always_inline]] inline void fire(const Plan& plan, const Entry& e, const cormorant_step* step, std::uint32_t n,
                                        const std::byte* arrived) {
  const std::uint32_t row = n - e.before;
  std::byte* newest = nullptr;
  if (e.slab != Entry::kNone) {
    std::byte* const slab = plan.tensors()[e.slab];
    const std::uint32_t older = e.slab_bytes - e.row_bytes;
    newest = slab + older;
    if (older != 0 && e.kind != Entry::Kind::collect) copy<kLoops>(slab, slab + e.row_bytes, older);
  }
  if (row >= e.rows) {  // above the image, as the difference wraps, or below
    if (newest != nullptr) fill<kLoops>(newest, e.fill, e.row_bytes);
    return;
  }
  if constexpr (kIsFed) {
    if (e.kind == Entry::Kind::call) return call_stage(step->execute, step->plan);
    if (e.kind == Entry::Kind::push) return copy<kLoops>(newest, arrived, e.row_bytes);
  } else {
    if (e.kind == Entry::Kind::call) return step->execute(step->plan);
  }
  std::byte* const whole = plan.tensors()[e.whole] + row * e.row_bytes;
  const bool is_feed = e.kind == Entry::Kind::feed;
  copy<kLoops>(is_feed ? newest : whole, is_feed ? whole : newest, e.row_bytes);
}

// Stages of one tick.
template <Loops kLoops, bool kIsFed = false>
inline void run_tick(const Plan& plan, std::uint32_t tick, const std::byte* arrived = nullptr) {
  const cormorant_step* step = plan.steps;
  const Entry* const end = plan.entries + plan.count;
  for (const Entry* e = plan.entries; e != end; ++e) {
    const cormorant_step* const own = step;
    if (e->kind == Entry::Kind::call) ++step;
    if (tick < e->start) continue;
    const std::uint32_t since = tick - e->start;
    const std::uint32_t n = since / e->period;
    if (n * e->period != since || n >= std::uint32_t{e->before} + e->rows + e->after) continue;
    fire<kLoops, kIsFed>(plan, *e, own, n, arrived);
  }
}

struct SumPlan {
  const std::int8_t* input;
  std::int32_t* sums;
  std::uint16_t pixels;
  std::uint16_t channels;
};

struct MeanPlan {
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
    // Without overflow, whatever stands there.
    p.sums[c] = static_cast<std::int32_t>(static_cast<std::uint32_t>(p.sums[c]) + static_cast<std::uint32_t>(sum));
  }
}

void execute_rows_mean(const void* plan);

template <Loops kLoops>
void execute_rows(const void* raw) {
  const auto& plan = *static_cast<const rows::Plan*>(raw);
  for (std::uint32_t tick = 0; tick < plan.ticks; ++tick) rows::run_tick<kLoops>(plan, tick);
}

template <Loops kLoops>
void advance_rows(Feed& feed) {
  const auto& fed = reinterpret_cast<const rows::Fed&>(feed);
  const std::uint32_t end = fed.tick_of(feed.row + 1U);
  for (std::uint32_t tick = fed.tick_of(feed.row); tick < end; ++tick) {
    rows::run_tick<kLoops, true>(fed.plan, tick, feed.source);
  }
}

template <Loops kLoops>
Error load_rows_fed(Call& call) {
  return load_rows_fed(call, advance_rows<kLoops>);
}

}  // namespace cormorant::ops
