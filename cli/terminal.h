// SPDX-License-Identifier: Apache-2.0
//
// Only for interactive terminals: colours, and the progress of long work.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/progress.h"

namespace cormorant::cli {

// "error:" or "warning:", coloured where stderr is a terminal and NO_COLOR is not set.
std::string error_label();
std::string warning_label();

// A line of stderr that is overwritten: "calibrating 120/256, about 4 s left". Empty if stderr is not a terminal.
Progress terminal_progress();

// That line, after so many seconds of the task.
std::string progress_text(std::string_view task, std::size_t done, std::size_t total, double seconds);

}  // namespace cormorant::cli
