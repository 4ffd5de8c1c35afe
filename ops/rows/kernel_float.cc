// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "ops/rows/kernel.h"

namespace cormorant::ops::rows {
namespace {

// One entry, due for the n-th time. Tensors of a foreign file may overlap: nothing here relies on the contrary.
inline void fire(const Plan& plan, const Entry& e, const cormorant_step* step, std::uint32_t n) {
  const std::uint32_t row = n - e.before;
  std::byte* newest = nullptr;
  if (e.slab != Entry::kNone) {
    std::byte* const slab = plan.tensors()[e.slab];
    const std::uint32_t older = e.slab_bytes - e.row_bytes;
    newest = slab + older;
    if (older != 0 && e.kind != Entry::Kind::collect) std::memmove(slab, slab + e.row_bytes, older);
    if (row >= e.rows) {  // above the image, as the difference wraps, or below
      std::memset(newest, e.fill, e.row_bytes);
      return;
    }
  }
  switch (e.kind) {
    case Entry::Kind::call:
      if (row < e.rows) step->execute(step->plan);
      break;
    case Entry::Kind::feed:
      std::memmove(newest, plan.tensors()[e.whole] + row * e.row_bytes, e.row_bytes);
      break;
    case Entry::Kind::collect:
      std::memmove(plan.tensors()[e.whole] + row * e.row_bytes, newest, e.row_bytes);
      break;
  }
}

}  // namespace

void execute_run(const void* raw) {
  const auto& plan = *static_cast<const Plan*>(raw);
  const Entry* const end = plan.entries + plan.count;
  for (std::uint32_t tick = 0; tick < plan.ticks; ++tick) {
    const cormorant_step* step = plan.steps;
    for (const Entry* e = plan.entries; e != end; ++e) {
      const cormorant_step* const own = step;
      if (e->kind == Entry::Kind::call) ++step;
      if (tick < e->start) continue;
      const std::uint32_t since = tick - e->start;
      const std::uint32_t n = since / e->period;
      if (n * e->period != since || n >= std::uint32_t{e->before} + e->rows + e->after) continue;
      fire(plan, *e, own, n);
    }
  }
}

CORMORANT_KERNELS(CORMORANT_ROWS_KERNELS, any_cpu)

}  // namespace cormorant::ops::rows
