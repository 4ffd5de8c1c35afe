// SPDX-License-Identifier: Apache-2.0
#include "ir/types.h"

#include <functional>
#include <numeric>
#include <utility>

namespace cormorant::ir {

QuantParams per_tensor_i8(double scale, std::int32_t zero_point) {
  return {DType::i8, -128, 127, std::nullopt, {scale}, {zero_point}};
}

std::int64_t TensorType::elements() const {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

TensorType float_type(Shape shape) { return {DType::f32, std::move(shape), {}, std::nullopt}; }

TensorType quantized_type(Shape shape, QuantParams quant, std::vector<std::uint8_t> dim_order) {
  const DType dtype = quant.dtype;
  return {dtype, std::move(shape), std::move(dim_order), std::move(quant)};
}

}  // namespace cormorant::ir
