// SPDX-License-Identifier: Apache-2.0
// Read once per set of flags instead of once per source: a kernel takes less time to compile than its headers take to
// read. Every source still includes what it uses, because builds with a compiler cache do without this.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/fixed_point.h"
#include "runtime/kernel.h"
