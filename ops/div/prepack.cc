// SPDX-License-Identifier: Apache-2.0
//
// The search for a divisor's factor (div.h says why). With the float's result q for the difference n,
//     (2q − 1) · 2^(shift − 1) <= n · factor < (2q + 1) · 2^(shift − 1)
// for all n up to 255 is an interval of factors. Neighbouring fractions (q + 1/2) / n with n below 256 are at least
// 2^-17 apart, so with 23 bits there is always an integer in it, unless float's own rounding shifts a tie. Beyond 256
// levels everything is saturated, and only the left bound counts. Negative numbers and divisors mirror positive ones.
#include "ops/div/prepack.h"

#include <algorithm>
#include <cstdlib>

namespace cormorant::ops::div {
namespace {

constexpr std::int32_t kSaturated = 256;

std::optional<std::int32_t> find_entry(std::int32_t divisor, float scale) {
  for (std::int32_t shift = 31; shift >= 1; --shift) {
    const std::int64_t half = std::int64_t{1} << (shift - 1);
    std::int64_t low = 0;
    std::int64_t high = kFactorLimit - 1;
    for (std::int64_t n = 1; n < 256; ++n) {
      const std::int64_t q = std::min(float_quotient(static_cast<std::int32_t>(n), divisor, scale), kSaturated);
      if (q > 0) low = std::max(low, ((2 * q - 1) * half + n - 1) / n);
      if (q < kSaturated) high = std::min(high, ((2 * q + 1) * half - 1) / n);
    }
    if (low <= high) return make_entry(static_cast<std::int32_t>(low + (high - low) / 2), shift);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<std::int32_t>> find_table(std::int32_t other_zero_point, float scale) {
  std::vector<std::int32_t> table;
  for (std::int32_t other = -128; other < 128; ++other) {
    const std::int32_t divisor = other - other_zero_point;
    if (divisor == 0) {
      table.push_back(make_entry(0, 1));
      continue;
    }
    const auto entry = find_entry(std::abs(divisor), scale);
    if (!entry) return std::nullopt;
    table.push_back(divisor > 0 ? *entry : make_entry(-(*entry >> 5), (*entry & 31) + 1));
  }
  return table;
}

ir::Value* prepack(const Rewriter& rewriter) {
  const auto call = read_node<QuantizedDiv<HostWorld>>(rewriter.node);
  const ir::TensorType& type = rewriter.node.result()->type;
  if (type.dtype == DType::i16) return nullptr;
  const auto table =
      find_table(static_cast<std::int32_t>(call.other_zero_point), static_cast<float>(call.output_scale));
  if (!table) return nullptr;
  TableDiv<HostWorld> packed{.self = call.self, .self_zero_point = call.self_zero_point, .other = call.other};
  packed.table =
      rewriter.constant("table", {DType::i32, {256}, {}, std::nullopt}, std::span<const std::int32_t>(*table));
  packed.output_zero_point = call.output_zero_point;
  packed.activation_min = type.quant ? type.quant->qmin : -128;
  packed.activation_max = type.quant ? type.quant->qmax : 127;
  return rewriter.emit(packed, type, div_variant(rewriter.config.target))->result();
}

}  // namespace cormorant::ops::div
