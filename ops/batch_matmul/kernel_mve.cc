// SPDX-License-Identifier: Apache-2.0
//
// VMLADAVA adds 16 products of bytes to a core register: both sides must be contiguous along the inner dimension, which
// the right side is once it is laid out, whatever its orientation. The loop is kernels/matmul_mve.cc.
#include <arm_mve.h>

#include <bit>

#include "base/fixed_point.h"
#include "kernels/matmul.h"
#include "ops/batch_matmul/kernel.h"

namespace cormorant::ops::batch_matmul {
namespace {

inline std::int32_t sum_of(const std::int8_t* from, std::uint32_t count) {
  std::int32_t sum = 0;
  for (std::uint32_t i = 0; i < count; i += 16) sum = vaddvaq_s8(sum, vldrbq_z_s8(from + i, vctp8q(count - i)));
  return sum;
}

// Rows of the right side are columns here: copied in pieces of 16, padded with zeros.
void pack_transposed(const Plan& p, const Packing& packing, const std::int8_t* rhs) {
  for (std::uint32_t column = 0; column < p.size.columns; ++column) {
    auto* to = reinterpret_cast<std::int8_t*>(p.scratch) + column / 4 * packing.block_bytes() + 16 + column % 4 * 16;
    for (std::uint32_t k = 0; k < p.size.inner; k += 16, to += 64) {
      vstrbq_s8(to, vldrbq_z_s8(rhs + k, vctp8q(p.size.inner - k)));
    }
    rhs += p.size.inner;
  }
}

// Eight neighbours of a row go to eight columns at fixed distances, by one scattering store.
void pack_rows(const Plan& p, const Packing& packing, const std::int8_t* rhs) {
  const std::uint32_t block_bytes = packing.block_bytes();
  const uint16x8_t lane = vidupq_n_u16(0, 1);
  const uint16x8_t inside = vshlq_n_u16(vandq_u16(lane, vdupq_n_u16(3)), 4);
  const uint16x8_t places = vmlaq_n_u16(inside, vshrq_n_u16(lane, 2), static_cast<std::uint16_t>(block_bytes));
  for (std::uint32_t column = 0; column < p.size.columns; column += 8) {
    const mve_pred16_t lanes = vctp16q(p.size.columns - column);
    auto* block = reinterpret_cast<std::int8_t*>(p.scratch) + column / 4 * block_bytes + 16;
    const std::int8_t* from = rhs + column;
    for (std::uint32_t k = 0; k < p.size.inner; ++k, from += p.size.columns) {
      vstrbq_scatter_offset_p_s16(block + k / 16 * 64 + k % 16, places, vldrbq_z_s16(from, lanes), lanes);
    }
  }
}

// The fallback for blocks that are farther apart than 16-bit offsets reach.
void pack_plainly(const Plan& p, const Packing& packing, const std::int8_t* rhs) {
  auto* stream = reinterpret_cast<std::int8_t*>(p.scratch);
  for (std::uint32_t k = 0; k < p.size.inner; ++k) {
    for (std::uint32_t column = 0; column < p.size.columns; ++column) {
      stream[column / 4 * packing.block_bytes() + 16 + k / 16 * 64 + column % 4 * 16 + k % 16] = *rhs++;
    }
  }
}

// a Σ r + K · a · b of every column. Bytes past the inner dimension's end do not matter: rows are zero there.
void put_terms(const Plan& p, const Packing& packing) {
  const std::int32_t constant = static_cast<std::int32_t>(p.size.inner) * p.lhs_offset * p.rhs_offset;
  for (std::uint32_t column = 0; column < packing.blocks() * 4; ++column) {
    std::byte* block = p.scratch + column / 4 * packing.block_bytes();
    const auto* from = reinterpret_cast<const std::int8_t*>(block) + 16 + column % 4 * 16;
    std::int32_t sum = 0;
    if (p.lhs_offset != 0 && column < p.size.columns) {
      for (std::uint32_t k = 0; k < p.size.inner; k += 16, from += 64) {
        sum = vaddvaq_s8(sum, vldrbq_z_s8(from, vctp8q(p.size.inner - k)));
      }
    }
    reinterpret_cast<std::int32_t*>(block)[column % 4] = p.lhs_offset * sum + constant;
  }
}

void pack(const Plan& p, const Packing& packing, const std::int8_t* rhs) {
  if (p.rhs_is_transposed) {
    pack_transposed(p, packing, rhs);
  } else if (packing.block_bytes() < 65000) {
    pack_rows(p, packing, rhs);
  } else {
    pack_plainly(p, packing, rhs);
  }
  put_terms(p, packing);
}

// The loop in assembly loads a whole vector of each row ahead.
void multiply(const MveMatmul& m) {
  if (m.inner < 16) {
    matmul_mve_plain(m);
  } else {
    cormorant_matmul_mve(&m);
  }
}

// Columns past the last whole block of four take a detour via the stack.
void compute(MveMatmul m, std::uint32_t columns, std::uint32_t block_bytes) {
  m.blocks = columns / 4;
  if (m.blocks != 0) multiply(m);
  const std::uint32_t rest = columns % 4;
  if (rest == 0) return;
  std::int8_t last[2][4];
  MveMatmul tail = m;
  tail.stream += m.blocks * block_bytes;
  tail.blocks = 1;
  tail.pairs = 1;
  tail.out0 = last[0];
  tail.out1 = last[1];
  for (std::uint32_t pair = 0; pair < m.pairs; ++pair) {
    multiply(tail);
    for (std::uint32_t i = 0; i < rest; ++i) {
      m.out0[columns - rest + i] = last[0][i];
      m.out1[columns - rest + i] = last[1][i];
    }
    m.out0 += m.out_step;
    m.out1 += m.out_step;
    tail.lhs0 += m.lhs_step;
    tail.lhs1 += m.lhs_step;
    tail.row_terms += 2;
  }
}

void execute_packed(const void* raw) {
  const auto& p = *static_cast<const Plan*>(raw);
  const Packing packing{Layout::mve, p.size};
  auto* row_terms = reinterpret_cast<std::int32_t*>(p.scratch + packing.stream_bytes());
  for_batches(p, [&](const std::int8_t* lhs, const std::int8_t* rhs, std::int8_t* out) {
    pack(p, packing, rhs);
    for (std::uint32_t row = 0; row < p.size.rows; ++row) {
      row_terms[row] = p.rhs_offset == 0 ? 0 : p.rhs_offset * sum_of(lhs + row * p.size.inner, p.size.inner);
    }
    MveMatmul m{.stream = p.scratch,
                .lhs0 = lhs,
                .lhs1 = lhs + p.size.inner,
                .out0 = out,
                .out1 = out + p.size.columns,
                .inner = p.size.inner,
                .blocks = 0,
                .pairs = p.size.rows / 2,
                .lhs_step = 2 * p.size.inner,
                .out_step = 2 * p.size.columns,
                .row_terms = row_terms,
                .multiplier = p.multiplier,
                .left = p.shift > 0 ? p.shift : 0,
                .right = p.shift > 0 ? 0 : p.shift,
                .offset = p.output_offset};
    if (m.pairs != 0) compute(m, p.size.columns, packing.block_bytes());
    if (p.size.rows % 2 == 0) return;
    const std::uint32_t row = p.size.rows - 1;  // alone, computed twice
    const std::int32_t terms[2] = {row_terms[row], row_terms[row]};
    m.lhs0 = m.lhs1 = lhs + row * p.size.inner;
    m.out0 = m.out1 = out + row * p.size.columns;
    m.row_terms = terms;
    m.pairs = 1;
    compute(m, p.size.columns, packing.block_bytes());
  });
}

// A program of another compiler, or one or two rows: the right side as it is, with the sums of both sides.
void execute(const void* raw) {
  const auto& p = *static_cast<const Plan*>(raw);
  const std::uint32_t inner = p.size.inner;
  const std::int32_t constant = static_cast<std::int32_t>(inner) * p.lhs_offset * p.rhs_offset;
  for_batches(p, [&](const std::int8_t* lhs, const std::int8_t* rhs, std::int8_t* out) {
    for (std::uint32_t row = 0; row < p.size.rows; ++row, lhs += inner) {
      const std::int32_t start = p.rhs_offset * sum_of(lhs, inner) + constant;
      const std::int8_t* r = rhs;
      for (std::uint32_t column = 0; column < p.size.columns; ++column, r += inner) {
        std::int32_t sum = start;
        std::int32_t others = 0;
        const std::int8_t* x = lhs;
        const std::int8_t* y = r;
        asm volatile(
            "dlstp.8 lr, %[count]\n"
            "1:\n\t"
            "vldrb.u8 q0, [%[x]], #16\n\t"
            "vldrb.u8 q1, [%[y]], #16\n\t"
            "vmladava.s8 %[sum], q0, q1\n\t"
            "vaddva.s8 %[others], q1\n\t"
            "letp lr, 1b"
            : [sum] "+&Te"(sum), [others] "+&Te"(others), [x] "+&r"(x), [y] "+&r"(y)
            : [count] "r"(inner)
            : "q0", "q1", "lr", "memory");
        const std::int32_t level = requantize(sum + p.lhs_offset * others, p.multiplier, p.shift) + p.output_offset;
        *out++ = static_cast<std::int8_t>(clamp(level, -128, 127));
      }
    }
  });
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_BATCH_MATMUL_KERNELS, mve)

}  // namespace cormorant::ops::batch_matmul
