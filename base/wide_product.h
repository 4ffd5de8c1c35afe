// SPDX-License-Identifier: Apache-2.0
//
// 32 × 32 → 64 bits for sizes that come from a file. ARMv6-M and ARMv8-M Baseline have no such multiplication, and the
// library's routine would be in all firmware for the sake of a few checks.
#pragma once

#include <cstdint>

namespace cormorant {

constexpr std::uint64_t wide_product_in_pieces(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t low = (a & 0xffffU) * (b & 0xffffU);
  const std::uint32_t middle = (a >> 16) * (b & 0xffffU) + (low >> 16);
  const std::uint32_t cross = (a & 0xffffU) * (b >> 16) + (middle & 0xffffU);
  const std::uint32_t high = (a >> 16) * (b >> 16) + (middle >> 16) + (cross >> 16);
  return std::uint64_t{high} << 32 | (cross << 16 | (low & 0xffffU));
}

constexpr std::uint64_t wide_product(std::uint32_t a, std::uint32_t b) {
#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB < 2
  return wide_product_in_pieces(a, b);
#else
  return std::uint64_t{a} * b;
#endif
}

static_assert(wide_product_in_pieces(0xffffffffU, 0xffffffffU) == 0xfffffffe00000001U);
static_assert(wide_product_in_pieces(0x12345678U, 0x9abcdef0U) == 0x12345678ULL * 0x9abcdef0ULL);
static_assert(wide_product_in_pieces(0xffffU, 0x10001U) == 0xffffULL * 0x10001ULL);

}  // namespace cormorant
