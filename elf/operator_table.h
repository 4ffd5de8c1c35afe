// SPDX-License-Identifier: Apache-2.0
//
// The operator table of a linked firmware, and for each of its kernels the functions that `load` and `execute` reach.
//
// A call through a pointer inside a kernel can only reach functions whose address the kernel's own code knows: as a
// constant, or in read-only data. What load knows may be in the plan, so execute knows it too, but not vice versa. If
// the caller's name reveals the pointer's type, only functions of that type remain.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "elf/call_graph.h"

namespace cormorant {

struct Reach {
  std::uint32_t entry = 0;
  std::set<std::uint32_t> functions;  // entries of all that may run, the first included
  std::set<std::uint32_t> known;      // functions whose address is known
};

struct KernelCode {
  std::string name;  // as the program spells it
  std::uint32_t address = 0;
  Reach load, execute;
};

// Empty when the firmware has no table.
std::vector<KernelCode> read_operator_table(CallGraph& graph);

// Which of `known` a call through a pointer in the function `caller` can reach.
std::vector<std::uint32_t> callable_from(CallGraph& graph, const FunctionCode& caller,
                                         const std::set<std::uint32_t>& known);

// "cormorant::ops::conv2d::load_packed(…)" → "conv2d::load_packed": for people.
std::string short_name(const std::string& symbol);

}  // namespace cormorant
