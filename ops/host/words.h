// SPDX-License-Identifier: Apache-2.0
//
// 16-bit activations in the compiler: what the lowering of every operator that has them asks. They are symmetric, so
// kernels have no zero point. Host only.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/diagnostic.h"
#include "ops/op.h"

namespace cormorant::ops {

// Whether a node computes 16-bit activations.
inline bool has_words(const ir::Node& node) {
  const auto& quant = node.result()->type.quant;
  return quant && quant->dtype == DType::i16;
}

// Throws unless the runtime is ours, which alone has 16-bit activations for nearly all operators.
inline void require_runtime_with_words(const Rewriter& rewriter) {
  if (rewriter.config.runtime != Runtime::executorch) return;
  throw InputError({.problem = "ExecuTorch's Cortex-M kernels have no " + rewriter.node.op + " with 16-bit activations",
                    .advice = "compile for Cormorant's own runtime, or with --scheme=8w8a",
                    .node = rewriter.node.name,
                    .source = rewriter.node.location.text()});
}

// Throws unless the operands are symmetric int16, as the result is.
inline void require_symmetric_words(const ir::Node& node, std::vector<const ir::Value*> operands) {
  operands.push_back(node.result());
  for (const ir::Value* value : operands) {
    const auto& quant = value->type.quant;
    if (quant && quant->dtype == DType::i16 && !quant->per_channel() && quant->zero_point() == 0) continue;
    throw InputError({.problem = node.op + " mixes 16-bit activations with others, or they have a zero point",
                      .advice = "quantize its operands and its result symmetrically to int16, one scale each",
                      .node = node.name,
                      .source = node.location.text()});
  }
}

// Both, of operands by their names.
inline void require_words(const Rewriter& rewriter, std::initializer_list<const char*> names) {
  require_runtime_with_words(rewriter);
  std::vector<const ir::Value*> operands;
  for (const char* name : names) operands.push_back(rewriter.node.tensor(name));
  require_symmetric_words(rewriter.node, std::move(operands));
}

// A real factor by which kernels multiply integers below 2^31 and take the upper half, rounded: factor · 2^32. None for
// a factor of one half or more.
inline std::optional<std::int32_t> high_factor(double factor) {
  const double scaled = std::round(std::ldexp(factor, 32));
  if (!(std::abs(scaled) < std::ldexp(1.0, 31))) return std::nullopt;
  return static_cast<std::int32_t>(scaled);
}

}  // namespace cormorant::ops
