// SPDX-License-Identifier: Apache-2.0
// Read once per set of flags instead of once per source: a kernel is compiled faster than its headers are read. Every
// source still includes what it uses, because builds behind a compiler cache do without this.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/fixed_point.h"
#include "runtime/kernel.h"
