// SPDX-License-Identifier: Apache-2.0
#include "ops/copy/copy.h"

#include <gtest/gtest.h>

#include "base/diagnostic.h"
#include "ops/op.h"
#include "runtime/host.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {
namespace {

using Dims = std::vector<std::int64_t>;

// Arguments that each form has besides tensors.
std::vector<std::pair<std::string, std::vector<ir::NamedArgument>>> forms() {
  const ir::NamedArgument blocking{"non_blocking", false};
  return {{"aten.alias_copy", {}},
          {"aten.detach_copy", {}},
          {"aten.lift_fresh_copy", {}},
          {"aten.clone", {{"memory_format", {}}}},
          {"aten.clone", {{"memory_format", std::int64_t{2}}}},
          {"aten._to_copy", {blocking, {"memory_format", {}}}},
          {"dim_order_ops._clone_dim_order", {blocking, {"dim_order", Dims{0, 2, 3, 1}}}},
          {"dim_order_ops._to_dim_order_copy", {blocking, {"dim_order", {}}}},
          {"aten.unsqueeze_copy", {{"dim", std::int64_t{0}}}},
          {"aten.squeeze_copy.dim_out", {{"dim", std::int64_t{0}}}},
          {"aten.squeeze_copy.dims_out", {{"dim", Dims{0, 1}}}}};
}

struct Tensors {
  ir::TensorType in, out;
};

std::vector<std::byte> program_of(const std::string& op, std::vector<ir::NamedArgument> args, const Tensors& tensors) {
  ir::Graph graph;
  args.insert(args.begin(), {"self", graph.add_input("x", tensors.in)});
  graph.add_output(graph.add_node("copy", op, std::move(args), {tensors.out})->result());
  return conformance::program_of(graph);
}

ir::TensorType i8(ir::Shape shape, std::vector<std::uint8_t> order = {}) {
  return {DType::i8, std::move(shape), std::move(order), {}};
}

TEST(Copy, MovesElementsToTheOthersOrder) {
  const struct {
    Tensors tensors;
    std::vector<int> expected;  // of an input whose bytes count
  } table[] = {
      {{i8({1, 2, 1, 3}), i8({1, 2, 1, 3})}, {0, 1, 2, 3, 4, 5}},
      {{i8({1, 2, 1, 3}), i8({1, 2, 1, 3}, ir::kChannelsLast)}, {0, 3, 1, 4, 2, 5}},
      {{i8({1, 2, 1, 3}, ir::kChannelsLast), i8({1, 2, 1, 3})}, {0, 2, 4, 1, 3, 5}},
      {{i8({2, 3}), i8({1, 2, 1, 3})}, {0, 1, 2, 3, 4, 5}},
      {{i8({2, 3}), i8({1, 2, 1, 3}, ir::kChannelsLast)}, {0, 3, 1, 4, 2, 5}},
      {{i8({1, 2, 1, 3}, ir::kChannelsLast), i8({2, 3})}, {0, 2, 4, 1, 3, 5}},
  };
  for (const auto& [op, args] : forms()) {
    for (const auto& t : table) {
      const std::vector<std::byte> file = program_of(op, args, t.tensors);
      HostProgram program(file, host_kernels());
      std::vector<std::byte> input;
      for (int i = 0; i < 6; ++i) input.push_back(static_cast<std::byte>(i));
      std::vector<int> got;
      const std::vector<std::byte> output = program.run({&input, 1}).at(0);
      for (const std::byte byte : output) got.push_back(static_cast<int>(byte));
      EXPECT_EQ(got, t.expected) << op;
    }
  }
}

TEST(Copy, LoadRefusesOtherShapesAndTypes) {
  const Tensors table[] = {
      {i8({2, 3}), i8({3, 2})},
      {i8({2, 3}), i8({6})},
      {i8({2, 3}), i8({2, 3, 2})},
      {i8({2, 3, 2}), i8({2, 3})},
      {i8({2, 3}), {DType::f64, {2, 3}, {}, {}}},
  };
  for (const auto& [op, args] : forms()) {
    for (const Tensors& tensors : table) {
      const std::vector<std::byte> file = program_of(op, args, tensors);
      EXPECT_THROW(HostProgram(file, host_kernels()), InputError) << op;
    }
  }
}

// The kernels are those of the transposition; here each name is linked and run once on every instruction set.
TEST(Copy, EveryVariantEqualsTheReference) {
  std::vector<conformance::Case> cases;
  for (const auto& [op, args] : forms()) {
    cases.push_back({op, [name = op, extra = args](ir::Graph& g) {
                       ir::Value* x = conformance::int8_input(g, {5, 7}, 0.1, 0);
                       std::vector<ir::NamedArgument> all = {{"self", x}};
                       all.insert(all.end(), extra.begin(), extra.end());
                       return conformance::add_quantized(g, name, all, {5, 7}, 0.1, 0);
                     }});
  }
  conformance::expect_same_bits_everywhere(cases, 1);
}

}  // namespace
}  // namespace cormorant::ops
