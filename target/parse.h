// SPDX-License-Identifier: Apache-2.0
//
// --target and --isa as people write them. Host only.
#pragma once

#include <string>
#include <string_view>

#include "target/target.h"

namespace cormorant {

// "cortex-m55", "any"; `isa` is empty or "scalar", "dsp", "mve". Throws a UsageError that lists the alternatives.
Target parse_target(std::string_view target, std::string_view isa = {});

// "scalar, dsp": the instruction sets the CPU can execute, smallest first.
std::string isas_of(const Cpu& cpu);

}  // namespace cormorant
