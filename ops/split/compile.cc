// SPDX-License-Identifier: Apache-2.0
//
// Nothing of the compiler's: PyTorch's splits import as slices (ops/slice). The runtime knows the instructions.
#include "ops/op.h"

namespace cormorant::ops {

Operator split_operator() { return {.name = "split", .forms = {}, .canonical = {}}; }

}  // namespace cormorant::ops
