// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <iterator>
#include <limits>
#include <span>

#include "tests/conformance/conformance.h"

namespace cormorant::ops {
namespace {

// The mask repeats, is as large as the image, or is larger than what it chooses from.
conformance::Case where_case(const char* name, ir::Shape mask, ir::Shape other, bool wide = false) {
  return {name, [=](ir::Graph& g) {
            const ir::Shape shape = {1, 5, 3, 7};
            ir::Value* x = wide ? conformance::words_input(g, shape, 0.001) : conformance::int8_input(g, shape, 0.1, 3);
            ir::TensorType type{DType::boolean, mask, {}, std::nullopt};
            std::vector<std::uint8_t> truth(static_cast<std::size_t>(type.elements()));
            for (std::size_t i = 0; i < truth.size(); ++i) truth[i] = i * 5 % 3 == 0 ? 1 : 0;
            ir::Value* m = g.add_constant("m", type, ir::Bytes::of(std::span<const std::uint8_t>(truth)));
            const ir::TensorType result = ir::quantized_type(shape, x->type.quant.value());
            ir::TensorType filled = ir::quantized_type(other, x->type.quant.value());
            const auto count = static_cast<std::size_t>(filled.elements());
            std::vector<std::int8_t> bytes(count);
            std::vector<std::int16_t> words(count);
            for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::int8_t>(i * 37 + 11);
            for (std::size_t i = 0; i < count; ++i) words[i] = static_cast<std::int16_t>(i * 9973 + 11);
            ir::Value* y = g.add_constant("y", filled,
                                          wide ? ir::Bytes::of(std::span<const std::int16_t>(words))
                                               : ir::Bytes::of(std::span<const std::int8_t>(bytes)));
            return g.add_node("where", "aten.where.self_out", {{"condition", m}, {"self", x}, {"other", y}}, {result})
                ->result();
          }};
}

std::vector<conformance::Case> cases() {
  return {where_case("a mask of pixels", {1, 1, 3, 7}, {1}), where_case("a mask of channels", {5, 1, 1}, {1, 5, 3, 7}),
          where_case("a mask of all", {1, 5, 3, 7}, {1, 5, 1, 1}),
          where_case("words by a mask of pixels", {1, 1, 3, 7}, {1}, true),
          where_case("words by a mask of rows", {1, 5, 3, 1}, {1, 5, 1, 7}, true)};
}

TEST(Where, EveryCpuEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(Where, EqualsTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 0); }

// Numbers between levels, on a level (1.2 is 12 · 0.1, as floats are multiplied), beyond all levels and none at all.
constexpr float kNumbers[] = {
    0.25F, 1.2F, -0.0F, 100.0F, -1e9F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()};
constexpr auto kCount = static_cast<std::int64_t>(std::size(kNumbers));

std::vector<conformance::Case> comparisons() {
  std::vector<conformance::Case> cases;
  for (const char* op : {"eq", "ne", "lt", "le", "gt", "ge"}) {
    for (const bool wide : {false, true}) {
      cases.push_back({op, [=](ir::Graph& g) {
                         ir::Value* x = wide ? conformance::words_input(g, {40, kCount}, 0.001)
                                             : conformance::int8_input(g, {40, kCount}, 0.1, 3);
                         ir::Value* numbers = g.add_constant("numbers", ir::float_type({kCount}),
                                                             ir::Bytes::of(std::span<const float>(kNumbers)));
                         const ir::TensorType truth{DType::boolean, {40, kCount}, {}, std::nullopt};
                         ir::Value* y = g.add_node("compare", "aten." + std::string(op) + ".Tensor_out",
                                                   {{"self", x}, {"other", numbers}}, {truth})
                                            ->result();
                         return g
                             .add_node("real", "cormorant.convert.any", {{"self", y}}, {ir::float_type({40, kCount})})
                             ->result();
                       }});
    }
  }
  return cases;
}

TEST(Comparison, OfIntegersEqualsThatOfTheNumbersTheyStandFor) {
  conformance::expect_near_evaluation(comparisons(), 0);
}

TEST(Comparison, EveryCpuEqualsTheReference) { conformance::expect_same_bits_everywhere(comparisons(), 2); }

TEST(WhereLoad, RejectsOperandsThatDoNotFit) {
  struct Operands {
    const char* what;
    ir::Shape condition = {3, 1}, self = {2, 3, 4}, other = {1};
    DType condition_type = DType::boolean, self_type = DType::i8, other_type = DType::i8;
    ir::TensorType out = {DType::i8, {2, 3, 4}, {}, std::nullopt};
    const char* op = "cormorant.where.int8";
  };
  const ir::TensorType words = {DType::i16, {2, 3, 4}, {}, std::nullopt};
  const char* const wide = "cormorant.where.int16";
  const Operands tables[] = {
      {.what = "nothing"},
      {.what = "nothing, and nothing to do",
       .condition = {1},
       .self = {2, 0, 4},
       .out = {DType::i8, {2, 0, 4}, {}, std::nullopt}},
      {.what = "a condition of two rows", .condition = {2, 1}},
      {.what = "a condition of more dimensions", .condition = {1, 1, 3, 1}},
      {.what = "a smaller operand", .self = {2, 3, 3}},
      {.what = "a larger operand", .other = {2, 3, 5}},
      {.what = "a condition of bytes", .condition_type = DType::i8},
      {.what = "an operand of words", .self_type = DType::i16},
      {.what = "another operand of words", .other_type = DType::i16},
      {.what = "a result of words", .out = {DType::i16, {2, 3, 4}, {}, std::nullopt}},
      {.what = "a smaller result", .out = {DType::i8, {2, 3, 3}, {}, std::nullopt}},
      {.what = "nothing of words", .self_type = DType::i16, .other_type = DType::i16, .out = words, .op = wide},
      {.what = "words that are bytes", .op = wide},
      {.what = "words and bytes", .self_type = DType::i16, .out = words, .op = wide}};
  for (const Operands& t : tables) {
    ir::Graph graph;
    ir::Value* condition = graph.add_input("c", {t.condition_type, t.condition, {}, std::nullopt});
    ir::Value* self = graph.add_input("x", {t.self_type, t.self, {}, std::nullopt});
    ir::Value* other = graph.add_input("y", {t.other_type, t.other, {}, std::nullopt});
    graph.add_output(
        graph.add_node("node", t.op, {{"condition", condition}, {"self", self}, {"other", other}}, {t.out})->result());
    EXPECT_EQ(conformance::loads(graph), std::string_view(t.what).starts_with("nothing")) << t.what;
  }
}

}  // namespace
}  // namespace cormorant::ops
