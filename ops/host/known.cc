// SPDX-License-Identifier: Apache-2.0
#include "ops/host/known.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/element.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

bool is_number(const ir::TensorType& type) {
  return (type.dtype == DType::f32 || is_integer(type.dtype)) && !type.is_quantized() && type.dim_order.empty();
}

}  // namespace

bool is_exact(const ir::TensorType& type, const evaluate::Tensor& tensor) {
  constexpr float kExact = 0x1p24F;
  const auto is_small = [](float x) { return std::abs(x) <= kExact; };
  return (type.dtype == DType::f32 && !type.is_quantized()) || std::ranges::all_of(tensor.values(), is_small);
}

std::optional<evaluate::Tensor> known_value(const ir::Value* value) {
  constexpr std::int64_t kMany = std::int64_t{1} << 24;  // elements: nobody waits for more
  evaluate::Frame frame;
  std::vector<const ir::Value*> open = {value};  // a path from the value back to constants
  while (!open.empty()) {
    const ir::Value* next = open.back();
    if (frame.holds(next)) {
      open.pop_back();
      continue;
    }
    if (!is_number(next->type) || next->type.elements() > kMany) return std::nullopt;
    if (next->kind == ir::ValueKind::constant) {
      evaluate::Tensor tensor = evaluate::constant_tensor(*next);
      if (!is_exact(next->type, tensor)) return std::nullopt;
      frame.set(next, std::move(tensor));
      continue;
    }
    const ir::Node* node = next->producer;
    const Operator* op = node == nullptr ? nullptr : find(*node);
    if (op == nullptr || op->evaluate == nullptr || nodes::is_conversion(node->op)) return std::nullopt;
    const std::vector<ir::Value*> inputs = node->inputs();
    const auto missing = std::ranges::find_if(inputs, [&](const ir::Value* input) { return !frame.holds(input); });
    if (missing != inputs.end()) {
      open.push_back(*missing);
      continue;
    }
    std::vector<evaluate::Tensor> results = op->evaluate(*node, frame);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!is_exact(node->results.at(i)->type, results[i])) return std::nullopt;
      frame.set(node->results[i], std::move(results[i]));
    }
  }
  return frame.get(value);
}

}  // namespace cormorant::ops
