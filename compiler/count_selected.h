// SPDX-License-Identifier: Apache-2.0
//
// Masks that are constants select a number of elements that is known, although PyTorch leaves it open in the export.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "formats/pt2/archive.h"

namespace cormorant::compiler {

// A pt2::CountSelected, for a model from that file. Throws InputError, naming the node, where the mask is no constant.
std::optional<std::int64_t> count_selected(const pt2::Program& before, const pt2::Node& node, const std::string& file);

}  // namespace cormorant::compiler
