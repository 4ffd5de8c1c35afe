// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/diagnostic.h"
#include "ops/host/references.h"
#include "ops/nodes.h"
#include "ops/rows/kernel.h"

namespace cormorant::ops {
namespace rows {
namespace {

[[noreturn]] void reject(const ir::Node& node, std::string problem) {
  throw InputError({.problem = std::move(problem), .advice = {}, .node = node.name, .source = node.location.text()});
}

// An image by rows: its height changes, all else stays.
ir::TensorType with_height(const ir::Node& node, const ir::Value* image, std::int64_t rows) {
  ir::TensorType type = image->type;
  if (type.rank() != 4 || type.shape[0] != 1 || type.dim_order != ir::kChannelsLast) {
    reject(node, "only a single channels-last image has rows");
  }
  if (rows < 1) reject(node, fmt::format("it has {} rows", rows));
  type.shape[2] = rows;
  return type;
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  if (node.op == nodes::cormorant_rows_feed) return {with_height(node, node.tensor("source"), node.integer("rows"))};
  if (node.op == nodes::cormorant_rows_push) {
    if (node.tensor("source")->type.shape.at(2) != 1) reject(node, "rows are pushed to a tensor of one row");
    return {with_height(node, node.tensor("source"), 1)};
  }
  if (node.op == nodes::cormorant_rows_slab) return {with_height(node, node.tensor("row"), node.integer("rows"))};
  if (node.op == nodes::cormorant_rows_window) {
    const ir::Value* slab = node.tensor("slab");
    ir::TensorType type = with_height(node, slab, node.integer("rows"));
    if (node.integer("start") < 0 || node.integer("start") > slab->type.shape[2] - node.integer("rows")) {
      reject(node, "a window reaches outside its slab");
    }
    return {std::move(type)};
  }
  if (node.op == nodes::cormorant_rows_cut || node.op == nodes::cormorant_rows_paste) {
    const bool is_cut = node.op == nodes::cormorant_rows_cut;
    const ir::Value* from = node.tensor(is_cut ? "rows" : "patch");
    ir::TensorType type = with_height(node, from, is_cut ? from->type.shape.at(2) : 1);
    if (node.integer("columns") < 1) reject(node, "a strip has no columns");
    if (!is_cut && node.integer("strips") < 1) reject(node, "a row is pasted from no strips");
    type.shape[3] = node.integer("columns");
    return {std::move(type)};
  }
  std::vector<ir::TensorType> types;
  const auto& rows = node.tensors("rows");
  const auto& heights = node.integers("heights");
  if (rows.size() != heights.size()) reject(node, "a group has one height per row that it collects");
  for (std::size_t i = 0; i < rows.size(); ++i) types.push_back(with_height(node, rows[i], heights[i]));
  return types;
}

}  // namespace

}  // namespace rows

CORMORANT_REFERENCES(rows, CORMORANT_ROWS_KERNELS)

Operator rows_operator() {
  return {.name = "rows",
          .layout = MemoryOrder::channels_last,
          .canonical = {"cormorant.rows.feed(Tensor source, int rows)", "cormorant.rows.push(Tensor source)",
                        "cormorant.rows.slab(Tensor row, int rows, int fill)",
                        "cormorant.rows.window(Tensor slab, int start, int rows)",
                        "cormorant.rows.cut(Tensor rows, int columns)",
                        "cormorant.rows.paste(Tensor patch, int columns, int strips, int[] places)",
                        "cormorant.rows.group(Tensor[] rows, int[] heights, Tensor[] slabs, Tensor[] sources, "
                        "int[] schedule)"},
          .infer = rows::infer};
}

}  // namespace cormorant::ops
