// SPDX-License-Identifier: Apache-2.0
//
// Stages that are more than a pass: they read the options or record facts. Those of quantization are in
// compiler/quantize_graph.h.
#pragma once

#include "compiler/compile.h"

namespace cormorant::compiler {

// Our own runtime on a known CPU: kernels that no other program has.
bool is_for_one_cpu(const ops::Config& config);

void fold_normalization(ir::Graph& graph, Context& context);
void keep_bytes(ir::Graph& graph, Context& context);
void stream(ir::Graph& graph, Context& context);
void drop_channels(ir::Graph& graph, Context& context);
void lower(ir::Graph& graph, Context& context);
void by_rows(ir::Graph& graph, Context& context);

}  // namespace cormorant::compiler
