// SPDX-License-Identifier: Apache-2.0
#include "quantizer/trial.h"

#include <cmath>
#include <limits>

#include "evaluate/graph.h"
#include "evaluate/sqnr.h"
#include "quantizer/convert.h"
#include "quantizer/copy.h"
#include "quantizer/correct.h"
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

// Noise over signal, the sum over the outputs: each counts the same, however large its numbers are. Outputs that never
// vary have no signal and are ignored.
double error_of(const std::vector<double>& output_db) {
  double sum = 0;
  for (const double db : output_db) {
    if (db > -std::numeric_limits<double>::infinity()) sum += std::pow(10, -db / 10);
  }
  return sum;
}

}  // namespace

Trial quantize_with_best(const ir::Graph& real, const std::vector<Parameters>& candidates, const Samples& samples,
                         const QuantizeOptions& options) {
  constexpr std::size_t kEnough = 8;  // samples, for a network to be judged by them
  constexpr double kClearly = 0.8;    // of the error: less may be chance
  Trial best = quantize_with(real, candidates.at(0), samples, options);
  const std::size_t count = samples_to_judge_by(real, samples);
  if (candidates.size() == 1 || count < kEnough) return best;
  const Samples judged{count, [&](std::size_t k) { return samples.load(k * samples.count / count); }};
  const Yardstick yardstick(real, judged, options.threads);
  double least = kClearly * error_of(yardstick.output_db(best.graph));
  for (std::size_t k = 1; k < candidates.size(); ++k) {
    Trial trial = quantize_with(real, candidates[k], samples, options);
    const double error = error_of(yardstick.output_db(trial.graph));
    if (error >= least) continue;
    least = error;
    best = std::move(trial);
    best.chosen = k;
  }
  return best;
}

}  // namespace cormorant::quantizer
