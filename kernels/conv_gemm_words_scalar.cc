// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_gemm_words.h"
#include "kernels/requantize.h"

namespace cormorant::conv {
namespace {

// From q back to m' and n, for CPUs without a long multiply: the trailing zeros of q do not matter.
inline std::int32_t high_multiply(std::int32_t sum, std::int32_t factor) {
  if constexpr (kHasLongMultiply) {
    return rounding_high_multiply(sum, factor);
  } else {
    std::int32_t shift = 32;
    for (; factor > 0x7fff; factor >>= 1) --shift;
    return rescale_in_pieces(sum, factor, shift);
  }
}

}  // namespace

void conv_gemm_words_scalar_plain(const ScalarGemm& gemm, bool positive) {
  const std::uint8_t* stream = gemm.stream;
  for (std::uint32_t channel = 0; channel < gemm.channels; channel += 2) {
    const auto* record = reinterpret_cast<const std::int32_t*>(stream);
    const auto* weights = reinterpret_cast<const std::int8_t*>(stream + 16);
    std::int32_t sums[2][3] = {{record[0], record[0], record[0]}, {record[1], record[1], record[1]}};
    const std::int32_t* x = gemm.patches;
    for (std::uint32_t k = 0; k < gemm.elements; ++k) {
      const std::int32_t a = *weights++;
      const std::int32_t b = *weights++;
      for (int pixel = 0; pixel < 3; ++pixel) {
        sums[0][pixel] += *x * a;
        sums[1][pixel] += *x++ * b;
      }
    }
    stream = reinterpret_cast<const std::uint8_t*>(weights);
    for (std::uint32_t lane = 0; lane < 2 && channel + lane < gemm.channels; ++lane) {
      std::int8_t* out = gemm.out + 2 * (channel + lane);
      for (int pixel = 0; pixel < 3; ++pixel, out += gemm.out_step) {
        *reinterpret_cast<std::int16_t*>(out) =
            saturated_word(high_multiply(sums[lane][pixel], record[2 + lane]), positive);
      }
    }
  }
}

}  // namespace cormorant::conv
