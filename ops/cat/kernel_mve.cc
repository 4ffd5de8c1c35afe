// SPDX-License-Identifier: Apache-2.0
#include "kernels/move.h"
#include "ops/cat/kernel.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) { cat_with(*static_cast<const CatPlan*>(plan), copy_rows_mve); }

}  // namespace
}  // namespace cormorant::ops

CORMORANT_KERNEL(aten_cat_out_mve, "aten::cat.out", cormorant::ops::load_cat, cormorant::ops::execute)
