// SPDX-License-Identifier: Apache-2.0
//
// The host's kernels: conv2d's reference with one input channel per group.
#include "ops/conv2d/reference.h"

#include <algorithm>
#include <cstring>

#include "ops/conv2d/packed_reference.h"
#include "ops/conv2d/words_reference.h"
#include "ops/depthwise_conv2d/kernel.h"
#include "ops/depthwise_conv2d/nibbles_kernel.h"
#include "ops/depthwise_conv2d/packed_reference.h"
#include "ops/depthwise_conv2d/words_kernel.h"
#include "ops/host/references.h"

namespace cormorant::ops::depthwise {
namespace {

struct Constants : conv2d::PackedConstants<Stream> {
  [[nodiscard]] std::int32_t weight(std::uint32_t c, std::uint32_t k) const {
    return stored_weight(stream.weight_index(c, k));
  }
  [[nodiscard]] std::int32_t negative_multiplier(std::uint32_t c) const {
    return stream.has_slopes ? word(stream.negative_multiplier_index(c)) : multiplier(c);
  }
};

template <const Variant& V>
void execute_packed(const void* raw) {
  reference_packed(V, *static_cast<const PackedPlan*>(raw));
}

template <const nibbles::Variant& V>
void execute_nibbles(const void* raw) {
  PackedPlan plan = *static_cast<const PackedPlan*>(raw);
  const nibbles::Stream stream(V, plan.header->geometry);
  const auto bytes = conv2d::unpacked(stream.record(), stream.bytes.blocks(), 0, plan);
  plan.header = reinterpret_cast<const conv::Header*>(bytes.data());
  reference_packed(V.bytes, plan);
}

void execute_direct(const void* raw) {
  const auto& plan = *static_cast<const conv::Direct*>(raw);
  struct Direct : conv2d::DirectParameters {
    [[nodiscard]] std::int32_t weight(std::uint32_t c, std::uint32_t k) const {
      return plan.weights[k * plan.geometry.out_channels + c];
    }
  };
  conv2d::reference_convolution(conv2d::direct_reference(plan), Direct{{plan}});
}

}  // namespace

void reference_packed(const Variant& variant, const PackedPlan& plan) {
  conv2d::reference_convolution(conv2d::packed_reference(plan, 1),
                                Constants{{Stream(variant, plan.header->geometry), plan.stream()}});
}

constexpr auto* execute_scalar = execute_packed<kScalar>;
constexpr auto* execute_dsp = execute_packed<kDsp>;
constexpr auto* execute_dsp_wide = execute_packed<kDspWide>;
constexpr auto* execute_dsp_small = execute_packed<kDspSmall>;
constexpr auto* execute_mve_3x3 = execute_packed<kMve3x3>;
constexpr auto* execute_mve_3x3_narrow = execute_packed<kMve3x3Narrow>;
constexpr auto* execute_mve_kxk = execute_packed<kMveKxk>;
constexpr auto* execute_scalar_prelu = execute_packed<kScalarPrelu>;
constexpr auto* execute_dsp_prelu = execute_packed<kDspPrelu>;
constexpr auto* execute_mve_prelu = execute_packed<kMvePrelu>;
constexpr auto* execute_scalar_nibbles = execute_nibbles<nibbles::kScalar>;
constexpr auto* execute_dsp_nibbles = execute_nibbles<nibbles::kDsp>;
constexpr auto* execute_mve_3x3_nibbles = execute_nibbles<nibbles::kMve3x3>;
constexpr auto* execute_mve_3x3_narrow_nibbles = execute_nibbles<nibbles::kMve3x3Narrow>;
constexpr auto* execute_mve_kxk_nibbles = execute_nibbles<nibbles::kMveKxk>;
constexpr auto* load_upstream = load_direct;
constexpr auto* load_upstream_nhwc = load_direct_nhwc;

namespace words {
namespace {

template <Layout L>
void execute_packed(const void* raw) {
  const auto& plan = *static_cast<const Plan*>(raw);
  conv::Geometry g = plan.header->geometry;
  const Stream stream(L, g);
  const std::uint8_t* data = plan.stream();
  const auto word = [&](std::uint32_t at) {
    std::int32_t value = 0;
    std::memcpy(&value, data + at, sizeof value);
    return value;
  };
  g.groups = g.in_channels;
  conv2d::words::reference_words(g, plan.input, plan.out, [&](std::uint32_t c, auto element) {
    std::int64_t sum = word(stream.bias_index(c));
    for (std::uint32_t k = 0; k < g.taps(); ++k) {
      const std::uint32_t at = stream.weight_index(c, k);
      const auto weight = static_cast<std::int8_t>(data[at]);  // of two bytes the lower one
      sum += std::int64_t{element(k)} * weight;
    }
    const std::int64_t low = plan.header->activation_min, high = plan.header->activation_max;
    const Factor factor = stream.factor_of(word(stream.factor_index(c)));
    return static_cast<std::int16_t>(std::clamp(conv2d::words::rescaled(sum, factor), low, high));
  });
}

constexpr auto* execute_mve = execute_packed<Layout::mve>;
constexpr auto* execute_dsp = execute_packed<Layout::dsp>;
constexpr auto* execute_scalar = execute_packed<Layout::scalar>;
constexpr auto* execute_v6m = execute_packed<Layout::v6m>;

}  // namespace
}  // namespace words

CORMORANT_REFERENCES(depthwise_conv2d, CORMORANT_DEPTHWISE_CONV2D_KERNELS)

}  // namespace cormorant::ops::depthwise
