// SPDX-License-Identifier: Apache-2.0
//
// The options of `compile`, for the command and for the Python module.
#pragma once

#include "driver/flags.h"

namespace CLI {
class App;
}  // namespace CLI

namespace cormorant::cli {

// The only list of them.
void add_compile_options(CLI::App& command, driver::CompileFlags& flags);

}  // namespace cormorant::cli
