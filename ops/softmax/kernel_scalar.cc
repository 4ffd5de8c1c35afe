// SPDX-License-Identifier: Apache-2.0
#include "kernels/requantize.h"
#include "ops/softmax/rows.h"

namespace cormorant::ops::softmax {
namespace {

constexpr auto kMultiply = kHasLongMultiply ? doubling_high_multiply : doubling_high_multiply_in_pieces;

void execute(const void* plan) { softmax_rows<kMultiply>(*static_cast<const Plan*>(plan)); }
void execute_table(const void* plan) { table_softmax_rows<kMultiply>(*static_cast<const TablePlan*>(plan)); }
void execute_log(const void* plan) { log_softmax_rows<kMultiply>(*static_cast<const LogPlan*>(plan)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_SOFTMAX_KERNELS, scalar)

}  // namespace cormorant::ops::softmax
