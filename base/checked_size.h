// SPDX-License-Identifier: Apache-2.0
//
// Sizes, offsets and counts that a file controls. Sums and products that do not fit 32 bits do not wrap but become
// `kOverflow`, which sticks and exceeds any real size (files and arenas are below 2^31 bytes): one comparison at the
// end, with the available memory, refuses them all.
#pragma once

#include <cstdint>

#include "base/wide_product.h"

namespace cormorant {

class CheckedSize {
 public:
  static constexpr std::uint32_t kOverflow = ~std::uint32_t{0};

  constexpr CheckedSize(std::uint32_t value) : value_(value) {}  // NOLINT(google-explicit-constructor)

  // More than any memory has, if anything did not fit.
  [[nodiscard]] constexpr std::uint32_t value() const { return value_; }
  [[nodiscard]] constexpr bool fits() const { return value_ != kOverflow; }

  friend constexpr CheckedSize operator*(CheckedSize a, CheckedSize b) {
    if (!a.fits() || !b.fits()) return kOverflow;
    const std::uint64_t product = wide_product(a.value_, b.value_);
    return product >> 32U == 0 ? static_cast<std::uint32_t>(product) : kOverflow;
  }
  friend constexpr CheckedSize operator+(CheckedSize a, CheckedSize b) {
    const std::uint32_t sum = a.value_ + b.value_;
    return a.fits() && b.fits() && sum >= a.value_ ? sum : kOverflow;
  }
  friend constexpr bool operator==(CheckedSize a, CheckedSize b) { return a.value_ == b.value_ && a.fits(); }
  friend constexpr bool operator<=(CheckedSize a, std::uint32_t limit) { return a.fits() && a.value_ <= limit; }

 private:
  std::uint32_t value_;
};

static_assert((CheckedSize(0xffffU) * 0xffffU).value() == 0xfffe0001U);
static_assert(!(CheckedSize(0x10000U) * 0x10000U).fits() && !(CheckedSize(0x10000U) * 0x10000U * 0U).fits());
static_assert(!(CheckedSize(0xfffffff0U) + 16U).fits() && !(CheckedSize(CheckedSize::kOverflow) + 1U).fits());
static_assert((CheckedSize(0xffffffe0U) + 16U).value() == 0xfffffff0U);
static_assert(!(CheckedSize(CheckedSize::kOverflow) == CheckedSize(CheckedSize::kOverflow)));

}  // namespace cormorant
