// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/table.h"

#include <algorithm>
#include <cmath>

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

}  // namespace cormorant::ops
