// SPDX-License-Identifier: Apache-2.0
//
// For files of another kind: says what they are, and how to get the right one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"

namespace cormorant::pt2 {

// Is it worth reading as a zip at all?
bool looks_like_zip(std::span<const std::byte> bytes);

// For a file that is not a zip.
Diagnostic diagnose_foreign_file(std::span<const std::byte> bytes);

// For a zip that is not a .pt2 archive, by the names of its entries.
Diagnostic diagnose_foreign_zip(const std::vector<std::string>& names);

// How to make a file that can be read.
inline constexpr const char* kHowToExport =
    "write it with PyTorch 2.9 or later: torch.export.save(torch.export.export(model.eval(), example_inputs), "
    "\"model.pt2\")";

}  // namespace cormorant::pt2
