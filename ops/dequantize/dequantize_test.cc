// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "ops/dequantize/reference.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {
namespace {

TEST(DequantizeReference, IsTheDifferenceTimesTheScale) {
  struct {
    int value;
    float scale;
    int zero_point;
    float expected;
  } table[] = {
      {0, 0.5F, 0, 0.0F}, {127, 0.5F, 0, 63.5F},  {-128, 0.25F, 127, -63.75F},
      {5, 0.1F, 5, 0.0F}, {3, 0.1F, 0, 3 * 0.1F}, {32767, 1.0F, -32768, 65535.0F},
  };
  for (const auto& t : table) EXPECT_EQ(dequantize_reference(t.value, t.scale, t.zero_point), t.expected) << t.value;
}

ir::Value* add_dequantize(ir::Graph& graph, ir::Value* input) {
  const ir::QuantParams& quant = input->type.quant.value();
  return graph
      .add_node("dequantize", "quantized_decomposed.dequantize_per_tensor",
                {{"input", input},
                 {"scale", quant.scale()},
                 {"zero_point", std::int64_t{quant.zero_point()}},
                 {"quant_min", std::int64_t{quant.qmin}},
                 {"quant_max", std::int64_t{quant.qmax}},
                 {"dtype", quant.dtype}},
                {ir::float_type(input->type.shape)})
      ->result();
}

// All 256 bytes (a dividing scale makes every rounding happen), or a range of int16.
ir::Value* all_values(ir::Graph& graph, double scale, std::int32_t zero_point) {
  std::vector<std::int8_t> bytes(256);
  std::iota(bytes.begin(), bytes.end(), static_cast<std::int8_t>(-128));
  return graph.add_constant("bytes", ir::quantized_type({256}, ir::per_tensor_i8(scale, zero_point)),
                            ir::Bytes::of(std::span<const std::int8_t>(bytes)));
}

ir::Value* some_int16(ir::Graph& graph, double scale, std::int32_t zero_point) {
  std::vector<std::int16_t> values;
  for (int i = -32768; i < 32768; i += 97) values.push_back(static_cast<std::int16_t>(i));
  values.push_back(32767);
  const ir::QuantParams quant{DType::i16, -32768, 32767, std::nullopt, {scale}, {zero_point}};
  const auto count = static_cast<std::int64_t>(values.size());
  return graph.add_constant("words", {DType::i16, {count}, {}, quant},
                            ir::Bytes::of(std::span<const std::int16_t>(values)));
}

TEST(Dequantize, EveryVariantEqualsTheReference) {
  std::vector<conformance::Case> cases;
  for (const int size : {1, 3, 4, 5, 17}) {
    cases.push_back({"size " + std::to_string(size), [=](ir::Graph& g) {
                       return add_dequantize(g, conformance::int8_input(g, {1, size}, 0.123, -7));
                     }});
  }
  for (const double scale : {1.0, 0.1, 0.00392156862745098, 1.9999999, 7.9e-31, 1.2e30}) {
    for (const std::int32_t zero_point : {-128, 0, 77, 127}) {
      cases.push_back({"scale " + std::to_string(scale) + " zero " + std::to_string(zero_point),
                       [=](ir::Graph& g) { return add_dequantize(g, all_values(g, scale, zero_point)); }});
    }
    cases.push_back({"int16 scale " + std::to_string(scale),
                     [=](ir::Graph& g) { return add_dequantize(g, some_int16(g, scale, -1234)); }});
  }
  conformance::expect_same_bits_everywhere(cases);
}

}  // namespace
}  // namespace cormorant::ops
