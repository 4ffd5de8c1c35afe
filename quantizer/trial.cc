// SPDX-License-Identifier: Apache-2.0
#include "quantizer/trial.h"

#include <algorithm>

#include "evaluate/graph.h"
#include "quantizer/convert.h"
#include "quantizer/copy.h"
#include "quantizer/correct.h"
#include "quantizer/observe.h"
#include "quantizer/parallel.h"

namespace cormorant::quantizer {
namespace {

Trial quantized_with(const ir::Graph& real, const Parameters& parameters, const Samples& samples,
                     const QuantizeOptions& options) {
  Trial trial{copy_of(real), 0, {}};
  convert(trial.graph, annotate(trial.graph, options), parameters.params, options);
  trial.rounded = refine(trial.graph, real, samples, options);
  return trial;
}

// Squared, of all outputs over the samples that a network of this size is judged by.
double error_of(const ir::Graph& quantized, const ir::Graph& real, const Samples& samples, std::size_t count,
                std::size_t threads) {
  const evaluate::Evaluator run_real(real), run_quantized(quantized);
  std::vector<double> errors(count, 0.0);
  parallel_for(count, thread_count(threads, count), [&](std::size_t k, std::size_t) {
    const Sample sample = samples.load(k * samples.count / count);
    const std::vector<evaluate::Tensor> wanted = run_real.run(sample), got = run_quantized.run(sample);
    for (std::size_t output = 0; output < wanted.size(); ++output) {
      for (std::size_t i = 0; i < wanted[output].values().size(); ++i) {
        const double error = double{wanted[output].values()[i]} - double{got[output].values()[i]};
        errors[k] += error * error;
      }
    }
  });
  double sum = 0;
  for (const double error : errors) sum += error;  // in one order, for any number of threads
  return sum;
}

}  // namespace

Trial quantize_with_best(const ir::Graph& real, const std::vector<Parameters>& candidates, const Samples& samples,
                         const QuantizeOptions& options) {
  constexpr std::size_t kEnough = 8;  // samples, for a network to be judged by them
  constexpr double kClearly = 0.8;    // of the error: less may be chance
  Trial best = quantized_with(real, candidates.at(0), samples, options);
  const std::size_t count = samples_to_judge_by(real, samples);
  if (candidates.size() == 1 || count < kEnough) return best;
  double least = kClearly * error_of(best.graph, real, samples, count, options.threads);
  for (std::size_t k = 1; k < candidates.size(); ++k) {
    Trial trial = quantized_with(real, candidates[k], samples, options);
    const double error = error_of(trial.graph, real, samples, count, options.threads);
    if (error >= least) continue;
    least = error;
    best = std::move(trial);
    best.chosen = k;
  }
  return best;
}

}  // namespace cormorant::quantizer
