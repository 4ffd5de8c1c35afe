// SPDX-License-Identifier: Apache-2.0
//
// Small changes of valid programs, of the kinds an attacker would make: single numbers of shapes, orders, places,
// arguments and headers of packed constants; and, because most of these are refused at once, changes that stay
// consistent, so that kernels see shapes that no compiler would give them.
#pragma once

#include <random>

#include "tests/fuzz/editable_program.h"

namespace cormorant::fuzz {

using Random = std::mt19937;

// One to four changes. Bytes that are not a program come back with a few of them changed.
Bytes mutate(std::span<const std::byte> file, Random& random);

// A number from 0 to `count` − 1; and one of those where arithmetic breaks.
std::size_t pick(Random& random, std::size_t count);
std::int64_t odd_number(Random& random);

// mutate_packed.cc: another geometry for an operator with a packed constant, the constant, shapes and scratch to match.
// False where there is none.
bool change_geometry(EditableProgram& program, Random& random);

}  // namespace cormorant::fuzz
