// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/op.h"
#include "passes/passes.h"
#include "runtime/host.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/import_rows.h"

namespace cormorant::ops {

Operator expand_operator();

namespace {

using Dims = std::vector<std::int64_t>;

TEST(ExpandImport, EverySpellingIsPyTorchs) {
  const conformance::ImportRow rows[] = {
      {"aten.expand.default",
       {{2, 1}},
       {{"size", Dims{3, -1, 2}}},
       {{{3, 2, 2}, {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}}}},
      {"aten.expand.default", {{2, 1}}, {{"size", Dims{2, 1}}}, {{{2, 1}, {0, 1}}}},
      {"aten.expand_copy.default", {{3}}, {{"size", Dims{2, 3}}}, {{{2, 3}, {0, 1, 2, 0, 1, 2}}}},
      {"aten.expand_as.default", {{1, 2}, {2, 2}}, {}, {{{2, 2}, {0, 1, 0, 1}}}},
      {"aten.broadcast_to.default", {{1}}, {{"size", Dims{3}}}, {{{3}, {0, 0, 0}}}},
      {"aten.repeat.default", {{2, 2}}, {{"repeats", Dims{2, 1}}}, {{{4, 2}, {0, 1, 2, 3, 0, 1, 2, 3}}}},
      {"aten.repeat.default", {{2, 2}}, {{"repeats", Dims{1, 2}}}, {{{2, 4}, {0, 1, 0, 1, 2, 3, 2, 3}}}},
      {"aten.repeat.default", {{2}}, {{"repeats", Dims{2, 9}}}, {{{2, 18}, {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1,
                                                                            0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1,
                                                                            0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}}}},
      {"aten.repeat.default",
       {{1, 2}},
       {{"repeats", Dims{2, 3, 1}}},
       {{{2, 3, 2}, {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}}}},
      {"aten.tile.default", {{2, 2}}, {{"dims", Dims{2}}}, {{{2, 4}, {0, 1, 0, 1, 2, 3, 2, 3}}}},
      {"aten.tile.default", {{2}}, {{"dims", Dims{2, 2}}}, {{{2, 4}, {0, 1, 0, 1, 0, 1, 0, 1}}}},
  };
  const Operator op = expand_operator();
  for (const auto& row : rows) conformance::expect_as_pytorch(op, row);
}

conformance::Case expand_case(ir::Shape shape, ir::Shape size) {
  std::string name = "expansion of";
  for (const std::int64_t n : shape) name += " " + std::to_string(n);
  name += " to";
  for (const std::int64_t n : size) name += " " + std::to_string(n);
  return {name, [=](ir::Graph& g) {
            ir::Value* x = conformance::int8_input(g, shape, 0.1, -5);
            return conformance::add_quantized(g, "aten.expand", {{"self", x}, {"size", size}}, size, 0.1, -5);
          }};
}

std::vector<conformance::Case> cases() {
  std::vector<conformance::Case> all = {
      expand_case({1}, {300}),
      expand_case({7, 1}, {7, 33}),
      expand_case({1, 7}, {33, 7}),
      expand_case({1, 1}, {5, 9}),
      expand_case({3, 1, 5}, {3, 4, 5}),
      expand_case({3, 1, 5, 1}, {3, 2, 5, 3}),
      expand_case({1, 3, 1, 5, 1, 2}, {2, 3, 3, 5, 2, 2}),
  };
  for (const std::int64_t channels : {1, 3, 5, 7, 16, 17}) {
    all.push_back(expand_case({1, channels, 1, 1}, {2, channels, 3, 4}));
    all.push_back(expand_case({1, 1, 3, 4}, {1, channels, 3, 4}));
    all.push_back(expand_case({1, channels, 3, 1}, {1, channels, 3, 4}));
  }
  return all;
}

TEST(Expand, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases(), 1); }

TEST(Expand, EqualsTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 0.0, 2); }

TEST(Expand, KeepsTheMemoryOrderOfItsInput) {
  const auto lowered = conformance::lowered_operators(expand_case({1, 3, 1, 2}, {1, 3, 5, 2}));
  EXPECT_EQ(lowered, (std::vector<std::pair<std::string, int>>{{"aten.expand_copy", 1}}));
}

ir::TensorType i8(ir::Shape shape) { return {DType::i8, std::move(shape), {}, {}}; }

TEST(Expand, LoadRefusesWhatDoesNotFit) {
  const auto expand = [](const ir::TensorType& in, Dims size, const ir::TensorType& out) {
    return conformance::loads("aten.expand_copy", in, {{"size", std::move(size)}, {"implicit", false}}, out);
  };
  EXPECT_TRUE(expand(i8({2, 1}), {3, -1, 4}, i8({3, 2, 4})));
  EXPECT_TRUE(expand(i8({}), {2}, i8({2})));
  EXPECT_FALSE(expand(i8({2, 1}), {-1, 2, 4}, i8({3, 2, 4})));
  EXPECT_FALSE(expand(i8({2, 1}), {3, 2, 4}, i8({3, 2, 5})));
  EXPECT_FALSE(expand(i8({2, 3}), {3, 2, 4}, i8({3, 2, 4})));
  EXPECT_FALSE(expand(i8({2, 1}), {2, 4}, i8({3, 2, 4})));
  EXPECT_FALSE(expand(i8({1, 2, 1}), {2, 4}, i8({2, 4})));
  EXPECT_FALSE(expand({DType::u8, {2, 1}, {}, {}}, {3, 2, 4}, i8({3, 2, 4})));
}

// ExecuTorch's compiler keeps repeat as it is; ours never makes one.
conformance::Case repeat_case(ir::Shape shape, Dims repeats) {
  return {"aten::repeat.out of rank " + std::to_string(shape.size()), [=](ir::Graph& g) {
            ir::Shape out = repeats;
            for (std::size_t i = 0; i < shape.size(); ++i) out[out.size() - shape.size() + i] *= shape[i];
            ir::Value* x = conformance::int8_input(g, shape, 0.1, -5);
            return conformance::add_quantized(g, "aten.repeat", {{"self", x}, {"repeats", repeats}}, out, 0.1, -5);
          }};
}

TEST(Repeat, EveryVariantEqualsTheReference) {
  conformance::expect_same_bits_everywhere(
      {repeat_case({7}, {3}), repeat_case({3, 5}, {2, 1, 4}), repeat_case({2, 3, 5}, {1, 2, 1})}, 1);
}

TEST(Repeat, PutsCopiesBehindEachOther) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", i8({2, 2}));
  graph.add_output(
      graph.add_node("repeat", "aten.repeat", {{"self", x}, {"repeats", Dims{2, 1, 2}}}, {i8({2, 2, 4})})->result());
  const std::vector<std::byte> file = conformance::program_of(graph);
  HostProgram program(file, host_kernels());
  std::vector<std::byte> input;
  for (int i = 0; i < 4; ++i) input.push_back(static_cast<std::byte>(i));
  const std::vector<std::byte> output = program.run({&input, 1}).at(0);
  std::vector<int> got;
  for (const std::byte byte : output) got.push_back(static_cast<int>(byte));
  EXPECT_EQ(got, std::vector<int>({0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3}));
}

TEST(Repeat, LoadRefusesWhatDoesNotFit) {
  const auto repeat = [](Dims repeats, const ir::TensorType& out) {
    return conformance::loads("aten.repeat", i8({2, 3}), {{"repeats", std::move(repeats)}}, out);
  };
  EXPECT_TRUE(repeat({4, 1, 2}, i8({4, 2, 6})));
  EXPECT_FALSE(repeat({4, 1, 2}, i8({4, 2, 3})));
  EXPECT_FALSE(repeat({2}, i8({2, 6})));
  EXPECT_FALSE(repeat({1, 0}, i8({2, 0})));
  EXPECT_FALSE(repeat({1, 2147483647}, i8({2, 1})));
  EXPECT_FALSE(repeat({1, 2}, {DType::u8, {2, 6}, {}, {}}));
}

}  // namespace
}  // namespace cormorant::ops
