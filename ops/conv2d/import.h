// SPDX-License-Identifier: Apache-2.0
//
// What the forms of convolutions have in common, shared by the folders that import them. PyTorch convolves lines,
// planes and volumes, with and without a batch; kernels convolve planes in batches. A line is a plane of height 1, so
// views before and after the node bring every other form to it, under the name of the user's call.
#pragma once

#include "ops/op.h"

namespace cormorant::ops::conv2d {

using Ints = std::vector<std::int64_t>;

std::string text(const ir::Shape& shape);  // "[1, 3, 32, 32]"

// A call's tensors in four dimensions. Ranks that fit nothing are rejected.
struct Planes {
  ir::Value* input = nullptr;
  ir::Value* weight = nullptr;
  ir::TensorType result;    // of the node in four dimensions
  std::size_t spatial = 2;  // dimensions that the call convolves: 1 or 2
};
Planes planes_of(Importer& importer);

// A list argument for both dimensions: PyTorch accepts one number for all, and a line has `neutral` in the other.
Ints pair_of(Importer& importer, const Planes& planes, const char* argument, std::int64_t neutral);

// The node's result in the call's shape.
std::vector<ir::Value*> shaped_as_called(Importer& importer, ir::Value* result);

// aten.convolution with transposed=True, and the separate forms -> aten.conv_transpose2d.
std::vector<ir::Value*> import_transposed(Importer& importer);

// Convolutions in three dimensions, as sums of those in two (volume.cc).
std::vector<ir::Value*> import_volume(Importer& importer);
std::vector<ir::Value*> import_transposed_volume(Importer& importer);

}  // namespace cormorant::ops::conv2d
