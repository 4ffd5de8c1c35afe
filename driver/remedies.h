// SPDX-License-Identifier: Apache-2.0
//
// What would meet a budget that was exceeded: the same model is compiled with other options, and the results are
// reported.
#pragma once

#include <string>

#include "driver/compile_model.h"

namespace cormorant::driver {

// Advice for a person, with figures.
std::string remedies(const CompileFlags& flags, const CompileInputs& inputs, const Budget& budget, bool lacks_flash);

}  // namespace cormorant::driver
