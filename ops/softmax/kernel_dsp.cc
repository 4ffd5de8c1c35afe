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
}  // namespace cormorant::ops::softmax

CORMORANT_KERNEL(cortex_m_softmax_out_dsp, "cortex_m::softmax.out", cormorant::ops::softmax::load,
                 cormorant::ops::softmax::execute)
CORMORANT_KERNEL(cormorant_log_softmax_dsp, cormorant::ops::softmax::kLogDsp, cormorant::ops::softmax::load_log,
                 cormorant::ops::softmax::execute_log)
CORMORANT_KERNEL(cormorant_softmax_dsp, cormorant::ops::softmax::kTableDsp, cormorant::ops::softmax::load_table,
                 cormorant::ops::softmax::execute_table)
