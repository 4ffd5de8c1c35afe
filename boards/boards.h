// SPDX-License-Identifier: Apache-2.0
//
// The boards, as the host sees them. A board is a folder here with a linker script, a machine that QEMU emulates, and
// memories that can hold arenas; which CPU's code runs on which board is in target/target.h. Start-up code and the
// layout of everything but the arenas are common to all (boards/common).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace cormorant {

// A memory that the board's linker script offers to arenas, as section ".arena.<name>".
struct ArenaRegion {
  std::string_view name;
  std::uint64_t bytes;  // for arenas: where stack, data and state share the memory, what those leave
};

struct Board {
  std::string_view name;                // the folder, and QEMU's -M
  std::string_view cpu;                 // what it emulates
  std::string_view archive;             // of target/target.h: the kernels for that CPU
  std::uint64_t model_bytes;            // room for the program's bytes
  std::span<const ArenaRegion> arenas;  // in order of preference, fastest first
  std::uint64_t reserved;               // of the memory that stack, static data and state are in
};

inline constexpr std::uint64_t kKiB = 1024;
inline constexpr std::uint64_t kMiB = 1024 * kKiB;
// Shares for the stack, static data and the runtime's state: a generous one, and what small boards can spare.
inline constexpr std::uint64_t kReservedData = 64 * kKiB;
inline constexpr std::uint64_t kReservedOf128K = 16 * kKiB, kReservedOf16K = 4 * kKiB, kReservedOf8K = 3 * kKiB;

inline constexpr std::array<ArenaRegion, 3> kAn547Arenas = {{
    {"dtcm", 512 * kKiB - kReservedData},
    {"sram", 2 * kMiB},
    {"ddr", 192 * kMiB},
}};
inline constexpr std::array<ArenaRegion, 1> kMps2Arenas = {{{"sram", 4 * kMiB - kReservedData}}};

inline constexpr std::array<ArenaRegion, 1> kMicrobitArenas = {{{"ram", 16 * kKiB - kReservedOf16K}}};
inline constexpr std::array<ArenaRegion, 1> kVldiscoveryArenas = {{{"ram", 8 * kKiB - kReservedOf8K}}};
inline constexpr std::array<ArenaRegion, 2> kNetduinoArenas = {{
    {"sram", 128 * kKiB - kReservedOf128K},
    {"ccm", 64 * kKiB},
}};

// The first five are for tests: fast to start, with room for anything. Real boards have their true memories.
inline constexpr std::array<Board, 8> kBoards = {{
    {"mps3-an547", "Cortex-M55", "m55", 64 * kMiB, kAn547Arenas, kReservedData},
    {"mps2-an505", "Cortex-M33", "m33", 16 * kMiB, kMps2Arenas, kReservedData},
    {"mps2-an500", "Cortex-M7", "m7", 16 * kMiB, kMps2Arenas, kReservedData},
    {"mps2-an386", "Cortex-M4", "m4", 16 * kMiB, kMps2Arenas, kReservedData},
    {"mps2-an385", "Cortex-M3", "m3", 16 * kMiB, kMps2Arenas, kReservedData},
    {"microbit", "Cortex-M0", "m0", 256 * kKiB, kMicrobitArenas, kReservedOf16K},
    {"stm32vldiscovery", "Cortex-M3", "m3", 128 * kKiB, kVldiscoveryArenas, kReservedOf8K},
    {"netduinoplus2", "Cortex-M4", "m4", 1024 * kKiB, kNetduinoArenas, kReservedOf128K},
}};

constexpr const Board* find_board(std::string_view name) {
  for (const Board& board : kBoards) {
    if (board.name == name) return &board;
  }
  return nullptr;
}

}  // namespace cormorant
