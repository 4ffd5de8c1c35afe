// SPDX-License-Identifier: Apache-2.0
//
// The matrix product of kernels/conv_gemm.h for 16-bit activations: the same loops over patches of 16 bits, then the
// upper half of sum · q, rounded, saturated to 16 bits signed or, if `positive`, to 15 bits unsigned. Outputs are
// addressed in bytes. Streams as ops/conv2d/words.h describes them; only MVE, which clamps, uses `output`.
#pragma once

#include "kernels/conv_gemm.h"

namespace cormorant::conv {

extern "C" void cormorant_conv_gemm_words_mve(const MveGemm* gemm);
// The same in intrinsics: documentation of the assembly, and its test oracle.
void conv_gemm_words_mve_plain(const MveGemm& gemm);

// Channels in pairs; `channels` is even.
extern "C" void cormorant_conv_gemm_words_dsp(const DspGemm* gemm);
extern "C" void cormorant_conv_gemm_words_positive_dsp(const DspGemm* gemm);
void conv_gemm_words_dsp_plain(const DspGemm& gemm, bool positive);

extern "C" void cormorant_conv_gemm_words_scalar(const ScalarGemm* gemm);  // not for ARMv6-M
extern "C" void cormorant_conv_gemm_words_positive_scalar(const ScalarGemm* gemm);
void conv_gemm_words_scalar_plain(const ScalarGemm& gemm, bool positive);

extern "C" void cormorant_conv_gemm_words_v6m(const V6mGemm* gemm);
extern "C" void cormorant_conv_gemm_words_positive_v6m(const V6mGemm* gemm);
// The same in plain loops: documentation of the assembly.
void conv_gemm_words_v6m_plain(const V6mGemm& gemm, bool positive);

// The upper half of the product, rounded.
constexpr std::int32_t rounding_high_multiply(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>((static_cast<std::int64_t>(a) * b + (std::int64_t{1} << 31)) >> 32);
}
// (value · multiplier + 2^(shift − 1)) >> shift without a product wider than 32 bits, for 0 <= multiplier < 2^15 and 16
// <= shift <= 32: the lower half of the value adds less than 2^31, and rounding at most 2^31.
constexpr std::int32_t rescale_in_pieces(std::int32_t value, std::int32_t multiplier, std::int32_t shift) {
  const std::uint32_t low = (static_cast<std::uint32_t>(value) & 0xffffU) * static_cast<std::uint32_t>(multiplier);
  const std::int32_t high = (value >> 16) * multiplier;
  const std::uint32_t carried = (low + (std::uint32_t{1} << (shift - 1))) >> 16;
  return (high + static_cast<std::int32_t>(carried)) >> (shift - 16);
}
constexpr std::int16_t saturated_word(std::int32_t value, bool positive) {
  return static_cast<std::int16_t>(clamp(value, positive ? 0 : -32768, 32767));
}

}  // namespace cormorant::conv
