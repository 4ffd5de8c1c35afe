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
}  // namespace cormorant::ops::softmax

CORMORANT_KERNEL(cortex_m_softmax_out_scalar, "cortex_m::softmax.out", cormorant::ops::softmax::load,
                 cormorant::ops::softmax::execute)
CORMORANT_KERNEL(cormorant_log_softmax_scalar, cormorant::ops::softmax::kLogScalar, cormorant::ops::softmax::load_log,
                 cormorant::ops::softmax::execute_log)
CORMORANT_KERNEL(cormorant_softmax_scalar, cormorant::ops::softmax::kTableScalar, cormorant::ops::softmax::load_table,
                 cormorant::ops::softmax::execute_table)
