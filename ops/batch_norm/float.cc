// SPDX-License-Identifier: Apache-2.0
//
// A batch norm that nothing absorbed: a product and a sum with one number per channel each.
#include <cmath>

#include "ops/host/float_form.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace {

ir::Value* lower_float(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const ir::TensorType& type = node.result()->type;
  const auto channels = static_cast<std::size_t>(type.shape.at(1));
  const auto values = [&](const char* name, double otherwise) {
    const ir::Value* value = node.tensor(name);
    if (value == nullptr) return std::vector<double>(channels, otherwise);
    const evaluate::Tensor tensor = evaluate::constant_tensor(*value);
    return std::vector<double>(tensor.values().begin(), tensor.values().end());
  };
  for (const char* name : {"weight", "bias", "running_mean", "running_var"}) {
    const ir::Value* value = node.tensor(name);
    if (value != nullptr && value->kind != ir::ValueKind::constant)
      return nullptr;  // require_program_operators says it
  }
  const std::vector<double> gamma = values("weight", 1), beta = values("bias", 0), mean = values("running_mean", 0),
                            variance = values("running_var", 1);
  std::vector<float> factors, terms;
  for (std::size_t c = 0; c < channels; ++c) {
    const double factor = gamma[c] / std::sqrt(variance[c] + node.number("eps"));
    factors.push_back(static_cast<float>(factor));
    terms.push_back(static_cast<float>(beta[c] - mean[c] * factor));
  }
  ir::Shape shape(type.rank(), 1);
  shape[1] = type.shape[1];
  const auto add = [&](const char* op, const char* suffix, ir::Value* self, const std::vector<float>& numbers) {
    ir::Value* constant = rewriter.constant(suffix, ir::float_type(shape), std::span<const float>(numbers));
    std::vector<ir::NamedArgument> args = {{"self", self}, {"other", constant}};
    if (std::string_view(op) == nodes::aten_add) args.push_back({"alpha", 1.0});
    return rewriter.graph.add_node(node.name, op, std::move(args), {type}, node.location, &rewriter.node)->result();
  };
  return add(nodes::aten_add, "term", add(nodes::aten_mul, "factor", node.tensor("input"), factors), terms);
}

}  // namespace

Lower batch_norm_float() { return lower_float; }

}  // namespace cormorant::ops
