// SPDX-License-Identifier: Apache-2.0
//
// A product is a convolution whose weights are the right side: it is laid out in scratch as a convolution's stream,
// rows are widened to words, and the convolutions' inner loops do the rest.
#include "kernels/requantize.h"
#include "ops/batch_matmul/pack_scalar.h"

namespace cormorant::ops::batch_matmul {
namespace {

// Columns in pairs, element by element; zeros if the second column is missing.
void pack_pairs(const Plan& p, const Packing& packing, const std::int8_t* rhs) {
  auto* to = reinterpret_cast<std::uint8_t*>(p.scratch);
  const Halves halves(p.rhs_offset);
  const std::uint32_t step = p.inner_step();
  for (std::uint32_t column = 0; column < p.size.columns; column += 2) {
    to = put_record<2>(to, p);
    const std::int8_t* a = rhs + column * p.column_step();
    const bool both = column + 1 < p.size.columns;
    const std::int8_t* b = a + (both ? p.column_step() : 0);
    for (std::uint32_t k = p.size.inner; k > 0; --k, a += step, b += step) {
      *to++ = static_cast<std::uint8_t>(*a);
      *to++ = static_cast<std::uint8_t>(both ? *b : 0);
    }
    for (std::uint32_t k = p.size.inner; k < packing.padded_inner(); ++k, to += 2) to[0] = to[1] = 0;
    to[0] = to[1] = static_cast<std::uint8_t>(halves.first);
    to[2] = to[3] = static_cast<std::uint8_t>(halves.second);
    to += 4;
  }
}

// One column after another, + 128.
void pack_columns(const Plan& p, const Packing& packing, const std::int8_t* rhs) {
  auto* to = reinterpret_cast<std::uint8_t*>(p.scratch);
  const Halves halves(p.rhs_offset);
  const std::uint32_t step = p.inner_step();
  for (std::uint32_t column = 0; column < p.size.columns; ++column) {
    to = put_record<1>(to, p);
    const std::int8_t* from = rhs + column * p.column_step();
    for (std::uint32_t k = p.size.inner; k > 0; --k, from += step) *to++ = static_cast<std::uint8_t>(*from + 128);
    for (std::uint32_t k = p.size.inner; k < packing.padded_inner(); ++k) *to++ = 128;
    to[0] = static_cast<std::uint8_t>(halves.first + 128);
    to[1] = static_cast<std::uint8_t>(halves.second + 128);
    to[2] = to[3] = 128;
    to += 4;
  }
}

// Writes a row to its place among N, with its offset added, followed by its sum; returns the sum of all that.
template <std::uint32_t N>
std::int32_t put_row(const Plan& p, const Packing& packing, const std::int8_t* from, std::int32_t* to) {
  std::int32_t sum = 0;
  for (std::uint32_t k = p.size.inner; k > 0; --k, to += N) {
    const std::int32_t value = *from++ + p.lhs_offset;
    *to = value;
    sum += value;
  }
  for (std::uint32_t k = p.size.inner; k < packing.padded_inner(); ++k, to += N) *to = 0;
  to[0] = to[N] = sum;
  for (std::uint32_t k = 2; k < packing.sum_elements(); ++k) to[k * N] = 0;
  return 3 * sum;
}

template <std::uint32_t N, class Gemm, class Compute>
void multiply(const Plan& p, const Packing& packing, Gemm& gemm, const std::int8_t* lhs, std::int8_t* out,
              Compute compute) {
  auto* rows = reinterpret_cast<std::int32_t*>(p.scratch + packing.stream_bytes());
  gemm.stream = reinterpret_cast<const std::uint8_t*>(p.scratch);
  gemm.patches = rows;
  gemm.elements = packing.elements();
  gemm.channels = p.size.columns;
  gemm.output = output_of(p);
  for_row_blocks<N>(p.size.rows, [&](std::uint32_t row, std::uint32_t step) {
    for (std::uint32_t i = 0; i < N; ++i) {
      const std::int32_t sum = put_row<N>(p, packing, lhs + (row + i * step) * p.size.inner, rows + i);
      if constexpr (requires { gemm.excess; }) gemm.excess[i] = 128 * sum;
    }
    gemm.out = out + row * p.size.columns;
    gemm.out_step = step * p.size.columns;
    compute(gemm);
  });
}

// Pairs of columns in assembly, an odd last column in plain loops.
[[maybe_unused]] void compute_pairs(conv::ScalarGemm gemm, std::uint32_t block_bytes) {
  const auto loop = conv::is_simple(gemm.output.rounding) ? conv::cormorant_conv_gemm_right_scalar
                                                          : conv::cormorant_conv_gemm_any_scalar;
  const std::uint32_t columns = gemm.channels;
  gemm.channels = columns / 2 * 2;
  if (gemm.channels != 0) loop(&gemm);
  if (columns % 2 == 0) return;
  gemm.stream += columns / 2 * block_bytes;
  gemm.out += columns - 1;
  gemm.channels = 1;
  conv::conv_gemm_scalar_plain(gemm);
}

void execute_packed(const void* raw) {
  const auto& p = *static_cast<const Plan*>(raw);
  const Packing packing{Layout::scalar, p.size};
  for_batches(p, [&](const std::int8_t* lhs, const std::int8_t* rhs, std::int8_t* out) {
    pack_pairs(p, packing, rhs);
    conv::ScalarGemm gemm{};
    if constexpr (kHasLongMultiply) {
      multiply<3>(p, packing, gemm, lhs, out,
                  [&](const conv::ScalarGemm& block) { compute_pairs(block, packing.block_bytes()); });
    } else {
      multiply<3>(p, packing, gemm, lhs, out, conv::conv_gemm_scalar_plain);
    }
  });
}

void execute_v6m(const void* raw) {
  const auto& p = *static_cast<const Plan*>(raw);
  const Packing packing{Layout::v6m, p.size};
  for_batches(p, [&](const std::int8_t* lhs, const std::int8_t* rhs, std::int8_t* out) {
    pack_columns(p, packing, rhs);
    conv::V6mGemm gemm{};
    if (p.simple_requantize) {
      multiply<4>(p, packing, gemm, lhs, out,
                  [](const conv::V6mGemm& block) { conv::cormorant_conv_gemm_right_v6m(&block); });
    } else {
      multiply<4>(p, packing, gemm, lhs, out,
                  [](const conv::V6mGemm& block) { conv::cormorant_conv_gemm_any_v6m(&block); });
    }
  });
}

// For a program of another compiler, and for one or two rows: products of the right side as it is.
void execute(const void* raw) {
  const auto& p = *static_cast<const Plan*>(raw);
  for_batches(p, [&](const std::int8_t* lhs, const std::int8_t* rhs, std::int8_t* out) {
    for (std::uint32_t row = 0; row < p.size.rows; ++row, lhs += p.size.inner) {
      const std::int8_t* r = rhs;
      for (std::uint32_t column = 0; column < p.size.columns; ++column) {
        std::int32_t sum = 0;
        for (std::uint32_t k = 0; k < p.size.inner; ++k) sum += (lhs[k] + p.lhs_offset) * (*r++ + p.rhs_offset);
        const std::int32_t level = requantize_for_cpu(sum, p.multiplier, p.shift) + p.output_offset;
        *out++ = static_cast<std::int8_t>(clamp(level, -128, 127));
      }
    }
  });
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_BATCH_MATMUL_KERNELS, scalar)

}  // namespace cormorant::ops::batch_matmul
