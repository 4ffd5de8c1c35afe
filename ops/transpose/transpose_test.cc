// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "ops/host/schema.h"
#include "ops/op.h"
#include "ops/transpose/reference.h"
#include "passes/passes.h"
#include "runtime/host.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/import_rows.h"

namespace cormorant::ops {

Operator transpose_operator();

namespace {

using Dims = std::vector<std::int64_t>;

TEST(TransposeReference, MovesNchwToNhwc) {
  const std::int32_t sizes[] = {1, 2, 2, 2};
  const std::int32_t perm[] = {0, 2, 3, 1};
  const std::int8_t input[] = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::int8_t expected[] = {1, 5, 2, 6, 3, 7, 4, 8};
  std::int8_t output[8];
  transpose_reference(4, sizes, perm, input, output);
  EXPECT_TRUE(std::equal(std::begin(output), std::end(output), std::begin(expected)));
}

TEST(TransposeImport, EverySpellingBecomesNonNegativeDimensions) {
  struct {
    const char* target;
    ir::Shape shape;
    std::vector<ir::NamedArgument> args;
    Dims expected;  // empty: the input itself
  } table[] = {
      {"aten.permute.default", {2, 3, 4}, {{"dims", Dims{-1, 0, 1}}}, {2, 0, 1}},
      {"aten.permute_copy.default", {2, 3, 4}, {{"dims", Dims{0, 1, 2}}}, {}},
      {"aten.transpose.int", {2, 3, 4}, {{"dim0", std::int64_t{1}}, {"dim1", std::int64_t{-1}}}, {0, 2, 1}},
      {"aten.transpose_copy.int", {2, 3}, {{"dim0", std::int64_t{0}}, {"dim1", std::int64_t{0}}}, {}},
      {"aten.swapaxes.default", {2, 3}, {{"axis0", std::int64_t{0}}, {"axis1", std::int64_t{1}}}, {1, 0}},
      {"aten.mT.default", {2, 3, 4}, {}, {0, 2, 1}},
      {"aten.movedim.int",
       {2, 3, 4, 5},
       {{"source", std::int64_t{1}}, {"destination", std::int64_t{-1}}},
       {0, 2, 3, 1}},
      {"aten.movedim.intlist", {2, 3, 4}, {{"source", Dims{2, 0}}, {"destination", Dims{0, 1}}}, {2, 0, 1}},
      {"aten.t.default", {2, 3}, {}, {1, 0}},
      {"aten.t.default", {2}, {}, {}},
  };
  const Operator op = transpose_operator();
  for (const auto& t : table) {
    ir::Graph graph;
    ir::Node call;
    call.name = "call";
    call.args = {{"self", graph.add_input("x", ir::float_type(t.shape))}};
    call.args.insert(call.args.end(), t.args.begin(), t.args.end());
    const auto form = std::find_if(op.forms.begin(), op.forms.end(), [&](const AtenForm& candidate) {
      return parse_schema(candidate.schema).target() == t.target;
    });
    ASSERT_NE(form, op.forms.end()) << t.target;
    Importer importer{&graph, &call, {ir::float_type(t.shape)}};
    const ir::Node* node = form->import(importer).front()->producer;
    EXPECT_EQ(node == nullptr ? Dims{} : node->integers("dims"), t.expected) << t.target;
  }
}

TEST(TransposeImport, MoreSpellingsArePyTorchs) {
  const conformance::ImportRow rows[] = {
      {"aten.moveaxis.int",
       {{2, 3, 1}},
       {{"source", std::int64_t{0}}, {"destination", std::int64_t{-1}}},
       {{{3, 1, 2}, {0, 3, 1, 4, 2, 5}}}},
      {"aten.moveaxis.intlist",
       {{2, 1, 3}},
       {{"source", Dims{2, 0}}, {"destination", Dims{0, 1}}},
       {{{3, 2, 1}, {0, 3, 1, 4, 2, 5}}}},
      {"aten.adjoint.default", {{2, 3}}, {}, {{{3, 2}, {0, 3, 1, 4, 2, 5}}}},
      {"aten.matrix_H.default", {{2, 3}}, {}, {{{3, 2}, {0, 3, 1, 4, 2, 5}}}},
      {"aten.mH.default", {{1, 2, 3}}, {}, {{{1, 3, 2}, {0, 3, 1, 4, 2, 5}}}},
  };
  const Operator op = transpose_operator();
  for (const auto& row : rows) conformance::expect_as_pytorch(op, row);
}

conformance::Case permute_case(ir::Shape shape, Dims dims) {
  std::string name = "permutation of";
  for (const std::int64_t size : shape) name += " " + std::to_string(size);
  name += " by";
  for (const std::int64_t dim : dims) name += " " + std::to_string(dim);
  return {name, [=](ir::Graph& g) {
            ir::Shape out;
            for (const std::int64_t dim : dims) out.push_back(shape[static_cast<std::size_t>(dim)]);
            ir::Value* x = conformance::int8_input(g, shape, 0.1, -5);
            return conformance::add_quantized(g, "aten.permute", {{"self", x}, {"dims", dims}}, out, 0.1, -5);
          }};
}

std::vector<conformance::Case> cases() {
  std::vector<conformance::Case> all;
  for (const std::int64_t channels : {1, 2, 3, 4, 5, 8, 16, 17, 18, 40}) {
    for (const std::int64_t pixels : {1, 4, 7, 33}) {
      all.push_back(permute_case({channels, pixels}, {1, 0}));
      all.push_back(permute_case({2, channels, pixels}, {0, 2, 1}));
    }
  }
  for (const std::int64_t channels : {36, 64}) {
    for (const std::int64_t pixels : {16, 21, 29, 64}) all.push_back(permute_case({channels, pixels}, {1, 0}));
  }
  all.push_back(permute_case({3, 300}, {1, 0}));
  all.push_back(permute_case({300, 3}, {1, 0}));
  all.push_back(permute_case({5, 3, 44, 20}, {0, 2, 3, 1}));
  for (const ir::Shape& shape : {ir::Shape{9, 21}, ir::Shape{3, 7, 5}, ir::Shape{8, 4, 12}, ir::Shape{3, 5, 7, 9}}) {
    Dims dims(shape.size());
    std::iota(dims.begin(), dims.end(), 0);
    do all.push_back(permute_case(shape, dims));
    while (std::next_permutation(dims.begin(), dims.end()));
  }
  std::mt19937 random(5);
  for (const ir::Shape& shape : {ir::Shape{2, 3, 1, 5, 4}, ir::Shape{3, 2, 5, 3, 2, 3}}) {
    Dims dims(shape.size());
    std::iota(dims.begin(), dims.end(), 0);
    for (int i = 0; i < 12; ++i) {
      std::shuffle(dims.begin(), dims.end(), random);
      all.push_back(permute_case(shape, dims));
    }
  }
  return all;
}

TEST(Transpose, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases(), 1); }

TEST(Transpose, EqualsTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 0.5, 2); }

TEST(Transpose, LoadRejectsWhatIsNoPermutation) {
  struct {
    const char* what;
    ir::Shape in, out;
    Dims perm;
  } table[] = {
      {"nothing", {2, 3}, {3, 2}, {1, 0}},
      {"a dimension twice", {2, 2}, {2, 2}, {0, 0}},
      {"a dimension that is not there", {2, 2}, {2, 2}, {0, 2}},
      {"a negative dimension", {2, 2}, {2, 2}, {-1, 0}},
      {"too few dimensions", {2, 3}, {3, 2}, {1}},
      {"another output shape", {2, 3}, {2, 3}, {1, 0}},
      {"another output rank", {2, 3}, {3, 2, 1}, {1, 0}},
      {"too many dimensions", {2, 3}, {3, 2}, {1, 0, 2, 3, 4, 5, 6, 7}},
  };
  for (const auto& t : table) {
    ir::Graph graph;
    ir::Value* x = conformance::int8_input(graph, t.in, 1.0, 0);
    graph.add_output(graph
                         .add_node("transpose", "cortex_m.transpose", {{"input", x}, {"perm", t.perm}},
                                   {ir::quantized_type(t.out, ir::per_tensor_i8(1.0, 0))})
                         ->result());
    EXPECT_EQ(conformance::loads(graph), std::string_view(t.what) == "nothing") << t.what;
  }
}

TEST(Transpose, ExecutorchsKernelTakesFourDimensions) {
  for (const bool executorch : {false, true}) {
    ir::Graph graph;
    graph.add_output(permute_case({2, 3, 4, 5, 6}, {4, 3, 2, 1, 0}).build(graph));
    Config config;
    if (executorch) config.runtime = Runtime::executorch;
    passes::lower(graph, config);
    EXPECT_EQ(graph.outputs()[0]->producer->op, executorch ? "aten.permute_copy" : "cortex_m.transpose");
  }
}

TEST(PermuteCopy, LoadTakesNegativeDimensions) {
  const auto loads = [](Dims dims) {
    ir::Graph graph;
    ir::Value* x = conformance::int8_input(graph, {2, 3, 4}, 1.0, 0);
    graph.add_output(graph
                         .add_node("permute", "aten.permute_copy", {{"self", x}, {"dims", std::move(dims)}},
                                   {ir::quantized_type({4, 2, 3}, ir::per_tensor_i8(1.0, 0))})
                         ->result());
    const std::vector<std::byte> program = conformance::program_of(graph);
    try {
      HostProgram(program, host_kernels());
      return true;
    } catch (const InputError&) {
      return false;
    }
  };
  EXPECT_TRUE(loads({2, 0, 1}));
  EXPECT_TRUE(loads({-1, -3, 1}));
  EXPECT_FALSE(loads({-4, 0, 1}));
  EXPECT_FALSE(loads({2, 0, 0}));
  EXPECT_FALSE(loads({2, 0}));
}

}  // namespace
}  // namespace cormorant::ops
