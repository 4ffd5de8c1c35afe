// SPDX-License-Identifier: Apache-2.0
//
// The host's kernels: conv2d's reference with one input channel per group.
#include "ops/conv2d/reference.h"

#include <cstring>

#include "ops/conv2d/host_kernels.h"
#include "ops/depthwise_conv2d/host_kernels.h"
#include "ops/depthwise_conv2d/kernel.h"

namespace cormorant::ops::depthwise {
namespace {

struct Constants {
  Stream stream;
  const std::uint8_t* data;

  [[nodiscard]] std::int32_t word(std::uint32_t at) const {
    std::int32_t value = 0;
    std::memcpy(&value, data + at, sizeof value);
    return value;
  }
  [[nodiscard]] std::int32_t byte(std::uint32_t at) const { return static_cast<std::int8_t>(data[at]); }
  [[nodiscard]] std::int32_t bias(std::uint32_t c) const { return word(stream.bias_index(c)) / stream.scale(); }
  [[nodiscard]] std::int32_t multiplier(std::uint32_t c) const { return word(stream.multiplier_index(c)); }
  [[nodiscard]] std::int32_t shift(std::uint32_t c) const {
    return byte(stream.right_shift_index(c)) + byte(stream.left_shift_index(c));
  }
  [[nodiscard]] std::int32_t weight(std::uint32_t c, std::uint32_t k) const {
    const std::uint32_t at = stream.weight_index(c, k);
    return stream.weight_bytes() == 2 ? (byte(at + 1) * 256 + data[at]) / stream.scale() : byte(at);
  }
};

template <const Variant& V>
void execute_packed(const void* raw) {
  reference_packed(V, *static_cast<const PackedPlan*>(raw));
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
                                Constants{Stream(variant, plan.header->geometry), plan.stream()});
}

const Kernel kDirectReference = {QuantizedDepthwiseConv2d<TargetWorld>::kName, load_direct, execute_direct};
const Kernel kDirectNhwcReference = {kQuantizedDepthwiseConv2dNhwc, load_direct_nhwc, execute_direct};
const Kernel kPackedReferences[] = {
    {kMve3x3.name, load_mve_3x3, execute_packed<kMve3x3>},
    {kMve3x3Narrow.name, load_mve_3x3_narrow, execute_packed<kMve3x3Narrow>},
    {kMveKxk.name, load_mve_kxk, execute_packed<kMveKxk>},
    {kDsp.name, load_dsp, execute_packed<kDsp>},
    {kDspWide.name, load_dsp_wide, execute_packed<kDspWide>},
    {kDspSmall.name, load_dsp_small, execute_packed<kDspSmall>},
    {kScalar.name, load_scalar, execute_packed<kScalar>},
};
static_assert(std::size(kPackedReferences) == std::size(kVariants));

}  // namespace cormorant::ops::depthwise
