// SPDX-License-Identifier: Apache-2.0
#include "compiler/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "base/checked64.h"
#include "base/diagnostic.h"

namespace cormorant::compiler {

// In a quantized node a NaN is an error (quantizer/calibrate.cc). In float it propagates, and the results say nothing
// about where it came from. Infinities are legitimate: masks contain them.
void warn_of_nan(const ir::Graph& graph, Facts& facts) {
  for (const ir::Value& value : graph.values()) {
    if (value.data.bytes.empty() || value.type.dtype != DType::f32) continue;
    const auto count = std::ranges::count_if(value.data.as<float>(), [](float v) { return std::isnan(v); });
    if (count == 0) continue;
    facts.warnings.push_back(
        fmt::format("'{}' contains NaN ({} of {} elements), and so will what is computed from it: check the checkpoint "
                    "that the model was exported with",
                    value.name, count, value.data.bytes.size() / sizeof(float)));
  }
}

void count_macs(const ir::Graph& graph, Facts& facts) {
  facts.macs = 0;
  facts.node_macs.clear();
  for (const ir::Node& node : graph.nodes()) {
    const ops::Operator* op = ops::find(node);
    const bool is_aten = op != nullptr && std::ranges::find(op->canonical, node.op) != op->canonical.end();
    if (!is_aten || op->macs == nullptr) continue;
    const auto total = (Checked64(facts.macs) + op->macs(node)).get();
    if (!total) throw InputError({.problem = "the model has more MACs than fit in 64 bits", .advice = {}});
    facts.macs = *total;
    facts.node_macs[node.name] += op->macs(node);
  }
}

// Nodes keep their names. One of a name's steps does the multiplying (the others may be conversions).
void give_steps_macs(const ir::Graph& graph, Facts& facts) {
  std::map<std::pair<std::string, std::string>, emit::Step*> first;
  for (emit::Step& step : facts.steps) first.try_emplace({step.node, step.op}, &step);
  for (const ir::Node& node : graph.nodes()) {
    const ops::Operator* op = ops::find(node);
    const auto counted = facts.node_macs.find(node.name);
    if (op == nullptr || op->macs == nullptr || counted == facts.node_macs.end()) continue;
    const auto step = first.find({node.name, ops::program_name(node.op)});
    if (step != first.end()) step->second->macs = counted->second;
  }
}

// 4-bit weights are unpacked into scratch, which in small networks is most of the arena.
void warn_of_unpacking(Facts& facts) {
  const emit::Step* largest = nullptr;
  for (const emit::Step& step : facts.steps) {
    if (!ops::computes_in(ops::graph_name(step.op), ops::Precision::w4a8)) continue;
    if (largest == nullptr || step.scratch_bytes > largest->scratch_bytes) largest = &step;
  }
  constexpr std::int64_t kMuch = 4;  // a quarter
  const std::int64_t arena = arena_bytes(facts);
  if (largest == nullptr || largest->scratch_bytes * kMuch < arena) return;
  facts.warnings.push_back(
      fmt::format("4-bit weights take RAM: they are unpacked into up to {} bytes of scratch, in layer {}, and results "
                  "cannot overwrite their inputs; the arena has {} bytes, compare with --scheme=8w8a",
                  largest->scratch_bytes, largest->source.empty() ? largest->node : largest->source, arena));
}

std::int64_t arena_bytes(const Facts& facts) {
  std::int64_t bytes = 0;
  for (const emit::RegionFacts& region : facts.regions) bytes += region.bytes;
  return bytes;
}

}  // namespace cormorant::compiler
