// SPDX-License-Identifier: Apache-2.0
#include "ir/types.h"

#include <algorithm>
#include <utility>

#include "base/checked64.h"
#include "base/diagnostic.h"

namespace cormorant::ir {
namespace {

Checked64 product(const Shape& shape, std::int64_t unit) {
  Checked64 bytes = unit;
  for (const std::int64_t size : shape) bytes *= size;
  // An overflow before a 0 does not count.
  return std::ranges::find(shape, 0) == shape.end() ? bytes : Checked64(0);
}

std::int64_t counted(Checked64 number) {
  if (const auto known = number.get()) return *known;
  throw InputError({.problem = "a tensor has more elements than fit in 64 bits",
                    .advice = "its shape is damaged: export the model again"});
}

}  // namespace

QuantParams per_tensor_i8(double scale, std::int32_t zero_point) {
  return {DType::i8, -128, 127, std::nullopt, {scale}, {zero_point}};
}

std::int64_t TensorType::elements() const { return counted(product(shape, 1)); }

std::int64_t TensorType::bytes() const { return counted(product(shape, static_cast<std::int64_t>(size_of(dtype)))); }

bool TensorType::is_possible() const {
  constexpr std::size_t kMostDimensions = 16;
  constexpr std::int64_t kLargest = 0x7fffffff;
  return rank() <= kMostDimensions &&
         std::ranges::all_of(shape, [](std::int64_t size) { return size >= 0 && size <= kLargest; }) &&
         product(shape, static_cast<std::int64_t>(size_of(dtype))).is_within(0, kLargest);
}

TensorType float_type(Shape shape) { return {DType::f32, std::move(shape), {}, std::nullopt}; }

TensorType quantized_type(Shape shape, QuantParams quant, std::vector<std::uint8_t> dim_order) {
  const DType dtype = quant.dtype;
  return {dtype, std::move(shape), std::move(dim_order), std::move(quant)};
}

}  // namespace cormorant::ir
