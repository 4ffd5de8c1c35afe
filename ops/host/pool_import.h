// SPDX-License-Identifier: Apache-2.0
//
// How poolings are imported: PyTorch pools images and lines, with and without a batch; we pool batches of images.
#pragma once

#include "ops/op.h"

namespace cormorant::ops {

// [N, C, L] is an image of height 1, and a missing batch is a batch of one. `dimensions` are the window's: one or two.
ir::Shape as_images(const ir::Shape& shape, std::size_t dimensions);
// A list of the window's dimensions as one of two; PyTorch takes one number for all of them.
std::vector<std::int64_t> for_images(std::vector<std::int64_t> list, std::size_t dimensions, std::int64_t of_missing);

// Rejects tensors that are not images.
void require_images(Importer& importer, std::size_t dimensions);
// The pooling `op` of images, whatever the rank of the model's tensors; `args` without self.
ir::Value* make_pool(Importer& importer, std::size_t dimensions, const char* op, std::vector<ir::NamedArgument> args);

}  // namespace cormorant::ops
