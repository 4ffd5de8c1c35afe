// SPDX-License-Identifier: Apache-2.0
//
// The shapes of aten.bmm(self, mat2, transposed, scale). Host only.
#pragma once

#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops::batch_matmul {

inline constexpr const char* kCanonical = nodes::aten_bmm;

// self [..., M, K], mat2 [..., K, N] (transposed: [..., N, K]); leading dimensions are matched as PyTorch broadcasts.
struct Product {
  std::int64_t rows, inner, columns;
  ir::Shape batch;           // the result's leading dimensions
  std::int64_t lhs_batches;  // of self: all of them, or 1 for every batch
  std::int64_t rhs_batches;  // of mat2
  bool mixed;                // one side repeats along one dimension, the other along another

  [[nodiscard]] std::int64_t batches() const;
  [[nodiscard]] ir::Shape result() const;
};
// None where the shapes do not match.
std::optional<Product> product_of(const ir::Shape& self, const ir::Shape& mat2, bool transposed);

// linear.default: aten.linear, or aten.bmm where the model computes the weight.
std::vector<ir::Value*> import_linear(Importer& importer);

}  // namespace cormorant::ops::batch_matmul
