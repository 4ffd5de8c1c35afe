// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's forms that are composed of canonical nodes, by family.
#pragma once

#include <limits>

#include "ops/host/build.h"

namespace cormorant::ops {

using Values = std::vector<ir::Value*>;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<AtenForm> elementwise_forms();
std::vector<AtenForm> reduction_forms();
std::vector<AtenForm> indexing_forms();
std::vector<AtenForm> ordering_forms();
std::vector<AtenForm> structure_forms();
std::vector<AtenForm> product_decompositions();
std::vector<AtenForm> image_forms();
std::vector<AtenForm> loss_forms();

// The p-norm of vectors along dimensions, which stay with size 1.
V norm(const Build& b, V x, double p, const Dims& dims);

}  // namespace cormorant::ops
