// SPDX-License-Identifier: Apache-2.0
#include "compiler/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/compare.h"
#include "compiler/facts.h"
#include "ops/nodes.h"
#include "passes/passes.h"
#include "quantizer/copy.h"

namespace cormorant::compiler {
namespace {

// Kernels with DSP or MVE instructions read channels by words, and the ones left over byte by byte: dropping all dead
// channels would cost up to a quarter of a network's time there. Rows begin at word boundaries on every CPU.
std::size_t channels_at_once(const Options& options) {
  const Target& target = options.config.target;
  return options.rows || target.is_any() || target.isa != Isa::scalar ? 4 : 1;
}

}  // namespace

bool is_for_one_cpu(const ops::Config& config) {
  return config.runtime == ops::Runtime::cormorant && !config.target.is_any();
}

void fold_normalization(ir::Graph& graph, Context& context) {
  const auto border = context.options.rows ? passes::BorderOfMeans::avoided : passes::BorderOfMeans::allowed;
  std::vector<std::string> notes = passes::fold_normalization(graph, border);
  if (context.options.quantize) std::ranges::move(notes, std::back_inserter(context.facts.warnings));
}

void keep_bytes(ir::Graph& graph, Context& context) {
  passes::keep_bytes(graph);
  std::erase_if(context.facts.float_operators, [&](const FloatOperator& op) {
    return op.op == ops::nodes::cormorant_convert_any &&
           std::ranges::none_of(graph.nodes(), [&](const ir::Node& node) { return node.name == op.node; });
  });
}

void stream(ir::Graph& graph, Context& context) {
  passes::StreamOptions options = *context.options.stream;
  options.keeps_sums = context.options.config.runtime == ops::Runtime::cormorant;
  count_macs(graph, context.facts);
  context.facts.window_macs = context.facts.macs;
  const quantizer::Samples& data = context.options.calibration;
  const bool compares = options.causal && data.count != 0 && data.steps == 1;
  std::optional<ir::Graph> window;
  if (compares) window = quantizer::copy_of(graph);
  passes::StreamedNetwork streamed = passes::stream(graph, options);
  if (compares) context.facts.causal_db = compare_streamed(*window, graph, options, streamed.outputs, data, kStreamed);
  context.facts.whole_window = std::move(streamed.whole);
  if (!context.facts.whole_window) return;
  const auto& [node, source, nodes] = *context.facts.whole_window;
  const std::string after =
      nodes == 1 ? " is" : fmt::format(" and {} layer{} after it are", nodes - 1, nodes == 2 ? "" : "s");
  context.facts.warnings.push_back(
      fmt::format("{}{}{} computed over the whole window for each hop, since what it computes is not the same for "
                  "every entry of the "
                  "streamed axis: see the MACs per hop",
                  node, source.empty() ? "" : " at " + source, after));
}

void drop_channels(ir::Graph& graph, Context& context) {
  context.facts.dropped_channels = passes::drop_channels(graph, channels_at_once(context.options));
}

void lower(ir::Graph& graph, Context& context) {
  count_macs(graph, context.facts);
  passes::lower(graph, context.options.config);
}

void by_rows(ir::Graph& graph, Context& context) {
  const Options& options = context.options;
  if (options.rows) {
    context.facts.rows = compute_by_rows(graph, options.config, *options.rows, options.progress);
  } else if (options.curve && is_for_one_cpu(options.config)) {
    context.facts.rows = plans_by_rows(graph, options.config, options.progress);
  }
}

}  // namespace cormorant::compiler
