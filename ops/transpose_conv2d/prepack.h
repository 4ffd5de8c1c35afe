// SPDX-License-Identifier: Apache-2.0
//
// cortex_m.quantized_transpose_conv2d -> cormorant.transpose_conv2d.<variant>. Host only.
#pragma once

#include "ops/op.h"
#include "ops/transpose_conv2d/transpose_conv2d.h"

namespace cormorant::ops::transpose_conv2d {

ir::Value* prepack(const Rewriter& rewriter);
std::int64_t packed_macs(const ir::Node& node);

// One dimension of a phase, as a convolution with stride 1: output i reads the inputs i + j · dilation − pad,
// multiplied by the kernel's tap `taps[j]`, or by nothing (none).
struct PhaseTaps {
  std::int64_t first = 0;  // output of the transposed convolution
  std::int64_t count = 0;  // outputs; 0: the phase has none
  std::int64_t dilation = 1;
  std::int64_t pad = 0;
  std::vector<std::optional<std::int64_t>> taps;
};
PhaseTaps phase_taps(std::int64_t phase, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                     std::int64_t padding, std::int64_t dilation);

}  // namespace cormorant::ops::transpose_conv2d
