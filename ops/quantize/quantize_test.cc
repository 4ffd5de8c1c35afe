// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "ops/op.h"
#include "ops/quantize/reference.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(QuantizeReference, RoundsHalvesToEvenSaturatesAndTakesNanForZero) {
  struct {
    float value, scale;
    int zero_point, low, high, expected;
  } table[] = {
      {0.5F, 1.0F, 0, -128, 127, 0},
      {1.5F, 1.0F, 0, -128, 127, 2},
      {2.5F, 1.0F, 0, -128, 127, 2},
      {-0.5F, 1.0F, 0, -128, 127, 0},
      {-1.5F, 1.0F, 0, -128, 127, -2},
      {-0.0F, 1.0F, 7, -128, 127, 7},
      {1.25F, 0.5F, 3, -128, 127, 5},
      {100.0F, 0.5F, 0, -128, 127, 127},
      {-100.0F, 0.5F, 0, -128, 127, -128},
      {1000.0F, 1.0F, 0, -127, 100, 100},
      {kInfinity, 1.0F, 0, -128, 127, 127},
      {-kInfinity, 1.0F, 5, -128, 127, -128},
      {kNan, 1.0F, -4, -128, 127, -4},
      {kNan, 1.0F, -4, 0, 127, 0},
      {1e-40F, 1e-6F, 0, -128, 127, 0},
      {3e38F, 1e-3F, 0, -128, 127, 127},
      {-3e38F, 1e-3F, 0, -128, 127, -128},
      {40000.0F, 1.0F, -32768, -32768, 32767, 7232},
      {40000.0F, 1.0F, 0, -32768, 32767, 32767},
  };
  for (const auto& t : table) {
    EXPECT_EQ(quantize_reference(t.value, t.scale, t.zero_point, t.low, t.high), t.expected)
        << t.value << " / " << t.scale;
  }
}

// 3 · (1 / 3) and the like: the product is rounded to float before it is rounded to an integer.
TEST(QuantizeReference, MultipliesByTheRoundedReciprocal) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> scales(0.001F, 0.1F);
  std::uniform_int_distribution<int> levels(-1000, 1000);
  for (int i = 0; i < 10000; ++i) {
    const float scale = scales(random);
    const float value = (static_cast<float>(levels(random)) + 0.5F) * scale;
    volatile float reciprocal = 1.0F / scale;  // volatile: each operation rounds on its own
    volatile float product = value * reciprocal;
    const int expected = std::min(std::max(static_cast<int>(std::rint(product)) + 3, -128), 127);
    EXPECT_EQ(quantize_reference(value, scale, 3, -128, 127), expected) << value << " / " << scale;
  }
}

TEST(ReciprocalBits, AreThoseOfADivision) {
  std::mt19937 random(2);
  std::uniform_int_distribution<std::uint32_t> any(kSmallestScaleBits, kLargestScaleBits);
  for (int i = 0; i < 200000; ++i) {
    const std::uint32_t bits = i < 1000 ? 0x3F800000U - 500U + static_cast<std::uint32_t>(i) : any(random);
    ASSERT_EQ(reciprocal_bits(bits), std::bit_cast<std::uint32_t>(1.0F / std::bit_cast<float>(bits))) << bits;
  }
}

ir::Value* add_quantize(ir::Graph& graph, ir::Value* input, double scale, std::int32_t zero_point) {
  return graph
      .add_node("quantize", "quantized_decomposed.quantize_per_tensor",
                {{"input", input},
                 {"scale", scale},
                 {"zero_point", std::int64_t{zero_point}},
                 {"quant_min", std::int64_t{-128}},
                 {"quant_max", std::int64_t{127}},
                 {"dtype", DType::i8}},
                {ir::quantized_type(input->type.shape, ir::per_tensor_i8(scale, zero_point))})
      ->result();
}

// Values on and beside every rounding boundary, and what floats have besides numbers.
std::vector<float> boundary_values(float scale) {
  std::vector<float> values = {kNan, -kNan, kInfinity, -kInfinity, 0.0F, -0.0F, 1e-45F, -1e-40F, 3e38F, -3e38F};
  for (int level = -140; level < 140; ++level) {
    const float half = (static_cast<float>(level) + 0.5F) * scale;
    values.insert(values.end(), {half, std::nextafter(half, kInfinity), std::nextafter(half, -kInfinity)});
  }
  return values;
}

TEST(Quantize, EveryVariantEqualsTheReference) {
  std::vector<conformance::Case> cases;
  for (const int size : {1, 3, 4, 15, 16, 17, 31, 33, 100}) {
    cases.push_back({"size " + std::to_string(size), [=](ir::Graph& g) {
                       return add_quantize(g, conformance::float_input(g, {1, size}), 0.037, -11);
                     }});
  }
  for (const double scale : {1.0, 0.1, 0.00392156862745098, 3.7, 1e-20, 1e20}) {
    cases.push_back({"boundaries of " + std::to_string(scale), [=](ir::Graph& g) {
                       const std::vector<float> values = boundary_values(static_cast<float>(scale));
                       ir::Value* constant =
                           g.add_constant("values", ir::float_type({static_cast<std::int64_t>(values.size())}),
                                          ir::Bytes::of(std::span<const float>(values)));
                       return add_quantize(g, constant, scale, 5);
                     }});
  }
  conformance::expect_same_bits_everywhere(cases);
}

TEST(Quantize, IsWithinHalfAStepOfTheFloatValue) {
  conformance::expect_near_float_semantics(
      {{"image", [](ir::Graph& g) { return add_quantize(g, conformance::float_input(g, {1, 3, 4, 5}), 0.05, 3); }}},
      0.0);
}

TEST(Quantize, LoadRejectsWhatTheKernelsDoNotCompute) {
  struct {
    const char* what;
    double scale;
    std::int64_t zero_point, low, high;
    DType dtype;
    ir::Shape out;
  } table[] = {
      {"nothing", 1.0, 0, -128, 127, DType::i8, {1, 4}},
      {"a scale of zero", 0.0, 0, -128, 127, DType::i8, {1, 4}},
      {"a negative scale", -1.0, 0, -128, 127, DType::i8, {1, 4}},
      {"a subnormal scale", 1e-40, 0, -128, 127, DType::i8, {1, 4}},
      {"an infinite scale", 1e300, 0, -128, 127, DType::i8, {1, 4}},
      {"a zero point beyond int8", 1.0, 200, -128, 127, DType::i8, {1, 4}},
      {"bounds beyond int8", 1.0, 0, -129, 127, DType::i8, {1, 4}},
      {"crossed bounds", 1.0, 0, 5, 4, DType::i8, {1, 4}},
      {"another element type than the output's", 1.0, 0, -128, 127, DType::i16, {1, 4}},
      {"another shape", 1.0, 0, -128, 127, DType::i8, {4, 1}},
  };
  for (const auto& t : table) {
    ir::Graph graph;
    ir::Value* input = graph.add_input("x", ir::float_type({1, 4}));
    ir::Node* node = graph.add_node("quantize", "cortex_m.quantize_per_tensor",
                                    {{"input", input},
                                     {"scale", t.scale},
                                     {"zero_point", t.zero_point},
                                     {"quant_min", t.low},
                                     {"quant_max", t.high},
                                     {"dtype", t.dtype}},
                                    {ir::quantized_type(t.out, ir::per_tensor_i8(1.0, 0))});
    graph.add_output(node->result());
    EXPECT_EQ(conformance::loads(graph), std::string_view(t.what) == "nothing") << t.what;
  }
}

}  // namespace
}  // namespace cormorant::ops
