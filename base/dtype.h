// SPDX-License-Identifier: Apache-2.0
//
// Properties of element types. Their numbers (include/cormorant) are PyTorch's ScalarType codes, which .pte files use
// as well.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cormorant/types.hpp"

namespace cormorant {

constexpr std::size_t size_of(DType type) {
  switch (type) {
    case DType::u8:
    case DType::i8:
    case DType::boolean:
      return 1;
    case DType::i16:
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::i32:
    case DType::f32:
      return 4;
    case DType::i64:
    case DType::f64:
      return 8;
  }
  return 0;  // a number read from a file that is none of the above
}

constexpr bool is_float(DType type) {
  return type == DType::f32 || type == DType::f64 || type == DType::f16 || type == DType::bf16;
}

constexpr const char* name_of(DType type) {
  switch (type) {
    case DType::u8:
      return "u8";
    case DType::i8:
      return "i8";
    case DType::i16:
      return "i16";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::f16:
      return "f16";
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
    case DType::boolean:
      return "bool";
    case DType::bf16:
      return "bf16";
  }
  return "?";
}

}  // namespace cormorant
