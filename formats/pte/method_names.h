// SPDX-License-Identifier: Apache-2.0
//
// Which methods a program has, and which of them a caller means. Host only.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cormorant::pte {

// In the order of the file, at any alignment. Empty if it cannot be read.
std::vector<std::string> method_names(std::span<const std::byte> file);

// The one of that name; without a name the only one, or "forward". Throws InputError that lists the methods of `file`.
// Without any methods it is the wanted name or "forward", for an error where it is looked up.
std::string choose_method(const std::vector<std::string>& methods, const std::string& wanted, const std::string& file);

}  // namespace cormorant::pte
