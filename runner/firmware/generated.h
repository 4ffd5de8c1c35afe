// SPDX-License-Identifier: Apache-2.0
//
// What the linker script and the generated file (runner/glue.h writes it) define for the harness: the one model of this
// firmware, exactly the kernels it calls, and the memory it gets.
#pragma once

#include <span>

#include "runtime/kernel.h"

// The generated file writes a span as an address and a size, as libstdc++ lays it out.
static_assert(sizeof(std::span<std::byte>) == 2 * sizeof(std::uint32_t));

extern "C" {
extern const std::byte cormorant_model[];
extern const std::byte cormorant_model_end[];
extern const char cormorant_method[];

extern const cormorant::Kernel* const cormorant_operators[];
extern const std::uint32_t cormorant_operator_count;

extern const std::span<std::byte> cormorant_arenas[];  // [0] is the program's memory id 1, and so on
extern const std::uint32_t cormorant_arena_count;

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
