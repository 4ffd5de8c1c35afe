// SPDX-License-Identifier: Apache-2.0
//
// Elements of any type, one by one, for kernels that take more than floats. There are two kinds of arithmetic: floats,
// and 64-bit integers, which hold every integer type and booleans; stored values wrap to their type as in PyTorch. A
// float becomes an integer by truncation; out of range it is the nearest, and a NaN is 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/dtype.h"

namespace cormorant {

constexpr bool is_integer(DType type) {
  return type == DType::u8 || type == DType::i8 || type == DType::i16 || type == DType::i32 || type == DType::i64 ||
         type == DType::boolean;
}
// The types that kernels for any type take: all integers and float32.
constexpr bool is_number(DType type) { return type == DType::f32 || is_integer(type); }

inline std::int64_t saturated(float value) {
  if (value != value) return 0;
  if (value >= 0x1p63F) return INT64_MAX;
  if (value < -0x1p63F) return INT64_MIN;
  return static_cast<std::int64_t>(value);
}

template <class T>
inline T element(const std::byte* data, std::uint32_t index) {
  T value;
  std::memcpy(&value, data + std::size_t{index} * sizeof(T), sizeof(T));
  return value;
}
template <class T>
inline void set_element(std::byte* data, std::uint32_t index, T value) {
  std::memcpy(data + std::size_t{index} * sizeof(T), &value, sizeof(T));
}

inline std::int64_t integer_at(DType type, const std::byte* data, std::uint32_t index) {
  switch (type) {
    case DType::boolean:
      return element<std::uint8_t>(data, index) != 0 ? 1 : 0;
    case DType::u8:
      return element<std::uint8_t>(data, index);
    case DType::i8:
      return element<std::int8_t>(data, index);
    case DType::i16:
      return element<std::int16_t>(data, index);
    case DType::i32:
      return element<std::int32_t>(data, index);
    case DType::i64:
      return element<std::int64_t>(data, index);
    default:
      return saturated(element<float>(data, index));
  }
}

inline float real_at(DType type, const std::byte* data, std::uint32_t index) {
  if (type == DType::f32) return element<float>(data, index);
  return static_cast<float>(integer_at(type, data, index));
}

inline void set_integer(DType type, std::byte* data, std::uint32_t index, std::int64_t value) {
  switch (type) {
    case DType::boolean:
      return set_element<std::uint8_t>(data, index, value != 0 ? 1 : 0);
    case DType::u8:
    case DType::i8:
      return set_element(data, index, static_cast<std::uint8_t>(value));
    case DType::i16:
      return set_element(data, index, static_cast<std::uint16_t>(value));
    case DType::i32:
      return set_element(data, index, static_cast<std::uint32_t>(value));
    case DType::i64:
      return set_element(data, index, value);
    default:
      return set_element(data, index, static_cast<float>(value));
  }
}

inline void set_real(DType type, std::byte* data, std::uint32_t index, float value) {
  if (type == DType::f32) return set_element(data, index, value);
  if (type == DType::boolean) return set_element<std::uint8_t>(data, index, value != 0 ? 1 : 0);
  set_integer(type, data, index, saturated(value));
}

// An index stored in a tensor, as a position in a dimension: one that is out of range becomes the nearest valid one, so
// that no data can lead a kernel out of a tensor. PyTorch refuses such indices.
inline std::uint32_t place_at(DType type, const std::byte* data, std::uint32_t index, std::uint32_t size) {
  const std::int64_t place = integer_at(type, data, index);
  if (place < 0) return 0;
  return place >= static_cast<std::int64_t>(size) ? size - 1 : static_cast<std::uint32_t>(place);
}

}  // namespace cormorant
