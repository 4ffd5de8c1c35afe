// SPDX-License-Identifier: Apache-2.0
//
// `./dev test` has minutes for all tests together, so it takes a sample of what `./dev check` does in full: every place
// that a kernel runs at, all random cases, all mutants. `./dev check` sets CORMORANT_CHECK, which is read here alone.
// Tests that are long as a whole have ctest's label "check" instead, and `./dev test` leaves them out.
#pragma once

#include <cstdlib>

namespace cormorant::tests {

inline bool is_check() { return std::getenv("CORMORANT_CHECK") != nullptr; }

// How many of a test's cases, all of which are alike, are tried.
inline unsigned seeds(unsigned all, unsigned few) { return is_check() ? all : few; }

}  // namespace cormorant::tests
