// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax/reference.h"

#include "ops/host/references.h"
#include "ops/softmax/float.h"
#include "ops/softmax/rows.h"

namespace cormorant::ops::softmax {

void reference(const Plan& plan) { softmax_rows<doubling_high_multiply>(plan); }
void reference(const TablePlan& plan) { table_softmax_rows<doubling_high_multiply>(plan); }
void reference(const LogPlan& plan) { log_softmax_rows<doubling_high_multiply>(plan); }

namespace {

void execute(const void* plan) { reference(*static_cast<const Plan*>(plan)); }
void execute_table(const void* plan) { reference(*static_cast<const TablePlan*>(plan)); }
void execute_log(const void* plan) { reference(*static_cast<const LogPlan*>(plan)); }

}  // namespace

CORMORANT_REFERENCES(softmax, CORMORANT_SOFTMAX_KERNELS)

}  // namespace cormorant::ops::softmax
