// SPDX-License-Identifier: Apache-2.0
//
// Makes the emulated board as strict as hardware. The boards' flash is emulated by RAM, and what is below the stack
// accepts any write: a stray store or a stack overflow would go unnoticed. The memory protection unit turns both into
// faults. It belongs to the harness, not the start-up code, because a product decides about its own MPU.
#pragma once

namespace cormorant {

// From here on a write to the program or to the model faults, and so does a stack overflow.
void protect_memory();

}  // namespace cormorant
