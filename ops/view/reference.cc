// SPDX-License-Identifier: Apache-2.0
#include "ops/view/reference.h"

#include <cstring>

namespace cormorant::ops {
namespace {

void execute(const void* plan) {
  const auto& p = *static_cast<const ViewCopyPlan*>(plan);
  std::memmove(p.output, p.input, p.bytes);
}

}  // namespace

const Kernel kViewCopyReference = {ViewCopy<TargetWorld>::kName, load_view_copy, execute};

}  // namespace cormorant::ops
