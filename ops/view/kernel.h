// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/view/view.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

struct ViewCopyPlan {
  const std::int8_t* input;
  std::int8_t* output;
  std::uint32_t bytes;
};

Error load_view_copy(Call& call);

}  // namespace cormorant::ops
