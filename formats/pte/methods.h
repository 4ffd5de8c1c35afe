// SPDX-License-Identifier: Apache-2.0
//
// Programs with several methods. Each method is compiled as a program of its own; here they become one, in which equal
// constants are stored once. All methods plan with the same memory: the file is for firmware that gives them one arena
// and executes one at a time. Host only.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace cormorant::pte {

struct NamedProgram {
  std::string method;               // its name in the result
  std::span<const std::byte> file;  // a program with one method; 16-byte aligned
};

// What a method keeps from one execution to the next (state, and constants that are read from RAM) is moved to a place
// that no other method uses; all other tensors follow, one method's in the same place as the others'. Without any of it
// nothing moves. Throws std::logic_error if a file cannot be read or has another number of methods.
std::vector<std::byte> join_methods(std::span<const NamedProgram> programs);

}  // namespace cormorant::pte
