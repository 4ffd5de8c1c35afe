// SPDX-License-Identifier: Apache-2.0
//
// Everything a caller can do with a program, on the host, under sanitizers: it is loaded into memory of exactly the
// sizes it needs, its inputs are filled, it is executed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "formats/pte/reader.h"
#include "runtime/host.h"

namespace cormorant::fuzz {

inline constexpr std::size_t kArenaLimit = std::size_t{1} << 15;  // so that no program takes long
inline constexpr std::size_t kStateBytes = std::size_t{1} << 15;

// What the first method needs, up to the limit; nothing if that cannot be read.
inline std::vector<std::size_t> arena_sizes(std::span<const std::byte> aligned_file, std::size_t limit = kArenaLimit) {
  std::vector<std::size_t> sizes;
  const auto program = pte::ProgramView::open(aligned_file);
  if (!program.ok()) return sizes;
  const auto method = program.value().method(std::string_view("forward"));
  if (!method.ok()) return sizes;
  const auto planned = method.value().memory_sizes();
  for (std::size_t id = 1; id < planned.size() && id < 4; ++id) {
    const bool is_sound = planned[id] >= 0 && static_cast<std::uint64_t>(planned[id]) <= limit;
    sizes.push_back(is_sound ? static_cast<std::size_t>(planned[id]) : 0);
  }
  return sizes;
}

// The error of loading; ok: it was executed as well.
inline Error exercise(std::span<const std::byte> bytes, std::span<const Kernel* const> kernels) {
  const AlignedBytes file(bytes);
  std::vector<AlignedBytes> memory;
  std::vector<Region> arenas;
  for (const std::size_t size : arena_sizes(file.span())) {
    memory.emplace_back(size);
    arenas.push_back(region_of(memory.back().span()));
  }
  const AlignedBytes state(kStateBytes);
  std::ranges::fill(state.span(), std::byte{0xA5});  // plans that are not filled in must show
  Failure why;
  const auto loaded = load_program(file.span(), "forward", kernels, state.span(), arenas, why);
  if (!loaded.ok()) return loaded.error();
  const Program& program = loaded.value();
  unsigned next = 1;
  for (int run = 0; run < 2; ++run) {
    for (std::size_t i = 0; i < program.input_count(); ++i) {
      for (std::byte& byte : program.input(i).as<std::byte>()) {
        byte = static_cast<std::byte>((next = next * 1103515245 + 12345) >> 16);
      }
    }
    program.execute();
  }
  program.reset();
  volatile unsigned sum = 0;
  for (std::size_t i = 0; i < program.output_count(); ++i) {
    for (const std::byte byte : program.output(i).as<std::byte>()) sum = sum + static_cast<unsigned>(byte);
  }
  return Error::ok;
}

}  // namespace cormorant::fuzz
