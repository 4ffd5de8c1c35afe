// SPDX-License-Identifier: Apache-2.0
//
// Which parts of a graph to compute row by row (passes/rows.h). A plan is a sequence of groups and of nodes that are
// computed whole. What a group needs depends on where it begins and ends alone, so the best plan up to a node is one of
// the best plans up to earlier ones and a group behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ops/op.h"

namespace cormorant::compiler {

struct RowsOptions {
  // None: as few bytes as possible. Else as little work as possible with no more bytes than this, or as few bytes as
  // possible if that is too few.
  std::optional<std::int64_t> bytes = {};
};

struct RowsFacts {
  std::size_t groups = 0, nodes = 0;           // nodes that are computed by rows
  std::int64_t bytes = 0, bytes_by_layer = 0;  // of memory, as the search sees it: before anything is placed
  std::int64_t extra = 0;                      // instructions, estimated
};

// Rewrites the graph, which is lowered and has its layout.
RowsFacts compute_by_rows(ir::Graph& graph, const ops::Config& config, const RowsOptions& options);

}  // namespace cormorant::compiler
