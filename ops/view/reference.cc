// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "ops/host/references.h"
#include "ops/view/kernel.h"

namespace cormorant::ops {

template <>
void execute_view_copy<Loops::reference>(const void* plan) {
  const auto& p = *static_cast<const ViewCopyPlan*>(plan);
  std::memmove(p.output, p.input, p.bytes);
}

CORMORANT_REFERENCES(view, CORMORANT_VIEW_KERNELS)

}  // namespace cormorant::ops
