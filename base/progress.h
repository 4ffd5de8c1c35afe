// SPDX-License-Identifier: Apache-2.0
//
// How far long work has come: what is done, and how much of it. Tasks follow each other; calls come one at a time. A
// total of 0 is unknown.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace cormorant {

using Progress = std::function<void(std::string_view task, std::size_t done, std::size_t total)>;

inline constexpr std::string_view kCalibrating = "calibrating";

inline void tell(const Progress& progress, std::string_view task, std::size_t done, std::size_t total) {
  if (progress) progress(task, done, total);
}

}  // namespace cormorant
