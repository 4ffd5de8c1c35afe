// SPDX-License-Identifier: Apache-2.0
//
// Programs as ExecuTorch's compiler writes them: the arguments include two equal lists of outs.
#include <gtest/gtest.h>

#include <numeric>

#include "base/diagnostic.h"
#include "formats/pte/writer.h"
#include "ops/op.h"
#include "program/program_io.h"
#include "runtime/host.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {
namespace {

using Sizes = std::vector<std::int32_t>;

struct Split {
  Sizes in;
  std::vector<Sizes> outs;
  std::int64_t dim = 0;
  std::vector<std::uint8_t> order = {};  // of all
  bool by_size = false;                  // split_copy, which says one size
  bool to_constant = false;
};

pte::Tensor tensor(const Split& split, Sizes sizes, std::uint64_t& offset) {
  pte::Tensor made;
  made.dtype = DType::i8;
  made.dim_order = split.order;
  if (made.dim_order.empty()) {
    made.dim_order.resize(sizes.size());
    std::iota(made.dim_order.begin(), made.dim_order.end(), std::uint8_t{0});
  }
  made.sizes = std::move(sizes);
  made.place = pte::Place{1, offset};
  offset += (made.bytes() + 15) / 16 * 16;
  return made;
}

std::vector<std::byte> program_of(const Split& split) {
  pte::Program program;
  pte::Plan plan;
  std::uint64_t offset = 0;
  const std::int32_t self = plan.add(tensor(split, split.in, offset));
  pte::TensorList outs;
  std::vector<std::int64_t> sizes;
  static const std::vector<std::byte> kConstant(64);
  for (const Sizes& out : split.outs) {
    pte::Tensor made = tensor(split, out, offset);
    if (split.to_constant) {
      made.place.reset();
      made.data = static_cast<std::uint32_t>(program.constants.size());
      program.constants.push_back(std::span(kConstant).first(made.bytes()));
    }
    outs.items.push_back(plan.add(std::move(made)));
    sizes.push_back(out.empty() ? 0 : out[0]);
  }
  plan.inputs = {self};
  if (!split.to_constant) plan.outputs = outs.items;
  plan.memory_sizes.push_back(static_cast<std::int64_t>(offset));
  const std::int32_t list = plan.add(outs);
  const std::int32_t results = plan.add(outs);
  const std::int32_t size = split.by_size ? plan.intern(sizes.at(0)) : plan.intern_ints(sizes);
  const std::uint32_t op = split.by_size ? plan.intern_operator("aten::split_copy", "Tensor_out")
                                         : plan.intern_operator("aten::split_with_sizes_copy", "out");
  plan.calls.push_back({op, {self, size, plan.intern(split.dim), list, results}});
  program.plans.push_back(std::move(plan));
  return pte::write(program);
}

std::vector<std::vector<int>> run(const Split& split) {
  const std::vector<std::byte> file = program_of(split);
  HostProgram program(file, host_kernels());
  std::vector<std::byte> input(64);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<std::byte>(i);
  input.resize(program.program().input(0).bytes());
  const auto outputs = program.run({&input, 1});
  std::vector<std::vector<int>> got;
  for (const auto& output : outputs) {
    got.emplace_back();
    for (const std::byte byte : output) got.back().push_back(static_cast<int>(byte));
  }
  return got;
}

bool loads(const Split& split) {
  const std::vector<std::byte> file = program_of(split);
  try {
    HostProgram(file, host_kernels());
    return true;
  } catch (const InputError&) {
    return false;
  }
}

TEST(Split, TakesATensorApart) {
  using Parts = std::vector<std::vector<int>>;
  EXPECT_EQ(run({{2, 3}, {{2, 1}, {2, 2}}, 1}), (Parts{{0, 3}, {1, 2, 4, 5}}));
  EXPECT_EQ(run({{2, 3}, {{2, 1}, {2, 2}}, -1}), (Parts{{0, 3}, {1, 2, 4, 5}}));
  EXPECT_EQ(run({{3, 2}, {{2, 2}, {1, 2}}, 0, {}, true}), (Parts{{0, 1, 2, 3}, {4, 5}}));
  EXPECT_EQ(run({{1, 3, 1, 2}, {{1, 1, 1, 2}, {1, 2, 1, 2}}, 1, {0, 2, 3, 1}}), (Parts{{0, 3}, {1, 2, 4, 5}}));
}

TEST(Split, LoadRefusesPartsThatDoNotFit) {
  EXPECT_TRUE(loads({{2, 3}, {{2, 1}, {2, 2}}, 1}));
  EXPECT_FALSE(loads({{2, 3}, {{2, 1}, {2, 1}}, 1}));
  EXPECT_FALSE(loads({{2, 3}, {{2, 1}, {2, 3}}, 1}));
  EXPECT_FALSE(loads({{2, 3}, {{1, 1}, {2, 2}}, 1}));
  EXPECT_FALSE(loads({{2, 3}, {{2}, {2, 2}}, 1}));
  EXPECT_FALSE(loads({{2, 3}, {{2, 1}, {2, 2}}, 2}));
  EXPECT_FALSE(loads({{2, 3}, {}, 1}));
  EXPECT_FALSE(loads({{2, 3}, {{2, 1}, {2, 2}}, 1, {}, false, true}));
}

TEST(Split, EveryVariantEqualsTheReference) {
  const Split cases[] = {{{2, 41}, {{2, 5}, {2, 36}}, 1},
                         {{1, 12, 5, 3}, {{1, 7, 5, 3}, {1, 5, 5, 3}}, 1, {0, 2, 3, 1}}};
  for (const Split& split : cases) {
    const ProgramFile program = program_from(program_of(split), "split");
    Arrays inputs;
    for (const ProgramTensor& input : program.inputs) {
      std::vector<std::byte> bytes(
          std::accumulate(input.shape.begin(), input.shape.end(), std::size_t{1},
                          [](std::size_t n, auto size) { return n * static_cast<std::size_t>(size); }));
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
      inputs.push_back({input.dtype, input.shape, std::move(bytes)});
    }
    const std::vector<Arrays> samples = {inputs};
    const Arrays expected = execute(program, samples, {}).outputs.at(0);
    for (const conformance::Where& place : conformance::everywhere()) {
      ExecuteOn board;
      board.target = place.target;
      board.compiler = place.compiler == "clang" ? Compiler::clang : Compiler::gcc;
      const Arrays got = execute(program, samples, board).outputs.at(0);
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].data, expected[i].data) << place.text();
    }
  }
}

}  // namespace
}  // namespace cormorant::ops
