// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/table.h"

#include <algorithm>
#include <cmath>

#include "ops/multiplier.h"

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
  std::vector<std::int32_t> table;
  for (std::int32_t bits = kFewestWordsBits; bits <= 16; ++bits) {
    const std::size_t step = std::size_t{1} << (16 - bits);
    table.clear();
    for (std::size_t i = 0; i <= kLevels; i += step) {
      table.push_back(static_cast<std::int32_t>(std::lround(std::ldexp(exact[i], kWordsFraction))));
    }
    bool is_good = true;
    for (std::int32_t i = 0; i < kLevels && is_good; ++i) {
      const std::int32_t level = rounded_word(interpolated(table.data(), bits, i - 32768));
      is_good = std::abs(level - exact[static_cast<std::size_t>(i)]) <= 1;
    }
    if (is_good) break;
  }
  return table;
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
