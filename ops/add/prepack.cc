// SPDX-License-Identifier: Apache-2.0
//
// The search for integers that replace cortex_m::quantized_add's arithmetic (add.h says why). For a pair of factors
// every case bounds the offset: with v = self · self_factor + other · other_factor and the wanted result q,
//     q · 2^shift <= v + offset < (q + 1) · 2^shift
// (one bound only where q is clamped). Offsets that satisfy all 65,536 cases form an interval; if it is empty, the next
// pair of factors is tried, in growing distance from the real ones. The real factors' rounding to 22 bits leaves a few
// cases undecided, so that a pair usually fits among the first ten.
#include "ops/add/prepack.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "ops/add/reference.h"

namespace cormorant::ops::add {
namespace {

constexpr std::int64_t kRadius = 12;

using Results = std::array<std::array<std::int8_t, 256>, 256>;  // [self + 128][other + 128]

Results all_results(const Plan& plan) {
  Results results;
  for (int a = -128; a < 128; ++a) {
    for (int b = -128; b < 128; ++b) {
      results[static_cast<std::size_t>(a + 128)][static_cast<std::size_t>(b + 128)] =
          add_one(plan, static_cast<std::int8_t>(a), static_cast<std::int8_t>(b));
    }
  }
  return results;
}

// The offset in the middle of those that fit; none if none does.
std::optional<std::int32_t> find_offset(const Plan& plan, const Results& results, const Factors& f) {
  std::int64_t low = std::numeric_limits<std::int32_t>::min();
  std::int64_t high = std::numeric_limits<std::int32_t>::max();
  for (std::int64_t a = -128; a < 128; ++a) {
    for (std::int64_t b = -128; b < 128; ++b) {
      const std::int64_t q = results[static_cast<std::size_t>(a + 128)][static_cast<std::size_t>(b + 128)];
      const std::int64_t v = a * f.self + b * f.other;
      if (q > plan.activation_min) low = std::max(low, (q << f.shift) - v);
      if (q < plan.activation_max) high = std::min(high, ((q + 1) << f.shift) - 1 - v);
    }
    if (low > high) return std::nullopt;
  }
  return static_cast<std::int32_t>(low + (high - low) / 2);
}

double real_factor(const Rescale& r) { return std::ldexp(r.multiplier, r.shift - 31); }

}  // namespace

std::optional<Factors> find_factors(const Plan& plan) {
  const double scale = std::ldexp(real_factor(plan.output), kLeftShift);
  const Results results = all_results(plan);
  for (const std::int32_t shift : kShifts) {
    const double self = std::ldexp(real_factor(plan.self) * scale, shift);
    const double other = std::ldexp(real_factor(plan.other) * scale, shift);
    if (std::abs(self) + std::abs(other) >= 1 << 24) continue;
    for (std::int64_t distance = 0; distance <= kRadius; ++distance) {
      for (std::int64_t i = -distance; i <= distance; ++i) {
        for (std::int64_t j = -distance; j <= distance; ++j) {
          if (std::max(std::abs(i), std::abs(j)) != distance) continue;
          Factors f{static_cast<std::int32_t>(std::llround(self) + i),
                    static_cast<std::int32_t>(std::llround(other) + j), 0, shift};
          const auto offset = find_offset(plan, results, f);
          if (!offset) continue;
          f.offset = *offset;
          if (is_valid(f)) return f;
        }
      }
    }
  }
  return std::nullopt;
}

ir::Value* prepack(const Rewriter& rewriter) {
  const auto call = read_node<QuantizedAdd<HostWorld>>(rewriter.node);
  const auto rescale = [](std::int64_t zero_point, std::int64_t multiplier, std::int64_t shift) {
    return Rescale{static_cast<std::int32_t>(multiplier), static_cast<std::int16_t>(zero_point),
                   static_cast<std::int8_t>(shift)};
  };
  Plan plan{};
  plan.self = rescale(call.self_zero_point, call.self_multiplier, call.self_shift);
  plan.other = rescale(call.other_zero_point, call.other_multiplier, call.other_shift);
  plan.output = rescale(call.output_zero_point, call.output_multiplier, call.output_shift);
  plan.activation_min = static_cast<std::int8_t>(call.activation_min);
  plan.activation_max = static_cast<std::int8_t>(call.activation_max);
  const auto factors = find_factors(plan);
  if (!factors) return nullptr;
  FactorAdd<HostWorld> packed{.self = call.self, .other = call.other};
  packed.self_factor = factors->self;
  packed.other_factor = factors->other;
  packed.offset = factors->offset;
  packed.shift = factors->shift;
  packed.activation_min = call.activation_min;
  packed.activation_max = call.activation_max;
  const bool mve = rewriter.config.target.isa == Isa::mve;
  return rewriter.emit(packed, rewriter.node.result()->type, mve ? kFactorAddMve : kFactorAddScalar)->result();
}

}  // namespace cormorant::ops::add
