// SPDX-License-Identifier: Apache-2.0
//
// The host's kernels: each layout read through its index functions into the reference.
#include "ops/conv2d/reference.h"

#include <vector>

#include "ops/conv2d/float.h"
#include "ops/conv2d/kernel.h"
#include "ops/conv2d/packed_reference.h"
#include "ops/references.h"

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
void execute_row(const void* raw) { reference_packed(Layout::mve, *static_cast<const PackedPlan*>(raw), true); }

}  // namespace

void reference_packed(Layout layout, const PackedPlan& plan, bool by_columns) {
  struct Constants : PackedConstants<Stream> {
    std::uint32_t window;
    std::vector<std::int16_t> weights;

    [[nodiscard]] std::int32_t weight(std::uint32_t c, std::uint32_t k) const { return weights[c * window + k]; }
    [[nodiscard]] std::int32_t weight_at(std::uint32_t at) const {
      return stream.weight_offset() == 0 ? stored_weight(at) : data[at] - stream.weight_offset();
    }
    // Each weight is used once per output pixel, so its index is worth working out only once.
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

constexpr auto* execute_scalar = execute_packed<Layout::scalar>;
constexpr auto* execute_v6m = execute_packed<Layout::v6m>;
constexpr auto* execute_dsp = execute_packed<Layout::dsp>;
constexpr auto* execute_dsp_wide = execute_packed<Layout::dsp_wide>;
constexpr auto* execute_dsp_small = execute_packed<Layout::dsp>;
constexpr auto* execute_mve_1x1 = execute_packed<Layout::mve>;
constexpr auto* execute_mve_kxk = execute_packed<Layout::mve>;
constexpr auto* execute_mve_row = execute_row;
constexpr auto* load_upstream = load_direct;
constexpr auto* load_upstream_nhwc = load_direct_nhwc;

CORMORANT_REFERENCES(conv2d, CORMORANT_CONV2D_KERNELS)

}  // namespace cormorant::ops::conv2d
