// SPDX-License-Identifier: Apache-2.0
//
// Copying and filling bytes: what padding, transposition and views consist of. The C library's memcpy is a byte loop in
// small builds and knows nothing of MVE; these are each instruction set's best loops. Any alignment.
#pragma once

#include <cstdint>

#include "kernels/loops.h"

namespace cormorant {

void copy_bytes_scalar(std::int8_t* to, const std::int8_t* from, std::uint32_t count);
void copy_bytes_dsp(std::int8_t* to, const std::int8_t* from, std::uint32_t count);
void copy_bytes_mve(std::int8_t* to, const std::int8_t* from, std::uint32_t count);

// Rows of bytes that are a step apart: a slice or a concatenation.
struct RowCopy {
  std::uint32_t rows;
  std::uint32_t bytes;  // of each row
  std::int32_t to_step;
  std::int32_t from_step;
};
void copy_rows_scalar(std::int8_t* to, const std::int8_t* from, const RowCopy& rows);
void copy_rows_dsp(std::int8_t* to, const std::int8_t* from, const RowCopy& rows);
void copy_rows_mve(std::int8_t* to, const std::int8_t* from, const RowCopy& rows);

void fill_bytes_scalar(std::int8_t* to, std::int8_t value, std::uint32_t count);
void fill_bytes_dsp(std::int8_t* to, std::int8_t value, std::uint32_t count);
void fill_bytes_mve(std::int8_t* to, std::int8_t value, std::uint32_t count);

// The same by instruction set.
template <Loops kLoops>
inline constexpr auto* copy_bytes = kLoops == Loops::mve   ? copy_bytes_mve
                                    : kLoops == Loops::dsp ? copy_bytes_dsp
                                                           : copy_bytes_scalar;
template <Loops kLoops>
inline constexpr auto* copy_rows = kLoops == Loops::mve   ? copy_rows_mve
                                   : kLoops == Loops::dsp ? copy_rows_dsp
                                                          : copy_rows_scalar;
template <Loops kLoops>
inline constexpr auto* fill_bytes = kLoops == Loops::mve   ? fill_bytes_mve
                                    : kLoops == Loops::dsp ? fill_bytes_dsp
                                                           : fill_bytes_scalar;

}  // namespace cormorant
