// SPDX-License-Identifier: Apache-2.0
//
// A table of small operators for tests of the evaluator and the quantizer: one for each way in which an operator can
// take part, with arithmetic that can be done in one's head. Linked instead of the real table.
#include <algorithm>

#include "evaluate/onednn.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

using evaluate::Frame;
using evaluate::Tensor;
using Tensors = std::vector<Tensor>;

template <class Function>
Tensors map(const ir::Node& node, const Frame& frame, Function function) {
  const Tensor& input = frame.get(node.tensor("input"));
  std::vector<float> out(input.values().begin(), input.values().end());
  for (float& value : out) value = function(value);
  return {Tensor(input.shape, std::move(out))};
}

Operator toy(std::string_view name, std::string graph_name, Tensors (*evaluate)(const ir::Node&, const Frame&),
             QuantRule (*quantize)(const ir::Node&)) {
  Operator op;
  op.name = name;
  op.canonical = {std::move(graph_name)};
  op.evaluate = evaluate;
  op.quantize = quantize;
  return op;
}

Tensors same(const ir::Node& node, const Frame& frame) { return {frame.get(node.tensor("input"))}; }

}  // namespace

std::vector<Operator> make_operators() {
  return {
      // 2 · input
      toy(
          "double", "toy.double",
          [](const ir::Node& node, const Frame& frame) { return map(node, frame, [](float x) { return 2 * x; }); },
          [](const ir::Node&) { return QuantRule{}; }),
      // sum of two tensors of one shape
      toy(
          "sum", "toy.sum",
          [](const ir::Node& node, const Frame& frame) -> Tensors {
            const Tensor& a = frame.get(node.tensor("a"));
            const Tensor& b = frame.get(node.tensor("b"));
            std::vector<float> out(a.values().size());
            std::transform(a.values().begin(), a.values().end(), b.values().begin(), out.begin(), std::plus<>());
            return {Tensor(a.shape, std::move(out))};
          },
          [](const ir::Node&) { return QuantRule{}; }),
      // data movement with one operand, and with several (concatenation along the only dimension)
      toy("move", "toy.move", same, [](const ir::Node&) { return QuantRule{QuantRule::Share{}, {}}; }),
      toy(
          "join", "toy.join",
          [](const ir::Node& node, const Frame& frame) -> Tensors {
            std::vector<float> out;
            for (const ir::Value* value : node.tensors("tensors")) {
              const auto part = frame.get(value).values();
              out.insert(out.end(), part.begin(), part.end());
            }
            const auto count = static_cast<std::int64_t>(out.size());
            return {Tensor({count}, std::move(out))};
          },
          [](const ir::Node&) { return QuantRule{QuantRule::Share{}, {}}; }),
      // weights per channel, with a bias
      toy(
          "dense", "toy.dense",
          [](const ir::Node& node, const Frame& frame) -> Tensors {
            const Tensor* bias = node.has("bias") ? &frame.get(node.tensor("bias")) : nullptr;
            return {evaluate::linear(frame.get(node.tensor("input")), frame.get(node.tensor("weight")), bias)};
          },
          [](const ir::Node&) { return QuantRule{QuantRule::Observe{}, {{"weight", 0, false}, {"bias", 0, true}}}; }),
      // a range that is known
      toy(
          "unit", "toy.unit",
          [](const ir::Node& node, const Frame& frame) {
            return map(node, frame, [](float x) { return std::clamp(x, 0.0F, 1.0F); });
          },
          [](const ir::Node&) { return QuantRule{QuantRule::Fixed{1.0 / 256, -128, DType::i8, 8}, {}}; }),
      // refuses integers; has no integer form; cannot even be evaluated
      toy("refuse", "toy.refuse", same,
          [](const ir::Node&) { return QuantRule{QuantRule::Reject{"integers are beneath it"}, {}}; }),
      toy("float", "toy.float", same, nullptr),
      toy("opaque", "toy.opaque", nullptr, nullptr),
      // the evaluator itself rounds to the result's type
      toy("quantize", "quantized_decomposed.quantize_per_tensor", same, nullptr),
      toy("dequantize", "quantized_decomposed.dequantize_per_tensor", same, nullptr),
  };
}

}  // namespace cormorant::ops
