// SPDX-License-Identifier: Apache-2.0
#include "quantizer/trial.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "evaluate/graph.h"
#include "evaluate/sqnr.h"
#include "ops/nodes.h"
#include "quantizer/convert.h"
#include "quantizer/copy.h"
#include "quantizer/correct.h"
#include "quantizer/held_out.h"
#include "quantizer/observe.h"
#include "quantizer/parallel.h"

namespace cormorant::quantizer {

Trial quantize_with(const ir::Graph& real, const Parameters& parameters, const Samples& samples,
                    const QuantizeOptions& options) {
  Trial trial{copy_of(real), 0, {}};
  convert(trial.graph, annotate(trial.graph, options), parameters.params, options);
  trial.rounded = refine(trial.graph, real, samples, options);
  return trial;
}

Yardstick::Yardstick(const ir::Graph& real, const Samples& samples, std::size_t threads)
    : threads_(thread_count(threads, samples.count)), samples_(samples.count), wanted_(samples.count) {
  const evaluate::Evaluator evaluator(real);
  parallel_for(samples_.size(), threads_, [&](std::size_t k, std::size_t) {
    samples_[k] = samples.load(k);
    wanted_[k] = evaluator.run(samples_[k]);
  });
}

std::vector<double> Yardstick::output_db(const ir::Graph& quantized) const {
  const evaluate::Evaluator evaluator(quantized);
  std::vector<std::vector<evaluate::Tensor>> got(samples_.size());
  parallel_for(samples_.size(), threads_, [&](std::size_t k, std::size_t) { got[k] = evaluator.run(samples_[k]); });
  std::vector<double> db;
  for (std::size_t output = 0; output < quantized.outputs().size(); ++output) {
    evaluate::Sqnr sqnr;
    for (std::size_t k = 0; k < got.size(); ++k) sqnr.add(wanted_[k][output].values(), got[k][output].values());
    db.push_back(sqnr.db());
  }
  return db;
}

namespace {

// Noise over signal in dB, the mean over the outputs: each counts the same, however large its numbers are and however
// good it already is. Outputs that never vary have no signal and are ignored.
double error_of(const std::vector<double>& output_db) {
  constexpr double kBest = 120;  // an output without noise is as good as that
  double sum = 0;
  for (const double db : output_db) {
    if (db > -std::numeric_limits<double>::infinity()) sum -= std::min(db, kBest);
  }
  return output_db.empty() ? 0 : sum / static_cast<double>(output_db.size());
}

// The same graph, and what its softmaxes read as further outputs.
ir::Graph with_logits(const ir::Graph& graph) {
  ir::Graph copy = copy_of(graph);
  std::vector<ir::Value*> more;
  for (ir::Value* output : copy.outputs()) {
    if (ir::Value* read = read_by_softmax(output)) more.push_back(read);
  }
  for (ir::Value* read : more) copy.add_output(read);
  return copy;
}

}  // namespace

ir::Value* read_by_softmax(const ir::Value* output) {
  const ir::Node* node = output->producer;
  if (node != nullptr && node->op == ops::nodes::quantized_decomposed_dequantize_per_tensor)
    node = node->inputs().at(0)->producer;
  return node != nullptr && node->op == ops::nodes::aten_softmax ? node->inputs().at(0) : nullptr;
}

Split hold_out(const Samples& samples) {
  constexpr std::size_t kEnough = 16, kEvery = Split::kEvery;
  if (samples.count < kEnough) return {samples, samples, false};
  const std::size_t held = samples.count / kEvery;
  const auto load = samples.load;
  return {{samples.count - held, [load](std::size_t k) { return load(k / (kEvery - 1) * kEvery + k % (kEvery - 1)); }},
          {held, [load](std::size_t k) { return load(k * kEvery + kEvery - 1); }},
          true};
}

Trial quantize_with_best(const ir::Graph& real, const std::vector<Parameters>& candidates, const Samples& samples,
                         const QuantizeOptions& options) {
  return quantize_with_best(real, real, candidates, Split{samples, samples, false}, options).trial;
}

Judged quantize_with_best(const ir::Graph& real, const ir::Graph& yardstick, const std::vector<Parameters>& candidates,
                          const Split& samples, const QuantizeOptions& options) {
  const std::size_t enough = samples.held_out ? 4 : 8;  // samples, for a network to be judged by them
  const double clearly = samples.held_out ? 0.2 : 1;    // dB: less may be chance
  const std::size_t count = samples_to_judge_by(real, samples.judged);
  if (count < enough) return {quantize_with(real, candidates.at(0), samples.fitted, options), {}};
  // Networks are counted, not the layers of each.
  QuantizeOptions silent = options;
  silent.progress = {};
  const auto tell_of = [&](std::size_t done) { tell(options.progress, "comparing ranges", done, candidates.size()); };
  tell_of(0);
  Judged best{quantize_with(real, candidates.at(0), samples.fitted, silent), {}};
  const Samples& from = samples.judged;
  const Samples judged{count, [&](std::size_t k) { return from.load(k * from.count / count); }};
  const Yardstick wanted(with_logits(yardstick), judged, options.threads);
  best.error = error_of(wanted.output_db(with_logits(best.trial.graph)));
  double least = *best.error - clearly;
  for (std::size_t k = 1; k < candidates.size(); ++k) {
    tell_of(k);
    Trial trial = quantize_with(real, candidates[k], samples.fitted, silent);
    const double error = error_of(wanted.output_db(with_logits(trial.graph)));
    if (error >= least) continue;
    least = error;
    trial.chosen = k;
    best = {std::move(trial), error};
  }
  tell_of(candidates.size());
  return best;
}

}  // namespace cormorant::quantizer
