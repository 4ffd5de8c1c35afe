// SPDX-License-Identifier: Apache-2.0
//
// Input is not trusted: a node's arguments are those of its schema, and its results are what its operator infers from
// them. Past this check the hooks of ops/op.h may rely on both.
#pragma once

#include "ir/graph.h"
#include "ops/host/schema.h"

namespace cormorant::ops {

// Sizes, strides and the like: no program holds a larger number.
inline constexpr std::int64_t kLargestInteger = 0x7fffffff;

// The arguments of a call as an export gives them. Where allowed, a number stands for a tensor (x + 1), one entry of a
// list for all, and the bounds of a slice are any numbers. Throws InputError.
void check_call(const ir::Node& call, const Schema& schema);

// A node of a graph: canonical, or of the program side. Throws InputError.
void check_node(const ir::Node& node);

// Whether a node is an instruction already: of the program side, or with its arguments under a name that both have.
[[nodiscard]] bool is_lowered(const ir::Node& node);

}  // namespace cormorant::ops
