// SPDX-License-Identifier: Apache-2.0
//
// A product is a convolution whose weights are the right side: it is laid out in scratch as a convolution's stream,
// rows are widened to 16-bit halves with their offset added, and the convolutions' inner loop does the rest.
#include <arm_acle.h>

#include <bit>
#include <cstring>

#include "kernels/requantize.h"
#include "ops/batch_matmul/pack_scalar.h"

namespace cormorant::ops::batch_matmul {
namespace {

inline std::uint32_t load_word(const std::int8_t* from) {
  std::uint32_t word;
  std::memcpy(&word, from, sizeof(word));  // may be unaligned, which LDR allows
  return word;
}

inline std::uint32_t load_pair(const std::int8_t* from) {
  std::uint16_t pair;
  std::memcpy(&pair, from, sizeof(pair));
  return pair;
}

// Up to four elements `step` apart as the bytes of a word, the rest zeros.
inline std::uint32_t gather(const std::int8_t* from, std::uint32_t step, std::uint32_t count) {
  std::uint32_t word = 0;
  for (std::uint32_t i = 0; i < count; ++i, from += step) {
    word |= static_cast<std::uint32_t>(static_cast<std::uint8_t>(*from)) << (8 * i);
  }
  return word;
}

// Elements 0, 2 of both columns, then 1, 3.
inline std::uint32_t* put_quad(std::uint32_t* to, std::uint32_t a, std::uint32_t b) {
  to[0] = (a & 0x00ff00ffU) | ((b & 0x00ff00ffU) << 8);
  to[1] = ((a >> 8) & 0x00ff00ffU) | (b & 0xff00ff00U);
  return to + 2;
}

void pack_pairs(const Plan& p, const Packing& packing, const std::int8_t* rhs) {
  auto* at = reinterpret_cast<std::uint8_t*>(p.scratch);
  const Halves halves(p.rhs_offset);
  const std::uint32_t inner = p.size.inner;
  const std::uint32_t step = p.inner_step();
  const std::uint32_t sums = (static_cast<std::uint32_t>(halves.first) & 255U) * 0x00000101U |
                             (static_cast<std::uint32_t>(halves.second) & 255U) * 0x01010000U;
  for (std::uint32_t column = 0; column < p.size.columns; column += 2) {
    auto* to = reinterpret_cast<std::uint32_t*>(put_record<2>(at, p));
    const std::int8_t* a = rhs + column * p.column_step();
    const bool both = column + 1 < p.size.columns;
    const std::int8_t* b = a + (both ? p.column_step() : 0);
    std::uint32_t k = 0;
    if (p.rhs_is_transposed) {
      for (; k + 4 <= inner; k += 4, a += 4, b += 4) to = put_quad(to, load_word(a), both ? load_word(b) : 0);
    } else if (both) {  // the two columns are neighbours
      for (; k + 4 <= inner; k += 4, a += 4 * step, to += 2) {
        to[0] = load_pair(a) | load_pair(a + 2 * step) << 16;
        to[1] = load_pair(a + step) | load_pair(a + 3 * step) << 16;
      }
      b = a + 1;
    }
    for (; k < inner; k += 4, a += 4 * step, b += 4 * step) {
      const std::uint32_t count = inner - k < 4 ? inner - k : 4;
      to = put_quad(to, gather(a, step, count), both ? gather(b, step, count) : 0);
    }
    // A quad (s, s, t, t) of a row's sum in two pieces meets (first, second, first, second): words (0, 2) and (1, 3).
    for (std::uint32_t i = 0; i < packing.sum_elements(); i += 4) {
      *to++ = (sums & 0xffffU) * 0x00010001U;
      *to++ = (sums >> 16) * 0x00010001U;
    }
    at += packing.block_bytes();
  }
}

constexpr std::int32_t kOnes = 0x00010001;

// Writes a row to its place among three, with its offset added, followed by the pieces of its sum.
void put_row(const Plan& p, const Packing& packing, const std::int8_t* from, std::uint32_t* to) {
  const std::int32_t offsets = (p.lhs_offset & 0xffff) | (p.lhs_offset * 65536);
  std::int32_t sum = 0;
  const auto put = [&](std::int32_t pair) {
    *to = static_cast<std::uint32_t>(pair);
    to += 3;
    sum = __smlad(pair, kOnes, sum);
  };
  std::uint32_t k = p.size.inner;
  for (; k >= 4; k -= 4, from += 4) {
    const std::uint32_t word = load_word(from);
    put(__sadd16(__sxtb16(static_cast<std::int32_t>(word)), offsets));
    put(__sadd16(__sxtb16(static_cast<std::int32_t>(std::rotr(word, 8))), offsets));
  }
  if (k != 0) {  // the rest of four is zeros, without the offset
    const auto element = [&](std::uint32_t i) { return i < k ? from[i] + p.lhs_offset : 0; };
    put((element(0) & 0xffff) | element(2) * 65536);
    put((element(1) & 0xffff) | element(3) * 65536);
  }
  std::int32_t left = sum;
  for (std::uint32_t i = 0; i < packing.sum_elements(); i += 4) {
    std::int32_t pieces[2];
    for (std::int32_t& piece : pieces) {
      piece = clamp(left, -32767, 32767);
      left -= piece;
    }
    const std::int32_t pair = (pieces[0] & 0xffff) | pieces[1] * 65536;
    to[0] = to[3] = static_cast<std::uint32_t>(pair);
    to += 6;
  }
}

// Pairs of columns in assembly, an odd last column in plain loops.
void compute_pairs(conv::DspGemm gemm, std::uint32_t block_bytes) {
  const std::uint32_t columns = gemm.channels;
  gemm.channels = columns / 2 * 2;
  if (gemm.channels != 0) conv::cormorant_conv_gemm_right_dsp(&gemm);
  if (columns % 2 == 0) return;
  gemm.stream += columns / 2 * block_bytes;
  gemm.out += columns - 1;
  gemm.channels = 1;
  conv::conv_gemm_dsp_plain(gemm);
}

void execute_packed(const void* raw) {
  const auto& p = *static_cast<const Plan*>(raw);
  const Packing packing{Layout::dsp, p.size};
  auto* rows = reinterpret_cast<std::uint32_t*>(p.scratch + packing.stream_bytes());
  conv::DspGemm gemm{.stream = reinterpret_cast<const std::uint8_t*>(p.scratch),
                     .patches = rows,
                     .out = nullptr,
                     .out_step = 0,
                     .quads = packing.elements() / 4,
                     .channels = p.size.columns,
                     .output = output_of(p)};
  for_batches(p, [&](const std::int8_t* lhs, const std::int8_t* rhs, std::int8_t* out) {
    pack_pairs(p, packing, rhs);
    for_row_blocks<3>(p.size.rows, [&](std::uint32_t row, std::uint32_t step) {
      for (std::uint32_t i = 0; i < 3; ++i) put_row(p, packing, lhs + (row + i * step) * p.size.inner, rows + i);
      gemm.out = out + row * p.size.columns;
      gemm.out_step = step * p.size.columns;
      compute_pairs(gemm, packing.block_bytes());
    });
  });
}

// A program of another compiler, or one or two rows: the right side as it is.
void execute(const void* raw) {
  const auto& p = *static_cast<const Plan*>(raw);
  const std::int32_t lhs_offsets = (p.lhs_offset & 0xffff) | (p.lhs_offset * 65536);
  const std::int32_t rhs_offsets = (p.rhs_offset & 0xffff) | (p.rhs_offset * 65536);
  const auto even = [](std::uint32_t word, std::int32_t offsets) {
    return __sadd16(__sxtb16(static_cast<std::int32_t>(word)), offsets);
  };
  const auto odd = [](std::uint32_t word, std::int32_t offsets) {
    return __sadd16(__sxtb16(static_cast<std::int32_t>(std::rotr(word, 8))), offsets);
  };
  for_batches(p, [&](const std::int8_t* lhs, const std::int8_t* rhs, std::int8_t* out) {
    for (std::uint32_t row = 0; row < p.size.rows; ++row, lhs += p.size.inner) {
      const std::int8_t* r = rhs;
      for (std::uint32_t column = 0; column < p.size.columns; ++column) {
        std::int32_t sum = 0;
        const std::int8_t* l = lhs;
        for (std::uint32_t i = p.size.inner / 4; i > 0; --i, l += 4, r += 4) {
          const std::uint32_t x = load_word(l);
          const std::uint32_t y = load_word(r);
          sum = __smlad(even(x, lhs_offsets), even(y, rhs_offsets), sum);
          sum = __smlad(odd(x, lhs_offsets), odd(y, rhs_offsets), sum);
        }
        for (std::uint32_t i = p.size.inner % 4; i > 0; --i) sum += (*l++ + p.lhs_offset) * (*r++ + p.rhs_offset);
        const std::int32_t level = requantize(sum, p.multiplier, p.shift) + p.output_offset;
        *out++ = static_cast<std::int8_t>(clamp(level, -128, 127));
      }
    }
  });
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_BATCH_MATMUL_KERNELS, dsp)

}  // namespace cormorant::ops::batch_matmul
