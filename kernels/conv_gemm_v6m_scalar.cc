// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_gemm.h"
#include "kernels/requantize.h"

namespace cormorant::conv {

void conv_gemm_v6m_scalar(const V6mGemm& gemm) {
  const std::uint8_t* stream = gemm.stream;
  for (std::uint32_t channel = 0; channel < gemm.channels; ++channel) {
    const auto* record = reinterpret_cast<const std::int32_t*>(stream);
    const auto* shifts = reinterpret_cast<const std::int8_t*>(stream + 8);
    const std::uint8_t* weights = stream + 12;
    std::int32_t sums[4];
    for (int pixel = 0; pixel < 4; ++pixel) sums[pixel] = record[0] - gemm.excess[pixel];
    const std::int32_t* x = gemm.patches;
    for (std::uint32_t k = 0; k < gemm.elements; ++k) {
      const std::int32_t w = *weights++;
      for (std::int32_t& sum : sums) sum += *x++ * w;
    }
    stream = weights;
    for (int pixel = 0; pixel < 4; ++pixel) {
      const std::int32_t value = requantize_for_cpu(sums[pixel], record[1], shifts[0] + shifts[1]) + gemm.output.offset;
      gemm.out[pixel][channel] = static_cast<std::int8_t>(clamp(value, gemm.output.min, gemm.output.max));
    }
  }
}

}  // namespace cormorant::conv
