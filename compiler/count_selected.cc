// SPDX-License-Identifier: Apache-2.0
#include "compiler/count_selected.h"

#include <algorithm>
#include <vector>

#include "base/diagnostic.h"
#include "compiler/import.h"
#include "formats/pt2/source.h"
#include "ops/host/broadcast.h"
#include "ops/host/known.h"

namespace cormorant::compiler {
namespace {

// The tensors that the node computes with, in the order of its arguments, and what it says besides.
struct Call {
  const std::vector<ir::Value*>& tensors;
  const pt2::Node& node;
};

using Elements = std::optional<evaluate::Tensor>;

std::int64_t count_of_true(const evaluate::Tensor& mask) {
  return std::ranges::count_if(mask.values(), [](float x) { return x != 0; });
}

// x[:, mask], x[mask, mask]: as many as any of the masks has.
std::optional<std::int64_t> indexed(const Call& call) {
  const auto is_mask = [](const ir::Value* v) { return v->type.dtype == DType::boolean || v->type.dtype == DType::u8; };
  const auto mask = std::find_if(call.tensors.begin() + 1, call.tensors.end(), is_mask);
  const Elements elements = mask == call.tensors.end() ? std::nullopt : ops::known_value(*mask);
  return elements ? std::optional(count_of_true(*elements)) : std::nullopt;
}

std::optional<std::int64_t> places(const Call& call) {
  const Elements elements = ops::known_value(call.tensors.at(0));
  return elements ? std::optional(count_of_true(*elements)) : std::nullopt;
}

// The mask and the tensor are broadcast to each other.
std::optional<std::int64_t> masked(const Call& call) {
  const ir::Value* mask = call.tensors.at(1);
  const Elements elements = ops::known_value(mask);
  const auto shape = ops::broadcast(call.tensors.at(0)->type.shape, mask->type.shape);
  if (!elements || !shape) return {};
  const std::int64_t own = mask->type.elements();
  return own == 0 ? 0 : count_of_true(*elements) * (ir::float_type(*shape).elements() / own);
}

std::optional<std::int64_t> sum_of(const Elements& repeats) {
  if (!repeats) return {};
  double sum = 0;
  for (const float times : repeats->values()) sum += std::max(times, 0.0F);
  constexpr double kMany = 0x1p31;  // more than any program holds
  return sum < kMany ? std::optional(static_cast<std::int64_t>(sum)) : std::nullopt;
}
std::optional<std::int64_t> counted(const Call& call) { return sum_of(ops::known_value(call.tensors.at(0))); }
std::optional<std::int64_t> repeated(const Call& call) {
  const ir::TensorType& self = call.tensors.at(0)->type;
  const std::optional<std::int64_t> sum = sum_of(ops::known_value(call.tensors.at(1)));
  if (!sum || call.tensors.at(1)->type.elements() != 1) return sum;
  std::int64_t size = self.elements();  // one number, for each index
  for (const pt2::NamedArgument& argument : call.node.arguments) {
    const auto* dim = argument.argument.get_if<std::int64_t>();
    if (argument.name != "dim" || dim == nullptr) continue;
    const auto rank = static_cast<std::int64_t>(self.rank());
    if (*dim < -rank || *dim >= rank) return {};
    size = self.shape[static_cast<std::size_t>(*dim < 0 ? *dim + rank : *dim)];
  }
  return *sum * size;
}

struct Rule {
  std::string_view target;
  std::size_t least_tensors;
  std::optional<std::int64_t> (*count)(const Call&);
};
constexpr Rule kRules[] = {
    {"torch.ops.aten.index.Tensor", 2, indexed},
    {"torch.ops.aten.nonzero.default", 1, places},
    {"torch.ops.aten.nonzero_numpy.default", 1, places},
    {"torch.ops.aten.argwhere.default", 1, places},
    {"torch.ops.aten.where.default", 1, places},
    {"torch.ops.aten.masked_select.default", 2, masked},
    {"torch.ops.aten.repeat_interleave.Tensor", 1, counted},
    {"torch.ops.aten.repeat_interleave.self_Tensor", 2, repeated},
};

}  // namespace

std::optional<std::int64_t> count_selected(const pt2::Program& before, const pt2::Node& node, const std::string& file) {
  const auto* rule = std::ranges::find(kRules, node.target, &Rule::target);
  if (rule == std::end(kRules)) return {};
  const ir::Graph graph = import_program(before, file);
  const std::vector<ir::Value*>& tensors = graph.outputs();
  if (tensors.size() < rule->least_tensors) return {};
  const std::optional<std::int64_t> count = rule->count({tensors, node});
  if (count) return count;
  Diagnostic diagnostic =
      pt2::diagnose(node, "what it selects depends on the model's inputs, and with it the shape of its result",
                    "use torch.where or masked_fill, which keep the shape, or a mask that is a constant of the model");
  diagnostic.file = file;
  throw InputError(std::move(diagnostic));
}

}  // namespace cormorant::compiler
