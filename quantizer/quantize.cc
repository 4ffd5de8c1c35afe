// SPDX-License-Identifier: Apache-2.0
#include "quantizer/quantize.h"

#include <cmath>
#include <limits>

#include "quantizer/calibrate.h"
#include "quantizer/convert.h"

namespace cormorant::quantizer {
namespace {

constexpr std::size_t kRandomSamples = 16;
constexpr std::uint64_t kRandomSeed = 20;

std::vector<ValueRange> describe(const Annotation& annotation, const Observations& observations,
                                 const std::vector<ir::QuantParams>& params, const ir::Graph& graph) {
  std::vector<ValueRange> ranges;
  for (const ir::Value& value : graph.values()) {
    const auto group = annotation.group_of.find(&value);
    if (group == annotation.group_of.end()) continue;
    const Distribution distribution = observations.at(&value).distribution();
    const ir::QuantParams& quant = params[group->second];
    const RangeError error = range_error(distribution, quant);
    const double sqnr = error.squared_error > 0 ? 10 * std::log10(error.signal / error.squared_error)
                                                : std::numeric_limits<double>::infinity();
    ranges.push_back({value.name, distribution.min(), distribution.max(), quant.scale(), quant.zero_point(),
                      error.clipped_share, sqnr});
  }
  return ranges;
}

}  // namespace

QuantizeReport quantize(ir::Graph& graph, const Samples& samples, const QuantizeOptions& options) {
  QuantizeReport report;
  const bool is_random = samples.count == 0;
  if (is_random) {
    report.warnings.emplace_back(
        "no calibration data: activation ranges come from random inputs and are not representative; give some with "
        "--calibrate");
  }
  const Annotation annotation = annotate(graph, options);
  const Observations observations =
      calibrate(graph, annotation, is_random ? random_samples(graph, kRandomSamples, kRandomSeed) : samples, options);
  const std::vector<ir::QuantParams> params = choose_parameters(graph, annotation, observations, options);
  report.float_nodes = annotation.float_nodes;
  report.ranges = describe(annotation, observations, params, graph);
  convert(graph, annotation, params, options);
  return report;
}

}  // namespace cormorant::quantizer
