// SPDX-License-Identifier: Apache-2.0
//
// Which part each byte of a firmware's code belongs to: the runtime's, each operator's, what several operators share,
// the C library's and libgcc's, the start-up's. The linker's map names the archive; inside the kernels' archive it is
// identified by what reaches a function, or takes the address of a constant.
#pragma once

#include <filesystem>

#include "elf/operator_table.h"

namespace cormorant {

struct CodePart {
  std::string name;  // "runtime", "conv2d", "shared by kernels", …
  std::uint64_t bytes = 0;
};

// All of .vectors, .text, .rodata and .data, the largest first.
std::vector<CodePart> code_parts(CallGraph& graph, const std::vector<KernelCode>& kernels,
                                 const std::filesystem::path& map);

// "cormorant::conv2d.mve_1x1" → "conv2d".
std::string operator_family(std::string_view operator_name);

}  // namespace cormorant
