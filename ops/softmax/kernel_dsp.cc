// SPDX-License-Identifier: Apache-2.0
//
// All its products are 32 × 32 bits: there is nothing here for instructions on pairs.
#include "ops/softmax/rows.h"

namespace cormorant::ops::softmax {
namespace {

void execute(const void* plan) { softmax_rows<doubling_high_multiply>(*static_cast<const Plan*>(plan)); }
void execute_table(const void* plan) {
  table_softmax_rows<doubling_high_multiply>(*static_cast<const TablePlan*>(plan));
}
void execute_log(const void* plan) { log_softmax_rows<doubling_high_multiply>(*static_cast<const LogPlan*>(plan)); }

}  // namespace

CORMORANT_KERNELS(CORMORANT_SOFTMAX_KERNELS, dsp)

}  // namespace cormorant::ops::softmax
