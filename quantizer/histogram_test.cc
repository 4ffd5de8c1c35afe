// SPDX-License-Identifier: Apache-2.0
#include "quantizer/histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace cormorant::quantizer {
namespace {

Histogram histogram_of(const std::vector<float>& values) {
  Histogram histogram;
  histogram.add(values);
  return histogram;
}

bool same(const Distribution& a, const Distribution& b) {
  return a.count == b.count &&
         std::equal(a.cells.begin(), a.cells.end(), b.cells.begin(), b.cells.end(), [](const Cell& x, const Cell& y) {
           return x.low == y.low && x.high == y.high && x.count == y.count;
         });
}

TEST(Histogram, CellsAscendAndKeepEveryValueInside) {
  const Distribution d = histogram_of({3.5F, -2, 0, -0.0F, 1e-3F, 7, 7, -2.01F, 1e-30F}).distribution();
  EXPECT_EQ(d.count, 9);
  EXPECT_EQ(d.min(), static_cast<double>(-2.01F));
  EXPECT_EQ(d.max(), 7);
  for (std::size_t k = 1; k < d.cells.size(); ++k) EXPECT_LE(d.cells[k - 1].high, d.cells[k].low);
  EXPECT_EQ(d.cells.back().count, 2);
}

TEST(Histogram, ARepeatedValueStaysAPoint) {
  std::vector<float> image;
  for (int k = 0; k < 256; ++k) image.insert(image.end(), 3, static_cast<float>(k) / 255);
  const Distribution d = histogram_of(image).distribution();
  for (const Cell& cell : d.cells) {
    EXPECT_EQ(cell.low, cell.high);
  }
  EXPECT_EQ(d.max(), 1);
}

TEST(Histogram, MergesExactlyInAnyOrder) {
  std::mt19937 generator(1);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> all(30000);
  for (float& value : all) value = normal(generator) * normal(generator);
  const Distribution whole = histogram_of(all).distribution();

  const std::span<const float> values(all);
  Histogram parts[3];
  for (std::size_t k = 0; k < 30; ++k) parts[k * k % 3].add(values.subspan(k * 1000, 1000));
  Histogram forward, backward;
  for (int k = 0; k < 3; ++k) forward.merge(parts[k]);
  for (int k = 3; k-- > 0;) backward.merge(parts[k]);
  EXPECT_TRUE(same(whole, forward.distribution()));
  EXPECT_TRUE(same(whole, backward.distribution()));
}

TEST(Histogram, SaysWhenSomethingIsNotFinite) {
  EXPECT_FALSE(histogram_of({1, std::numeric_limits<float>::max(), -0.0F}).has_non_finite());
  EXPECT_TRUE(histogram_of({1, std::numeric_limits<float>::infinity()}).has_non_finite());
  EXPECT_TRUE(histogram_of({-std::numeric_limits<float>::infinity()}).has_non_finite());
  EXPECT_TRUE(histogram_of({std::nanf("")}).has_non_finite());
}

TEST(Histogram, OfNothingIsEmpty) {
  const Distribution d = Histogram().distribution();
  EXPECT_TRUE(d.empty());
  EXPECT_EQ(d.min(), 0);
  EXPECT_EQ(d.max(), 0);
}

}  // namespace
}  // namespace cormorant::quantizer
