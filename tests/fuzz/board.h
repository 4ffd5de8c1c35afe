// SPDX-License-Identifier: Apache-2.0
//
// Programs on a board under memory protection (firmware.cc), any number per boot.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "elf/elf.h"
#include "runner/process.h"
#include "target/target.h"
#include "tests/fuzz/editable_program.h"

namespace cormorant::fuzz {

inline constexpr std::byte kPoison{0xA5};  // what arenas hold before a program is loaded

struct BoardOutcome {
  std::size_t run = 0;                // programs that ended, refused ones included
  std::size_t loaded = 0;             // and executed
  std::vector<std::uint16_t> errors;  // of loading each of them
  // For the program after the last one that finished: the fault, a write outside an arena, or the time limit.
  std::optional<std::string> failure;
  bool timed_out = false;
  Bytes arenas;  // the first one of each program that ended, where that was asked for
};

// What firmware.cc has room for.
inline constexpr std::size_t kLargestProgram = std::size_t{1} << 18;
inline constexpr std::size_t kLargestArenas = kLargestProgram - 4096;

class FuzzBoard {
 public:
  // Links the firmware with all kernels that the core has; once for the archives there are.
  explicit FuzzBoard(const Target& target);
  // One boot; ends at the first program that fails.
  [[nodiscard]] BoardOutcome run(std::span<const Bytes> programs, bool keep_arenas = false,
                                 std::chrono::milliseconds limit = std::chrono::seconds(60)) const;

 private:
  void link(const std::filesystem::path& archives) const;

  Target target_;
  TemporaryDirectory directory_;
  std::filesystem::path path_;
  Elf elf_;
};

}  // namespace cormorant::fuzz
