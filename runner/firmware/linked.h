// SPDX-License-Identifier: Apache-2.0
//
// Symbols that the linker script and the generated file (see runner/glue.h) define for the harness: the one model of
// this firmware with exactly the kernels it calls, and the memory it gets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cormorant/cormorant.h"

extern "C" {
extern const cormorant_model cormorant_linked_model;
extern const cormorant_region cormorant_linked_arenas[];  // [0] is the program's memory id 1, and so on
extern const std::uint32_t cormorant_linked_arena_count;

// NOLINTBEGIN(bugprone-reserved-identifier): the linker scripts' names
extern std::byte __state_start[];
extern std::byte __state_end[];
extern std::uint32_t __stack_limit[];
extern std::uint32_t __stack_top[];
extern const std::byte __program_start[];
extern const std::byte __program_end[];
extern const std::byte __model_start[];
extern const std::byte __model_end[];
// NOLINTEND(bugprone-reserved-identifier)
}
