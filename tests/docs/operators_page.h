// SPDX-License-Identifier: Apache-2.0
//
// docs/operators.md, generated from the table of operators and their folders, so that it cannot be wrong.
#pragma once

#include <filesystem>
#include <string>

namespace cormorant {

[[nodiscard]] std::string operators_page(const std::filesystem::path& source_root);

}  // namespace cormorant
