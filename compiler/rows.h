// SPDX-License-Identifier: Apache-2.0
//
// Which parts of a graph to compute row by row (passes/rows.h). A plan is a sequence of groups and of nodes that are
// computed whole. What a group needs depends only on where it begins and ends, so the best plan up to a node consists
// of a best plan up to an earlier one and a group after it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/progress.h"
#include "ir/graph.h"
#include "ops/op.h"

namespace cormorant::compiler {

struct RowsOptions {
  // None: as few bytes as possible. Else as little work as possible within this many bytes, or as few bytes as possible
  // if that is too few.
  std::optional<std::int64_t> bytes = {};
  bool feed = false;  // the program's image arrives by rows, and is never whole in memory
  // Up to this many times the model's MACs may be computed where that saves memory: some layers are computed in strips.
  double recompute = 1;
};
inline constexpr std::int64_t kAnyBytes = std::int64_t{1} << 60;  // for the least work

// What a plan needs, as the search sees it, before anything is placed.
struct RowsPoint {
  std::int64_t bytes = 0;
  std::int64_t extra = 0;  // more cycles than layer by layer, estimated
  std::size_t nodes = 0;   // that are computed by rows
  std::int64_t macs = 0;   // MACs that are computed more than once
};

struct RowsFacts {
  std::size_t groups = 0, nodes = 0;           // nodes that are computed by rows
  std::size_t able = 0;                        // nodes that can be
  std::int64_t bytes = 0, bytes_by_layer = 0;  // of memory
  std::int64_t extra = 0;                      // cycles, estimated
  std::int64_t work_by_layer = 0;              // the same of all layers
  std::int64_t extra_macs = 0;                 // MACs beyond the model's own
  std::vector<RowsPoint> curve;                // all plans that no other one beats in both memory and work
};

// For --feed=rows, before the layout is decided: rows of the input are consecutive, whatever its type. Throws
// InputError if the model does not take a single image.
void lay_out_rows(ir::Graph& graph);

// Only the facts, without choosing a plan: the alternatives.
RowsFacts plans_by_rows(const ir::Graph& graph, const ops::Config& config, const Progress& progress = {});

// Rewrites the graph, which is lowered and has its layout. Throws InputError if its input cannot arrive by rows, naming
// the layer in the way and why.
RowsFacts compute_by_rows(ir::Graph& graph, const ops::Config& config, const RowsOptions& options,
                          const Progress& progress = {});

}  // namespace cormorant::compiler
