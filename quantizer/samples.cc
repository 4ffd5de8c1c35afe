// SPDX-License-Identifier: Apache-2.0
#include "quantizer/samples.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <random>

#include "evaluate/graph.h"
#include "quantizer/parallel.h"

namespace cormorant::quantizer {

Samples samples_of(std::vector<Sample> samples) {
  const auto shared = std::make_shared<const std::vector<Sample>>(std::move(samples));
  return {shared->size(), [shared](std::size_t k) { return shared->at(k); }};
}

Samples few_of(const Samples& samples, std::size_t wanted) {
  const std::size_t steps = std::max<std::size_t>(1, samples.steps), sequences = samples.count / steps;
  const std::size_t taken = std::min(sequences, std::max<std::size_t>(1, wanted / steps));
  const auto load = [&samples, steps, sequences, taken](std::size_t index) {
    return samples.load(index / steps * sequences / taken * steps + index % steps);
  };
  return {taken * steps, load, samples.steps};
}

Samples with_states(const ir::Graph& graph, const Samples& samples, std::size_t threads) {
  if (graph.states().empty()) return samples;
  const evaluate::Evaluator evaluator(graph);
  const auto states = std::make_shared<std::vector<std::vector<evaluate::Tensor>>>(samples.count);
  const std::size_t sequences = samples.count / samples.steps;
  parallel_for(sequences, thread_count(threads, sequences), [&](std::size_t sequence, std::size_t) {
    std::vector<evaluate::Tensor> held = evaluator.initial_states();
    for (std::size_t k = sequence * samples.steps; k < (sequence + 1) * samples.steps; ++k) {
      (*states)[k] = held;
      (void)evaluator.step(samples.load(k), held);
    }
  });
  const auto load = [samples, states](std::size_t k) {
    Sample sample = samples.load(k);
    sample.insert(sample.end(), (*states)[k].begin(), (*states)[k].end());
    return sample;
  };
  return {samples.count, load, samples.steps};
}

Samples random_samples(const ir::Graph& graph, std::size_t count, std::uint64_t seed) {
  std::vector<ir::TensorType> types;
  for (const ir::Value* input : graph.inputs()) types.push_back(input->type);
  const auto load = [types = std::move(types), seed](std::size_t k) {
    std::mt19937_64 generator(seed + k);  // each sample its own stream: threads may ask for them in any order
    // By hand: the standard fixes the generator's numbers but not those of its distributions.
    const auto uniform = [&] { return (static_cast<double>(generator() >> 11) + 0.5) * 0x1p-53; };
    const auto normal = [&] {
      const double radius = std::sqrt(-2 * std::log(uniform()));
      return radius * std::cos(2 * std::numbers::pi * uniform());
    };
    Sample sample;
    for (const ir::TensorType& type : types) {
      std::vector<float> data(static_cast<std::size_t>(type.elements()), 0.0F);
      if (is_float(type.dtype)) {
        for (float& value : data) value = static_cast<float>(normal());
      }
      sample.emplace_back(type.shape, std::move(data));
    }
    return sample;
  };
  constexpr std::size_t kSteps = 8;
  const std::size_t steps = graph.states().empty() ? 1 : kSteps;
  return {count * steps, load, steps};
}

}  // namespace cormorant::quantizer
