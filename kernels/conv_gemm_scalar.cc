// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_gemm.h"
#include "kernels/requantize.h"

namespace cormorant::conv {

namespace {

template <bool kHasSlopes>
inline void gemm_plain(const ScalarGemm& gemm) {
  const std::uint8_t* stream = gemm.stream;
  for (std::uint32_t channel = 0; channel < gemm.channels; channel += 2) {
    const auto* record = reinterpret_cast<const std::int32_t*>(stream);
    const auto* shifts = reinterpret_cast<const std::int8_t*>(stream + 16);
    const auto* weights = reinterpret_cast<const std::int8_t*>(stream + (kHasSlopes ? 28 : 20));
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
      const std::int32_t shift = shifts[lane] + shifts[2 + lane];
      std::int8_t* out = gemm.out + channel + lane;
      for (int pixel = 0; pixel < 3; ++pixel, out += gemm.out_step) {
        const std::int32_t sum = sums[lane][pixel], multiplier = record[2 + lane];
        const std::int32_t value = (kHasSlopes ? requantize_by_sign(sum, multiplier, record[5 + lane], shift)
                                               : requantize_for_cpu(sum, multiplier, shift)) +
                                   gemm.output.offset;
        *out = static_cast<std::int8_t>(clamp(value, gemm.output.min, gemm.output.max));
      }
    }
  }
}

}  // namespace

void conv_gemm_scalar_plain(const ScalarGemm& gemm) { gemm_plain<false>(gemm); }
void conv_gemm_prelu_scalar_plain(const ScalarGemm& gemm) { gemm_plain<true>(gemm); }

}  // namespace cormorant::conv
