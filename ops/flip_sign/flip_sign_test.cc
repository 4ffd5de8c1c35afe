// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/conformance/conformance.h"

namespace cormorant::ops {
namespace {

ir::TensorType uint8(ir::Shape shape, double scale, std::int32_t zero_point) {
  return ir::quantized_type(std::move(shape), {DType::u8, 0, 255, std::nullopt, {scale}, {zero_point}});
}

// To pixels and back, so that the test's own input and output are int8.
std::vector<conformance::Case> cases() {
  std::vector<conformance::Case> all;
  for (const ir::Shape& shape : {ir::Shape{1}, {3}, {1, 15}, {16}, {17}, {1, 3, 5, 7}, {600}}) {
    all.push_back({std::to_string(shape.back()), [=](ir::Graph& g) {
                     ir::Value* x = conformance::int8_input(g, shape, 0.1, 3);
                     ir::Value* pixels =
                         g.add_node("to", "cormorant.flip_sign", {{"self", x}}, {uint8(shape, 0.1, 131)})->result();
                     return conformance::add_quantized(g, "cormorant.flip_sign", {{"self", pixels}}, shape, 0.1, 3);
                   }});
  }
  return all;
}

TEST(FlipSign, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(FlipSign, EqualsTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 0); }

TEST(FlipSign, TheVariantIsTheTargets) {
  const auto only = [](const Target& target) { return conformance::lowered_operators(cases().front(), target); };
  using Count = std::vector<std::pair<std::string, int>>;
  EXPECT_EQ(only({&kCpus[0], Isa::scalar}), Count({{"cormorant.flip_sign.scalar", 2}}));
  EXPECT_EQ(only({&kCpus[3], Isa::dsp}), Count({{"cormorant.flip_sign.scalar", 2}}));
  EXPECT_EQ(only({&kCpus[9], Isa::mve}), Count({{"cormorant.flip_sign.mve", 2}}));
}

TEST(FlipSign, LoadRejectsOtherTypesAndShapes) {
  const ir::TensorType same = ir::quantized_type({4}, ir::per_tensor_i8(1, 0));
  struct {
    const char* what;
    ir::TensorType out;
    bool loads;
  } table[] = {{"pixels", uint8({4}, 1, 128), true}, {"int8 again", same, false}, {"more", uint8({5}, 1, 128), false}};
  for (const auto& t : table) {
    ir::Graph graph;
    ir::Value* x = conformance::int8_input(graph, {4}, 1, 0);
    graph.add_output(graph.add_node("flip", "cormorant.flip_sign.mve", {{"input", x}}, {t.out})->result());
    EXPECT_EQ(conformance::loads(graph), t.loads) << t.what;
  }
}

}  // namespace
}  // namespace cormorant::ops
