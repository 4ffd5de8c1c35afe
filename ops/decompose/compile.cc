// SPDX-License-Identifier: Apache-2.0
//
// Forms that are decomposed into the canonical nodes of other folders when a model is imported, and have no node of
// their own. Each family is a file, written with the functions of ops/host/build.h.
#include "ops/decompose/forms.h"

namespace cormorant::ops {

Operator decompose_operator() {
  Operator op{.name = "decompose", .keeps_types = true};
  for (const auto& family : {elementwise_forms(), reduction_forms(), indexing_forms(), ordering_forms(),
                             structure_forms(), product_decompositions(), image_forms(), loss_forms()}) {
    op.forms.insert(op.forms.end(), family.begin(), family.end());
  }
  return op;
}

}  // namespace cormorant::ops
