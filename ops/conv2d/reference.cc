// SPDX-License-Identifier: Apache-2.0
//
// The host's kernels: each layout read through its index functions into the reference.
#include "ops/conv2d/reference.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "ops/conv2d/float.h"
#include "ops/conv2d/kernel.h"
#include "ops/conv2d/nibbles_kernel.h"
#include "ops/conv2d/packed_reference.h"
#include "ops/conv2d/words_kernel.h"
#include "ops/conv2d/words_reference.h"
#include "ops/host/references.h"

namespace cormorant::ops::conv2d {
namespace {

void execute_direct(const void* raw) {
  const auto& plan = *static_cast<const conv::Direct*>(raw);
  const std::uint32_t window = plan.geometry.taps() * plan.group_channels;
  struct Constants : DirectParameters {
    std::uint32_t window;
    [[nodiscard]] std::int32_t weight(std::uint32_t c, std::uint32_t k) const { return plan.weights[c * window + k]; }
  };
  reference_convolution(direct_reference(plan), Constants{{plan}, window});
}

template <Layout L>
void execute_packed(const void* raw) {
  reference_packed(L, *static_cast<const PackedPlan*>(raw));
}
template <Layout L>
void execute_row(const void* raw) {
  reference_packed(L, *static_cast<const PackedPlan*>(raw), true);
}

void execute_mve_sum(const void* raw) {
  const auto& plan = *static_cast<const SummedPlan*>(raw);
  const conv::Geometry& g = plan.header->geometry;
  std::vector<std::int8_t> convolved(std::size_t{g.out_pixels()} * g.out_channels);
  PackedPlan alone = plan;
  alone.out = convolved.data();
  reference_packed(Layout::mve, alone);
  for (std::size_t i = 0; i < convolved.size(); ++i) {
    const std::int32_t sum =
        convolved[i] * plan.factors.self + plan.residual[i] * plan.factors.other + plan.factors.offset;
    plan.out[i] = static_cast<std::int8_t>(clamp(sum >> plan.factors.shift, -128, 127));
  }
}

}  // namespace

void reference_packed(Layout layout, const PackedPlan& plan, bool by_columns) {
  struct Constants : PackedConstants<Stream> {
    std::uint32_t window;
    std::vector<std::int16_t> weights;

    [[nodiscard]] std::int32_t weight(std::uint32_t c, std::uint32_t k) const { return weights[c * window + k]; }
    [[nodiscard]] std::int32_t negative_multiplier(std::uint32_t c) const {
      return stream.is_sloped() ? word(stream.negative_multiplier_index(c)) : multiplier(c);
    }
    [[nodiscard]] std::int32_t weight_at(std::uint32_t at) const {
      return stream.weight_offset() == 0 ? stored_weight(at) : data[at] - stream.weight_offset();
    }
    // Each weight is used once per output pixel, so its index is computed only once.
    void unpack_weights(const conv::Geometry& g, bool is_by_columns) {
      const std::uint32_t channels = g.out_channels;
      weights.reserve(std::size_t{channels} * window);
      for (std::uint32_t c = 0; c < channels; ++c) {
        for (std::uint32_t k = 0; k < window; ++k) {
          weights.push_back(
              static_cast<std::int16_t>(weight_at(stream.weight_index(c, is_by_columns ? place_by_columns(g, k) : k))));
        }
      }
    }
  };
  const conv::Geometry& geometry = plan.header->geometry;
  Constants constants{{Stream(layout, geometry), plan.stream()}, geometry.patch(), {}};
  constants.unpack_weights(geometry, by_columns);
  reference_convolution(packed_reference(plan, geometry.group_inputs()), constants);
}

ReferenceConvolution packed_reference(const PackedPlan& plan, std::uint32_t group_channels) {
  const conv::Header& header = *plan.header;
  return {.geometry = header.geometry,
          .group_channels = group_channels,
          .input_offset = 0,
          .outside = header.pad_value,
          .output_offset = header.output_offset,
          .activation_min = header.activation_min,
          .activation_max = header.activation_max,
          .input = plan.input,
          .out = plan.out};
}

ReferenceConvolution direct_reference(const conv::Direct& plan) {
  return {.geometry = plan.geometry,
          .group_channels = plan.group_channels,
          .input_offset = plan.input_offset,
          .outside = -plan.input_offset,
          .output_offset = plan.output_offset,
          .activation_min = plan.activation_min,
          .activation_max = plan.activation_max,
          .input = plan.input,
          .out = plan.out};
}

std::vector<std::uint64_t> unpacked(const nibbles::Record& record, std::uint32_t count, std::uint32_t weight_offset,
                                    const PackedPlan& plan) {
  std::vector<std::uint8_t> bytes(sizeof(conv::Header));
  std::memcpy(bytes.data(), plan.header, sizeof(conv::Header));
  const std::uint8_t* from = plan.stream();
  for (; count > 0; --count, from += record.bytes()) {
    bytes.insert(bytes.end(), from, from + record.head);
    for (std::uint32_t k = 0; k < record.weights; ++k) {
      const std::uint8_t both = from[record.head + k / 8 * 4 + k % 4];
      const std::uint32_t four = k % 8 < 4 ? both & 15U : both >> 4U;
      bytes.push_back(static_cast<std::uint8_t>((four ^ 8U) - 8U + weight_offset));
    }
    bytes.insert(bytes.end(), from + record.head + record.packed_weights(), from + record.bytes());
  }
  std::vector<std::uint64_t> aligned(bytes.size() / 8 + 1);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  return aligned;
}

void reference_nibbles(const nibbles::Variant& variant, const PackedPlan& plan) {
  const nibbles::Stream stream(variant, plan.header->geometry);
  const auto bytes =
      unpacked(stream.record(), stream.bytes.blocks(), static_cast<std::uint32_t>(stream.bytes.weight_offset()), plan);
  PackedPlan of_bytes = plan;
  of_bytes.header = reinterpret_cast<const conv::Header*>(bytes.data());
  reference_packed(variant.bytes.layout, of_bytes);
}

namespace {

template <const nibbles::Variant& V>
void execute_nibbles(const void* raw) {
  reference_nibbles(V, *static_cast<const PackedPlan*>(raw));
}

}  // namespace

constexpr auto* execute_mve_nibbles = execute_nibbles<nibbles::kMve>;
constexpr auto* execute_dsp_nibbles = execute_nibbles<nibbles::kDsp>;
constexpr auto* execute_scalar_nibbles = execute_nibbles<nibbles::kScalar>;
constexpr auto* execute_v6m_nibbles = execute_nibbles<nibbles::kV6m>;
constexpr auto* execute_scalar = execute_packed<Layout::scalar>;
constexpr auto* execute_v6m = execute_packed<Layout::v6m>;
constexpr auto* execute_halves = execute_packed<Layout::halves>;
constexpr auto* execute_halves_groups = execute_packed<Layout::halves>;
constexpr auto* execute_dsp = execute_packed<Layout::dsp>;
constexpr auto* execute_dsp_groups = execute_packed<Layout::dsp>;
constexpr auto* execute_dsp_wide = execute_packed<Layout::dsp_wide>;
constexpr auto* execute_dsp_small = execute_packed<Layout::dsp>;
constexpr auto* execute_mve_1x1 = execute_packed<Layout::mve>;
constexpr auto* execute_mve_kxk = execute_packed<Layout::mve>;
constexpr auto* execute_mve_row = execute_row<Layout::mve>;
constexpr auto* execute_scalar_prelu = execute_packed<Layout::scalar_prelu>;
constexpr auto* execute_v6m_prelu = execute_packed<Layout::v6m_prelu>;
constexpr auto* execute_halves_prelu = execute_packed<Layout::halves_prelu>;
constexpr auto* execute_dsp_prelu = execute_packed<Layout::dsp_prelu>;
constexpr auto* execute_mve_prelu = execute_packed<Layout::mve_prelu>;
constexpr auto* execute_mve_row_prelu = execute_row<Layout::mve_prelu>;
constexpr auto* load_upstream = load_direct;
constexpr auto* load_upstream_nhwc = load_direct_nhwc;

namespace words {
namespace {

// Each layout read through its index functions.
template <Layout L>
void execute_packed(const void* raw) {
  const auto& plan = *static_cast<const Plan*>(raw);
  const conv::Geometry& g = plan.header->geometry;
  const Stream stream(L, g);
  const std::uint8_t* data = plan.stream();
  const auto word = [&](std::uint32_t at) {
    std::int32_t value = 0;
    std::memcpy(&value, data + at, sizeof value);
    return value;
  };
  struct Channel {
    std::int32_t bias;
    Factor factor;
    std::vector<std::int32_t> weights;
  };
  std::vector<Channel> channels;
  for (std::uint32_t c = 0; c < g.out_channels; ++c) {
    // q is m' · 2^(32 − n): as good as m' = q and n = 32.
    const Factor factor = {word(stream.factor_index(c)), stream.has_shifts() ? word(stream.factor_index(c) + 4) : 32};
    Channel& channel = channels.emplace_back(Channel{word(stream.bias_index(c)), factor, {}});
    for (std::uint32_t k = 0; k < g.patch(); ++k) {
      const std::uint8_t stored = data[stream.weight_index(c, k)];
      channel.weights.push_back(L == Layout::v6m ? stored - stream.weight_offset() : static_cast<std::int8_t>(stored));
    }
  }
  reference_words(g, plan.input, plan.out, [&](std::uint32_t c, auto element) {
    const Channel& channel = channels[c];
    std::int64_t sum = channel.bias;
    for (std::uint32_t k = 0; k < g.patch(); ++k) sum += std::int64_t{element(k)} * channel.weights[k];
    const std::int64_t low = plan.header->activation_min, high = plan.header->activation_max;
    return static_cast<std::int16_t>(std::clamp(rescaled(sum, channel.factor), low, high));
  });
}

constexpr auto* execute_mve = execute_packed<Layout::mve>;
constexpr auto* execute_dsp = execute_packed<Layout::dsp>;
constexpr auto* execute_scalar = execute_packed<Layout::scalar>;
constexpr auto* execute_v6m = execute_packed<Layout::v6m>;

}  // namespace
}  // namespace words

CORMORANT_REFERENCES(conv2d, CORMORANT_CONV2D_KERNELS)

}  // namespace cormorant::ops::conv2d
