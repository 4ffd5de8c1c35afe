// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/transpose/kernel.h"

namespace cormorant::ops {

// The specification, for contiguous tensors of one-byte elements: sizes are the input's.
void transpose_reference(std::size_t rank, const std::int32_t* sizes, const std::int32_t* perm,
                         const std::int8_t* input, std::int8_t* output);

}  // namespace cormorant::ops
