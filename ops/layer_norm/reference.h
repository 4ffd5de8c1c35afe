// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "ops/layer_norm/kernel.h"

namespace cormorant::ops::layer_norm {

std::span<const Kernel* const> references();

}  // namespace cormorant::ops::layer_norm
