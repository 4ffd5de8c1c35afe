// SPDX-License-Identifier: Apache-2.0
//
// Nothing of the compiler's: no node of a graph is one of these. The runtime knows the instructions.
#include "ops/op.h"

namespace cormorant::ops {

Operator portable_operator() { return {.name = "portable", .forms = {}, .canonical = {}}; }

}  // namespace cormorant::ops
