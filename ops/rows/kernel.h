// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cormorant/cormorant.h"
#include "ops/rows/rows.h"
#include "runtime/kernel.h"

namespace cormorant::ops::rows {

// The table stays in the program; addresses of its tensors follow the plan.
struct Plan {
  const Entry* entries;
  const cormorant_step* steps;
  std::uint16_t count;
  std::uint16_t ticks;

  [[nodiscard]] std::byte* const* tensors() const { return reinterpret_cast<std::byte* const*>(this + 1); }
  [[nodiscard]] std::byte** tensors() { return reinterpret_cast<std::byte**>(this + 1); }
};

Error load_run(Call& call);
void execute_run(const void* plan);

}  // namespace cormorant::ops::rows
