// SPDX-License-Identifier: Apache-2.0
#include <arm_mve.h>

#include "kernels/conv_gemm_words.h"
#include "ops/conv2d/nibbles_kernel.h"
#include "ops/conv2d/pairs_mve.h"
#include "ops/conv2d/walk_mve.h"
#include "ops/conv2d/words_kernel.h"

namespace cormorant::ops::conv2d::words {
namespace {

// A convolution in bytes, and what the bytes do not say.
struct InWords : Convolution {
  const Header& words;
};

struct Words {
  // Pairs of pixels, all channels of a group. Channels after the last whole block of four take a detour via the stack.
  static void compute(conv::MveGemm gemm, std::uint32_t bytes, std::uint32_t block_bytes) {
    const std::uint32_t channels = bytes / 2;
    gemm.blocks = channels / 4;
    if (gemm.blocks != 0) cormorant_conv_gemm_words_mve(&gemm);
    const std::uint32_t rest = channels % 4;
    if (rest == 0) return;
    std::int16_t last[2][4];
    conv::MveGemm tail = gemm;
    tail.stream += gemm.blocks * block_bytes;
    tail.blocks = 1;
    tail.pairs = 1;
    tail.out0 = reinterpret_cast<std::int8_t*>(last[0]);
    tail.out1 = reinterpret_cast<std::int8_t*>(last[1]);
    for (std::uint32_t pair = 0; pair < gemm.pairs; ++pair) {
      cormorant_conv_gemm_words_mve(&tail);
      auto* out0 = reinterpret_cast<std::int16_t*>(gemm.out0) + (channels - rest);
      auto* out1 = reinterpret_cast<std::int16_t*>(gemm.out1) + (channels - rest);
      for (std::uint32_t i = 0; i < rest; ++i) {
        out0[i] = last[0][i];
        out1[i] = last[1][i];
      }
      gemm.out0 += gemm.out_step;
      gemm.out1 += gemm.out_step;
      tail.patch0 += gemm.in_step;
      tail.patch1 += gemm.in_step;
    }
  }

  static conv::MveGemm gemm_of(const Convolution& c) {
    const Header& header = static_cast<const InWords&>(c).words;
    conv::MveGemm gemm = conv2d::gemm_of(c);
    gemm.output = {0, header.activation_min, header.activation_max, conv::Rounding::general};
    return gemm;
  }

  static Stream stream_of(const conv::Geometry& bytes) {
    Stream stream(Layout::mve, bytes);
    stream.patch /= 2;
    stream.channels /= 2;
    return stream;
  }
};

void execute_mve(const void* raw) {
  const auto& plan = *static_cast<const Plan*>(raw);
  const conv::Header header = header_in_bytes(*plan.header);
  const InWords c{convolution_in_bytes(plan, header), *plan.header};
  walk<Words>(c);
}

}  // namespace
}  // namespace cormorant::ops::conv2d::words

namespace cormorant::ops::conv2d {

// 32 weights at a time: the lower and the upper halves, four bytes of each in turn. The rest goes word by word.
void nibbles::unpack_vectors(std::uint8_t* to, const std::uint8_t* from, std::uint32_t bytes) {
  const std::uint32_t vectors = bytes / 16;
  if (vectors != 0) {
    asm volatile(
        "dls lr, %[vectors]\n"
        "1:\n"
        "vldrb.u8 q1, [%[from]], #16\n"
        "vshl.i8 q0, q1, #4\n"
        "vshr.s8 q1, q1, #4\n"
        "vshr.s8 q0, q0, #4\n"
        "vst20.32 {q0, q1}, [%[to]]\n"
        "vst21.32 {q0, q1}, [%[to]]!\n"
        "le lr, 1b\n"
        : [to] "+&r"(to), [from] "+&r"(from)
        : [vectors] "r"(vectors)
        : "q0", "q1", "lr", "memory");
  }
  nibbles::unpack_words<false>(to, from, bytes % 16);
}

namespace {

void execute_mve_nibbles(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  nibbles::convolve<nibbles::kMve, convolve_mve, nibbles::unpack_vectors>(convolution_of(plan));
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_CONV2D_KERNELS, mve_words)

}  // namespace cormorant::ops::conv2d
