// SPDX-License-Identifier: Apache-2.0
//
// The size of a program's state that is known without firmware is what the runtime on the board has used.
#pragma once

#include <gtest/gtest.h>

#include "program/program_io.h"
#include "runner/state.h"

namespace cormorant::tests {

inline void expect_known_state(const ProgramFile& program, const ExecuteOn& where, const Execution& there) {
  const ProgramFacts facts = read_facts(program.bytes, program.method);
  EXPECT_EQ(there.board->state_bytes, state_bytes(program.bytes, facts, program.method, *where.target) + kProgramBytes)
      << "on " << where.target->name() << ", " << name_of(where.target->isa);
}

}  // namespace cormorant::tests
