// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <stdexcept>

#include "base/diagnostic.h"
#include "ops/nodes.h"
#include "passes/passes.h"

namespace cormorant::passes {

void require_program_operators(const ir::Graph& graph, const ops::Config& config) {
  std::string left;
  std::size_t count = 0;
  for (const ir::Node& node : graph.nodes()) {
    const ops::Operator* op = ops::find(node);
    if (ops::wants_float(node) && !ops::is_float(node)) {
      throw InputError(
          {.problem =
               fmt::format("{} computes in float, not in {}", node.op, name_of(node.results.front()->type.dtype)),
           .advice = fmt::format("use {}, which becomes an int8 operator", fmt::join(op->canonical, " or ")),
           .node = node.name,
           .source = node.location.text()});
    }
    if (config.runtime == ops::Runtime::executorch && node.op.starts_with("cormorant.") && !ops::is_alias(node)) {
      throw InputError(
          {.problem = fmt::format("ExecuTorch's kernels have no {}", node.op),
           .advice = "compile for Cormorant's own runtime, or express it with other operators in the model",
           .node = node.name,
           .source = node.location.text()});
    }
    if (ops::find_signature(node.op) != nullptr || ops::is_alias(node)) continue;
    if (ops::nodes::is_conversion(node.op)) {
      throw std::logic_error(
          fmt::format("node '{}' ({}) was not lowered: {} must not reach a program", node.name, node.op, node.op));
    }
    std::string reason = "no float kernel";
    if (op != nullptr && op->quantize != nullptr) {
      const ops::QuantRule rule = op->quantize(node);
      if (const auto* reject = std::get_if<ops::QuantRule::Reject>(&rule.output))
        reason.insert(0, reject->reason + "; ");
    }
    left += fmt::format("\n    {} ({}) at {}: {}", node.name, node.op, node.location.text(), reason);
    ++count;
  }
  if (count == 0) return;
  throw InputError(
      {fmt::format("{} operator{} can run on {} neither in int8 nor in float:{}", count, count == 1 ? "" : "s",
                   config.target.name(), left),
       fmt::format("express {} in the model with operators from docs/operators.md", count == 1 ? "it" : "them")});
}

}  // namespace cormorant::passes
