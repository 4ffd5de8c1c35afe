// SPDX-License-Identifier: Apache-2.0
//
// What loading a convolution of 16-bit activations leaves for execute(), and how the loops for bytes see it.
#pragma once

#include "ops/conv2d/kernel.h"
#include "ops/conv2d/words.h"

namespace cormorant::ops::conv2d::words {

struct Plan {
  static constexpr std::uint32_t kStateBytes = 16;
  const Header* header;
  const std::int16_t* input;
  std::int8_t* scratch;
  std::int16_t* out;

  [[nodiscard]] const std::uint8_t* stream() const { return reinterpret_cast<const std::uint8_t*>(header + 1); }
};

// Whether a tensor is 16-bit, channels-last, of these sizes.
bool is_image(const Tensor& tensor, std::int32_t batch, std::int32_t height, std::int32_t width, std::int32_t channels);
// What all forms check: tensors, header and size of the stream. Null after a failure.
Plan* load_packed(Call& call, bool (*is_computable)(const conv::Geometry&),
                  std::uint64_t (*stream_bytes)(const conv::Geometry&),
                  std::uint32_t (*scratch_bytes)(const conv::Geometry&));

Error load_plain(Call& call);
Error load_mve(Call& call);
Error load_dsp(Call& call);
Error load_scalar(Call& call);
Error load_v6m(Call& call);

// The same as bytes. The header is made by header_in_bytes() and lives as long as the convolution.
inline conv::Header header_in_bytes(const Header& header) {
  conv::Header bytes;
  bytes.geometry = in_bytes(header.geometry);
  return bytes;
}
inline Convolution convolution_in_bytes(const Plan& plan, const conv::Header& header) {
  return {header, plan.stream(), reinterpret_cast<const std::int8_t*>(plan.input), plan.scratch,
          dense_places(header.geometry, reinterpret_cast<std::int8_t*>(plan.out))};
}

inline std::int16_t clamped(std::int32_t value, std::int32_t low, std::int32_t high) {
  return static_cast<std::int16_t>(clamp(value, low, high));
}
// Loops saturate to int16, or to 15 bits if the minimum is 0: other ranges need a clamp.
inline bool is_saturated(const Header& header) {
  return header.activation_max == 32767 && (header.activation_min == -32768 || header.activation_min == 0);
}
inline void clamp_output(const Header& header, std::int16_t* at) {
  if (is_saturated(header)) return;
  const std::int32_t low = header.activation_min, high = header.activation_max;
  for (std::uint32_t count = header.geometry.out_pixels() * header.geometry.out_channels; count > 0; --count, ++at) {
    *at = clamped(*at, low, high);
  }
}

}  // namespace cormorant::ops::conv2d::words
