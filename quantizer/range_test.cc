// SPDX-License-Identifier: Apache-2.0
#include "quantizer/range.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numbers>
#include <random>

namespace cormorant::quantizer {
namespace {

Distribution distribution_of(const std::vector<float>& values) {
  Histogram histogram;
  histogram.add(values);
  return histogram.distribution();
}

// The definition, value by value.
double measured_error(const std::vector<float>& values, const ir::QuantParams& params) {
  double sum = 0;
  for (const float value : values) {
    const double stored = std::clamp<double>(std::round(value / params.scale()) + params.zero_point(), -128, 127);
    const double error = params.scale() * (stored - params.zero_point()) - value;
    sum += error * error;
  }
  return sum / static_cast<double>(values.size());
}

std::vector<float> draw(std::size_t count, const std::function<float(std::mt19937&)>& make) {
  std::mt19937 generator(7);
  std::vector<float> values(count);
  for (float& value : values) value = make(generator);
  return values;
}

std::vector<float> gaussian(float mean = 0) {
  return draw(100000, [=](std::mt19937& g) { return std::normal_distribution<float>(mean, 1)(g); });
}

// A layer that is always zero also has 16-bit activations, whose kernels have no zero point.
TEST(ParamsForRange, HasNoZeroPointIfSymmetric) {
  for (const double high : {0.0, 3.0}) {
    EXPECT_EQ(params_for_range(0, high, kWords).zero_point(), 0) << high;
  }
  // Next to a scale of 1, an addition would have next to no bits for another operand.
  EXPECT_EQ(params_for_range(0, 0, kWords).scale(), 0x1p-15);
}

TEST(ParamsForRange, ExpressesZeroExactlyAndCoversTheRange) {
  struct Case {
    double low, high, scale;
    int zero_point;
  };
  const Case cases[] = {
      {0, 255, 1, -128},   {-128, 127, 1, 0},  {-255, 0, 1, 127}, {10, 255, 1, -128},  // 0 belongs to every range
      {-255, -10, 1, 127}, {-1, 254, 1, -127}, {0, 0, 1, -128},
  };
  for (const Case& c : cases) {
    const ir::QuantParams params = params_for_range(c.low, c.high, {});
    EXPECT_EQ(params.scale(), c.scale) << c.low << " " << c.high;
    EXPECT_EQ(params.zero_point(), c.zero_point) << c.low << " " << c.high;
  }
  const double scale = params_for_range(-0.3, 1.7, {}).scale();
  EXPECT_EQ(scale, static_cast<double>(static_cast<float>(scale)));
}

TEST(ParamsForRange, KnowsOtherGrids) {
  const ir::QuantParams params = params_for_range(-1, 1, {DType::i16, -32767, 32767});
  EXPECT_EQ(params.dtype, DType::i16);
  EXPECT_EQ(params.zero_point(), 0);
  EXPECT_NEAR(params.scale(), 1.0 / 32767, 1e-9);
}

TEST(ParamsForRange, SymmetricOnesCoverTheFartherSide) {
  for (const auto& [low, high] : {std::pair(-2.0, 1.0), std::pair(-1.0, 2.0), std::pair(-2.0, -1.0)}) {
    const ir::QuantParams params = params_for_range(low, high, kWords);
    EXPECT_EQ(params.zero_point(), 0);
    EXPECT_NEAR(params.scale(), 2.0 / 32767, 1e-9) << low << " " << high;
  }
}

TEST(RangeError, AgreesWithTheErrorMeasuredValueByValue) {
  const std::vector<float> sets[] = {
      gaussian(), gaussian(2),
      draw(50000, [](std::mt19937& g) { return std::max(0.0F, std::normal_distribution<float>(0, 1)(g)); }),
      draw(50000, [](std::mt19937& g) { return std::exponential_distribution<float>(3)(g); }),
      draw(50000, [](std::mt19937& g) { return std::min(6.0F, 4 * std::exponential_distribution<float>(1)(g)); })};
  const std::pair<double, double> ranges[] = {{-4, 4}, {0, 3}, {-0.5, 2}, {0, 0.7}, {-6, 6}};
  for (const std::vector<float>& values : sets) {
    for (const auto& [low, high] : ranges) {
      const ir::QuantParams params = params_for_range(low, high, {});
      const double expected = measured_error(values, params);
      EXPECT_NEAR(range_error(distribution_of(values), params).squared_error, expected, 0.01 * expected)
          << low << " " << high;
    }
  }
}

TEST(RangeError, CountsWhatIsClipped) {
  std::vector<float> values(1000, 1.0F);
  for (std::size_t k = 0; k < 250; ++k) values[k] = 10;
  const RangeError error = range_error(distribution_of(values), params_for_range(0, 2.55, {}));
  EXPECT_NEAR(error.clipped_share, 0.25, 1e-12);
  EXPECT_NEAR(error.signal, (0.25 * 100) + 0.75, 1e-9);
  EXPECT_NEAR(error.squared_error, 0.25 * 7.45 * 7.45, 1e-4);
}

// Rounding costs step²/12, clipping at L standard deviations the tail's integral; their sum is least at L = 3.92, where
// it is 40.57 dB below the signal. The values are the distribution's quantiles, not draws: one stray draw weighs more
// than the whole tail.
TEST(MseRange, FindsTheOptimumOfANormalDistribution) {
  std::vector<float> quantiles;
  constexpr int kCount = 200000;
  double x = -4.6;
  for (int k = 0; k < kCount; ++k) {
    const double wanted = (k + 0.5) / kCount;
    for (int newton = 0; newton < 4; ++newton) {
      const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
      x += (wanted - std::erfc(-x / std::numbers::sqrt2) / 2) / density;
    }
    quantiles.push_back(static_cast<float>(x));
  }
  const Distribution d = distribution_of(quantiles);
  const ir::QuantParams params = mse_range(d, {});
  EXPECT_NEAR(params.scale() * 127.5, 3.92, 0.08);
  EXPECT_NEAR(10 * std::log10(1 / range_error(d, params).squared_error), 40.57, 0.1);
}

TEST(MseRange, IsNeverWorseThanTheFullRange) {
  for (const float mean : {-3.0F, -0.5F, 0.0F, 1.0F, 8.0F}) {
    std::vector<float> values = gaussian(mean);
    values.push_back(40);
    const Distribution d = distribution_of(values);
    const double chosen = measured_error(values, mse_range(d, {}));
    EXPECT_LT(chosen, measured_error(values, minmax_range(d, {}))) << mean;
  }
}

// No pair of ends on a fine grid is better by more than a hair.
TEST(MseRange, ComesWithinOnePercentOfAnExhaustiveSearch) {
  const std::vector<float> sets[] = {
      draw(20000, [](std::mt19937& g) { return std::exponential_distribution<float>(1)(g); }),
      draw(20000, [](std::mt19937& g) { return std::student_t_distribution<float>(3)(g); }),
      draw(20000, [](std::mt19937& g) {
        const float x = std::normal_distribution<float>(0, 1)(g);
        return x < 0 ? 0.1F * x : 5 * x;
      })};
  for (const std::vector<float>& values : sets) {
    const Distribution d = distribution_of(values);
    double best = 1e30;
    for (int low = 0; low <= 40; ++low) {
      for (int high = 1; high <= 40; ++high) {
        best =
            std::min(best, range_error(d, params_for_range(d.min() * low / 40, d.max() * high / 40, {})).squared_error);
      }
    }
    EXPECT_LE(range_error(d, mse_range(d, {})).squared_error, 1.01 * best);
  }
}

TEST(MseRange, KeepsAGridThatIsAlreadyExact) {
  std::vector<float> image;
  for (int k = 0; k < 256; ++k) image.push_back(static_cast<float>(k) / 255);
  const ir::QuantParams params = mse_range(distribution_of(image), {});
  EXPECT_FLOAT_EQ(static_cast<float>(params.scale()), 1.0F / 255);
  EXPECT_EQ(params.zero_point(), -128);
}

TEST(MseRange, HasAnAnswerForDegenerateTensors) {
  EXPECT_EQ(mse_range({}, {}).scale(), 1);
  EXPECT_EQ(mse_range(distribution_of({0, 0, -0.0F}), {}).scale(), 1);
  for (const float only : {5.0F, -5.0F, 1e-20F, 3e38F}) {
    const ir::QuantParams params = mse_range(distribution_of({only, only}), {});
    EXPECT_LT(measured_error({only}, params), 1e-6 * only * only) << only;
  }
}

TEST(PercentileRange, LeavesAFewStraysOutside) {
  std::vector<float> values(100000);
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k % 1001) / 1000;
  const double usual = percentile_range(distribution_of(values), {}).scale() * 255;
  EXPECT_NEAR(usual, 1, 0.01);
  for (std::size_t k = 0; k < 5; ++k) values[k * 1000] = 50;  // fewer than one in ten thousand
  EXPECT_NEAR(percentile_range(distribution_of(values), {}).scale() * 255, 1, 0.01);
  for (std::size_t k = 0; k < 50; ++k) values[k * 1000] = 50;  // more
  EXPECT_NEAR(percentile_range(distribution_of(values), {}).scale() * 255, 50, 0.01);
}

// The definition with bins as fine as the values: probability of a value, and of its step spread over its values.
double divergence(const std::vector<float>& values, const ir::QuantParams& params) {
  std::map<double, double> seen, of_step, distinct;
  const auto step_of = [&](double value) {
    return std::clamp<double>(std::round(value / params.scale()) + params.zero_point(), -128, 127);
  };
  for (const float value : values) ++seen[static_cast<double>(value)];
  for (const auto& [value, count] : seen) {
    of_step[step_of(value)] += count;
    ++distinct[step_of(value)];
  }
  double sum = 0;
  for (const auto& [value, count] : seen) {
    const double told = of_step[step_of(value)] / distinct[step_of(value)];
    sum += count * std::log(count / told);
  }
  return sum / static_cast<double>(values.size());
}

TEST(KlRange, TellsTheDistributionBetterThanTheFullRangeDoes) {
  // A narrow hump with a thin, long tail, in multiples of 1/512, so that values repeat and have a frequency.
  std::vector<float> values =
      draw(60000, [](std::mt19937& g) { return std::round(std::normal_distribution<float>(0, 0.1F)(g) * 512) / 512; });
  for (int k = 0; k < 20; ++k) values.push_back(1 + static_cast<float>(k) / 8);
  const Distribution d = distribution_of(values);
  const ir::QuantParams kl = kl_range(d, {}), full = minmax_range(d, {});
  EXPECT_LT(kl.scale(), full.scale() / 2);
  EXPECT_LT(divergence(values, kl), divergence(values, full) / 2);
  // It does not clip needlessly: nothing of an even distribution is left outside.
  const std::vector<float> even =
      draw(60000, [](std::mt19937& g) { return std::uniform_real_distribution<float>(-1, 1)(g); });
  EXPECT_LT(range_error(distribution_of(even), kl_range(distribution_of(even), {})).clipped_share, 0.02);
}

TEST(KlRange, ZerosBehindAReluDoNotDecide) {
  std::vector<float> values = draw(60000, [](std::mt19937& g) { return std::exponential_distribution<float>(1)(g); });
  const ir::QuantParams alone = kl_range(distribution_of(values), {});
  values.resize(300000, 0.0F);
  EXPECT_EQ(kl_range(distribution_of(values), {}), alone);
  EXPECT_EQ(kl_range(distribution_of({0, 0, 0}), {}).scale(), 1);
}

TEST(Observers, HaveNamesThatParse) {
  for (const Observer observer : kObservers) EXPECT_EQ(parse_observer(name_of(observer)), observer);
  EXPECT_EQ(parse_observer("auto"), Observer::automatic);
  EXPECT_FALSE(parse_observer("best").has_value());
}

}  // namespace
}  // namespace cormorant::quantizer
