// SPDX-License-Identifier: Apache-2.0
//
// Sizes that a file controls, in 64 bits: an overflowing sum or product is remembered and makes every result that
// depends on it unusable, so that one check at the end replaces one at every step. Host only.
#pragma once

#include <cstdint>
#include <optional>

namespace cormorant {

class Checked64 {
 public:
  constexpr Checked64(std::int64_t value) : value_(value) {}  // NOLINT(google-explicit-constructor): a number is one

  // The number, or none if a step on the way to it overflowed.
  [[nodiscard]] constexpr std::optional<std::int64_t> get() const { return ok_ ? std::optional(value_) : std::nullopt; }
  // Whether it is a number from low to high.
  [[nodiscard]] constexpr bool is_within(std::int64_t low, std::int64_t high) const {
    return ok_ && value_ >= low && value_ <= high;
  }

  friend constexpr Checked64 operator+(Checked64 a, Checked64 b) {
    a.ok_ = !__builtin_add_overflow(a.value_, b.value_, &a.value_) && a.ok_ && b.ok_;
    return a;
  }
  friend constexpr Checked64 operator-(Checked64 a, Checked64 b) {
    a.ok_ = !__builtin_sub_overflow(a.value_, b.value_, &a.value_) && a.ok_ && b.ok_;
    return a;
  }
  friend constexpr Checked64 operator*(Checked64 a, Checked64 b) {
    a.ok_ = !__builtin_mul_overflow(a.value_, b.value_, &a.value_) && a.ok_ && b.ok_;
    return a;
  }
  constexpr Checked64& operator+=(Checked64 b) { return *this = *this + b; }
  constexpr Checked64& operator*=(Checked64 b) { return *this = *this * b; }

 private:
  std::int64_t value_;
  bool ok_ = true;
};

}  // namespace cormorant
