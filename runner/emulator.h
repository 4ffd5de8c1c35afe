// SPDX-License-Identifier: Apache-2.0
//
// Starts firmware on its emulated board and reports how it ended, what it printed and how many instructions it took.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "boards/boards.h"
#include "elf/elf.h"

namespace cormorant {

// Addresses for the instruction counter, by their symbols in the firmware (runner/plugin/count.cc).
struct CountRequest {
  std::vector<std::string> markers;
  std::string scope;                          // a function; empty for none
  std::string cpu = {};                       // whose cycles to estimate; empty for none
  std::vector<std::uint32_t> addresses = {};  // of further markers, numbered after those with names
};

struct CountEvent {
  enum class Kind { marker, excursion, total } kind;
  std::size_t marker = 0;    // index into CountRequest::markers
  std::uint64_t count = 0;   // marker, total: instructions so far; excursion: its length
  std::uint64_t cycles = 0;  // the same in estimated cycles
};

struct EmulationRequest {
  std::filesystem::path elf;
  const Board* board = nullptr;
  std::filesystem::path directory;  // the firmware's files are here
  std::chrono::milliseconds time_limit{60'000};
  CountRequest count;  // with neither markers nor scope the counter is not loaded
};

struct EmulationResult {
  int status = 0;                    // runner/firmware/semihosting.h, ExitCode
  std::vector<std::string> console;  // lines
  std::vector<CountEvent> counts;
};

// The board did something that correct firmware never does: it faulted, locked up or ended silently.
class BoardFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws BoardFault after a fault, with a description of its cause; InputError when the time limit is reached;
// InputError without QEMU.
EmulationResult emulate(const EmulationRequest& request, const Elf& elf);

}  // namespace cormorant
