// SPDX-License-Identifier: Apache-2.0
//
// What the compiler knows before a program runs: constants, and what is computed from nothing but constants.
#pragma once

#include <optional>

#include "evaluate/tensor.h"
#include "ir/graph.h"

namespace cormorant::ops {

// Evaluation holds integers as floats: whether these are the numbers themselves.
[[nodiscard]] bool is_exact(const ir::TensorType& type, const evaluate::Tensor& tensor);

// The value's elements, if it is such an expression of float, integer or boolean tensors.
[[nodiscard]] std::optional<evaluate::Tensor> known_value(const ir::Value* value);

}  // namespace cormorant::ops
