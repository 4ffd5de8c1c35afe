// SPDX-License-Identifier: Apache-2.0
//
// What calibration remembers of a tensor: a histogram whose cells are the leading bits of a float (sign, exponent,
// seven bits of mantissa). The cells do not depend on the data, so one sweep is enough, nothing has to be rescaled when
// a larger value arrives, and merging is the addition of integers: the result is the same for any order of samples and
// any number of threads. Each cell also keeps its smallest and largest content, so that a value that repeats exactly (0
// after a ReLU, 6 after a ReLU6, an image's k/255) stays a single point. Memory is about 2 KB per octave in use and
// does not grow with the data.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cormorant::quantizer {

// A share of the observed values, taken to be evenly between low and high (both included; equal: a point).
struct Cell {
  double low = 0;
  double high = 0;
  double count = 0;
};

// A tensor's values over all samples, as cells in ascending order.
struct Distribution {
  std::vector<Cell> cells;
  double count = 0;

  [[nodiscard]] bool empty() const { return cells.empty(); }
  [[nodiscard]] double min() const { return cells.empty() ? 0 : cells.front().low; }
  [[nodiscard]] double max() const { return cells.empty() ? 0 : cells.back().high; }
};

class Histogram {
 public:
  void add(std::span<const float> values);
  void merge(const Histogram& other);

  [[nodiscard]] bool has_non_finite() const;
  // Magnitudes far below the largest do not matter for a quantization step and are merged into one cell per octave.
  [[nodiscard]] Distribution distribution() const;

 private:
  static constexpr int kMantissaBits = 7;
  static constexpr int kDroppedBits = 23 - kMantissaBits;
  static constexpr std::size_t kCells = std::size_t{1} << kMantissaBits;
  static constexpr std::size_t kOctaves = 256;  // of each sign

  struct Bucket {
    std::uint64_t count = 0;
    std::uint16_t smallest = 0xFFFF;  // the dropped bits of the content with the smallest and largest magnitude
    std::uint16_t largest = 0;
  };
  using Octave = std::array<Bucket, kCells>;

  void append_octave(bool negative, std::size_t exponent, bool as_one, std::vector<Cell>& cells) const;

  std::array<std::unique_ptr<Octave>, 2 * kOctaves> octaves_;  // positive, then negative; null: nothing seen
};

}  // namespace cormorant::quantizer
