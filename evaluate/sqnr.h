// SPDX-License-Identifier: Apache-2.0
//
// The ratio of signal to noise, in dB. Signal is what varies with the input: the mean over the samples, element by
// element, is not, since a constant output carries no information, and corrected biases get the mean right however bad
// the rest is. With a single sample nothing is known to vary: then all of it is signal.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace cormorant::evaluate {

class Sqnr {
 public:
  void add(std::span<const float> wanted, std::span<const float> got) {
    sums_.resize(std::max(sums_.size(), wanted.size()));
    ++samples_;
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const double value = static_cast<double>(wanted[k]);
      const double error = static_cast<double>(got[k]) - value;
      sums_[k] += value;
      energy_ += value * value;
      noise_ += error * error;
    }
  }
  // Adds other samples of the same tensor.
  void add(const Sqnr& other) {
    sums_.resize(std::max(sums_.size(), other.sums_.size()));
    for (std::size_t k = 0; k < other.sums_.size(); ++k) sums_[k] += other.sums_[k];
    samples_ += other.samples_;
    energy_ += other.energy_;
    noise_ += other.noise_;
  }
  [[nodiscard]] std::size_t samples() const { return samples_; }
  // Infinite without noise, or without signal.
  [[nodiscard]] double db() const {
    if (!(noise_ > 0)) return std::numeric_limits<double>::infinity();
    double signal = energy_;
    if (samples_ > 1) {
      double constant = 0;
      for (const double sum : sums_) constant += sum * sum;
      signal = std::max(0.0, energy_ - constant / static_cast<double>(samples_));
    }
    return 10 * std::log10(signal / noise_);
  }

 private:
  std::vector<double> sums_;  // of each element, over the samples
  double energy_ = 0, noise_ = 0;
  std::size_t samples_ = 0;
};

}  // namespace cormorant::evaluate
