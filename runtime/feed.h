// SPDX-License-Identifier: Apache-2.0
//
// Programs whose image arrives row by row (cormorant_push_rows). One of their kernels has a plan that begins with a
// Feed and the function below as its `execute`, by which it is recognized: a kernel with another plan has another
// function.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cormorant {

struct Feed {
  void (*advance)(Feed& feed);  // computes what the next row allows
  const std::byte* source;      // where that row is
  std::byte* own;               // the program's input, of one row
  std::uint32_t row_bytes;
  std::uint16_t row;  // the next to arrive, less than `rows`; only it and `source` change after load
  std::uint16_t rows;
};

// Takes the row that `source` points to.
void execute_feed(const void* plan);

}  // namespace cormorant
