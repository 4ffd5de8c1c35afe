// SPDX-License-Identifier: Apache-2.0
//
// Functions of real numbers for float kernels. The C library's differ from machine to machine in the last bit; these
// consist of individual IEEE operations and integers in a fixed order, so that the host, an FPU and soft float agree to
// the bit (except for the sign of a NaN). Functions that models use often (exp, log, tanh, erf) compute in float and
// are within a few units in the last place; the rest compute in double and round once, since a few hundred cycles do
// not matter there. Coefficients are minimax fits over the intervals named beside them.
//
// Compile with -ffp-contract=off: a fused multiply-add rounds once where these expect two roundings.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace cormorant::float_math {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

constexpr std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
constexpr float from_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
constexpr float abs(float x) { return from_bits(bits_of(x) & 0x7FFFFFFFU); }

// Comparisons, which cost a call each where there is no FPU: of integers there.
#if defined(__arm__) && !defined(__ARM_FP)
constexpr bool is_nan(float x) { return (bits_of(x) & 0x7FFFFFFFU) > 0x7F800000U; }
// Ordered as the floats are; both zeros are 0.
constexpr std::int32_t order_of(float x) {
  const auto size = static_cast<std::int32_t>(bits_of(x) & 0x7FFFFFFFU);
  return (bits_of(x) >> 31) != 0 ? -size : size;
}
constexpr bool is_less(float x, float y) { return !is_nan(x) && !is_nan(y) && order_of(x) < order_of(y); }
#else
constexpr bool is_nan(float x) { return x != x; }
constexpr bool is_less(float x, float y) { return x < y; }
#endif

// c[0] + c[1]·x + c[2]·x² …, from the highest power down.
template <class T, std::size_t N>
constexpr T polynomial(const T (&c)[N], T x) {
  T sum = c[N - 1];
  for (std::size_t i = N - 1; i-- > 0;) sum = sum * x + c[i];
  return sum;
}

// 2^n for a normal number.
constexpr float power_of_two(std::int32_t n) { return from_bits(static_cast<std::uint32_t>(n + 127) << 23); }
constexpr double double_power_of_two(std::int32_t n) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<std::uint32_t>(n + 1023)) << 52);
}

// ---- rounding to integers -------------------------------------------------------------------------------------------

// From 2^23 on every float is an integer; the rest fits an int32. Zeros keep their sign.
constexpr float trunc(float x) {
  if (!(abs(x) < 0x1p23F)) return x;
  const float whole = static_cast<float>(static_cast<std::int32_t>(x));
  return from_bits(bits_of(whole) | (bits_of(x) & 0x80000000U));
}
constexpr float floor(float x) {
  const float whole = trunc(x);
  return whole > x ? whole - 1 : whole;
}
constexpr float ceil(float x) {
  const float whole = trunc(x);
  return from_bits(bits_of(whole < x ? whole + 1 : whole) | (x < 0 ? 0x80000000U : bits_of(x) & 0x80000000U));
}
// To nearest, ties to even.
constexpr float round(float x) {
  const float size = abs(x);
  if (!(size < 0x1p23F)) return x;
  const float nearest = (size + 0x1p23F) - 0x1p23F;
  return from_bits(bits_of(nearest) | (bits_of(x) & 0x80000000U));
}

// ---- square roots ---------------------------------------------------------------------------------------------------

// One bit of the root at a time, then rounded to nearest, as IEEE defines the square root.
constexpr float integer_sqrt(float x) {
  if (is_nan(x) || x == 0 || x == kInfinity) return x;
  if (x < 0) return kNan;
  std::int32_t exponent = static_cast<std::int32_t>(bits_of(x) >> 23);
  std::uint32_t mantissa = bits_of(x) & 0x7FFFFFU;
  if (exponent == 0) {
    exponent = 1;
    while ((mantissa & 0x800000U) == 0) {
      mantissa <<= 1;
      --exponent;
    }
  }
  mantissa |= 0x800000U;
  exponent -= 127;
  if ((exponent & 1) != 0) {
    mantissa <<= 1;
    --exponent;
  }
  std::uint32_t remainder = mantissa << 1;
  std::uint32_t root = 0;
  std::uint32_t sum = 0;
  for (std::uint32_t bit = 0x1000000U; bit != 0; bit >>= 1) {
    const std::uint32_t next = sum + bit;
    if (next <= remainder) {
      sum = next + bit;
      remainder -= next;
      root += bit;
    }
    remainder <<= 1;
  }
  if (remainder != 0) root += root & 1U;  // the last bit is the one below the result's
  return from_bits((root >> 1) + (static_cast<std::uint32_t>(exponent / 2 + 126) << 23));
}

inline float sqrt(float x) {
  if (x < 0) return kNan;  // machines disagree about its sign
#if defined(__arm__) && defined(__ARM_FP) && (__ARM_FP & 4) != 0
  float root;
  asm("vsqrt.f32 %0, %1" : "=t"(root) : "t"(x));
  return root;
#elif defined(__arm__)
  return integer_sqrt(x);
#else
  return std::sqrt(x);
#endif
}

// Two steps of Newton's method from the float root; within a unit in the last place of a double.
inline double sqrt_double(double x) {
  if (!(x > 0)) return x == 0 ? 0.0 : static_cast<double>(kNan);
  const auto narrow = static_cast<float>(x);
  if (narrow == 0 || narrow == kInfinity) return narrow;
  double root = static_cast<double>(sqrt(narrow));
  root = 0.5 * (root + x / root);
  return 0.5 * (root + x / root);
}

// ---- exponentials and logarithms in float ---------------------------------------------------------------------------

inline float exp(float x) {
  if (is_nan(x)) return x;
  if (is_less(88.7228394F, x)) return kInfinity;
  if (is_less(x, -103.972084F)) return 0;
  // x = n · ln 2 + r with |r| <= ln 2 / 2. The first part of ln 2 has so few bits that its product is exact.
  const auto n = static_cast<std::int32_t>(x * 1.44269502F + (is_less(x, 0) ? -0.5F : 0.5F));
  const auto whole = static_cast<float>(n);
  const float r = (x - whole * 0.693359375F) - whole * -2.12194442e-4F;
  constexpr float kSeries[] = {0.5F,           0.166666672F, 0.0416662693F,
                               0.00833326485F, 0.001394619F, 0.000199179703F};  // |r| <= ln 2 / 2
  const float power = 1 + (r + r * r * polynomial(kSeries, r));
  const std::int32_t half = n / 2;  // in two steps, so that the result may be subnormal
  return power * power_of_two(half) * power_of_two(n - half);
}

inline float log(float x) {
  if (is_nan(x) || x == kInfinity) return x;
  if (x < 0) return kNan;
  if (x == 0) return -kInfinity;
  std::int32_t exponent = 0;
  if (x < 0x1p-126F) {
    x *= 0x1p23F;
    exponent = -23;
  }
  // x = 2^exponent · (1 + f) with 1 + f between the roots of 1/2 and 2.
  const auto shifted = static_cast<std::int32_t>(bits_of(x) - 0x3F3504F3U);
  exponent += shifted >> 23;
  const float f = from_bits((static_cast<std::uint32_t>(shifted) & 0x7FFFFFU) + 0x3F3504F3U) - 1;
  constexpr float kSeries[] = {0.333333105F,  -0.249999866F, 0.200022265F,  -0.16669251F, 0.142186582F,
                               -0.123843484F, 0.118729763F,  -0.117898077F, 0.0691536814F};
  const auto whole = static_cast<float>(exponent);
  const float square = f * f;
  const float tail = f * square * polynomial(kSeries, f) + whole * -2.12194442e-4F;
  return whole * 0.693359375F + (f + (tail - 0.5F * square));
}

inline float sigmoid(float x) {
  const float e = exp(-abs(x));  // never overflows
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

inline float tanh(float x) {
  const float size = abs(x);
  if (size < 0.625F) {
    constexpr float kSeries[] = {-0.333332837F, 0.133314908F, -0.0537434965F, 0.0206505787F, -0.00571703678F};
    const float z = x * x;
    return x + x * (z * polynomial(kSeries, z));
  }
  if (is_nan(x)) return x;
  const float result = size > 9.2F ? 1.0F : 1 - 2 / (exp(2 * size) + 1);
  return x < 0 ? -result : result;
}

// 1 − erf(x) for x >= 1, without cancellation.
inline float erfc_tail(float x) {
  if (x > 10.2F) return 0;
  constexpr float kSeries[] = {0.282084733F, 0.282372504F,  0.243547454F, 0.198097929F, -0.00491592241F,
                               0.221717745F, -0.404483497F, 0.220097482F, -0.038305942F};
  const float t = 1 / (1 + 0.5F * x);
  // x² in two parts: the first has so few bits that its square is exact.
  const float high = from_bits(bits_of(x) & 0xFFFFF000U);
  return exp(-high * high) * exp((high - x) * (high + x)) * (t * polynomial(kSeries, t));
}
inline float erf(float x) {
  if (is_nan(x)) return x;
  const float size = abs(x);
  if (size < 1) {
    constexpr float kSeries[] = {1.12837923F,    -0.376126379F,    0.112837829F,    -0.0268654451F,
                                 0.00522107491F, -0.000848471129F, 0.000112705449F, -9.68013683e-06F};
    return x * polynomial(kSeries, x * x);
  }
  const float result = 1 - erfc_tail(size);
  return x < 0 ? -result : result;
}
inline float erfc(float x) {
  if (x >= 1) return erfc_tail(x);
  if (x <= -1) return 2 - erfc_tail(-x);
  return 1 - erf(x);
}

// ---- in double ------------------------------------------------------------------------------------------------------

inline constexpr double kPi = 3.14159265358979323846;

// |x| < 700.
inline double exp_double(double x) {
  const auto n = static_cast<std::int32_t>(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
  const auto whole = static_cast<double>(n);
  const double r = (x - whole * 0x1.62e42fefap-1) - whole * 0x1.cf79abc9e3b39p-40;
  constexpr double kSeries[] = {
      1.0,        1.0,         1.0 / 2,      1.0 / 6,       1.0 / 24,       1.0 / 120,      1.0 / 720,
      1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600};
  return polynomial(kSeries, r) * double_power_of_two(n);
}

// x > 0, normal.
inline double log_double(double x) {
  const auto shifted = static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(x) - 0x3FE6A09E667F3BCDU);
  const auto exponent = static_cast<std::int32_t>(shifted >> 52);
  const double m =
      std::bit_cast<double>((static_cast<std::uint64_t>(shifted) & 0xFFFFFFFFFFFFFU) + 0x3FE6A09E667F3BCDU);
  const double s = (m - 1) / (m + 1);  // log m = 2 · (s + s³/3 + s⁵/5 …)
  constexpr double kSeries[] = {1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9, 1.0 / 11,
                                1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21};
  return static_cast<double>(exponent) * 0.69314718055994530942 + 2 * s * polynomial(kSeries, s * s);
}

// For results that are logarithms of doubles: non-positive arguments behave as in float.
inline float narrow_log(double x, double factor) {
  if (!(x > 0) || x > 1e300) return log(static_cast<float>(x));
  return static_cast<float>(log_double(x) * factor);
}
inline float log2(float x) { return narrow_log(static_cast<double>(x), 1.4426950408889634); }
inline float log10(float x) { return narrow_log(static_cast<double>(x), 0.43429448190325182765); }
inline float log1p(float x) {
  const auto d = static_cast<double>(x);
  if (abs(x) < 0x1p-12F) return static_cast<float>(d - d * d * (0.5 - d / 3));
  return narrow_log(1 + d, 1);
}

inline double expm1_double(double x) {
  if (x < 0x1p-10 && x > -0x1p-10) return x + x * x * (0.5 + x * (1.0 / 6 + x / 24));
  return exp_double(x) - 1;
}
inline float expm1(float x) {
  if (is_nan(x) || x > 89) return x + exp(x);
  return x < -30 ? -1.0F : static_cast<float>(expm1_double(static_cast<double>(x)));
}
inline float exp2(float x) {
  if (is_nan(x)) return x;
  if (x > 128) return kInfinity;
  return x < -150 ? 0.0F : static_cast<float>(exp_double(static_cast<double>(x) * 0.69314718055994530942));
}

inline float sinh(float x) {
  const auto d = static_cast<double>(x);
  if (abs(x) < 0x1p-5F) return static_cast<float>(d + d * d * d * (1.0 / 6 + d * d / 120));
  if (!(abs(x) < 100)) return x + x * kInfinity;
  return static_cast<float>(0.5 * (exp_double(d) - exp_double(-d)));
}
inline float cosh(float x) {
  if (!(abs(x) < 100)) return abs(x) * kInfinity;
  const auto d = static_cast<double>(x);
  return static_cast<float>(0.5 * (exp_double(d) + exp_double(-d)));
}
inline float asinh(float x) {
  const auto d = static_cast<double>(abs(x));
  if (!(abs(x) < kInfinity)) return x;
  double size = log_double(2 * d + 0x1p-1000);  // of large numbers
  if (d < 0x1p30) size = d < 0x1p-10 ? d - d * d * d / 6 : log_double(d + sqrt_double(d * d + 1));
  return static_cast<float>(x < 0 ? -size : size);
}
inline float acosh(float x) {
  if (!(x >= 1)) return kNan;
  if (x == kInfinity) return x;
  if (x > 0x1p30F) return static_cast<float>(log_double(2 * static_cast<double>(x)));
  const double t = static_cast<double>(x) - 1;  // small near 1, where the root matters
  const double more = t + sqrt_double(t * (t + 2));
  return static_cast<float>(more < 0x1p-10 ? more - more * more * (0.5 - more * (1.0 / 3 - more / 4))
                                           : log_double(1 + more));
}
inline float atanh(float x) {
  const auto d = static_cast<double>(x);
  if (abs(x) < 0x1p-10F) return static_cast<float>(d + d * d * d / 3);
  if (!(abs(x) < 1)) return abs(x) == 1 ? x * kInfinity : kNan;
  return static_cast<float>(0.5 * log_double((1 + d) / (1 - d)));
}

// |x| as a quarter turn q and the rest of at most an eighth: exact enough below 2^28.
struct Angle {
  double rest;
  std::uint32_t quarter;
};
inline Angle reduced(float x) {
  const auto d = static_cast<double>(x);
  const auto n = static_cast<std::int64_t>(d * (2 / kPi) + (x < 0 ? -0.5 : 0.5));
  const auto whole = static_cast<double>(n);
  return {(d - whole * 0x1.921fb544p0) - whole * 0x1.0b4611a626331p-34, static_cast<std::uint32_t>(n) & 3U};
}
inline double sin_eighth(double r) {
  constexpr double kSeries[] = {1.0,          -1.0 / 6,        1.0 / 120,         -1.0 / 5040,
                                1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800.0};
  return r * polynomial(kSeries, r * r);
}
inline double cos_eighth(double r) {
  constexpr double kSeries[] = {1.0,         -1.0 / 2,       1.0 / 24,          -1.0 / 720,
                                1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600.0, -1.0 / 87178291200.0};
  return polynomial(kSeries, r * r);
}
// Where floats are further apart than a turn, the sine is that of the nearest number that can be reduced.
inline bool has_angle(float x) { return abs(x) < 0x1p60F; }
inline float turned(Angle a, std::uint32_t quarters) {
  const std::uint32_t q = (a.quarter + quarters) & 3U;
  const double value = (q & 1U) != 0 ? cos_eighth(a.rest) : sin_eighth(a.rest);
  return static_cast<float>((q & 2U) != 0 ? -value : value);
}
inline float sin(float x) { return has_angle(x) ? turned(reduced(x), 0) : (abs(x) < kInfinity ? 0.0F : kNan); }
inline float cos(float x) { return has_angle(x) ? turned(reduced(x), 1) : (abs(x) < kInfinity ? 1.0F : kNan); }
inline float tan(float x) {
  if (!has_angle(x)) return sin(x);
  const Angle a = reduced(x);
  const double s = sin_eighth(a.rest);
  const double c = cos_eighth(a.rest);
  return static_cast<float>((a.quarter & 1U) != 0 ? -c / s : s / c);
}

inline double atan_double(double x) {
  const double size = x < 0 ? -x : x;
  double z = size;
  double offset = 0;
  if (size > 2.414213562373095) {
    z = -1 / size;
    offset = kPi / 2;
  } else if (size > 0.41421356237309503) {
    z = (size - 1) / (size + 1);
    offset = kPi / 4;
  }
  constexpr double kSeries[] = {1.0,       -1.0 / 3, 1.0 / 5,   -1.0 / 7, 1.0 / 9,   -1.0 / 11, 1.0 / 13,
                                -1.0 / 15, 1.0 / 17, -1.0 / 19, 1.0 / 21, -1.0 / 23, 1.0 / 25};
  const double result = offset + z * polynomial(kSeries, z * z);
  return x < 0 ? -result : result;
}
inline float atan(float x) { return is_nan(x) ? x : static_cast<float>(atan_double(static_cast<double>(x))); }
inline float asin(float x) {
  if (!(abs(x) <= 1)) return kNan;
  if (abs(x) == 1) return static_cast<float>(x * static_cast<float>(kPi / 2));
  const auto d = static_cast<double>(x);
  return static_cast<float>(atan_double(d / sqrt_double((1 - d) * (1 + d))));
}
inline float acos(float x) {
  if (!(abs(x) <= 1)) return kNan;
  if (x == -1) return static_cast<float>(kPi);
  const auto d = static_cast<double>(x);
  return static_cast<float>(2 * atan_double(sqrt_double((1 - d) / (1 + d))));
}

// PyTorch's, which is C's: pow(x, 0) and pow(1, y) are 1, a negative base takes whole exponents only.
inline float pow(float x, float y) {
  if (y == 0 || x == 1) return 1;
  if (is_nan(x) || is_nan(y)) return kNan;
  const float size = abs(x);
  const bool whole = trunc(y) == y;
  const bool odd = whole && abs(y) < 0x1p24F && (static_cast<std::int32_t>(y) & 1) != 0;
  const bool negative = (bits_of(x) >> 31) != 0;
  float result;
  if (size == 0 || size == kInfinity || abs(y) == kInfinity) {
    const bool large = size == 1 ? true : (size > 1) == (y > 0);
    result = size == 1 ? 1.0F : (large ? kInfinity : 0.0F);
  } else if (negative && !whole) {
    return kNan;
  } else {
    const double exponent = static_cast<double>(y) * log_double(static_cast<double>(size));
    result = exponent > 89 ? kInfinity : (exponent < -104 ? 0.0F : static_cast<float>(exp_double(exponent)));
  }
  return negative && odd ? -result : result;
}

// ---- functions of two numbers ---------------------------------------------------------------------------------------

// The exact remainder of a division towards zero: the mantissas are divided bit by bit.
inline float fmod(float x, float y) {
  const float size = abs(y);
  float rest = abs(x);
  if (is_nan(x) || is_nan(y) || rest == kInfinity || size == 0) return kNan;
  if (rest < size) return x;
  const auto exponent_of = [](std::uint32_t bits) { return bits < 0x800000U ? 1U : bits >> 23; };
  const auto mantissa_of = [](std::uint32_t bits) { return bits < 0x800000U ? bits : (bits & 0x7FFFFFU) | 0x800000U; };
  const std::uint32_t low = exponent_of(bits_of(size));
  const std::uint32_t divisor = mantissa_of(bits_of(size));
  std::uint32_t exponent = exponent_of(bits_of(rest));
  std::uint32_t mantissa = mantissa_of(bits_of(rest));
  for (;; --exponent, mantissa <<= 1) {
    if (mantissa >= divisor) mantissa -= divisor;
    if (exponent == low) break;
  }
  // In units of the divisor's last place, a power of two: the product is exact.
  rest = static_cast<float>(mantissa) * from_bits(low > 23 ? (low - 23) << 23 : 1U << (low - 1));
  return from_bits(bits_of(rest) | (bits_of(x) & 0x80000000U));
}

inline float atan2(float y, float x) {
  if (is_nan(x) || is_nan(y)) return kNan;
  const bool left = (bits_of(x) >> 31) != 0;
  double angle = 0;
  if (abs(x) == kInfinity && abs(y) == kInfinity) {
    angle = kPi / 4;
  } else if (abs(y) > abs(x)) {
    angle = kPi / 2 - atan_double(static_cast<double>(abs(x)) / static_cast<double>(abs(y)));
  } else if (y != 0) {
    angle = atan_double(static_cast<double>(abs(y)) / static_cast<double>(abs(x)));
  }
  if (left) angle = kPi - angle;
  const auto result = static_cast<float>(angle);
  return from_bits(bits_of(result) | (bits_of(y) & 0x80000000U));
}

inline float hypot(float x, float y) {
  if (abs(x) == kInfinity || abs(y) == kInfinity) return kInfinity;
  if (is_nan(x) || is_nan(y)) return kNan;
  const auto a = static_cast<double>(x);
  const auto b = static_cast<double>(y);
  const double square = a * a + b * b;
  // The root's first guess is a float: arguments too small or too large for one are scaled.
  if (square < 1e-30) return static_cast<float>(sqrt_double(square * 0x1p200) * 0x1p-100);
  if (square > 1e30) return static_cast<float>(sqrt_double(square * 0x1p-200) * 0x1p100);
  return static_cast<float>(sqrt_double(square));
}

// log(e^x + e^y), and the same to the base 2.
inline float logaddexp(float x, float y) {
  if (is_nan(x) || is_nan(y)) return kNan;
  const float largest = x > y ? x : y;
  if (abs(largest) == kInfinity) return largest;
  return largest + log1p(exp(-abs(x - y)));
}
inline float logaddexp2(float x, float y) {
  if (is_nan(x) || is_nan(y)) return kNan;
  const float largest = x > y ? x : y;
  if (abs(largest) == kInfinity) return largest;
  return largest + log1p(exp2(-abs(x - y))) * 1.44269502F;
}

// ---- others ---------------------------------------------------------------------------------------------------------

// Newton's method on erfc, which does not cancel where the result is large.
inline float erfinv(float y) {
  const float size = abs(y);
  if (!(size <= 1)) return kNan;
  if (size == 1) return y * kInfinity;
  if (size < 1e-4F) return y * 0.886226925F;
  const double rest = 1 - static_cast<double>(size);
  // A guess within a few percent, from the logarithm of (1 − y) · (1 + y).
  const double w = log_double(rest * (1 + static_cast<double>(size)));
  const double t = 4.33 + 0.5 * w;
  double x = sqrt_double(sqrt_double(t * t - w / 0.147) - t);
  for (int i = 0; i < 4; ++i) {
    const double slope = 1.1283791670955126 * exp_double(-x * x);
    x += (static_cast<double>(erfc(static_cast<float>(x))) - rest) / slope;
  }
  return y < 0 ? -static_cast<float>(x) : static_cast<float>(x);
}

// sin(πx) / πx. Reduced before π is multiplied, so that nothing is lost near its zeros; from 2^24 on all floats are
// such.
inline float sinc(float x) {
  if (x == 0) return 1;
  if (!(abs(x) < 0x1p24F)) return abs(x) < kInfinity ? 0.0F : kNan;
  const auto d = static_cast<double>(x);
  const auto quarters = static_cast<std::int64_t>(2 * d + (x < 0 ? -0.5 : 0.5));
  const Angle angle = {kPi * (d - 0.5 * static_cast<double>(quarters)), static_cast<std::uint32_t>(quarters) & 3U};
  return turned(angle, 0) / static_cast<float>(kPi * d);
}

}  // namespace cormorant::float_math
