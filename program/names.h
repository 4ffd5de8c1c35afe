// SPDX-License-Identifier: Apache-2.0
//
// Where a program's instructions come from: the node that PyTorch recorded, the user's module and source line. They
// would be dead weight in flash, so `compile` writes them next to the program, as MODEL.pte.names.json, and `run
// --profile` looks for that file; so does `inspect --explain`, for what was decided about every node.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emit/emit.h"

namespace cormorant {

using StepNames = std::vector<emit::Step>;

std::string names_file(const std::string& program);  // model.pte: model.pte.names.json

// `bytes` are the program's; its digest goes into the file.
void write_names(const std::string& program, std::span<const std::byte> bytes, const StepNames& names,
                 const nlohmann::ordered_json& explanation);
// The same for a program with several methods.
struct MethodNames {
  std::string method;
  StepNames steps;
  nlohmann::ordered_json explanation;
};
void write_names(const std::string& program, std::span<const std::byte> bytes, const std::vector<MethodNames>& methods);

// Nothing if there is no such file, or (with a warning) if it was written for another program. The method counts only
// where there are several.
std::optional<StepNames> read_names(const std::string& program, std::span<const std::byte> bytes,
                                    const std::string& method = "forward");

// What `compile --explain` would have printed; null where the file does not have it.
nlohmann::ordered_json read_explanation(const std::string& program, std::span<const std::byte> bytes,
                                        const std::string& method = "forward");

}  // namespace cormorant
