// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "ops/linear/kernel.h"

namespace cormorant::ops::linear {

// One output feature of a packed constant, read back. `at` throws nothing and allocates nothing.
struct PackedFeature {
  const std::byte* packed;
  PackedGeometry geometry;
  PackedGeometry::Place place;

  [[nodiscard]] std::int32_t weight(std::uint32_t input) const;
  [[nodiscard]] std::int32_t bias() const;
  [[nodiscard]] std::int32_t multiplier() const;
  [[nodiscard]] std::int32_t shift() const;
};

// The specification: reads the plan alone.
void reference(const Plan& plan);
void packed_reference(const PackedPlan& plan);

}  // namespace cormorant::ops::linear
