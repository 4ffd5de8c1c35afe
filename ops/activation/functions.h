// SPDX-License-Identifier: Apache-2.0
//
// The functions of one element that PyTorch has, as a table: name, arguments besides the tensor, and the function on
// real numbers. Evaluation and the int8 tables both come from here, so a new function is one line.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string_view>

#include "ir/graph.h"

namespace cormorant::ops {

using Parameters = std::array<double, 3>;  // the arguments after self, in order; "tanh" and true are 1, none is NaN

struct Function {
  std::string_view name;       // "elu": the canonical node is aten.elu
  std::string_view arguments;  // of the schema, after self: "Scalar alpha=1"
  bool in_place;               // whether PyTorch also has elu_
  double (*apply)(double, const Parameters&);
};

std::span<const Function> unary_functions();

// What a canonical node of this folder computes, its arguments bound; the identity for cormorant.requantize.
std::function<double(double)> function_of(const ir::Node& node);

}  // namespace cormorant::ops
