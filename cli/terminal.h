// SPDX-License-Identifier: Apache-2.0
//
// What is only for a person in front of a terminal: colours, and how far a long piece of work is.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace cormorant::cli {

// "error:" or "warning:", coloured where stderr is a terminal and NO_COLOR is not set.
std::string error_label();
std::string warning_label();

// A line of stderr that is written over: "calibrating 120/256, about 4 s left". Empty where stderr is no terminal.
std::function<void(std::size_t done, std::size_t total)> terminal_progress();

// "120/256, about 4 s left"
std::string progress_text(std::size_t done, std::size_t total, double seconds);

}  // namespace cormorant::cli
