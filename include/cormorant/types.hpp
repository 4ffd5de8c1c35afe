// SPDX-License-Identifier: Apache-2.0
//
// The definitions of types.h as C++ types: errors, element types, and a view of consecutive elements.
#ifndef CORMORANT_TYPES_HPP
#define CORMORANT_TYPES_HPP

#include "cormorant/types.h"

namespace cormorant {

// See types.h for what each means.
enum class Error : uint16_t {
  ok = CORMORANT_OK,
  bad_header = CORMORANT_BAD_HEADER,
  bad_structure = CORMORANT_BAD_STRUCTURE,
  bad_value = CORMORANT_BAD_VALUE,
  bad_shape = CORMORANT_BAD_SHAPE,
  bad_constant = CORMORANT_BAD_CONSTANT,
  has_delegate = CORMORANT_HAS_DELEGATE,
  bad_memory = CORMORANT_BAD_MEMORY,
  unknown_operator = CORMORANT_UNKNOWN_OPERATOR,
  unsupported = CORMORANT_UNSUPPORTED,
  state_too_small = CORMORANT_STATE_TOO_SMALL,
  arena_too_small = CORMORANT_ARENA_TOO_SMALL,
  misaligned = CORMORANT_MISALIGNED,
  scratch_too_small = CORMORANT_SCRATCH_TOO_SMALL,
  scratch_mismatch = CORMORANT_SCRATCH_MISMATCH,
  no_such_method = CORMORANT_NO_SUCH_METHOD,
  bad_input = CORMORANT_BAD_INPUT,
  refused = CORMORANT_REFUSED,
  not_by_rows = CORMORANT_NOT_BY_ROWS,
  too_many_rows = CORMORANT_TOO_MANY_ROWS,
};

inline const char* describe(Error error) { return cormorant_describe(static_cast<cormorant_error>(error)); }

// Where loading stopped and why (cormorant_failure).
struct Failure {
  static constexpr uint16_t kNone = CORMORANT_NONE;

  Error error = Error::ok;
  uint16_t instruction = kNone;
  uint16_t argument = kNone;
  uint32_t required = 0;
  uint32_t actual = 0;
};

enum class DType : uint8_t {
  u8 = CORMORANT_UINT8,
  i8 = CORMORANT_INT8,
  i16 = CORMORANT_INT16,
  i32 = CORMORANT_INT32,
  i64 = CORMORANT_INT64,
  f16 = CORMORANT_FLOAT16,
  f32 = CORMORANT_FLOAT32,
  f64 = CORMORANT_FLOAT64,
  boolean = CORMORANT_BOOL,
  bf16 = CORMORANT_BFLOAT16,
};

// A pointer and a length, like std::span in C++20.
template <class T>
class Span {
 public:
  constexpr Span() = default;
  constexpr Span(T* data, size_t size) : data_(data), size_(size) {}
  template <size_t kSize>
  constexpr Span(T (&array)[kSize]) : data_(array), size_(kSize) {}  // NOLINT(google-explicit-constructor)

  constexpr T* data() const { return data_; }
  constexpr size_t size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* begin() const { return data_; }
  constexpr T* end() const { return data_ + size_; }
  constexpr T& operator[](size_t index) const { return data_[index]; }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace cormorant

#endif
