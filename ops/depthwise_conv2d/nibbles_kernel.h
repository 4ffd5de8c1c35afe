// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/conv2d/nibbles_kernel.h"
#include "ops/depthwise_conv2d/kernel.h"
#include "ops/depthwise_conv2d/nibbles.h"

namespace cormorant::ops::depthwise {

template <const nibbles::Variant& V>
Error load_nibbles(Call& call);
extern template Error load_nibbles<nibbles::kMve3x3>(Call& call);
extern template Error load_nibbles<nibbles::kMve3x3Narrow>(Call& call);
extern template Error load_nibbles<nibbles::kMveKxk>(Call& call);
extern template Error load_nibbles<nibbles::kDsp>(Call& call);
extern template Error load_nibbles<nibbles::kScalar>(Call& call);

// Unpacks all records and computes with the loops for bytes. Inlined, to save stack.
template <const nibbles::Variant& V, auto Convolve, auto Unpack>
[[gnu::always_inline]] inline void convolve_nibbles(const PackedPlan& plan) {
  conv2d::Convolution c = conv2d::convolution_of(plan);
  const nibbles::Stream stream(V, c.header.geometry);
  auto* const records = reinterpret_cast<std::uint8_t*>(plan.scratch);
  conv2d::nibbles::unpack<Unpack>(stream.record(), records, c.stream, stream.bytes.blocks());
  c.stream = records;
  c.scratch += stream.unpacked().value();
  Convolve(c);
}

}  // namespace cormorant::ops::depthwise
