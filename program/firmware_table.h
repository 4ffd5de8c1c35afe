// SPDX-License-Identifier: Apache-2.0
//
// What a program needs of a device, printed at the end of `compile`: flash (its code by part, the model) and RAM
// (arena, state, stack). The program knows model, arena and, for a CPU, state; the rest comes from firmware linked for
// it with the prebuilt archives, and is unknown where that is not possible.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "compiler/compile.h"
#include "runner/launcher.h"

namespace cormorant {

struct Firmware {
  std::optional<RunResult> facts;
  std::optional<std::uint64_t> state_bytes;
  std::string why_unknown;
  Compiler compiler = Compiler::gcc;
};

struct FirmwareRequest {
  Compiler compiler = Compiler::gcc;
  bool ours = true;      // for our runtime, whose state is known; else all is unknown
  bool link = true;      // else code and stack are unknown
  bool execute = false;  // once, with zeros, profiled: shows how deep the stack was, next to its bound
  bool cycles = false;   // estimated too, of every step; takes twice as long
};

// If the caller requested execution and it is impossible, this throws; else the reason is in the result. Of a program
// with several methods one is loaded, and the kernels of all are linked.
Firmware link_for(const std::vector<std::byte>& program, const Target& target, const FirmwareRequest& request,
                  const std::string& method = "forward");

void print_firmware(const Firmware& firmware, const compiler::Compiled& compiled, const Target& target);
nlohmann::ordered_json firmware_json(const Firmware& firmware, const Target& target);
nlohmann::ordered_json code_parts_json(const RunResult& facts);

// "952 to load, 472 to execute", and the functions on the path to the deepest point.
nlohmann::ordered_json stack_json(const StackBound& bound, const Target& target);
void print_stack_path(const StackBound& bound);

}  // namespace cormorant
