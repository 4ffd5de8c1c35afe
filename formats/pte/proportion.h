// SPDX-License-Identifier: Apache-2.0
//
// A flatbuffer may refer to one table or list any number of times, so a small file can describe more than any memory
// holds: a million instructions with the same million arguments. The runtime's reader follows references one by one and
// does not care; whatever makes objects of a file asks here first. Host only.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace cormorant::pte {

// Whether a program without shared parts would not be much larger. True for what is no program: its reader says so.
[[nodiscard]] bool is_proportionate(std::span<const std::byte> file);
// Throws InputError otherwise.
void require_proportionate(std::span<const std::byte> file, const std::string& name);

}  // namespace cormorant::pte
