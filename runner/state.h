// SPDX-License-Identifier: Apache-2.0
//
// How much state the runtime needs for a program on its target, to the byte, without firmware: neither cross compiler
// nor emulator is asked.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runner/program_facts.h"
#include "target/target.h"

namespace cormorant {

// sizeof(cormorant_program) on a Cortex-M: what firmware keeps of a loaded program, beside the state.
inline constexpr std::uint64_t kProgramBytes = 32;

// `facts` are the program's as the firmware is linked for it. Throws InputError if the program cannot be loaded.
std::uint64_t state_bytes(std::span<const std::byte> program, const ProgramFacts& facts, const std::string& method,
                          const Target& target);

}  // namespace cormorant
