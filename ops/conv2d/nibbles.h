// SPDX-License-Identifier: Apache-2.0
//
// Convolution with 4-bit weights, two to a byte in flash (4w8a): what compiler and kernels agree on. A record is that
// of the variant for bytes (conv2d.h) except for its weights: of eight, the first four are the lower halves of four
// bytes, the others the upper halves, padded to multiples of eight. The kernel unpacks the records of some channels
// into scratch and computes these channels of all pixels with the loops for bytes, then continues with the next ones: a
// weight is unpacked once and serves every pixel.
#pragma once

#include "ops/conv2d/conv2d.h"

namespace cormorant::ops::conv2d::nibbles {

struct Variant {
  const char* name;  // of the program
  const conv2d::Variant& bytes;
};
inline constexpr Variant kMve{names::cormorant_conv2d_mve_nibbles, kMveKxk};
inline constexpr Variant kDsp{names::cormorant_conv2d_dsp_nibbles, conv2d::kDsp};
inline constexpr Variant kScalar{names::cormorant_conv2d_scalar_nibbles, kHalves};
inline constexpr Variant kV6m{names::cormorant_conv2d_v6m_nibbles, conv2d::kV6m};

constexpr const Variant& choose_variant(const Target& target) {
  if (target.isa == Isa::mve) return kMve;
  if (target.isa == Isa::dsp) return kDsp;
  return is_baseline(target) ? kV6m : kScalar;
}

constexpr bool is_computable(const Variant& variant, const conv::Geometry& g) {
  return g.groups == 1 && conv2d::is_computable(variant.bytes, g);
}

// Bytes of a record: what is before its weights, these unpacked, what is after them.
struct Record {
  std::uint32_t head, weights, tail;
  [[nodiscard]] constexpr std::uint32_t packed_weights() const { return round_up(weights, 8) / 2; }
  [[nodiscard]] constexpr std::uint32_t bytes() const { return head + packed_weights() + tail; }
};

struct Stream {
  conv2d::Stream bytes;
  std::uint32_t room;

  constexpr Stream(const Variant& variant, const conv::Geometry& g)
      : bytes(variant.bytes.layout, g), room(room_for(g)) {}

  // For unpacked records: as much as the layer's images take, so that they do not multiply a small network's memory;
  // with more, fewer passes copy patches.
  static constexpr std::uint32_t room_for(const conv::Geometry& g) {
    constexpr std::uint32_t kLeast = 512, kMost = 8192;
    const auto image = [](std::uint32_t channels, std::uint32_t width, std::uint32_t height) {
      const std::uint32_t row = channels * width;  // of 16-bit numbers
      return row >= kMost || row * height >= kMost ? kMost : row * height;
    };
    const std::uint32_t images =
        image(g.in_channels, g.in_width, g.in_height) + image(g.out_channels, g.out_width, g.out_height);
    return images < kLeast ? kLeast : images > kMost ? kMost : images;
  }

  [[nodiscard]] constexpr std::uint32_t weights() const { return bytes.block() * bytes.padded_patch(); }
  [[nodiscard]] constexpr Record record() const {
    return {bytes.weights_at(), weights(), bytes.block_bytes() - bytes.weights_at() - weights()};
  }
  [[nodiscard]] constexpr std::uint32_t packed_weights() const { return record().packed_weights(); }
  [[nodiscard]] constexpr std::uint32_t block_bytes() const { return record().bytes(); }
  [[nodiscard]] constexpr std::uint64_t total() const { return wide_product(bytes.blocks(), block_bytes()); }
  // Shifts precede the weights except on MVE.
  [[nodiscard]] constexpr std::uint32_t shifts_at() const {
    const std::uint32_t at = bytes.shifts_at();
    return at < bytes.weights_at() ? at : at - weights() + packed_weights();
  }
  // Blocks that are unpacked at a time: as many as there is room for.
  [[nodiscard]] constexpr std::uint32_t pass() const {
    std::uint32_t blocks = 1;
    while (blocks < bytes.blocks() && (blocks + 1) * bytes.block_bytes() <= room) ++blocks;
    return blocks;
  }
  // The last eight weights may extend past their record.
  [[nodiscard]] constexpr std::uint32_t pass_bytes() const { return round_up(pass() * bytes.block_bytes() + 8, 16); }
};

// The unpacked records, then what the kernel for bytes needs.
constexpr CheckedSize scratch_bytes(const Variant& variant, const conv::Geometry& g) {
  return CheckedSize(Stream(variant, g).pass_bytes()) + conv2d::scratch_bytes(variant.bytes, g);
}

// Four 4-bit weights, one in each byte, as bytes in two's complement; with an offset of 128, without the last step.
constexpr std::uint32_t with_offset(std::uint32_t four) { return (four ^ 0x08080808U) + 0x78787878U; }
constexpr std::uint32_t as_bytes(std::uint32_t four) { return with_offset(four) ^ 0x80808080U; }

}  // namespace cormorant::ops::conv2d::nibbles
