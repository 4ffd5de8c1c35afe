// SPDX-License-Identifier: Apache-2.0
//
// ExecuTorch's compiler can leave the memory of inputs and outputs to the caller (alloc_graph_input,
// alloc_graph_output). Our runtime knows every address when it loads, so these tensors get a planned place here, in a
// memory of their own after the program's. Host only: `cormorant run` does it before it links firmware.
#pragma once

#include <cstddef>
#include <vector>

namespace cormorant::pte {

// The same program with all inputs and outputs planned; the file itself if they already are, or if it is invalid.
std::vector<std::byte> with_planned_io(std::vector<std::byte> file);

}  // namespace cormorant::pte
