// SPDX-License-Identifier: Apache-2.0
//
// The parameters of quantize_per_tensor and dequantize_per_tensor, as nodes carry them. Host only.
#pragma once

#include <cmath>
#include <limits>

#include "base/diagnostic.h"
#include "ir/graph.h"

namespace cormorant::ops {

// A positive scale, a zero point in the range, a range that the type holds. Throws InputError.
inline void check_quantization(const ir::Node& node) {
  const auto dtype = std::get<DType>(node.get("dtype"));
  const std::int64_t bits = 8 * static_cast<std::int64_t>(size_of(dtype));
  const bool is_integer = !is_float(dtype) && dtype != DType::boolean && bits <= 32;
  const std::int64_t lowest = dtype == DType::u8 ? 0 : -(std::int64_t{1} << (bits - 1) % 32);
  const std::int64_t highest = dtype == DType::u8 ? 255 : -lowest - 1;
  const std::int64_t low = node.integer("quant_min"), high = node.integer("quant_max");
  const std::int64_t zero = node.integer("zero_point");
  const double scale = node.number("scale");
  const bool fits = is_integer && low >= lowest && low < high && high <= highest && low <= zero && zero <= high;
  if (fits && scale > 0 && std::isfinite(scale)) return;
  throw InputError({.problem = std::string("quantization to ") + name_of(dtype) + " with scale " +
                               std::to_string(scale) + ", zero point " + std::to_string(zero) + " and range " +
                               std::to_string(low) + " to " + std::to_string(high),
                    .advice = "the scale must be positive, the zero point in the range and the range in the type",
                    .node = node.name,
                    .source = node.location.text()});
}

}  // namespace cormorant::ops
