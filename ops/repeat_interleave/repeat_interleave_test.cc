// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/diagnostic.h"
#include "ops/op.h"
#include "passes/passes.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/import_rows.h"

namespace cormorant::ops {

Operator repeat_interleave_operator();

namespace {

using Dims = std::vector<std::int64_t>;

TEST(RepeatInterleaveImport, EverySpellingIsPyTorchs) {
  const conformance::ImportRow rows[] = {
      {"aten.repeat_interleave.self_int", {{3}}, {{"repeats", std::int64_t{2}}}, {{{6}, {0, 0, 1, 1, 2, 2}}}},
      {"aten.repeat_interleave.self_int", {{2, 2}}, {{"repeats", std::int64_t{2}}}, {{{8}, {0, 0, 1, 1, 2, 2, 3, 3}}}},
      {"aten.repeat_interleave.self_int",
       {{2, 2}},
       {{"repeats", std::int64_t{3}}, {"dim", std::int64_t{-1}}},
       {{{2, 6}, {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}}}},
      {"aten.upsample_nearest1d.default",
       {{1, 2, 2}},
       {{"output_size", Dims{4}}},
       {{{1, 2, 4}, {0, 0, 1, 1, 2, 2, 3, 3}}}},
      {"aten.upsample_nearest2d.default",
       {{1, 2, 2, 2}},
       {{"output_size", Dims{4, 6}}},
       {{{1, 2, 4, 6}, {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 2, 2, 2, 3, 3, 3,
                        4, 4, 4, 5, 5, 5, 4, 4, 4, 5, 5, 5, 6, 6, 6, 7, 7, 7, 6, 6, 6, 7, 7, 7}}}},
      {"aten.upsample_nearest2d.default",
       {{1, 1, 1, 2}},
       {{"output_size", Dims{3, 4}}, {"scales_h", 3.0}, {"scales_w", 2.0}},
       {{{1, 1, 3, 4}, {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}}}},
      {"aten._upsample_nearest_exact1d.default",
       {{1, 1, 2}},
       {{"output_size", Dims{6}}},
       {{{1, 1, 6}, {0, 0, 0, 1, 1, 1}}}},
      {"aten._upsample_nearest_exact2d.default",
       {{1, 1, 2, 2}},
       {{"output_size", Dims{4, 2}}},
       {{{1, 1, 4, 2}, {0, 1, 0, 1, 2, 3, 2, 3}}}},
      {"aten.upsample_nearest3d.default",
       {{1, 1, 1, 2, 2}},
       {{"output_size", Dims{2, 4, 4}}},
       {{{1, 1, 2, 4, 4},
         {0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3, 0, 0, 1, 1, 0, 0, 1, 1, 2, 2, 3, 3, 2, 2, 3, 3}}}},
  };
  const Operator op = repeat_interleave_operator();
  for (const auto& row : rows) conformance::expect_as_pytorch(op, row);
}

TEST(UpsampleImport, AFactorThatIsNotWholeSelects) {
  const Operator op = repeat_interleave_operator();
  ir::Graph graph;
  ir::Node call;
  call.args = {{"input", graph.add_input("x", ir::float_type({1, 1, 2, 2}))},
               {"output_size", {}},
               {"scale_factors", std::vector<double>{2.0, 1.5}}};
  const auto form = std::ranges::find_if(
      op.forms, [](const AtenForm& candidate) { return candidate.schema.starts_with("upsample_nearest2d.vec"); });
  ASSERT_NE(form, op.forms.end());
  Importer importer{&graph, &call, {ir::float_type({1, 1, 4, 3})}};
  EXPECT_NE(form->import(importer).front()->producer->op, "aten.repeat_interleave");
  call.args[2].value = std::vector<double>{2.0, 2.4};  // gives 4 pixels, but samples by 2.4
  importer.types = {ir::float_type({1, 1, 4, 4})};
  EXPECT_NE(form->import(importer).front()->producer->op, "aten.repeat_interleave");
  call.args[2].value = std::vector<double>{2.0, 2.0};
  EXPECT_EQ(form->import(importer).front()->producer->integers("repeats"), Dims({1, 1, 2, 2}));
}

conformance::Case repeat_case(ir::Shape shape, Dims repeats) {
  std::string name = "repetition of";
  for (const std::int64_t n : shape) name += " " + std::to_string(n);
  name += " by";
  for (const std::int64_t n : repeats) name += " " + std::to_string(n);
  return {name, [=](ir::Graph& g) {
            ir::Shape out = shape;
            for (std::size_t i = 0; i < out.size(); ++i) out[i] *= repeats[i];
            ir::Value* x = conformance::int8_input(g, shape, 0.1, -5);
            return conformance::add_quantized(g, "aten.repeat_interleave", {{"self", x}, {"repeats", repeats}}, out,
                                              0.1, -5);
          }};
}

std::vector<conformance::Case> cases() {
  std::vector<conformance::Case> all = {
      repeat_case({33}, {2}),
      repeat_case({33}, {17}),
      repeat_case({5, 7}, {3, 2}),
      repeat_case({2, 3, 4}, {1, 2, 1}),
      repeat_case({2, 3, 2, 3, 2, 3}, {1, 2, 1, 1, 3, 1}),
      repeat_case({2, 3, 2, 3, 2, 3}, {1, 1, 1, 2, 1, 3}),
  };
  for (const std::int64_t channels : {1, 3, 5, 7, 16, 17}) {
    all.push_back(repeat_case({2, channels, 3, 4}, {1, 1, 2, 2}));
    all.push_back(repeat_case({1, channels, 3, 2}, {1, 2, 1, 3}));
  }
  return all;
}

TEST(RepeatInterleave, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases(), 1); }

TEST(RepeatInterleave, EqualsTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 0.0, 2); }

TEST(RepeatInterleave, UpsamplingNeedsNoTransposition) {
  const auto lowered = conformance::lowered_operators(repeat_case({1, 3, 4, 2}, {1, 1, 2, 2}));
  EXPECT_EQ(lowered, (std::vector<std::pair<std::string, int>>{{"cormorant.repeat_interleave.mve", 1}}));
}

TEST(RepeatInterleave, ExecutorchGetsAnExpansion) {
  ir::Graph graph;
  graph.add_output(repeat_case({1, 3, 4, 2}, {1, 1, 2, 2}).build(graph));
  Config config;
  config.runtime = Runtime::executorch;
  passes::lower(graph, config);
  passes::decide_layout(graph);
  EXPECT_NO_THROW(passes::require_program_operators(graph, config));
  int expansions = 0;
  for (const ir::Node& node : graph.nodes()) expansions += node.op == "aten.expand_copy" ? 1 : 0;
  EXPECT_EQ(expansions, 1);
}

ir::TensorType i8(ir::Shape shape) { return {DType::i8, std::move(shape), {}, {}}; }

TEST(RepeatInterleave, LoadRefusesWhatDoesNotFit) {
  const auto repeat = [](Dims repeats, const ir::TensorType& out) {
    return conformance::loads("cormorant.repeat_interleave.scalar", i8({2, 3}), {{"repeats", std::move(repeats)}}, out);
  };
  EXPECT_TRUE(repeat({2, 1}, i8({4, 3})));
  EXPECT_FALSE(repeat({2, 2}, i8({4, 3})));
  EXPECT_FALSE(repeat({0, 1}, i8({0, 3})));
  EXPECT_FALSE(repeat({-2, -1}, i8({4, 3})));
  EXPECT_FALSE(repeat({2147483647, 1}, i8({4, 3})));
  EXPECT_FALSE(repeat({2}, i8({4, 3})));
  EXPECT_FALSE(repeat({2, 1}, i8({12})));
  EXPECT_FALSE(repeat({2, 1}, {DType::u8, {4, 3}, {}, {}}));
}

}  // namespace
}  // namespace cormorant::ops
