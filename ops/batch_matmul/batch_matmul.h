// SPDX-License-Identifier: Apache-2.0
//
// Products of two tensors that the model computes: out[b] = lhs[b] · rhs[b], one scale and zero point per tensor. The
// contract between compiler and kernels. Two program forms:
//   cortex_m::quantized_batch_matmul.out   ExecuTorch's: the right side comes transposed, [batch, columns, inner]
//   cormorant::batch_matmul.<variant>      takes the right side as it is, [batch, inner, columns] or transposed, and
//                                          lays each batch's out in scratch for the inner loop of a convolution
// and with 16-bit activations cormorant::batch_matmul.words, .dsp_words and .mve_words, with the right side transposed.
//
// With offsets a = −lhs zero point and b = −rhs zero point, Σ (l + a)(r + b) = Σ l·r + a Σ r + b Σ l + K·a·b: the
// column's terms are added once per column, the row's once per row.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "ops/load/kernel_list.h"
#include "target/target.h"

#define CORMORANT_BATCH_MATMUL_KERNELS(OURS, THEIRS, FOREIGN)                                              \
  THEIRS(cortex_m, quantized_batch_matmul, out, scalar_dsp_mve, load, execute, w8a8, QuantizedBatchMatmul) \
  OURS(batch_matmul, scalar, scalar, load_scalar, execute_packed, w8a8, PackedBatchMatmul)                 \
  OURS(batch_matmul, v6m, scalar, load_v6m, execute_v6m, w8a8, PackedBatchMatmul)                          \
  OURS(batch_matmul, dsp, dsp, load_dsp, execute_packed, w8a8, PackedBatchMatmul)                          \
  OURS(batch_matmul, mve, mve, load_mve, execute_packed, w8a8, PackedBatchMatmul)                          \
  OURS(batch_matmul, words, words, load_words, execute_words, w8a16, WordsBatchMatmul)                     \
  OURS(batch_matmul, dsp_words, dsp_words, load_words, execute_words, w8a16, WordsBatchMatmul)             \
  OURS(batch_matmul, mve_words, mve_words, load_words, execute_words, w8a16, WordsBatchMatmul)             \
  THEIRS(aten, bmm, out, any_cpu_mve, load_bmm, execute_bmm, f32, Bmm)
CORMORANT_NAMES(CORMORANT_BATCH_MATMUL_KERNELS)

namespace cormorant::ops::batch_matmul {

// The zero points are negated, as upstream's compiler writes them. One batch on the left may serve all of the right (an
// extension: upstream requires equal numbers).
template <class W>
struct QuantizedBatchMatmul {
  typename W::Tensor lhs{};
  typename W::Int lhs_zero_point{};
  typename W::Tensor rhs_transposed{};
  typename W::Int rhs_zero_point{};
  typename W::Int output_zero_point{};
  typename W::Int output_multiplier{};
  typename W::Int output_shift{};
  typename W::Scratch scratch{};
  typename W::Out out{};

  CORMORANT_FIELDS(lhs, lhs_zero_point, rhs_transposed, rhs_zero_point, output_zero_point, output_multiplier,
                   output_shift, scratch, out)
};

template <class W>
struct PackedBatchMatmul {
  typename W::Tensor lhs{};
  typename W::Int lhs_offset{};
  typename W::Tensor rhs{};
  typename W::Int rhs_offset{};
  typename W::Bool rhs_is_transposed{};
  typename W::Int output_offset{};
  typename W::Int multiplier{};
  typename W::Int shift{};
  typename W::Scratch scratch{};
  typename W::Out out{};

  CORMORANT_FIELDS(lhs, lhs_offset, rhs, rhs_offset, rhs_is_transposed, output_offset, multiplier, shift, scratch, out)
};

// 16-bit activations, without zero points: sums of 64 bits, then TFLite's int16x8 arithmetic, as for convolutions:
// clamp((sum · multiplier + 2^(shift − 1)) >> shift) with a multiplier of 15 bits.
template <class W>
struct WordsBatchMatmul {
  typename W::Tensor lhs{};
  typename W::Tensor rhs_transposed{};
  typename W::Int multiplier{};
  typename W::Int shift{};
  typename W::Out out{};

  CORMORANT_FIELDS(lhs, rhs_transposed, multiplier, shift, out)
};

constexpr const char* words_variant(const Target& target) {
  if (target.is_any() || target.isa == Isa::scalar) return names::cormorant_batch_matmul_words;
  return target.isa == Isa::dsp ? names::cormorant_batch_matmul_dsp_words : names::cormorant_batch_matmul_mve_words;
}

// The specification of a result; sums of kMaxInner products of 16 bits are below 2^45.
inline constexpr std::int32_t kMaxWordsMultiplier = 0x7FFF;
inline constexpr std::int32_t kMaxWordsShift = 62;
constexpr std::int16_t rescaled_word(std::int64_t sum, std::int32_t multiplier, std::int32_t shift) {
  const std::int64_t level = (sum * multiplier + (std::int64_t{1} << (shift - 1))) >> shift;
  return static_cast<std::int16_t>(level < -32768 ? -32768 : level > 32767 ? 32767 : level);
}

enum class Layout : std::uint8_t { mve, dsp, scalar, v6m };

struct Variant {
  const char* name;  // of the program
  Layout layout;
};
inline constexpr Variant kMve{names::cormorant_batch_matmul_mve, Layout::mve};
inline constexpr Variant kDsp{names::cormorant_batch_matmul_dsp, Layout::dsp};
inline constexpr Variant kScalar{names::cormorant_batch_matmul_scalar, Layout::scalar};
inline constexpr Variant kV6m{names::cormorant_batch_matmul_v6m, Layout::v6m};
inline constexpr const Variant* kVariants[] = {&kMve, &kDsp, &kScalar, &kV6m};

// CPUs without a long multiply have a loop of their own, as for convolutions.
constexpr const Variant& choose_variant(const Target& target) {
  if (target.isa == Isa::mve) return kMve;
  if (target.isa == Isa::dsp) return kDsp;
  return target.cpu->has_long_multiply ? kScalar : kV6m;
}

// Sums of products of 9-bit numbers stay below 2^30, so that no kernel needs more than 32 bits for one.
inline constexpr std::uint32_t kMaxInner = 16384;
inline constexpr std::uint32_t kMaxRows = 1U << 20;
inline constexpr std::uint32_t kMaxColumns = 1U << 16;

struct Size {
  std::uint32_t rows;
  std::uint32_t inner;
  std::uint32_t columns;
};

// How the right side is stored in scratch: one record per block of columns, in the inner loop's order.
//   mve     the 4 columns' terms, then for every 16 of the inner dimension the 4 columns one after another
//   others  the record of a convolution (bias, multiplier, shifts) and its interleaved weights (ops/conv2d/conv2d.h)
// The others multiply rows that were widened and have the offset a added. Their sum, times b, is added as further
// elements of the inner dimension: b is split in two because 128 is not an int8, and in DSP's 16-bit halves a sum may
// need more than one piece.
struct Packing {
  Layout layout;
  Size size;

  [[nodiscard]] constexpr std::uint32_t block() const {
    return layout == Layout::mve ? 4 : layout == Layout::v6m ? 1 : 2;
  }
  [[nodiscard]] constexpr std::uint32_t blocks() const { return (size.columns + block() - 1) / block(); }
  [[nodiscard]] constexpr std::uint32_t rows_at_once() const {
    return layout == Layout::mve ? 2 : layout == Layout::v6m ? 4 : 3;
  }
  [[nodiscard]] constexpr std::uint32_t padded_inner() const {
    const std::uint32_t unit = layout == Layout::mve ? 16 : layout == Layout::scalar ? 2 : 4;
    return (size.inner + unit - 1) / unit * unit;
  }
  // Elements after padded_inner that hold a row's sum.
  [[nodiscard]] constexpr std::uint32_t sum_elements() const {
    switch (layout) {
      case Layout::mve:
        return 0;
      case Layout::scalar:
        return 2;
      case Layout::v6m:
        return 4;
      case Layout::dsp:
        break;
    }
    return 4 * ((255 * size.inner + 65533) / 65534);
  }
  [[nodiscard]] constexpr std::uint32_t elements() const { return padded_inner() + sum_elements(); }
  [[nodiscard]] constexpr std::uint32_t record_bytes() const {
    return layout == Layout::mve ? 16 : layout == Layout::v6m ? 12 : 20;
  }
  [[nodiscard]] constexpr std::uint32_t block_bytes() const { return record_bytes() + block() * elements(); }
  [[nodiscard]] constexpr std::uint32_t stream_bytes() const { return blocks() * block_bytes(); }
  // The widened rows of one pass; for MVE, which reads rows in place, every row's term.
  [[nodiscard]] constexpr std::uint32_t row_bytes() const {
    switch (layout) {
      case Layout::mve:
        return 4 * size.rows;
      case Layout::dsp:
        return 3 * 2 * elements();
      case Layout::scalar:
        return 3 * 4 * elements();
      case Layout::v6m:
        break;
    }
    return 4 * 4 * elements();
  }
};

constexpr bool is_computable(const Size& size) {
  return size.rows >= 1 && size.inner >= 1 && size.columns >= 1 && size.rows <= kMaxRows && size.inner <= kMaxInner &&
         size.columns <= kMaxColumns && std::uint64_t{size.inner} * size.columns <= (1U << 26);
}

constexpr std::uint32_t scratch_bytes(const Variant& variant, const Size& size) {
  const Packing packing{variant.layout, size};
  return packing.stream_bytes() + packing.row_bytes();
}

// Laying it out pays off if several rows use it; one or two rows multiply a transposed right side in place.
constexpr bool is_worth_packing(const Size& size, bool rhs_is_transposed) {
  return size.rows > 2 || !rhs_is_transposed;
}

// What CMSIS-NN's arm_fully_connected_s8_get_buffer_size returns for the columns: room for their sums on MVE.
constexpr std::uint32_t upstream_scratch_bytes(Isa isa, std::uint32_t columns) {
  return isa == Isa::mve ? 4 * columns : 0;
}

}  // namespace cormorant::ops::batch_matmul
