// SPDX-License-Identifier: Apache-2.0
#include "quantizer/histogram.h"

#include <algorithm>
#include <bit>

namespace cormorant::quantizer {

void Histogram::add(std::span<const float> values) {
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    std::unique_ptr<Octave>& octave = octaves_[bits >> 23];
    if (octave == nullptr) octave = std::make_unique<Octave>();
    Bucket& bucket = (*octave)[(bits >> kDroppedBits) & (kCells - 1)];
    const auto dropped = static_cast<std::uint16_t>(bits & ((1U << kDroppedBits) - 1));
    ++bucket.count;
    bucket.smallest = std::min(bucket.smallest, dropped);
    bucket.largest = std::max(bucket.largest, dropped);
  }
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t k = 0; k < octaves_.size(); ++k) {
    if (other.octaves_[k] == nullptr) continue;
    if (octaves_[k] == nullptr) octaves_[k] = std::make_unique<Octave>();
    for (std::size_t c = 0; c < kCells; ++c) {
      Bucket& to = (*octaves_[k])[c];
      const Bucket& from = (*other.octaves_[k])[c];
      to.count += from.count;
      to.smallest = std::min(to.smallest, from.smallest);
      to.largest = std::max(to.largest, from.largest);
    }
  }
}

// Infinities and NaNs are the octave with the largest exponent.
bool Histogram::has_non_finite() const {
  return octaves_[kOctaves - 1] != nullptr || octaves_[2 * kOctaves - 1] != nullptr;
}

void Histogram::append_octave(bool negative, std::size_t exponent, bool as_one, std::vector<Cell>& cells) const {
  const Octave* octave = octaves_[exponent + (negative ? kOctaves : 0)].get();
  if (octave == nullptr) return;
  const std::size_t first = cells.size();
  for (std::size_t k = 0; k < kCells; ++k) {
    const std::size_t index = negative ? kCells - 1 - k : k;
    const Bucket& bucket = (*octave)[index];
    if (bucket.count == 0) continue;
    const auto value_of = [&](std::uint16_t dropped) -> double {
      const auto magnitude = static_cast<std::uint32_t>((exponent << 23) | (index << kDroppedBits) | dropped);
      return std::bit_cast<float>(magnitude | (negative ? 0x80000000U : 0U));
    };
    Cell cell = {value_of(bucket.smallest), value_of(bucket.largest), static_cast<double>(bucket.count)};
    if (negative) std::swap(cell.low, cell.high);
    if (as_one && cells.size() > first) {
      cells.back().high = cell.high;
      cells.back().count += cell.count;
    } else {
      cells.push_back(cell);
    }
  }
}

Distribution Histogram::distribution() const {
  constexpr std::size_t kFineOctaves = 11;  // 2^-11 of the largest magnitude is an eighth of the finest int8 step
  std::size_t top = 0;
  for (std::size_t e = 0; e + 1 < kOctaves; ++e) {
    if (octaves_[e] != nullptr || octaves_[e + kOctaves] != nullptr) top = e;
  }
  const auto is_coarse = [&](std::size_t exponent) { return exponent + kFineOctaves < top; };
  Distribution result;
  for (std::size_t e = kOctaves - 1; e-- > 0;) append_octave(true, e, is_coarse(e), result.cells);
  for (std::size_t e = 0; e + 1 < kOctaves; ++e) append_octave(false, e, is_coarse(e), result.cells);
  for (const Cell& cell : result.cells) result.count += cell.count;
  return result;
}

}  // namespace cormorant::quantizer
