// SPDX-License-Identifier: Apache-2.0
#include "quantizer/samples.h"

#include <cmath>
#include <memory>
#include <numbers>
#include <random>

namespace cormorant::quantizer {

Samples samples_of(std::vector<Sample> samples) {
  const auto shared = std::make_shared<const std::vector<Sample>>(std::move(samples));
  return {shared->size(), [shared](std::size_t k) { return shared->at(k); }};
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
  return {count, load};
}

}  // namespace cormorant::quantizer
