// SPDX-License-Identifier: Apache-2.0
#include "kernels/move.h"
#include "ops/view/kernel.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) {
  const auto& p = *static_cast<const ViewCopyPlan*>(plan);
  copy_bytes_scalar(p.output, p.input, p.bytes);
}

}  // namespace
}  // namespace cormorant::ops

CORMORANT_KERNEL(aten_view_copy_out_scalar, "aten::view_copy.out", cormorant::ops::load_view_copy,
                 cormorant::ops::execute)
