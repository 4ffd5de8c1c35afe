// SPDX-License-Identifier: Apache-2.0
//
// Samples that a network is quantized by, and others that the result is judged by: a range or a rounding that suits the
// samples it was made by need not suit others.
#pragma once

#include <optional>

#include "quantizer/calibrate.h"
#include "quantizer/trial.h"

namespace cormorant::quantizer {

struct Split {
  Samples fitted, judged;
  bool held_out = false;  // they are others
  [[nodiscard]] bool is_held(std::size_t sample) const { return held_out && sample % kEvery == kEvery - 1; }
  static constexpr std::size_t kEvery = 4;
};

// Where there are enough; else both are all of them.
[[nodiscard]] Split hold_out(const Samples& samples);

// What calibration sees of either.
struct Watched {
  Observations fitted, held;
  [[nodiscard]] Observations all() const;
};
[[nodiscard]] Watched calibrate(const ir::Graph& graph, const Annotation& annotation, const Samples& samples,
                                const Split& split, const QuantizeOptions& options);

// Whose ranges these parameters are.
[[nodiscard]] Observers observers_of(const Annotation& annotation, const Parameters& parameters);

// A network, and what its outputs are off by: noise over signal, the mean over the outputs in dB; none where there are
// too few samples to tell.
struct Judged {
  Trial trial;
  std::optional<double> error;
};

// `real` is the float graph that annotate() gives the candidates' groups of, `yardstick` one that computes the same.
// The first candidate is kept unless another is clearly better; of few samples nothing is clear.
[[nodiscard]] Judged quantize_with_best(const ir::Graph& real, const ir::Graph& yardstick,
                                        const std::vector<Parameters>& candidates, const Split& samples,
                                        const QuantizeOptions& options);

}  // namespace cormorant::quantizer
