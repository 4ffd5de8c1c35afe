// SPDX-License-Identifier: Apache-2.0
//
// The parameters of quantized tensors as exports spell them: numbers, tensors with a number per tensor or per channel,
// or with one per block of elements (torchao). Kernels have one scale per tensor, and weights one per channel: blocks
// become that if the numbers in them allow it. Host only.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ops/op.h"

namespace cormorant::ops {

class SpelledParameters {
 public:
  // By the call's arguments: `scale` or `scales`, `zero_point` or `zero_points`, `quant_min` and `quant_max` (absent:
  // all that the type holds). Each block has that many elements along each dimension of the tensor.
  SpelledParameters(Importer& importer, DType dtype, const ir::Shape& shape, std::vector<std::int64_t> block);

  [[nodiscard]] bool is_of_blocks() const { return scales_.size() > 1; }
  // One scale for all, or one per index along an axis; none if blocks along several dimensions differ.
  [[nodiscard]] std::optional<ir::QuantParams> params() const;
  // The same for activations, whose parameters are those of a tensor. Rejects the call if they are not.
  [[nodiscard]] ir::QuantParams of_activation() const;

  // A constant of integers as the numbers that they represent, and of numbers as integers.
  [[nodiscard]] ir::Value* in_float(ir::Value* integers) const;
  [[nodiscard]] ir::Value* in_integers(ir::Value* real) const;

 private:
  [[nodiscard]] std::size_t block_of(std::size_t element) const;
  [[nodiscard]] bool depends_only_on(std::optional<std::size_t> axis) const;

  Importer& importer_;
  const DType dtype_;
  const ir::Shape shape_;
  std::vector<std::int64_t> block_, counts_;  // elements of a block, blocks, along each dimension
  std::int32_t low_, high_;
  std::vector<double> scales_;  // per block, in the order of dimensions
  std::vector<std::int32_t> zero_points_;
};

// The call's `axis`, of a tensor with that many dimensions.
[[nodiscard]] std::size_t channel_axis(const Importer& importer, std::size_t rank);

}  // namespace cormorant::ops
