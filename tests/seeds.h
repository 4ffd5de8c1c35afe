// SPDX-License-Identifier: Apache-2.0
//
// How many random cases a test tries. `./dev test` has minutes for all tests together; `./dev check` sets
// CORMORANT_ALL_PLACES and tries them all.
#pragma once

#include <cstdlib>

namespace cormorant::tests {

inline unsigned seeds(unsigned all, unsigned few) { return std::getenv("CORMORANT_ALL_PLACES") != nullptr ? all : few; }

}  // namespace cormorant::tests
