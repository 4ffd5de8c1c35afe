// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax/reference.h"

#include "ops/softmax/rows.h"

namespace cormorant::ops::softmax {

void reference(const Plan& plan) { softmax_rows<doubling_high_multiply>(plan); }

namespace {

void execute(const void* plan) { reference(*static_cast<const Plan*>(plan)); }

}  // namespace

const Kernel kReference = {Softmax<TargetWorld>::kName, load, execute};

}  // namespace cormorant::ops::softmax
