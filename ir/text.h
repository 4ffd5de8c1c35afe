// SPDX-License-Identifier: Apache-2.0
//
// Every graph prints to text that parses back to the same graph. It is what --intermediates writes, what pass tests
// are made of, and what `compile` accepts as an input.
//
//   graph forward
//   input %x : f32[1,1,28,28]
//   const %w : i8[16,1,3,3] quant(axis 0, [0.01, 0.02, …], [0, 0, …]) = [1, -2, 3, …]
//   const %big : f32[64,64] = data 0 16384                  bytes 0..16384 of the blob beside the text
//   node conv "stem.conv" "digits.py:12"
//     %y : f32[1,16,14,14] = aten.conv2d(input=%x, weight=%w, bias=none, stride=[2, 2], …)
//   output %y
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace cormorant::ir {

// Constants of at most `inline_elements` elements are written into the text, larger ones appended to `blob` (at 16-byte
// steps) and referred to by position. Without a blob, everything is written into the text.
std::string print(const Graph& graph, std::vector<std::byte>* blob = nullptr, std::int64_t inline_elements = 16);

// `origin` is what diagnostics call the text (a file name); `blob` owns the bytes that `data` refers to.
Graph parse(std::string_view text, std::string_view origin, const Bytes& blob = {});

std::string to_text(const TensorType& type);

}  // namespace cormorant::ir
