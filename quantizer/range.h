// SPDX-License-Identifier: Apache-2.0
//
// From a tensor's observed values to the integers that will represent them. An observer looks at a distribution and
// proposes quantization parameters. 0 is always expressed exactly: padding and ReLU depend on it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/types.h"
#include "quantizer/histogram.h"

namespace cormorant::quantizer {

// The integers that an activation may take.
struct Grid {
  DType dtype = DType::i8;
  std::int32_t qmin = -128;
  std::int32_t qmax = 127;
  bool symmetric = false;  // the zero point is 0
};
// 16-bit activations, as in TFLite: the scale is that of ±32767.
inline constexpr Grid kWords = {DType::i16, -32768, 32767, true};

// The observers. `automatic` is not one itself: quantizer/observe.h lets the others propose and measures which one is
// best where the tensor is used.
enum class Observer : std::uint8_t { automatic, minmax, percentile, mse, kl };
inline constexpr std::array kObservers = {Observer::minmax, Observer::percentile, Observer::mse, Observer::kl};
inline constexpr std::array<std::string_view, 5> kObserverNames = {"auto", "minmax", "percentile", "mse", "kl"};

[[nodiscard]] std::string_view name_of(Observer observer);
[[nodiscard]] std::optional<Observer> parse_observer(std::string_view name);
// Not for `automatic`.
[[nodiscard]] ir::QuantParams observed_range(Observer observer, const Distribution& distribution, const Grid& grid);

// Everything that was seen is expressed: no clipping, the coarsest step.
[[nodiscard]] ir::QuantParams minmax_range(const Distribution& distribution, const Grid& grid);
// Clips where a finer step gains more than the clipped values lose: least expected squared error.
[[nodiscard]] ir::QuantParams mse_range(const Distribution& distribution, const Grid& grid);
// Leaves 0.01 % of the values outside at either end, so that a few outliers do not decide.
[[nodiscard]] ir::QuantParams percentile_range(const Distribution& distribution, const Grid& grid);
// The range whose integers best model how often values occur: least Kullback–Leibler divergence.
[[nodiscard]] ir::QuantParams kl_range(const Distribution& distribution, const Grid& grid);

// Parameters whose integers cover [low, high] widened to include 0. The scale is a float32 number, since the kernels
// that convert from and to float compute with one; the zero point is rounded, so an end may move by half a step.
[[nodiscard]] ir::QuantParams params_for_range(double low, double high, const Grid& grid);

// The effect of the parameters on a distribution.
struct RangeError {
  double squared_error = 0;  // mean, of rounding and clipping
  double signal = 0;         // mean square of the values
  double clipped_share = 0;  // of the values, outside what the integers express
};
[[nodiscard]] RangeError range_error(const Distribution& distribution, const ir::QuantParams& params);

}  // namespace cormorant::quantizer
