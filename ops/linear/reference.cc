// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/reference.h"

#include <cstring>

#include "base/fixed_point.h"
#include "ops/host/references.h"
#include "ops/linear/float.h"

namespace cormorant::ops::linear {
namespace {

template <class T>
T load_at(const std::byte* packed, std::uint64_t offset) {
  T value;
  std::memcpy(&value, packed + offset, sizeof(T));
  return value;
}

// Sums wrap as the hardware's do: a file may hold any bias.
std::int32_t wrapping_add(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b));
}

}  // namespace

std::int32_t PackedFeature::weight(std::uint32_t input) const {
  const std::uint64_t at = geometry.weight_offset(place, input);
  const std::int32_t stored = load_at<std::int8_t>(packed, at);
  if (!place.grouped) return stored;
  if (geometry.layout == Layout::scalar) return load_at<std::uint8_t>(packed, at) - 128;
  if (weight_bytes_of(geometry.layout) == 2) return load_at<std::int16_t>(packed, at);
  // The upper half of a pair has lost one where the lower half is negative.
  const bool is_upper = geometry.layout == Layout::dsp_pairs && place.feature % 2 == 1;
  return is_upper && load_at<std::int8_t>(packed, at - 1) < 0 ? stored + 1 : stored;
}

std::int32_t PackedFeature::bias() const { return load_at<std::int32_t>(packed, geometry.bias_offset(place)); }
std::int32_t PackedFeature::multiplier() const {
  return load_at<std::int32_t>(packed, geometry.multiplier_offset(place));
}
std::int32_t PackedFeature::shift() const { return load_at<std::int8_t>(packed, geometry.shift_offset(place)); }

void reference(const Plan& p) {
  for (std::uint32_t row = 0; row < p.rows; ++row) {
    for (std::uint32_t n = 0; n < p.outputs; ++n) {
      std::int32_t sum = p.bias == nullptr ? 0 : p.bias[n];
      for (std::uint32_t k = 0; k < p.inputs; ++k) {
        sum = wrapping_add(sum, (p.input[row * p.inputs + k] + p.input_offset) * p.weights[n * p.inputs + k]);
      }
      const std::int32_t level = wrapping_add(requantize(sum, p.multiplier, p.shift), p.output_offset);
      p.out[row * p.outputs + n] = static_cast<std::int8_t>(clamp(level, p.activation_min, p.activation_max));
    }
  }
}

void packed_reference(const PackedPlan& p) {
  const PackedHeader& header = p.header();
  const PackedGeometry geometry{static_cast<Layout>(header.layout), header.inputs, header.outputs};
  for (std::uint32_t row = 0; row < p.rows; ++row) {
    for (std::uint32_t n = 0; n < header.outputs; ++n) {
      const PackedFeature feature{p.packed, geometry, geometry.place(n)};
      std::int32_t sum = feature.bias();
      for (std::uint32_t k = 0; k < header.inputs; ++k) {
        sum = wrapping_add(sum, p.input[row * header.inputs + k] * feature.weight(k));
      }
      const std::int32_t level =
          wrapping_add(requantize(sum, feature.multiplier(), feature.shift()), header.output_offset);
      p.out[row * header.outputs + n] =
          static_cast<std::int8_t>(clamp(level, header.activation_min, header.activation_max));
    }
  }
}

namespace {

void execute(const void* plan) { reference(*static_cast<const Plan*>(plan)); }
void execute_packed(const void* plan) { packed_reference(*static_cast<const PackedPlan*>(plan)); }

}  // namespace

constexpr auto* execute_pairs = execute_packed;
constexpr auto* execute_wide = execute_packed;
constexpr auto* execute_rows = execute_packed;
constexpr auto* execute_groups = execute_packed;
CORMORANT_REFERENCES(linear, CORMORANT_LINEAR_KERNELS)

}  // namespace cormorant::ops::linear
