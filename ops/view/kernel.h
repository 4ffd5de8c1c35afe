// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/move.h"
#include "ops/view/view.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

struct ViewCopyPlan {
  static constexpr std::uint32_t kStateBytes = 12;
  const std::int8_t* input;
  std::int8_t* output;
  std::uint32_t bytes;
};

Error load_view_copy(Call& call);

template <Loops kLoops>
void execute_view_copy(const void* plan) {
  const auto& p = *static_cast<const ViewCopyPlan*>(plan);
  copy_bytes<kLoops>(p.output, p.input, p.bytes);
}

}  // namespace cormorant::ops
