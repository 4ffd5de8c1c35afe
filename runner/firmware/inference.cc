// SPDX-License-Identifier: Apache-2.0
#include "runner/firmware/inference.h"

#include "runner/firmware/generated.h"

constinit cormorant::Program cormorant_program;

cormorant::Error cormorant_load(cormorant::Failure* why) {
  auto loaded = cormorant::Program::load(
      {cormorant_model, cormorant_model_end}, cormorant_method, {cormorant_operators, cormorant_operator_count},
      {{__state_start, __state_end}, {cormorant_arenas, cormorant_arena_count}}, *why);
  if (loaded.ok()) cormorant_program = loaded.value();
  return loaded.error();
}

// The executor's loop must be in this very function: the counter takes every excursion out of its address range as one
// step, which profiles each operator without a single extra instruction in the firmware.
[[gnu::flatten]] void cormorant_execute() { cormorant_program.execute(); }
