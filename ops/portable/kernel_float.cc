// SPDX-License-Identifier: Apache-2.0
#include "ops/portable/images.h"
#include "ops/portable/indices.h"
#include "ops/portable/numbers.h"
#include "ops/portable/places.h"
#include "ops/portable/portable.h"
#include "ops/portable/reductions.h"
#include "ops/portable/typed.h"

namespace cormorant::ops::portable {

CORMORANT_KERNELS(CORMORANT_PORTABLE_KERNELS, any_cpu)
CORMORANT_NUMBERS_KERNELS(CORMORANT_PORTABLE_NUMBERS)
// Has no overload, which the list cannot express.
CORMORANT_KERNEL(aten_copy__scalar, "aten::copy_", load_copy_in_place, map::execute_unary<map::Convert>)
CORMORANT_KERNEL(aten_index_put__scalar, "aten::index_put_", load_index_put_in_place, execute_index_put)

}  // namespace cormorant::ops::portable
