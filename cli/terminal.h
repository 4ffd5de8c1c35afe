// SPDX-License-Identifier: Apache-2.0
//
// Only for interactive terminals: colours, and the progress of long work.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace cormorant::cli {

// "error:" or "warning:", coloured where stderr is a terminal and NO_COLOR is not set.
std::string error_label();
std::string warning_label();

// A line of stderr that is overwritten: "calibrating 120/256, about 4 s left". Empty if stderr is not a terminal.
std::function<void(std::size_t done, std::size_t total)> terminal_progress();

// "120/256, about 4 s left"
std::string progress_text(std::size_t done, std::size_t total, double seconds);

}  // namespace cormorant::cli
