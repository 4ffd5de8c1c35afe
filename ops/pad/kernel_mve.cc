// SPDX-License-Identifier: Apache-2.0
#include "kernels/move.h"
#include "ops/pad/kernel.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) { pad_with(*static_cast<const PadPlan*>(plan), copy_bytes_mve, fill_bytes_mve); }

}  // namespace
}  // namespace cormorant::ops

CORMORANT_KERNEL(cortex_m_pad_out_mve, "cortex_m::pad.out", cormorant::ops::load_pad, cormorant::ops::execute)
