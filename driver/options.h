// SPDX-License-Identifier: Apache-2.0
//
// From options as the command line spells them to the compiler's. Contradictions are refused here, by the options'
// names.
#pragma once

#include <string>
#include <vector>

#include "compiler/compile.h"
#include "driver/flags.h"
#include "formats/pt2/symbols.h"

namespace cormorant::driver {

// Each is an input's name and its dimensions, x=1,3,96,96, or encode.x=1,3,96,96 for one of the model's methods alone.
// Those for the given method, or the only one.
pt2::Shapes shapes_for(const std::string& model, const std::vector<std::string>& flags, const std::string& method = {});

// `has_data`: there are calibration samples, from --calibrate or from the caller.
compiler::Options options_of(const CompileFlags& flags, bool has_data);

}  // namespace cormorant::driver
