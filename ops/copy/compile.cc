// SPDX-License-Identifier: Apache-2.0
#include "ops/copy/copy.h"
#include "ops/copy/kernel.h"
#include "ops/move_reference.h"
#include "ops/op.h"
#include "ops/references.h"

namespace cormorant::ops {

Operator copy_operator() { return {.name = "copy", .forms = {}, .canonical = {}}; }

CORMORANT_REFERENCES(copy, CORMORANT_COPY_KERNELS)

}  // namespace cormorant::ops
