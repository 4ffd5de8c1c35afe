// SPDX-License-Identifier: Apache-2.0
//
// How the references of the three convolutions read a plan, packed or direct: what they share. Host only.
#pragma once

#include <vector>

#include "ops/conv2d/kernel.h"
#include "ops/conv2d/nibbles.h"
#include "ops/conv2d/reference.h"

namespace cormorant::ops::conv2d {

ReferenceConvolution packed_reference(const PackedPlan& plan, std::uint32_t group_channels);
void reference_packed(Layout layout, const PackedPlan& plan, bool by_columns = false);
// Header and stream of the variant for bytes.
std::vector<std::uint64_t> unpacked(const nibbles::Record& record, std::uint32_t count, std::uint32_t weight_offset,
                                    const PackedPlan& plan);
void reference_nibbles(const nibbles::Variant& variant, const PackedPlan& plan);
ReferenceConvolution direct_reference(const conv::Direct& plan);

// Constants of a direct plan except for the weights, whose order is the operator's.
struct DirectParameters {
  const conv::Direct& plan;
  [[nodiscard]] std::int32_t bias(std::uint32_t c) const { return plan.bias == nullptr ? 0 : plan.bias[c]; }
  [[nodiscard]] std::int32_t multiplier(std::uint32_t c) const { return plan.multipliers[c]; }
  [[nodiscard]] std::int32_t shift(std::uint32_t c) const { return plan.shifts[c]; }
};

}  // namespace cormorant::ops::conv2d
