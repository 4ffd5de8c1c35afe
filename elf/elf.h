// SPDX-License-Identifier: Apache-2.0
//
// What the launcher reads from linked firmware: section sizes (for the size accounting), symbols (where to count, and
// what must not be there) and the architecture it was built for. And from an archive: which symbols it defines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "target/target.h"

namespace cormorant {

struct ElfSection {
  std::string name;
  std::uint32_t address = 0;
  std::uint32_t size = 0;
  bool is_allocated = false;                // takes memory on the board
  bool has_contents = false;                // its bytes are in the file, so also in flash
  std::vector<std::uint8_t> contents = {};  // of sections that are both

  [[nodiscard]] bool holds(std::uint32_t at, std::uint32_t bytes = 1) const {
    return is_allocated && at >= address && at - address < size && bytes <= size - (at - address);
  }
};

struct ElfSymbol {
  std::string name;
  std::uint32_t address = 0;  // without the Thumb bit
  std::uint32_t size = 0;
  bool is_function = false;
  std::uint32_t section = 0;  // index into the sections; some numbers beyond them have meanings of their own
};

// Tag_CPU_arch of the ARM build attributes, for those that Cortex-M knows.
enum class CpuArchitecture : std::uint8_t {
  v7 = 10,
  v6m = 11,
  v6sm = 12,
  v7em = 13,
  v8m_base = 16,
  v8m_main = 17,
  v8_1m_main = 21
};

struct Elf {
  std::vector<ElfSection> sections;
  std::vector<ElfSymbol> symbols;
  std::optional<CpuArchitecture> architecture;

  [[nodiscard]] std::uint32_t section_size(std::string_view name) const;  // 0 when there is none
  [[nodiscard]] const ElfSymbol* find(std::string_view name) const;
  // The flash contents there; empty if there are none.
  [[nodiscard]] std::optional<std::uint16_t> halfword(std::uint32_t address) const;
  [[nodiscard]] std::optional<std::uint32_t> word(std::uint32_t address) const;
  // The function that holds the address, for messages; null when it is in none.
  [[nodiscard]] const ElfSymbol* function_at(std::uint32_t address) const;
};

// Throws std::runtime_error: our own tools wrote these files, so a bad one is not the user's fault.
Elf read_elf(const std::filesystem::path& path);
std::vector<std::string> archive_symbols(const std::filesystem::path& path);
std::vector<Elf> read_archive(const std::filesystem::path& path);  // its objects

// Checks that the firmware contains no code for a newer architecture, which the board, often a larger CPU, would
// execute. The linker merges the attributes of all its inputs, so one wrong object shows.
bool is_code_for(const Elf& elf, const Cpu& cpu);

// What the runtime must not use: heap, exceptions, global constructors, stdio, and the C library's hidden state. One
// line per offence; empty for a clean firmware.
std::vector<std::string> forbidden_in(const Elf& elf);

// The compiler's routines for what a CPU cannot do: soft float, division, 64-bit products. No int8 program needs one.
std::vector<std::string> library_arithmetic_in(const Elf& elf);

}  // namespace cormorant
