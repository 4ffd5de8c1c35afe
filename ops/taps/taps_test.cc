// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/conformance/conformance.h"

namespace cormorant::ops {
namespace {

// Along `dim`, from the table's places with its weights; three results of an image's five rows or seven columns.
conformance::Case taps_case(const char* name, ir::Shape shape, std::int64_t dim, std::int64_t taps,
                            std::vector<std::int32_t> places, std::vector<float> weights) {
  return {name, [=](ir::Graph& g) {
            ir::Value* x = conformance::int8_input(g, shape, 0.1, 3);
            const ir::Shape table = {static_cast<std::int64_t>(weights.size()) / taps, taps};
            ir::Value* p = g.add_constant("p", {DType::i32, table, {}, std::nullopt},
                                          ir::Bytes::of(std::span<const std::int32_t>(places)));
            ir::Value* w = g.add_constant("w", ir::float_type(table), ir::Bytes::of(std::span<const float>(weights)));
            ir::Shape out = shape;
            out[static_cast<std::size_t>(dim)] = table[0];
            return conformance::add_quantized(g, "cormorant.taps.float",
                                              {{"self", x}, {"dim", dim}, {"places", p}, {"weights", w}}, out, 0.1, 3);
          }};
}

std::vector<conformance::Case> cases() {
  const std::vector<std::int32_t> pairs = {0, 1, 1, 2, 3, 4};
  const std::vector<float> linear = {0.75F, 0.25F, 0.5F, 0.5F, 1.0F / 3, 2.0F / 3};
  return {taps_case("rows", {1, 3, 5, 7}, 2, 2, pairs, linear),
          taps_case("columns", {1, 17, 5, 7}, 3, 2, pairs, linear),
          taps_case("a signal", {2, 3, 9}, 2, 2, pairs, linear),
          taps_case("one each", {1, 4, 5, 7}, 2, 1, {4, 0, 2, 2}, {1, 1, 1, 1}),
          taps_case("cubic", {1, 4, 5, 7}, 3, 4, {0, 1, 2, 3, 1, 2, 3, 4},
                    {-0.1F, 0.6F, 0.6F, -0.1F, -0.05F, 0.2F, 0.95F, -0.1F})};
}

TEST(Taps, EveryCpuEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

// Halves may go the other way.
TEST(Taps, EqualsTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 1); }

TEST(Taps, IsOneOperator) {
  using Count = std::vector<std::pair<std::string, int>>;
  EXPECT_EQ(conformance::lowered_operators(cases().front(), {&kCpus[9], Isa::mve}),
            Count({{"cormorant.taps.int8", 1}}));
}

}  // namespace
}  // namespace cormorant::ops
