// SPDX-License-Identifier: Apache-2.0
//
// What all elementwise operators with two operands, self and other, have in common in the compiler: PyTorch's
// broadcasting of shapes and floats, numbers as operands, and operands in the form that kernels take.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "evaluate/tensor.h"
#include "ops/op.h"

namespace cormorant::ops {

// Dimensions are matched from the last, and one of size 1 repeats. None: the shapes do not match.
std::optional<ir::Shape> broadcast(const ir::Shape& a, const ir::Shape& b);

// ---- import ---------------------------------------------------------------------------------------------------------

// The argument as a tensor: x + 1 is exported with a number in its place, which becomes a constant without dimensions.
ir::Value* operand_of(Importer& importer, const char* argument);
ir::Value* number_constant(Importer& importer, const char* argument, double number);
// The number that the argument is, or the constant tensor with one element.
std::optional<double> as_number(const ir::Node& call, const char* argument);

// ---- semantics ------------------------------------------------------------------------------------------------------

std::vector<ir::TensorType> infer_broadcast(const ir::Node& node);

// For every element of `shape`, in logical order, the distance of its element in an operand of shape `from`: loops over
// all dimensions except the last, and the step along that one.
struct BroadcastWalk {
  std::vector<std::size_t> rows;  // where each row of the result's last dimension begins in the operand
  std::size_t step = 0;
};
BroadcastWalk broadcast_walk(const ir::Shape& from, const ir::Shape& shape);

template <class F>
evaluate::Tensor evaluate_broadcast(const evaluate::Tensor& self, const evaluate::Tensor& other, F&& f) {
  const auto a = self.values();
  const auto b = other.values();
  if (self.shape == other.shape) {
    std::vector<float> out(a.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = f(a[i], b[i]);
    return {self.shape, std::move(out)};
  }
  const ir::Shape shape = broadcast(self.shape, other.shape).value();
  const BroadcastWalk x = broadcast_walk(self.shape, shape);
  const BroadcastWalk y = broadcast_walk(other.shape, shape);
  const std::size_t width = shape.empty() ? 1 : static_cast<std::size_t>(shape.back());
  std::vector<float> out;
  out.reserve(x.rows.size() * width);
  for (std::size_t r = 0; r < x.rows.size(); ++r) {
    for (std::size_t i = 0; i < width; ++i) out.push_back(f(a[x.rows[r] + i * x.step], b[y.rows[r] + i * y.step]));
  }
  return {shape, std::move(out)};
}

// ---- quantization and lowering --------------------------------------------------------------------------------------

[[noreturn]] void refuse(const ir::Node& node, std::string problem, std::string advice);

// Operands are activations, including constants: they get ranges of their own. Two constants leave nothing to compute.
QuantRule quantize_broadcast(const ir::Node& node, QuantRule rule);

// Both operands as the kernels take them: int8, of the result's rank (a view, or a constant's other shape), so that the
// layout pass can give them the result's order. ExecuTorch's kernels broadcast little; there constants are repeated to
// the result's shape, and other operands must have it, or be what `allowed` names.
enum class ExecutorchBroadcast : std::uint8_t { none, channels, any_contiguous };
struct Operands {
  ir::Value* self;
  ir::Value* other;
};
// Which runtimes have the operator with 16-bit activations.
enum class WordsFor : std::uint8_t { ours, every_runtime };
// Constants get the given parameters, else their own.
Operands broadcast_operands(const Rewriter& rewriter, ExecutorchBroadcast allowed,
                            const ir::QuantParams* constants = nullptr, WordsFor words = WordsFor::ours);

// The levels that the output is clamped to: its own range, or the activation that was fused into the node.
struct Levels {
  std::int32_t low, high;
};
Levels activation_levels(const ir::Node& node);

// Every element is read before it is written, whichever operand's memory the result takes.
bool takes_place_of(const ir::Node& node, std::string_view argument);

}  // namespace cormorant::ops
