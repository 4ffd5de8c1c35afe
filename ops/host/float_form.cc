// SPDX-License-Identifier: Apache-2.0
#include "ops/host/float_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/diagnostic.h"

namespace cormorant::ops {

ir::Value* in_logical_order(const Rewriter& rewriter, std::string_view suffix, ir::Value* value) {
  if (value == nullptr || value->kind != ir::ValueKind::constant || value->type.dim_order.empty()) return value;
  const evaluate::Tensor tensor = evaluate::constant_tensor(*value);
  return rewriter.constant(suffix, ir::float_type(tensor.shape), tensor.values());
}

void require_sizes_up_to(const Rewriter& rewriter, std::int64_t largest) {
  std::vector<const ir::Value*> values = {rewriter.node.result()};
  for (const ir::Value* input : rewriter.node.inputs()) values.push_back(input);
  const auto fail = [&](std::string what) {
    throw InputError({.problem = fmt::format("{} in float with {} of more than {}", rewriter.node.op, what, largest),
                      .advice = "quantize it, or fold the long dimension into two",
                      .node = rewriter.node.name,
                      .source = rewriter.node.location.text()});
  };
  for (const ir::NamedArgument& argument : rewriter.node.args) {
    const auto* numbers = std::get_if<std::vector<std::int64_t>>(&argument.value);
    if (numbers != nullptr && std::ranges::any_of(*numbers, [&](std::int64_t n) { return n > largest; })) {
      fail("a " + argument.name);
    }
  }
  for (const ir::Value* value : values) {
    if (std::ranges::all_of(value->type.shape, [&](std::int64_t size) { return size <= largest; })) continue;
    fail("a dimension");
  }
}

void require_own_runtime(const Rewriter& rewriter) {
  if (rewriter.config.runtime == Runtime::cormorant) return;
  throw InputError({.problem = "ExecuTorch's portable kernels have no " + rewriter.node.op + " in float",
                    .advice = "compile for Cormorant's own runtime, or express it with other operators in the model",
                    .node = rewriter.node.name,
                    .source = rewriter.node.location.text()});
}

}  // namespace cormorant::ops
