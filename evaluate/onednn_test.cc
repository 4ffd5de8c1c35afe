// SPDX-License-Identifier: Apache-2.0
#include "evaluate/onednn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>

namespace cormorant::evaluate {
namespace {

Tensor random_tensor(ir::Shape shape, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  std::vector<float> data(static_cast<std::size_t>(count));
  for (float& value : data) value = uniform(generator);
  return {std::move(shape), std::move(data)};
}

float at(const Tensor& t, std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) {
  return t.values()[static_cast<std::size_t>(((a * t.shape[1] + b) * t.shape[2] + c) * t.shape[3] + d)];
}

// The definition, in double.
double convolve_at(const Tensor& x, const Tensor& w, const Tensor* bias, const ConvolutionGeometry& g, std::int64_t n,
                   std::int64_t o, std::int64_t oh, std::int64_t ow) {
  double sum = bias == nullptr ? 0 : bias->values()[static_cast<std::size_t>(o)];
  const std::int64_t first = o / (w.shape[0] / g.groups) * w.shape[1];
  for (std::int64_t c = 0; c < w.shape[1]; ++c) {
    for (std::int64_t kh = 0; kh < w.shape[2]; ++kh) {
      for (std::int64_t kw = 0; kw < w.shape[3]; ++kw) {
        const std::int64_t h = oh * g.stride[0] - g.padding[0] + kh * g.dilation[0];
        const std::int64_t v = ow * g.stride[1] - g.padding[1] + kw * g.dilation[1];
        if (h < 0 || h >= x.shape[2] || v < 0 || v >= x.shape[3]) continue;
        sum += static_cast<double>(at(x, n, first + c, h, v)) * at(w, o, c, kh, kw);
      }
    }
  }
  return sum;
}

struct ConvolutionCase {
  const char* name;
  ir::Shape input, weight;
  ConvolutionGeometry geometry;
  ir::Shape expected;
  bool has_bias = true;
};

TEST(Convolution, EqualsItsDefinition) {
  const ConvolutionCase cases[] = {
      {"1x1", {1, 5, 4, 3}, {7, 5, 1, 1}, {}, {1, 7, 4, 3}},
      {"3x3 same", {1, 16, 8, 8}, {32, 16, 3, 3}, {.padding = {1, 1}}, {1, 32, 8, 8}},
      {"no bias", {1, 3, 8, 8}, {4, 3, 3, 3}, {}, {1, 4, 6, 6}, false},
      {"stride and four pads", {1, 1, 49, 10}, {64, 1, 10, 4}, {{2, 2}, {4, 1, 5, 1}, {1, 1}, 1}, {1, 64, 25, 5}},
      {"only at bottom and right", {1, 3, 6, 6}, {8, 3, 3, 3}, {{2, 2}, {0, 0, 1, 1}, {1, 1}, 1}, {1, 8, 3, 3}},
      {"depthwise", {1, 19, 7, 5}, {19, 1, 3, 3}, {{1, 1}, {1, 1}, {1, 1}, 19}, {1, 19, 7, 5}},
      {"depth multiplier", {1, 3, 6, 6}, {6, 1, 3, 3}, {{1, 1}, {0, 0}, {1, 1}, 3}, {1, 6, 4, 4}},
      {"groups", {2, 8, 6, 6}, {12, 4, 3, 3}, {{1, 2}, {1, 1}, {1, 1}, 2}, {2, 12, 6, 3}},
      {"dilation", {1, 4, 9, 9}, {5, 4, 3, 3}, {{1, 1}, {2, 1}, {2, 3}, 1}, {1, 5, 9, 5}},
      {"one row", {1, 6, 1, 40}, {9, 6, 1, 5}, {{1, 1}, {0, 4}, {1, 2}, 1}, {1, 9, 1, 40}},
  };
  unsigned seed = 1;
  for (const ConvolutionCase& c : cases) {
    SCOPED_TRACE(c.name);
    const Tensor input = random_tensor(c.input, seed++);
    const Tensor weight = random_tensor(c.weight, seed++);
    const Tensor bias = random_tensor({c.weight[0]}, seed++);
    const Tensor* maybe_bias = c.has_bias ? &bias : nullptr;
    const Tensor output = convolution(input, weight, maybe_bias, c.geometry);
    ASSERT_EQ(output.shape, c.expected);
    for (std::int64_t n = 0; n < output.shape[0]; ++n) {
      for (std::int64_t o = 0; o < output.shape[1]; ++o) {
        for (std::int64_t h = 0; h < output.shape[2]; ++h) {
          for (std::int64_t v = 0; v < output.shape[3]; ++v) {
            const double expected = convolve_at(input, weight, maybe_bias, c.geometry, n, o, h, v);
            ASSERT_NEAR(at(output, n, o, h, v), expected, 2e-5) << n << "," << o << "," << h << "," << v;
          }
        }
      }
    }
  }
}

TEST(Linear, WorksOverTheLastDimensionOfAnyRank) {
  for (const ir::Shape& lead : {ir::Shape{}, ir::Shape{1}, ir::Shape{3}, ir::Shape{2, 1, 3}}) {
    ir::Shape shape = lead;
    shape.push_back(37);
    const Tensor input = random_tensor(shape, 3);
    const Tensor weight = random_tensor({11, 37}, 4);
    const Tensor bias = random_tensor({11}, 5);
    const Tensor output = linear(input, weight, &bias);
    shape.back() = 11;
    ASSERT_EQ(output.shape, shape);
    for (std::size_t row = 0; row < output.values().size() / 11; ++row) {
      for (std::size_t o = 0; o < 11; ++o) {
        double sum = bias.values()[o];
        for (std::size_t k = 0; k < 37; ++k) {
          sum += static_cast<double>(input.values()[row * 37 + k]) * weight.values()[o * 37 + k];
        }
        EXPECT_NEAR(output.values()[row * 11 + o], sum, 1e-5);
      }
    }
  }
}

TEST(Linear, WithoutBiasIsNotMistakenForTheSameWeightsWithOne) {
  const Tensor input({1, 2}, {1, 2}), weight({1, 2}, {3, 4}), bias({1}, {100});
  EXPECT_EQ(linear(input, weight, &bias).values()[0], 111);
  EXPECT_EQ(linear(input, weight, nullptr).values()[0], 11);
}

TEST(Matmul, MultipliesEachPairOfMatrices) {
  const Tensor left({2, 1, 2}, {1, 2, 3, 4});
  const Tensor right({2, 2, 3}, {1, 0, 2, 0, 1, 2, 1, 1, 1, 0, 0, 5});
  const Tensor output = matmul(left, right);
  EXPECT_EQ(output.shape, (ir::Shape{2, 1, 3}));
  const std::vector<float> expected = {1, 2, 6, 3, 3, 23};
  EXPECT_EQ(std::vector<float>(output.values().begin(), output.values().end()), expected);
}

// Weights that come and go may get the address of earlier ones: kept weights must not be taken for them.
TEST(Linear, NewWeightsAtAnOldAddressAreNew) {
  const Tensor input({1, 64}, std::vector<float>(64, 1));
  for (int round = 0; round < 300; ++round) {
    const auto value = static_cast<float>(round);
    EXPECT_EQ(linear(input, Tensor({1, 64}, std::vector<float>(64, value)), nullptr).values()[0], 64 * value);
  }
}

TEST(Convolution, GivesTheSameBitsOnEveryThread) {
  const Tensor input = random_tensor({1, 24, 20, 20}, 1);
  const Tensor weight = random_tensor({40, 24, 3, 3}, 2);
  const ConvolutionGeometry geometry{.padding = {1, 1}};
  const Tensor expected = convolution(input, weight, nullptr, geometry);
  std::vector<int> differs(3, 0);
  std::vector<std::thread> threads;
  threads.reserve(differs.size());
  for (std::size_t t = 0; t < differs.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        const Tensor output = convolution(input, weight, nullptr, geometry);
        if (*output.data != *expected.data) ++differs[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(differs, std::vector<int>(3, 0));
}

}  // namespace
}  // namespace cormorant::evaluate
