// SPDX-License-Identifier: Apache-2.0
//
// A tensor as a kernel sees it: the data pointer is resolved at load, everything else points into the program in flash,
// so that a tensor costs no RAM beyond the pointers a kernel keeps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace cormorant {

inline constexpr std::size_t kMaxRank = 6;

// What a kernel does with a tensor of its signature. (One byte: a tensor without tail padding is copied in words.)
enum class Role : std::uint8_t { read, written, scratch };

struct Tensor {
  std::byte* data = nullptr;                // constants live in flash: kernels write only to their outputs and scratch
  const std::int32_t* sizes = nullptr;      // logical sizes, PyTorch's order (NCHW)
  const std::uint8_t* dim_order = nullptr;  // memory order of the dimensions, outermost first
  std::uint32_t size_in_bytes = 0;
  std::uint8_t rank = 0;
  DType dtype = DType::i8;
  bool constant = false;
  Role role = Role::read;

  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(data);
  }
  [[nodiscard]] std::int32_t size(std::size_t dim) const { return sizes[dim]; }
  // The loader has proved that the product of the sizes fits 31 bits.
  [[nodiscard]] std::int32_t elements() const {
    std::int32_t n = 1;
    for (std::size_t i = 0; i < rank; ++i) n *= sizes[i];
    return n;
  }
  [[nodiscard]] std::uint32_t bytes() const { return size_in_bytes; }
  // Whether the memory order is channels-last, or row-major. Dimensions of size 1 have no place in memory: a shape for
  // which two orders are the same bytes has both, however the file writes it.
  [[nodiscard]] bool is_channels_last() const {
    if (rank != 4) return false;
    std::uint32_t order;  // usually {0, 2, 3, 1}
    __builtin_memcpy(&order, dim_order, sizeof order);
    return order == 0x01030200 || is_ordered(kChannelsLastPositions);
  }
  [[nodiscard]] bool is_contiguous() const { return is_ordered(kContiguousPositions); }
  // Same sizes in the same memory order: element by element the same places.
  [[nodiscard]] bool lies_like(const Tensor& other) const;  // tensor.cc

 private:
  // The position in memory of each dimension, four bits each, dimension 0 lowest.
  static constexpr std::uint32_t kContiguousPositions = 0x543210;
  static constexpr std::uint32_t kChannelsLastPositions = 0x2130;
  [[nodiscard]] bool is_ordered(std::uint32_t positions) const;  // tensor.cc
};

// An argument that the signature marks `Tensor?`: absent when data is null.
struct OptionalTensor : Tensor {
  [[nodiscard]] bool present() const { return data != nullptr; }
};

// Tensors that a kernel writes. They are types of their own so that the loader, reading a signature in order, knows
// which arguments must be in RAM: a constant in their place would be a store to flash.
struct OutTensor : Tensor {};
struct ScratchTensor : Tensor {};

// `int[]`: a copy of at most kItems entries; longer lists keep their true count and their first entries.
template <std::size_t kItems>
struct Ints {
  std::uint32_t count = 0;
  std::int32_t items[kItems] = {};
  std::int32_t operator[](std::size_t i) const { return items[i]; }
};
using IntList = Ints<kMaxRank>;
using IntPair = Ints<2>;  // of operators that take nothing longer: signatures are on the stack while they are loaded

// `int[]?`: absent when the file has none.
struct OptionalIntList : IntList {
  bool present = false;
};

// `int?`. Python writes "to the end" as the largest integer of 64 bits: a value that does not fit in 32 becomes the
// nearest that does.
struct OptionalInt {
  std::int32_t value = 0;
  bool present = false;
  [[nodiscard]] std::int32_t value_or(std::int32_t otherwise) const { return present ? value : otherwise; }
};

// `Scalar`, `Scalar?` and `float?`: a number that files write as an integer or with a fraction.
struct Scalar {
  float value = 0;
};
struct OptionalScalar : Scalar {
  bool present = false;
  [[nodiscard]] float value_or(float otherwise) const { return present ? value : otherwise; }
};

// `Scalar` for kernels that compute with integers too: exact in both arithmetics (base/element.h).
struct Number {
  std::int64_t integer = 0;
  float real = 0;
  bool is_integer = false;  // as the file writes it; booleans are
};
struct OptionalNumber : Number {
  bool present = false;
};

// `float[]?`, as far as operators on images read it.
struct OptionalFloatPair {
  double items[2] = {};
  std::uint32_t count = 0;
  bool present = false;
};

// `Tensor[]`: the file's own list, so that it costs no RAM. Call::item() gives its tensors one by one.
struct TensorList {
  const std::int32_t* values = nullptr;
  std::uint32_t count = 0;
};
struct OptionalTensorList : TensorList {};  // `Tensor?[]`

}  // namespace cormorant
