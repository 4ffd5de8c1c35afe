// SPDX-License-Identifier: Apache-2.0
//
// The second step of quantization: the float graph runs over the samples, one sample per thread at a time, and every
// tensor of interest fills a histogram. From those, each group of tensors gets its parameters.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "quantizer/annotate.h"
#include "quantizer/histogram.h"
#include "quantizer/options.h"
#include "quantizer/samples.h"

namespace cormorant::quantizer {

using Observations = std::unordered_map<const ir::Value*, Histogram>;

// Watches the members of all groups. Throws InputError when the model computes something that is not a finite number.
[[nodiscard]] Observations calibrate(const ir::Graph& graph, const Annotation& annotation, const Samples& samples,
                                     const QuantizeOptions& options);

// One set of parameters per group.
struct Parameters {
  std::vector<ir::QuantParams> params;
  std::vector<std::string> chosen_by;  // an observer's name; empty for a range that is known without
};

// First what is best for each tensor on its own; then what each single observer would choose for all of them, if that
// differs. The caller finds out what is best overall.
[[nodiscard]] std::vector<Parameters> choose_parameters(const ir::Graph& graph, const Annotation& annotation,
                                                        const Observations& observations, const Samples& samples,
                                                        const QuantizeOptions& options);

// The observer whose range each tensor has.
using Observers = std::unordered_map<const ir::Value*, Observer>;

// The same if that is already known, from other precisions of the same graph.
[[nodiscard]] Parameters parameters_by(const Observers& observers, const ir::Graph& graph, const Annotation& annotation,
                                       const Observations& observations, const QuantizeOptions& options);

}  // namespace cormorant::quantizer
