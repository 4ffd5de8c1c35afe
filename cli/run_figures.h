// SPDX-License-Identifier: Apache-2.0
//
// The figures that `run` reports, for callers from code.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "program/names.h"
#include "program/program_io.h"

namespace cormorant::cli {

// "160MHz", "32kHz", "48000000", in hertz. Throws UsageError.
double parse_clock(const std::string& text);

// What `run --json` prints; milliseconds with a clock (0: none), operators with a profile.
nlohmann::ordered_json run_json(const ExecuteOn& where, const Execution& execution, double clock,
                                const std::optional<StepNames>& names);

}  // namespace cormorant::cli
