// SPDX-License-Identifier: Apache-2.0
//
// How deep the stack of linked firmware can get while its program is loaded and executed: over all paths of its call
// graph, with the operator table's kernels as the targets of the runtime's indirect calls. It bounds what painting the
// stack shows, and needs neither a board nor an emulator.
//
//   const StackBound stack = bound_stack(read_elf("firmware.elf"));   // stack.bytes, stack.path
#pragma once

#include <vector>

#include "elf/operator_table.h"
#include "target/target.h"

namespace cormorant {

struct StackFrame {
  std::string function;
  std::uint32_t bytes = 0;  // on the stack while it calls the next one; the last: at its deepest
};

struct StackBound {
  std::uint32_t bytes = 0;            // from the stack's top: the callers' frames, and the deeper of the next two
  std::uint32_t load = 0;             // what loading takes on its own
  std::uint32_t execute = 0;          // what one execution takes on its own
  std::vector<StackFrame> path = {};  // to the deepest point, from reset on
};

// Throws StackError when there is no bound: recursion, or code that cannot be followed.
StackBound bound_stack(CallGraph& graph, const std::vector<KernelCode>& kernels);

// What the hardware adds for each interrupt that preempts: its frame, with the floating-point registers where the CPU
// has them, and four bytes to align it. The bound does not include it, since the interrupt's own stack use comes on
// top.
std::uint32_t exception_frame_bytes(const Cpu& cpu);

}  // namespace cormorant
