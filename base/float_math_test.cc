// SPDX-License-Identifier: Apache-2.0
//
// Against the host's libm in double, over floats of every exponent.
#include "base/float_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace cormorant {
namespace {

struct Function {
  const char* name;
  float (*ours)(float);
  double (*exact)(double);
  double largest_error;  // in units in the last place
  float low = -std::numeric_limits<float>::max(), high = std::numeric_limits<float>::max();
};

// Distance in units in the last place of a float near `wanted`; 0 where both are NaN or the same infinity.
double ulps(float got, double wanted) {
  const auto nearest = static_cast<float>(wanted);
  if (std::isnan(wanted)) return std::isnan(got) ? 0 : 1e9;
  if (std::isinf(nearest) || std::isinf(got)) return got == nearest ? 0 : 1e9;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(wanted == 0 ? 1e-300 : wanted), -126) - 23);
  return std::abs(static_cast<double>(got) - wanted) / unit;
}

const Function kFunctions[] = {
    {"exp", float_math::exp, std::exp, 1.5},
    {"log", float_math::log, std::log, 2},
    {"tanh", float_math::tanh, std::tanh, 3},
    {"sigmoid", float_math::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 4},
    {"erf", float_math::erf, std::erf, 3},
    {"erfc", float_math::erfc, std::erfc, 16},
    {"log2", float_math::log2, std::log2, 0.6},
    {"log10", float_math::log10, std::log10, 0.6},
    {"log1p", float_math::log1p, std::log1p, 0.6},
    {"expm1", float_math::expm1, std::expm1, 0.6, -std::numeric_limits<float>::max(), 88},
    {"exp2", float_math::exp2, std::exp2, 0.6},
    {"sinh", float_math::sinh, std::sinh, 0.6},
    {"cosh", float_math::cosh, std::cosh, 0.6},
    {"asinh", float_math::asinh, std::asinh, 0.6},
    {"acosh", float_math::acosh, std::acosh, 0.6},
    {"atanh", float_math::atanh, std::atanh, 0.6},
    {"sin", float_math::sin, std::sin, 0.6, -1e6F, 1e6F},
    {"cos", float_math::cos, std::cos, 0.6, -1e6F, 1e6F},
    {"tan", float_math::tan, std::tan, 0.6, -1e6F, 1e6F},
    {"atan", float_math::atan, std::atan, 0.6},
    {"asin", float_math::asin, std::asin, 0.6},
    {"acos", float_math::acos, std::acos, 0.6},
    {"sqrt", float_math::integer_sqrt, std::sqrt, 0.5},
    {"floor", float_math::floor, std::floor, 0},
    {"ceil", float_math::ceil, std::ceil, 0},
    {"trunc", float_math::trunc, std::trunc, 0},
    {"round", float_math::round, std::nearbyint, 0},
};

TEST(FloatMath, IsWithinAFewUnitsOfTheLastPlace) {
  for (const Function& f : kFunctions) {
    std::mt19937 random(7);
    std::normal_distribution<float> usual(0, 4);
    double worst = 0;
    float where = 0;
    for (int i = 0; i < 60000; ++i) {
      float x = i % 2 == 0 ? usual(random) : float_math::from_bits(static_cast<std::uint32_t>(random()));
      constexpr float kSpecial[] = {0.0F, -0.0F, INFINITY, -INFINITY, NAN};
      if (i < 5) x = kSpecial[i];
      if (!std::isfinite(x) && f.high < 1e30F) continue;
      if (std::isfinite(x) && (x < f.low || x > f.high)) continue;
      const double error = ulps(f.ours(x), f.exact(static_cast<double>(x)));
      if (error > worst) {
        worst = error;
        where = x;
      }
    }
    EXPECT_LE(worst, f.largest_error) << f.name << "(" << where << ") = " << f.ours(where) << ", not "
                                      << f.exact(static_cast<double>(where));
  }
}

TEST(FloatMath, PowerIsWithinAUnitOfTheLastPlace) {
  std::mt19937 random(8);
  std::normal_distribution<float> usual(0, 4);
  for (int i = 0; i < 60000; ++i) {
    const float x = i % 3 == 0 ? float_math::from_bits(static_cast<std::uint32_t>(random())) : usual(random);
    float y = i % 3 == 1 ? std::round(usual(random)) : usual(random);
    if (i % 97 == 0) y = i % 2 == 0 ? 0.0F : INFINITY;
    if (std::abs(x) < 0x1p-126F) continue;
    EXPECT_LE(ulps(float_math::pow(x, y), std::pow(static_cast<double>(x), static_cast<double>(y))), 0.6)
        << x << " ^ " << y;
  }
}

TEST(FloatMath, TheIntegerRootIsTheMachines) {
  std::mt19937 random(9);
  for (int i = 0; i < 200000; ++i) {
    const float x = float_math::from_bits(static_cast<std::uint32_t>(random()) >> 1);
    if (std::isnan(x)) continue;
    ASSERT_EQ(float_math::integer_sqrt(x), std::sqrt(x)) << x;
  }
}

}  // namespace
}  // namespace cormorant
