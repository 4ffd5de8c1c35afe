// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/table.h"

#include <algorithm>
#include <cmath>

#include "ops/host/multiplier.h"

namespace cormorant::ops {

std::optional<Table> make_table(const std::function<double(double)>& function, const ir::QuantParams& input,
                                const ir::QuantParams& output) {
  Table table{};
  std::array<bool, kTableEntries> defined{};
  for (std::int32_t i = 0; i < kTableEntries; ++i) {
    const double y = function((i - 128 - input.zero_point()) * input.scale());
    const auto at = static_cast<std::size_t>(i);
    defined[at] = !std::isnan(y);
    if (!defined[at]) continue;
    // The zero point is added before rounding, as ExecuTorch does: halves then go away from −zero point.
    const double level = std::round(y / output.scale() + output.zero_point());
    table[at] =
        static_cast<std::int8_t>(std::clamp(level, static_cast<double>(output.qmin), static_cast<double>(output.qmax)));
  }
  for (std::int32_t i = 0; i < kTableEntries; ++i) {
    if (defined[static_cast<std::size_t>(i)]) continue;
    std::int32_t distance = 1;
    const auto is_defined = [&](std::int32_t entry) {
      return entry >= 0 && entry < kTableEntries && defined[static_cast<std::size_t>(entry)];
    };
    while (distance < kTableEntries && !is_defined(i - distance) && !is_defined(i + distance)) ++distance;
    if (distance == kTableEntries) return std::nullopt;
    const std::int32_t nearest = is_defined(i - distance) ? i - distance : i + distance;
    table[static_cast<std::size_t>(i)] = table[static_cast<std::size_t>(nearest)];
  }
  return table;
}

namespace {

// A table of 2^bits segments for what is exact, in steps of the output, at each of the inputs and one beyond them.
class Segments {
 public:
  Segments(const std::vector<double>& exact, std::int32_t bits, double tolerance)
      : exact_(exact), tolerance_(tolerance), bits_(bits), segment_bits_(16 - bits), count_(1 << bits) {
    for (std::int32_t segment = 0; segment < count_; ++segment) {
      std::int32_t shift = segment_bits_;
      const auto are_good = [&] {
        for (std::int32_t at = begin(segment); at < begin(segment + 1); at += 1 << shift) {
          if (!is_good(at, shift, stored(level_at(at)), stored(level_at(at + (1 << shift))))) return false;
        }
        return true;
      };
      while (shift > 0 && !are_good()) --shift;
      shifts_.push_back(shift);
      for (std::int32_t at = begin(segment); at < begin(segment + 1); at += 1 << shift) places_.push_back(at);
    }
    places_.push_back(begin(count_));
  }

  [[nodiscard]] std::vector<std::int32_t> table() const {
    std::vector<std::int32_t> table = {bits_};
    std::int32_t first = 0;
    for (const std::int32_t shift : shifts_) {
      table.push_back(first * 16 + shift);
      first += 1 << (segment_bits_ - shift);
    }
    std::vector<std::int32_t> values = centred();
    if (!are_good(values)) {
      values.clear();
      for (const std::int32_t place : places_) values.push_back(stored(level_at(place)));
    }
    table.insert(table.end(), values.begin(), values.end());
    return table;
  }
  [[nodiscard]] std::size_t size() const { return 1 + shifts_.size() + places_.size(); }

 private:
  [[nodiscard]] std::int32_t begin(std::int32_t segment) const { return segment << segment_bits_; }
  [[nodiscard]] double level_at(std::int32_t input) const { return exact_[static_cast<std::size_t>(input)]; }
  static std::int32_t stored(double value) {
    constexpr double kBound = 1 << 22;
    return static_cast<std::int32_t>(std::lround(std::clamp(std::ldexp(value, kWordsFraction), -kBound, kBound)));
  }

  [[nodiscard]] bool is_good(std::int32_t from, std::int32_t shift, std::int32_t first, std::int32_t second) const {
    const std::int32_t rise = second - first;
    if (!can_interpolate(rise, shift)) return false;
    for (std::int32_t i = 0; i < 1 << shift; ++i) {
      const std::int32_t level = rounded_word(first + ((rise * i) >> shift));
      if (!(std::abs(level - level_at(from + i)) <= tolerance_)) return false;
    }
    return true;
  }
  [[nodiscard]] bool are_good(const std::vector<std::int32_t>& values) const {
    for (std::size_t i = 0; i + 1 < places_.size(); ++i) {
      const std::int32_t shift = shifts_[static_cast<std::size_t>(places_[i] >> segment_bits_)];
      if (!is_good(places_[i], shift, values[i], values[i + 1])) return false;
    }
    return true;
  }

  // Where a function bends upwards, its values between two entries are below the line through them, on average by two
  // thirds of the deviation in the middle. Entries lowered by as much make the error unbiased and less than half as
  // large.
  [[nodiscard]] std::vector<std::int32_t> centred() const {
    const auto sag = [&](std::size_t part) {
      const std::int32_t from = places_[part], to = places_[part + 1];
      return (level_at(from) + level_at(to)) / 2 - level_at(from + (to - from) / 2);
    };
    std::vector<std::int32_t> values;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const double before = sag(i == 0 ? 0 : i - 1), after = sag(std::min(i, places_.size() - 2));
      values.push_back(stored(level_at(places_[i]) - (before + after) / 3));
    }
    return values;
  }

  const std::vector<double>& exact_;
  double tolerance_;  // in steps
  std::int32_t bits_, segment_bits_, count_;
  std::vector<std::int32_t> shifts_;  // of every segment
  std::vector<std::int32_t> places_;  // of the values
};

}  // namespace

std::optional<std::vector<std::int32_t>> make_words_table(const std::function<double(double)>& function,
                                                          const ir::QuantParams& input, const ir::QuantParams& output) {
  constexpr std::int32_t kLevels = 65536;
  std::vector<double> exact(kLevels + 1);  // in steps of the output; one beyond the last
  std::optional<double> last;
  std::size_t undefined = 0;  // at the beginning
  for (std::int32_t i = 0; i <= kLevels; ++i) {
    const double y = function((i - 32768 - input.zero_point()) * input.scale()) / output.scale();
    if (!std::isnan(y)) last = std::clamp<double>(y, output.qmin, output.qmax);
    exact[static_cast<std::size_t>(i)] = last.value_or(0);
    if (!last) ++undefined;
  }
  if (!last) return std::nullopt;
  std::fill_n(exact.begin(), undefined, exact.at(undefined));
  // Half a step is rounding. Interpolation adds as little as possible in a small table, and half a step in any.
  constexpr std::size_t kSmall = 512;
  std::optional<Segments> smallest;
  for (const double tolerance : {0.55, 0.65, 0.8, 1.0}) {
    smallest.reset();
    for (std::int32_t bits = kFewestWordsBits; bits <= kMostWordsBits; ++bits) {
      Segments segments(exact, bits, tolerance);
      if (!smallest || segments.size() < smallest->size()) smallest.emplace(std::move(segments));
    }
    if (smallest->size() <= kSmall) break;
  }
  return smallest->table();
}

std::optional<Table> make_hardswish_product_table(const ir::QuantParams& input, const ir::QuantParams& output) {
  const double step = input.scale();
  const double real_factor = step * step / (output.scale() * 6);
  const double largest_product = 255 * (255 + 3 / step);
  constexpr double kFits = 1 << 30;
  if (largest_product >= kFits || largest_product * real_factor >= kFits) return std::nullopt;
  const auto rounded = [](double x) { return static_cast<std::int32_t>(std::nearbyint(x)); };
  const std::int32_t zero = input.zero_point();
  const std::int32_t three = std::clamp(rounded(3 / step + zero), input.qmin, input.qmax);
  const std::int32_t shifted_zero = zero - rounded(3 / step);
  if (input.qmin < shifted_zero - 1) return std::nullopt;
  const Multiplier factor = quantize_multiplier(real_factor);
  Table table{};
  for (std::int32_t i = 0; i < kTableEntries; ++i) {
    const std::int32_t x = i - 128;
    const std::int32_t product = (x - zero) * (std::min(x, three) - shifted_zero);
    const std::int64_t level = std::int64_t{requantize(product, factor)} + output.zero_point();
    table[static_cast<std::size_t>(i)] =
        static_cast<std::int8_t>(std::clamp(level, std::int64_t{output.qmin}, std::int64_t{output.qmax}));
  }
  return table;
}

}  // namespace cormorant::ops
