// SPDX-License-Identifier: Apache-2.0
//
// What the compiler knows about a tensor: element type, logical shape, memory order of the dimensions, quantization.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/dtype.h"

namespace cormorant::ir {

using Shape = std::vector<std::int64_t>;

// real = scale · (stored − zero_point). One pair for the whole tensor, or one per index along `axis`.
struct QuantParams {
  DType dtype = DType::i8;
  std::int32_t qmin = -128;
  std::int32_t qmax = 127;
  std::optional<std::int32_t> axis;
  std::vector<double> scales;
  std::vector<std::int32_t> zero_points;

  [[nodiscard]] bool per_channel() const { return axis.has_value(); }
  // The only pair of a per-tensor type.
  [[nodiscard]] double scale() const { return scales.at(0); }
  [[nodiscard]] std::int32_t zero_point() const { return zero_points.at(0); }
  friend bool operator==(const QuantParams&, const QuantParams&) = default;
};

// int8 activation, one scale and zero point.
QuantParams per_tensor_i8(double scale, std::int32_t zero_point);

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<std::uint8_t> dim_order;  // memory order, outermost first; empty means contiguous in logical order
  std::optional<QuantParams> quant;

  [[nodiscard]] std::size_t rank() const { return shape.size(); }
  // Throw InputError if the number does not fit in 64 bits.
  [[nodiscard]] std::int64_t elements() const;
  [[nodiscard]] std::int64_t bytes() const;
  // What programs can hold: each size, and all bytes, below 2^31, and at most 16 dimensions.
  [[nodiscard]] bool is_possible() const;
  [[nodiscard]] bool is_quantized() const { return quant.has_value(); }
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

inline const std::vector<std::uint8_t> kChannelsLast = {0, 2, 3, 1};

// The same shape in another element type.
TensorType float_type(Shape shape);
TensorType quantized_type(Shape shape, QuantParams quant, std::vector<std::uint8_t> dim_order = {});

}  // namespace cormorant::ir
