// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "ir/types.h"
#include "ops/activation/activation.h"

namespace cormorant::ops {

using Table = std::array<std::int8_t, kTableEntries>;

// The function between two sets of int8 parameters, entry i for the input i − 128: computed in double, rounded to
// nearest, ties away from zero. A pole becomes the end of the range that it points to; where the function is undefined
// (the logarithm of a negative number) it continues with the nearest defined entry, which keeps monotone functions
// monotone. None if it is undefined everywhere.
std::optional<Table> make_table(const std::function<double(double)>& function, const ir::QuantParams& input,
                                const ir::QuantParams& output);

// For WordsActivation: a small table with which every result is within a step of the function. Undefined inputs
// continue with the nearest defined one. None if the function is undefined everywhere.
std::optional<std::vector<std::int32_t>> make_words_table(const std::function<double(double)>& function,
                                                          const ir::QuantParams& input, const ir::QuantParams& output);

// hardswish as ExecuTorch multiplies it: the integers of x times those of min(x, 3) + 3, with 3 in whole steps of x.
// None if x is not clamped to -3, below which the product grows again, or if steps are so fine that the product, or
// what it is requantized to, would not fit 32 bits.
std::optional<Table> make_hardswish_product_table(const ir::QuantParams& input, const ir::QuantParams& output);

}  // namespace cormorant::ops
