// SPDX-License-Identifier: Apache-2.0
//
// The header of a .npy file: a magic word, a version, and a Python dictionary literal such as
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
// Only the literals that NumPy itself writes are understood; anything else is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace cormorant::npy {

struct Header {
  DType dtype = DType::f32;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::size_t data_offset = 0;  // where the elements begin
  std::size_t data_bytes = 0;   // how many bytes the shape asks for; the product is proved not to overflow
};

// A header is some hundred bytes; structured types can reach a few KB.
inline constexpr std::size_t kMostHeaderBytes = 1U << 20U;

// `bytes` is the file or at least its beginning; the caller checks whether all of the data is there.
Header parse_header(std::span<const std::byte> bytes, const std::string& file);

// The complete header, padded as NumPy pads it (data begins at a multiple of 64).
std::string format_header(DType dtype, const std::vector<std::int64_t>& shape, const std::string& file);

}  // namespace cormorant::npy
