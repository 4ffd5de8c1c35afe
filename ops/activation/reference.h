// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/activation/kernel.h"

namespace cormorant::ops {

extern const Kernel kActivationReference;

}  // namespace cormorant::ops
