// SPDX-License-Identifier: Apache-2.0
//
// Depthwise convolution with 4-bit weights, two to a byte in flash (4w8a): the records of a variant for bytes with
// their weights halved as ops/conv2d/nibbles.h says. All of them are unpacked into scratch, once per call.
#pragma once

#include "ops/conv2d/nibbles.h"
#include "ops/depthwise_conv2d/depthwise_conv2d.h"

namespace cormorant::ops::depthwise::nibbles {

struct Variant {
  const char* name;  // of the program
  const depthwise::Variant& bytes;
};
inline constexpr Variant kMve3x3{names::cormorant_depthwise_conv2d_mve_3x3_nibbles, depthwise::kMve3x3};
inline constexpr Variant kMve3x3Narrow{names::cormorant_depthwise_conv2d_mve_3x3_narrow_nibbles,
                                       depthwise::kMve3x3Narrow};
inline constexpr Variant kMveKxk{names::cormorant_depthwise_conv2d_mve_kxk_nibbles, depthwise::kMveKxk};
inline constexpr Variant kDsp{names::cormorant_depthwise_conv2d_dsp_nibbles, depthwise::kDsp};
inline constexpr Variant kScalar{names::cormorant_depthwise_conv2d_scalar_nibbles, depthwise::kScalar};
inline constexpr const Variant* kVariants[] = {&kMve3x3, &kMve3x3Narrow, &kMveKxk, &kDsp, &kScalar};

constexpr const Variant& choose_variant(const Target& target, const conv::Geometry& g) {
  if (target.isa == Isa::scalar) return kScalar;
  if (target.isa == Isa::dsp) return kDsp;
  if (target.optimize == Optimize::size) return kMveKxk;
  return is_computable(depthwise::kMve3x3Narrow, g) ? kMve3x3Narrow
         : is_computable(depthwise::kMve3x3, g)     ? kMve3x3
                                                    : kMveKxk;
}

struct Stream {
  depthwise::Stream bytes;

  constexpr Stream(const Variant& variant, const conv::Geometry& g) : bytes(variant.bytes, g) {}
  [[nodiscard]] constexpr conv2d::nibbles::Record record() const {
    return {4 * bytes.block(), bytes.taps * bytes.block(), 6 * bytes.block()};
  }
  [[nodiscard]] constexpr std::uint64_t total() const { return wide_product(bytes.blocks(), record().bytes()); }
  [[nodiscard]] constexpr std::uint32_t shifts_at() const { return record().bytes() - 2 * bytes.block(); }
  [[nodiscard]] constexpr CheckedSize unpacked() const { return CheckedSize(bytes.blocks()) * bytes.block_bytes(); }
};

// The unpacked records, then what the kernel for bytes needs.
constexpr CheckedSize scratch_bytes(const Variant& variant, const conv::Geometry& g) {
  return Stream(variant, g).unpacked() + depthwise::scratch_bytes(variant.bytes, g);
}

}  // namespace cormorant::ops::depthwise::nibbles
