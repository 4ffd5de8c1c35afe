// SPDX-License-Identifier: Apache-2.0
#include "runner/firmware/inference.h"

#include "runner/firmware/linked.h"

cormorant_program cormorant_linked_program;

cormorant_error cormorant_inference_load(cormorant_failure* why) {
  const cormorant_memory memory = {{__state_start, static_cast<std::size_t>(__state_end - __state_start)},
                                   cormorant_linked_arenas,
                                   cormorant_linked_arena_count};
  return cormorant_load(&cormorant_linked_program, &cormorant_linked_model, &memory, why);
}

// The executor's loop must be in this very function: the counter takes every excursion out of its address range as one
// step, which profiles each operator without a single extra instruction in the firmware.
[[gnu::flatten]] void cormorant_inference_execute() { cormorant_execute(&cormorant_linked_program); }
