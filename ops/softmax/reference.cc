// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax/reference.h"

#include "ops/softmax/rows.h"

namespace cormorant::ops::softmax {

void reference(const Plan& plan) { softmax_rows<doubling_high_multiply>(plan); }
void reference(const TablePlan& plan) { table_softmax_rows<doubling_high_multiply>(plan); }
void reference(const LogPlan& plan) { log_softmax_rows<doubling_high_multiply>(plan); }

namespace {

void execute(const void* plan) { reference(*static_cast<const Plan*>(plan)); }
void execute_table(const void* plan) { reference(*static_cast<const TablePlan*>(plan)); }
void execute_log(const void* plan) { reference(*static_cast<const LogPlan*>(plan)); }

const Kernel kTableScalarReference = {kTableScalar, load_table, execute_table};
const Kernel kTableDspReference = {kTableDsp, load_table, execute_table};
const Kernel kTableMveReference = {kTableMve, load_table, execute_table};
const Kernel* const kTableReferences[] = {&kTableScalarReference, &kTableDspReference, &kTableMveReference};

const Kernel kLogScalarReference = {kLogScalar, load_log, execute_log};
const Kernel kLogDspReference = {kLogDsp, load_log, execute_log};
const Kernel kLogMveReference = {kLogMve, load_log, execute_log};
const Kernel* const kLogReferences[] = {&kLogScalarReference, &kLogDspReference, &kLogMveReference};

}  // namespace

const Kernel kReference = {Softmax<TargetWorld>::kName, load, execute};
std::span<const Kernel* const> table_references() { return kTableReferences; }
std::span<const Kernel* const> log_references() { return kLogReferences; }

}  // namespace cormorant::ops::softmax
