// SPDX-License-Identifier: Apache-2.0
#include "compiler/compare.h"

#include <algorithm>
#include <unordered_map>

#include "evaluate/graph.h"
#include "evaluate/sqnr.h"
#include "quantizer/parallel.h"

namespace cormorant::compiler {
namespace {

using evaluate::Sqnr;
using evaluate::Tensor;

// One sample's part of the sums; they are added in the samples' order, so that the figures do not depend on threads.
struct Part {
  std::map<std::string, Sqnr> values;
  std::vector<Sqnr> outputs;
};

Part compare_sample(const ir::Graph& real, const evaluate::Evaluator& run_quantized,
                    const evaluate::Evaluator& run_real, const quantizer::Sample& sample) {
  Part part;
  std::unordered_map<std::string, Tensor> wanted;
  const std::vector<Tensor> expected =
      run_real.run(sample, [&](const ir::Value& value, const Tensor& tensor) { wanted.emplace(value.name, tensor); });
  const std::vector<Tensor> got = run_quantized.run(sample, [&](const ir::Value& value, const Tensor& tensor) {
    if (!value.type.quant || value.producer == nullptr) return;
    const auto twin = wanted.find(value.name);
    if (twin == wanted.end() || twin->second.values().size() != tensor.values().size()) return;
    part.values[value.name].add(twin->second.values(), tensor.values());
  });
  part.outputs.resize(real.outputs().size());
  for (std::size_t k = 0; k < part.outputs.size() && k < got.size(); ++k) {
    if (expected[k].values().size() == got[k].values().size())
      part.outputs[k].add(expected[k].values(), got[k].values());
  }
  return part;
}

}  // namespace

Comparison compare(const ir::Graph& quantized, const ir::Graph& real, const quantizer::Samples& data,
                   std::size_t samples, std::size_t threads) {
  const quantizer::Samples few = quantizer::with_states(real, quantizer::few_of(data, samples), threads);
  const evaluate::Evaluator run_quantized(quantized), run_real(real);
  std::vector<Part> parts(few.count);
  quantizer::parallel_for(few.count, quantizer::thread_count(threads, few.count), [&](std::size_t i, std::size_t) {
    parts[i] = compare_sample(real, run_quantized, run_real, few.load(i));
  });
  Part all;
  all.outputs.resize(real.outputs().size());
  for (const Part& part : parts) {
    for (const auto& [name, sqnr] : part.values) all.values[name].add(sqnr);
    for (std::size_t k = 0; k < part.outputs.size(); ++k) all.outputs[k].add(part.outputs[k]);
  }
  Comparison comparison{.samples = few.count, .node_db = {}, .output_db = {}};
  for (const ir::Node& node : quantized.nodes()) {
    for (const ir::Value* result : node.results) {
      const auto at = all.values.find(result->name);
      if (at == all.values.end()) continue;
      const auto [known, is_new] = comparison.node_db.try_emplace(node.name, at->second.db());
      if (!is_new) known->second = std::min(known->second, at->second.db());
    }
  }
  for (const Sqnr& output : all.outputs) comparison.output_db.push_back(output.db());
  return comparison;
}

namespace {

// Entries [first, first + count) along the axis.
Tensor entries(const Tensor& tensor, std::size_t axis, std::int64_t first, std::int64_t count) {
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= tensor.shape[i];
  for (std::size_t i = axis + 1; i < tensor.shape.size(); ++i) inner *= tensor.shape[i];
  std::vector<float> values;
  for (std::int64_t k = 0; k < outer; ++k) {
    const auto begin = tensor.values().begin() + (k * tensor.shape[axis] + first) * inner;
    values.insert(values.end(), begin, begin + count * inner);
  }
  ir::Shape shape = tensor.shape;
  shape[axis] = count;
  return {std::move(shape), std::move(values)};
}

}  // namespace

std::vector<double> compare_streamed(const ir::Graph& window, const ir::Graph& streamed,
                                     const passes::StreamOptions& options,
                                     std::span<const passes::StreamedOutput> outputs, const quantizer::Samples& data,
                                     std::size_t samples) {
  const evaluate::Evaluator run_window(window), run_streamed(streamed);
  const auto rank = static_cast<std::int64_t>(window.inputs().front()->type.rank());
  const auto axis = static_cast<std::size_t>(options.axis < 0 ? options.axis + rank : options.axis);
  const std::int64_t size = window.inputs().front()->type.shape[axis], hops = size / options.hop;
  std::vector<Sqnr> sums(outputs.size());
  const std::size_t count = std::min(samples, data.count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t index = k * data.count / count;
    const quantizer::Sample sample = data.load(index);
    std::vector<Tensor> states = run_streamed.initial_states(), got;
    for (const quantizer::Sample& part : {data.load((index + data.count - 1) % data.count), sample}) {
      quantizer::Sample inputs = part;
      for (std::int64_t hop = 0; hop < hops; ++hop) {
        inputs[0] = entries(part[0], axis, size - (hops - hop) * options.hop, options.hop);
        got = run_streamed.step(inputs, states);
      }
    }
    const std::vector<Tensor> wanted = run_window.run(sample);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const Tensor* all = &wanted[i];
      std::optional<Tensor> newest;
      if (const auto along = outputs[i].axis) {
        const std::int64_t fresh = got[i].shape[*along], first = all->shape[*along] - outputs[i].lag - fresh;
        if (first < 0) continue;
        all = &newest.emplace(entries(*all, *along, first, fresh));
      }
      sums[i].add(all->values(), got[i].values());
    }
  }
  std::vector<double> db;
  for (const Sqnr& sum : sums) db.push_back(sum.db());
  return db;
}

}  // namespace cormorant::compiler
