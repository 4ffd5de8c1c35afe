// SPDX-License-Identifier: Apache-2.0
#include "kernels/move_nest.h"
#include "ops/flip/kernel.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) { move_nest_mve(*static_cast<const MovePlan*>(plan)); }

}  // namespace
}  // namespace cormorant::ops

CORMORANT_KERNEL(aten_flip_out_mve, "aten::flip.out", cormorant::ops::load_flip, cormorant::ops::execute)
