// SPDX-License-Identifier: Apache-2.0
//
// What a program keeps from one execution to the next, as one span of bytes: its buffers in the order of the file.
#include <cstring>

#include "runtime/loader.h"

namespace cormorant {
namespace {

// Calls copy(memory, at, bytes) for each buffer; returns how many bytes they have together. A hostile file has so many
// in the same place that this overflows; nobody can have that much memory to copy them to.
template <class Copy>
CheckedSize for_each_buffer(const cormorant_program& program, Copy copy) {
  const std::span pte(static_cast<const std::byte*>(program.data), program.bytes);
  const Source source(pte, program.method, {program.arenas, program.arena_count});
  CheckedSize all = 0U;
  source.for_each_persistent([&](std::byte* memory, const std::byte* /*initial*/, std::size_t bytes, bool is_constant) {
    if (is_constant) return;
    copy(memory, all.value(), bytes);
    all = all + static_cast<std::uint32_t>(bytes);
  });
  return all;
}

CheckedSize bytes_of(const cormorant_program& program) {
  return for_each_buffer(program, [](std::byte*, std::size_t, std::size_t) {});
}

}  // namespace
}  // namespace cormorant

size_t cormorant_buffer_bytes(const cormorant_program* program) { return cormorant::bytes_of(*program).value(); }

void cormorant_save(const cormorant_program* program, void* to) {
  if (!cormorant::bytes_of(*program).fits()) return;
  cormorant::for_each_buffer(*program, [to](const std::byte* memory, std::size_t at, std::size_t bytes) {
    std::memcpy(static_cast<std::byte*>(to) + at, memory, bytes);
  });
}

void cormorant_restore(const cormorant_program* program, const void* from) {
  if (!cormorant::bytes_of(*program).fits()) return;
  cormorant::for_each_buffer(*program, [from](std::byte* memory, std::size_t at, std::size_t bytes) {
    std::memcpy(memory, static_cast<const std::byte*>(from) + at, bytes);
  });
}
