// SPDX-License-Identifier: Apache-2.0
//
// Samples by which a network is quantized, and others by which the result is judged: a range or a rounding that suits
// the samples it was made from need not suit others.
#pragma once

#include <optional>

#include "quantizer/calibrate.h"
#include "quantizer/trial.h"

namespace cormorant::quantizer {

struct Split {
  Samples fitted, judged;
  bool held_out = false;  // `judged` has other samples than `fitted`
  [[nodiscard]] bool is_held(std::size_t sample) const { return held_out && sample % kEvery == kEvery - 1; }
  static constexpr std::size_t kEvery = 4;
};

// If there are enough samples; otherwise both are all of them.
[[nodiscard]] Split hold_out(const Samples& samples);

// What calibration sees of each.
struct Watched {
  Observations fitted, held;
  [[nodiscard]] Observations all() const;
};
[[nodiscard]] Watched calibrate(const ir::Graph& graph, const Annotation& annotation, const Samples& samples,
                                const Split& split, const QuantizeOptions& options);

// Which observers' ranges these parameters are.
[[nodiscard]] Observers observers_of(const Annotation& annotation, const Parameters& parameters);

// A network, and its outputs' error: noise over signal, the mean over the outputs in dB; none if there are too few
// samples to tell.
struct Judged {
  Trial trial;
  std::optional<double> error;
};

// Candidates have one set of parameters per group of annotate(`real`), the float graph; `yardstick` computes the same.
// The first candidate is kept unless another is clearly better; with few samples nothing is clear.
[[nodiscard]] Judged quantize_with_best(const ir::Graph& real, const ir::Graph& yardstick,
                                        const std::vector<Parameters>& candidates, const Split& samples,
                                        const QuantizeOptions& options);

}  // namespace cormorant::quantizer
