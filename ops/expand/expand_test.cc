// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/diagnostic.h"
#include "emit/emit.h"
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

// Builds the program operator as a file could have it, whatever its arguments, and says whether it loads.
bool loads(const std::string& op, const ir::TensorType& in, std::vector<ir::NamedArgument> args,
           const ir::TensorType& out) {
  ir::Graph graph;
  args.insert(args.begin(), {"self", graph.add_input("x", in)});
  graph.add_output(graph.add_node("node", op, std::move(args), {out})->result());
  const std::vector<std::byte> program = emit::emit(graph, {}, {}).program;
  try {
    HostProgram(program, host_kernels());
    return true;
  } catch (const InputError&) {
    return false;
  }
}

ir::TensorType i8(ir::Shape shape) { return {DType::i8, std::move(shape), {}, {}}; }

TEST(Expand, LoadRefusesWhatDoesNotFit) {
  const auto expand = [](const ir::TensorType& in, Dims size, const ir::TensorType& out) {
    return loads("aten.expand_copy", in, {{"size", std::move(size)}, {"implicit", false}}, out);
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

}  // namespace
}  // namespace cormorant::ops
