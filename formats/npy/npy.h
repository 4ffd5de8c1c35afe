// SPDX-License-Identifier: Apache-2.0
//
// NumPy's files: .npy holds one array, .npz is a zip of them. Users bring inputs, calibration data and expected outputs
// in these, and get outputs back in them.
//
// Whatever is in the file, an Array comes out dense, little-endian and in C order, so nothing downstream has to check.
// Arrays of Python objects are pickles and are refused unread. All problems are InputErrors that name the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/dtype.h"

namespace cormorant::npy {

struct Array {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;  // empty for a scalar
  std::vector<std::byte> data;      // C order; element_count * size_of(dtype) bytes

  [[nodiscard]] std::int64_t element_count() const;

  // The elements as T, whose size must be that of the dtype.
  template <typename T>
  [[nodiscard]] std::span<const T> as() const {
    static_assert(sizeof(T) <= 8);
    return {reinterpret_cast<const T*>(data.data()), data.size() / sizeof(T)};
  }

  friend bool operator==(const Array&, const Array&) = default;
};

using NamedArrays = std::vector<std::pair<std::string, Array>>;

Array read_npy(const std::string& path);
void write_npy(const std::string& path, const Array& array);

// Names are those of the zip's entries without ".npy"; their order is kept. Stored and deflated entries are read; what
// is written is stored, with fixed time stamps, so that equal arrays give equal files.
NamedArrays read_npz(const std::string& path);
void write_npz(const std::string& path, const NamedArrays& arrays);

// The same from bytes in memory; `name` stands for the file in diagnostics.
Array parse_npy(std::span<const std::byte> bytes, const std::string& name);
NamedArrays parse_npz(std::span<const std::byte> bytes, const std::string& name);

// The array by that name, or nullptr.
const Array* find(const NamedArrays& arrays, const std::string& name);

}  // namespace cormorant::npy
