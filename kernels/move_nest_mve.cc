// SPDX-License-Identifier: Apache-2.0
//
// A tile is transposed four lines by sixteen bytes at a time if it writes to whole words. The rest, and other tiles,
// are moved along their longer side: contiguous bytes of the input are scattered, or bytes of the input that are a step
// apart are gathered. Lanes of 8 bits hold offsets for steps up to 17 (RGB and other few channels), lanes of 16 bits up
// to 9362, lanes of 32 bits any. Four instructions per vector; a lane takes about a cycle in memory whatever the
// instruction, so wider lanes cost no more time than narrow ones.
#include <arm_mve.h>

#include "kernels/move.h"
#include "kernels/move_nest.h"

namespace cormorant {
namespace {

// count bytes from consecutive addresses to addresses `step` apart, by a loop that masks its last lanes.
struct Scatter {
  static void bytes_16(std::int8_t* to, const std::int8_t* from, std::uint32_t step, std::uint32_t count) {
    const uint8x16_t offsets = vmulq_n_u8(vidupq_n_u8(0, 1), static_cast<std::uint8_t>(step));
    asm volatile(
        "wlstp.8 lr, %[count], 2f\n"
        "1: vldrb.u8 q0, [%[from]], #16\n"
        "vstrb.8 q0, [%[to], %q[offsets]]\n"
        "add %[to], %[stride]\n"
        "letp lr, 1b\n"
        "2:\n"
        : [to] "+&r"(to), [from] "+&r"(from)
        : [offsets] "w"(offsets), [stride] "r"(16 * step), [count] "r"(count)
        : "q0", "lr", "memory");
  }
  static void bytes_8(std::int8_t* to, const std::int8_t* from, std::uint32_t step, std::uint32_t count) {
    const uint16x8_t offsets = vmulq_n_u16(vidupq_n_u16(0, 1), static_cast<std::uint16_t>(step));
    asm volatile(
        "wlstp.16 lr, %[count], 2f\n"
        "1: vldrb.u16 q0, [%[from]], #8\n"
        "vstrb.16 q0, [%[to], %q[offsets]]\n"
        "add %[to], %[stride]\n"
        "letp lr, 1b\n"
        "2:\n"
        : [to] "+&r"(to), [from] "+&l"(from)
        : [offsets] "w"(offsets), [stride] "r"(8 * step), [count] "r"(count)
        : "q0", "lr", "memory");
  }
  static void bytes_4(std::int8_t* to, const std::int8_t* from, std::uint32_t step, std::uint32_t count) {
    const uint32x4_t offsets = vmulq_n_u32(vidupq_n_u32(0, 1), step);
    asm volatile(
        "wlstp.32 lr, %[count], 2f\n"
        "1: vldrb.u32 q0, [%[from]], #4\n"
        "vstrb.32 q0, [%[to], %q[offsets]]\n"
        "add %[to], %[stride]\n"
        "letp lr, 1b\n"
        "2:\n"
        : [to] "+&r"(to), [from] "+&l"(from)
        : [offsets] "w"(offsets), [stride] "r"(4 * step), [count] "r"(count)
        : "q0", "lr", "memory");
  }
};

// The reverse.
struct Gather {
  static void bytes_16(std::int8_t* to, const std::int8_t* from, std::uint32_t step, std::uint32_t count) {
    const uint8x16_t offsets = vmulq_n_u8(vidupq_n_u8(0, 1), static_cast<std::uint8_t>(step));
    asm volatile(
        "wlstp.8 lr, %[count], 2f\n"
        "1: vldrb.u8 q0, [%[from], %q[offsets]]\n"
        "add %[from], %[stride]\n"
        "vstrb.8 q0, [%[to]], #16\n"
        "letp lr, 1b\n"
        "2:\n"
        : [to] "+&r"(to), [from] "+&r"(from)
        : [offsets] "w"(offsets), [stride] "r"(16 * step), [count] "r"(count)
        : "q0", "lr", "memory");
  }
  static void bytes_8(std::int8_t* to, const std::int8_t* from, std::uint32_t step, std::uint32_t count) {
    const uint16x8_t offsets = vmulq_n_u16(vidupq_n_u16(0, 1), static_cast<std::uint16_t>(step));
    asm volatile(
        "wlstp.16 lr, %[count], 2f\n"
        "1: vldrb.u16 q0, [%[from], %q[offsets]]\n"
        "add %[from], %[stride]\n"
        "vstrb.16 q0, [%[to]], #8\n"
        "letp lr, 1b\n"
        "2:\n"
        : [to] "+&l"(to), [from] "+&r"(from)
        : [offsets] "w"(offsets), [stride] "r"(8 * step), [count] "r"(count)
        : "q0", "lr", "memory");
  }
  static void bytes_4(std::int8_t* to, const std::int8_t* from, std::uint32_t step, std::uint32_t count) {
    const uint32x4_t offsets = vmulq_n_u32(vidupq_n_u32(0, 1), step);
    asm volatile(
        "wlstp.32 lr, %[count], 2f\n"
        "1: vldrb.u32 q0, [%[from], %q[offsets]]\n"
        "add %[from], %[stride]\n"
        "vstrb.32 q0, [%[to]], #4\n"
        "letp lr, 1b\n"
        "2:\n"
        : [to] "+&l"(to), [from] "+&r"(from)
        : [offsets] "w"(offsets), [stride] "r"(4 * step), [count] "r"(count)
        : "q0", "lr", "memory");
  }
};

using MoveLine = void (*)(std::int8_t* to, const std::int8_t* from, std::uint32_t step, std::uint32_t count);

// Offsets of lanes are not negative unless they have as many bits as addresses and therefore wrap.
template <class Direction>
MoveLine mover_for(std::int32_t step) {
  if (step < 0) return Direction::bytes_4;
  return step <= 255 / 15 ? Direction::bytes_16 : step <= 65535 / 7 ? Direction::bytes_8 : Direction::bytes_4;
}

// Sixteen bytes of four lines to sixteen words, `step` bytes apart, and on along the lines: pairs of lines are
// interleaved by bytes, pairs of pairs by halfwords. Two lines are loaded twice, because both halves of a pair need
// their original contents. Returns where the next word belongs.
inline std::int8_t* transpose_four(std::int8_t* to, std::uint32_t step, const std::int8_t* from, std::int32_t line,
                                   std::uint32_t blocks) {
  const std::int8_t* second = from + line;
  const std::int8_t* third = second + line;
  const std::int8_t* fourth = third + line;
  const uint32x4_t places = vmulq_n_u32(vidupq_n_u32(0, 4), step);
  asm volatile(
      "dls lr, %[blocks]\n"
      "1: vldrb.u8 q0, [%[first]]\n"
      "vldrb.u8 q1, [%[second]], #16\n"
      "vsli.16 q0, q1, #8\n"
      "vldrb.u8 q2, [%[first]], #16\n"
      "vsri.16 q1, q2, #8\n"
      "vldrb.u8 q2, [%[third]]\n"
      "vorr q4, q0, q0\n"
      "vldrb.u8 q3, [%[fourth]], #16\n"
      "vsli.16 q2, q3, #8\n"
      "vsli.32 q0, q2, #16\n"
      "vstrw.32 q0, [%[to], %q[places]]\n"
      "vldrb.u8 q0, [%[third]], #16\n"
      "add %[to], %[step]\n"
      "vsri.16 q3, q0, #8\n"
      "vorr q0, q1, q1\n"
      "vsli.32 q1, q3, #16\n"
      "vstrw.32 q1, [%[to], %q[places]]\n"
      "add %[to], %[step]\n"
      "vsri.32 q2, q4, #16\n"
      "vstrw.32 q2, [%[to], %q[places]]\n"
      "add %[to], %[step]\n"
      "vsri.32 q3, q0, #16\n"
      "vstrw.32 q3, [%[to], %q[places]]\n"
      "add %[to], %[ahead]\n"
      "le lr, 1b\n"
      : [to] "+&r"(to), [first] "+&r"(from), [second] "+&r"(second), [third] "+&r"(third), [fourth] "+&r"(fourth)
      : [blocks] "r"(blocks), [step] "r"(step), [ahead] "r"(13 * step), [places] "w"(places)
      : "q0", "q1", "q2", "q3", "q4", "lr", "memory");
  return to;
}

// Lines of the input become columns of the output, which are `step` apart.
struct Lines {
  std::int8_t* output;
  const std::int8_t* input;
  std::int32_t count;
  std::int32_t bytes;
  std::int32_t line;
  std::int32_t step;
};

// All whole blocks, and the rest of their lines. Returns the remaining lines.
[[gnu::noinline]] Lines transpose_blocks(Lines l) {
  const auto step = static_cast<std::uint32_t>(l.step);
  const auto rest = static_cast<std::uint32_t>(l.bytes & 15);
  for (; l.count >= 4; l.count -= 4, l.output += 4) {
    std::int8_t* to = transpose_four(l.output, step, l.input, l.line, static_cast<std::uint32_t>(l.bytes) >> 4);
    const std::int8_t* from = l.input + l.bytes - rest;
    l.input += 4 * l.line;
    if (rest == 0) continue;
    for (std::int32_t i = 0; i < 4; ++i) Scatter::bytes_4(to + i, from + i * l.line, step, rest);
  }
  return l;
}

void move_tile(const MoveTile& tile, std::int8_t* output, const std::int8_t* input) {
  std::int32_t lines = tile.rows;
  std::int32_t line_in = tile.row_step_in;
  std::int32_t line_out = tile.row_step_out;
  std::int32_t count = tile.columns;
  std::int32_t step = tile.column_step_in;
  if (step == 1) {
    const RowCopy rows = {static_cast<std::uint32_t>(lines), static_cast<std::uint32_t>(count), line_out, line_in};
    return copy_rows_mve(output, input, rows);
  }
  if (step == 0) {
    for (; lines != 0; --lines, input += line_in, output += line_out) {
      fill_bytes_mve(output, *input, static_cast<std::uint32_t>(count));
    }
    return;
  }
  const std::uintptr_t places = reinterpret_cast<std::uintptr_t>(output) | static_cast<std::uintptr_t>(line_out);
  const bool has_blocks = lines >= 16 && count >= 4 && line_out > 0 && (places & 3) == 0;
  const bool by_columns = line_in == 1 && (has_blocks || lines >= count);
  if (by_columns) {
    line_in = step;
    step = line_out;
    line_out = 1;
    lines = tile.columns;
    count = tile.rows;
    if (has_blocks) {
      const Lines left = transpose_blocks({output, input, lines, count, line_in, step});
      output = left.output;
      input = left.input;
      lines = left.count;
    }
  }
  const MoveLine move = by_columns ? mover_for<Scatter>(step) : mover_for<Gather>(step);
  for (; lines != 0; --lines, input += line_in, output += line_out) {
    move(output, input, static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(count));
  }
}

}  // namespace

void move_nest_mve(const MovePlan& plan) { for_each_tile(plan, move_tile); }

}  // namespace cormorant
