// SPDX-License-Identifier: Apache-2.0
//
// Every graph prints to text that parses back to the same graph. --intermediates writes it, pass tests consist of it,
// and `compile` accepts it as a model.
//
//   graph forward
//   input %x : f32[1,1,8,8]
//   const %w : f32[2,1,1,1] = [0.5, -2.0]
//   const %big : f32[64,64] = data 0 16384     # bytes 0..16384 of the blob beside the text
//   const %q : i8[2,1,1,1] quant(axis 0, range -127 127, [0.01, 0.02], [0, 0]) = [50, -100]
//   node "conv" "stem.conv" "digits.py:12"     # its name, the user's module and source line
//     %y : f32[1,2,4,4] = aten.conv2d(input=%x, weight=%w, bias=none, stride=[2, 2], padding=[0, 0],
//                                     dilation=[1, 1], groups=1)
//   output %y "logits"                      # a key only where the model returns a dictionary
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"

namespace cormorant::ir {

// Constants of at most `inline_elements` elements are written into the text, larger ones appended to `blob` (at 16-byte
// steps) and referred to by position. Without a blob, everything is written into the text.
std::string print(const Graph& graph, std::vector<std::byte>* blob = nullptr, std::int64_t inline_elements = 16);

// `origin` is the text's name in diagnostics (a file name); `blob` owns the bytes that `data` refers to.
Graph parse(std::string_view text, std::string_view origin, const Bytes& blob = {});

std::string to_text(const TensorType& type);

}  // namespace cormorant::ir
