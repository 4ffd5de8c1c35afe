// SPDX-License-Identifier: Apache-2.0
//
// A program's outputs are in memory that it writes; constants are not. A model that returns one, or a view of one,
// returns a copy of it.
#include <algorithm>

#include "ops/nodes.h"
#include "passes/passes.h"

namespace cormorant::passes {

void copy_constant_outputs(ir::Graph& graph) {
  for (ir::Value* output : std::vector<ir::Value*>(graph.outputs())) {
    const ir::Value* source = output;
    while (source->producer != nullptr && ops::is_alias(*source->producer)) source = source->producer->inputs().front();
    if (source->kind != ir::ValueKind::constant) continue;
    ir::Value* constant =
        source == output ? output : graph.add_constant(output->name + "_value", output->type, source->data);
    ir::Node* copy =
        graph.add_node(output->name + "_copy", ops::nodes::aten_alias_copy, {{"self", constant}}, {output->type});
    std::ranges::replace(graph.outputs(), output, copy->result());
  }
  graph.erase_unused();
}

}  // namespace cormorant::passes
