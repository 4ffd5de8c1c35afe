// SPDX-License-Identifier: Apache-2.0
//
// The search for integers that replace cortex_m::quantized_add's arithmetic (add.h says why). For a pair of factors
// every case bounds the offset: with v = self · self_factor + other · other_factor and the wanted result q,
//     q · 2^shift <= v + offset < (q + 1) · 2^shift
// (only one bound if q is clamped). Offsets that satisfy all 65,536 cases form an interval; if it is empty, the next
// pair of factors is tried, at growing distance from the real ones. The real factors' rounding to 22 bits leaves a few
// cases undecided, so a pair among the first ten usually fits. Only the few hundred cases whose bounds are nearly the
// tightest can ever decide, so the others are looked at once.
#include "ops/add/prepack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/add/reference.h"
#include "ops/conv2d/residual.h"

namespace cormorant::ops::add {
namespace {

constexpr std::int32_t kRadius = 12;

// A case's bound on the offset, for the factors that the search starts from.
struct Bound {
  std::int64_t self, other;
  std::int64_t offset;

  // The same for factors that differ by (i, j).
  [[nodiscard]] std::int64_t at(std::int64_t i, std::int64_t j) const { return offset - self * i - other * j; }
};
// How much tighter a bound can get relative to another within the search's radius.
constexpr std::int64_t kReach = std::int64_t{2} * kRadius * (128 + 128);

struct Bounds {
  std::vector<Bound> lower, upper;

  Bounds(const Plan& plan, const Factors& f) {
    constexpr std::int64_t kAny = std::int64_t{1} << 60;
    std::int64_t highest = -kAny;  // the tightest so far: what is out of its reach is not worth keeping
    std::int64_t lowest = kAny;
    for (std::int64_t a = -128; a < 128; ++a) {
      for (std::int64_t b = -128; b < 128; ++b) {
        const std::int64_t q{add_one(plan, static_cast<std::int8_t>(a), static_cast<std::int8_t>(b))};
        const std::int64_t v = a * f.self + b * f.other;
        const Bound at_least{a, b, (q << f.shift) - v};
        const Bound at_most{a, b, ((q + 1) << f.shift) - 1 - v};
        if (q > plan.activation_min && at_least.offset >= highest - kReach) {
          lower.push_back(at_least);
          highest = std::max(highest, at_least.offset);
        }
        if (q < plan.activation_max && at_most.offset <= lowest + kReach) {
          upper.push_back(at_most);
          lowest = std::min(lowest, at_most.offset);
        }
      }
    }
    std::erase_if(lower, [&](const Bound& bound) { return bound.offset < highest - kReach; });
    std::erase_if(upper, [&](const Bound& bound) { return bound.offset > lowest + kReach; });
  }

  // The offset in the middle of those that fit; none if none does.
  [[nodiscard]] std::optional<std::int32_t> find_offset(std::int64_t i, std::int64_t j) const {
    std::int64_t low = std::numeric_limits<std::int32_t>::min();
    std::int64_t high = std::numeric_limits<std::int32_t>::max();
    for (const Bound& bound : lower) low = std::max(low, bound.at(i, j));
    for (const Bound& bound : upper) high = std::min(high, bound.at(i, j));
    if (low > high) return std::nullopt;
    return static_cast<std::int32_t>(low + (high - low) / 2);
  }
};

double real_factor(const Rescale& r) { return std::ldexp(r.multiplier, r.shift - 31); }

}  // namespace

std::optional<Factors> find_factors(const Plan& plan) {
  const double scale = std::ldexp(real_factor(plan.output), kLeftShift);
  for (const std::int32_t shift : kShifts) {
    const double self = std::ldexp(real_factor(plan.self) * scale, shift);
    const double other = std::ldexp(real_factor(plan.other) * scale, shift);
    if (std::abs(self) + std::abs(other) >= 1 << 24) continue;
    const Factors start{static_cast<std::int32_t>(std::lround(self)), static_cast<std::int32_t>(std::lround(other)), 0,
                        shift};
    const Bounds bounds(plan, start);
    for (std::int32_t distance = 0; distance <= kRadius; ++distance) {
      for (std::int32_t i = -distance; i <= distance; ++i) {
        for (std::int32_t j = -distance; j <= distance; ++j) {
          if (std::max(std::abs(i), std::abs(j)) != distance) continue;
          const auto offset = bounds.find_offset(i, j);
          if (!offset) continue;
          const Factors found{start.self + i, start.other + j, *offset, shift};
          if (is_valid(found)) return found;
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
  if (plan.activation_min == -128 && plan.activation_max == 127) {
    if (ir::Value* sum = conv2d::absorb_sum(rewriter, call.self, call.other, *factors); sum != nullptr) return sum;
  }
  FactorAdd<HostWorld> packed{.self = call.self, .other = call.other};
  packed.self_factor = factors->self;
  packed.other_factor = factors->other;
  packed.offset = factors->offset;
  packed.shift = factors->shift;
  packed.activation_min = call.activation_min;
  packed.activation_max = call.activation_max;
  const bool mve = rewriter.config.target.isa == Isa::mve;
  return rewriter
      .emit(packed, rewriter.node.result()->type, mve ? names::cormorant_add_mve : names::cormorant_add_scalar)
      ->result();
}

}  // namespace cormorant::ops::add
