// SPDX-License-Identifier: Apache-2.0
//
// Orders of dimensions in memory, as arithmetic: what a view or a permutation does to them, and which permutation of
// bytes leads from one to another. Dimensions of size 1 have no position in memory and are ignored throughout.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace cormorant::passes {

using Order = std::vector<std::uint8_t>;  // outermost first; empty: contiguous in logical order

// Whether elements of two types of equal shape are at the same positions.
[[nodiscard]] bool same_bytes(const ir::TensorType& a, const ir::TensorType& b);

// The order in which the same bytes can be read with another shape; none if the view would have to move elements.
[[nodiscard]] std::optional<Order> order_of_view(const ir::TensorType& type, const ir::Shape& shape);

// The nearest order of the tensor itself of which that shape is a view: the dimensions that the view merges come
// together where the outermost of them is, the rest stay.
[[nodiscard]] Order order_for_view(const ir::TensorType& type, const ir::Shape& shape);

// The order of a permuted tensor (dimension k is the input's dims[k]) whose bytes stay where they are.
[[nodiscard]] Order order_of_permutation(const ir::TensorType& type, const std::vector<std::int64_t>& dims);

// What a transpose of contiguous tensors has to do to bring bytes from one type's order into that of another with the
// same logical shape.
struct Permutation {
  ir::Shape from, to;
  std::vector<std::int64_t> dims;
};
[[nodiscard]] Permutation permutation_between(const ir::TensorType& from, const ir::TensorType& to);

// For each position in memory, the logical index of the element that is there.
[[nodiscard]] std::vector<std::size_t> memory_sequence(const ir::TensorType& type);

// A constant's bytes, rearranged from one order into another.
[[nodiscard]] std::vector<std::byte> reordered(std::span<const std::byte> bytes, const ir::TensorType& from,
                                               const ir::TensorType& to);

}  // namespace cormorant::passes
