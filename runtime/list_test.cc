// SPDX-License-Identifier: Apache-2.0
//
// Lists of tensors and optional integers as arguments: what a kernel reads of them, and that a list whose items are
// wrong is refused before anything is used.
#include <gtest/gtest.h>

#include "runtime/test_load.h"

namespace cormorant::test {
namespace {

// toy::lists.out(Tensor[], int?, int[]?, out)
using Lists = toy::Signature<TensorList, OptionalInt, OptionalIntList, OutTensor>;

struct Read {
  std::vector<std::vector<std::int32_t>> sizes;
  OptionalInt integer;
  OptionalIntList integers;
};
Read last;

Error load_lists(Call& call) {
  Lists args;
  if (!call.read_signature(args)) return call.error();
  last = {{}, std::get<1>(args.fields), std::get<2>(args.fields)};
  const TensorList& tensors = std::get<0>(args.fields);
  for (std::uint32_t i = 0; i < tensors.count; ++i) {
    Tensor tensor;
    if (!call.item(tensors, i, tensor)) return call.error();
    last.sizes.emplace_back(tensor.sizes, tensor.sizes + tensor.rank);
  }
  return call.error();
}

constexpr Kernel kLists = {"toy::lists.out", load_lists, [](const void*) {}};

// The first instruction alone.
Error load_with(TestProgram& program, const Kernel& kernel) {
  program.plan().inputs.clear();
  program.plan().outputs.clear();
  const std::vector<std::byte> bytes = program.file();
  const AlignedBytes pte(bytes);
  const AlignedBytes state(4096), arena(64);
  const Region arenas[] = {region_of(arena.span())};
  const Kernel* const table[] = {&kernel};
  Failure why;
  return load_program(pte.span(), "forward", table, state.span(), arenas, why).error();
}

// The small program with one instruction: lists(input, weights; integer; list).
struct ListProgram : TestProgram {
  schema::TensorListT items;
  std::int32_t integer_value = 0, integers_value = 0;

  ListProgram() {
    items.items = {args(0)[input], args(0)[constant]};
    integer_value = args(0)[integer];
    integers_value = args(0)[list];
  }

  Error load_it() {
    const std::int32_t result = args(0)[out];
    plan().operators[0] = operator_of("toy::lists", "out");
    args(0) = {add(items), integer_value, integers_value, result, result};
    plan().chains[0]->instructions.resize(1);
    return load_with(*this, kLists);
  }
};

TEST(Lists, GiveTheirTensorsOneByOne) {
  ListProgram program;
  ASSERT_EQ(program.load_it(), Error::ok);
  EXPECT_EQ(last.sizes, (std::vector<std::vector<std::int32_t>>{{1, 4}, {2, 8}}));
  EXPECT_TRUE(last.integer.present);
  EXPECT_EQ(last.integer.value, -70000);
  EXPECT_TRUE(last.integers.present);
  EXPECT_EQ(last.integers.count, 3U);
  EXPECT_EQ(last.integers[1], -1);
}

TEST(Lists, MayBeEmptyAndIntegersAbsent) {
  ListProgram program;
  program.items.items.clear();
  program.integer_value = program.integers_value = program.add(schema::NullT());
  ASSERT_EQ(program.load_it(), Error::ok);
  EXPECT_TRUE(last.sizes.empty());
  EXPECT_FALSE(last.integer.present);
  EXPECT_FALSE(last.integers.present);
}

TEST(Lists, AnOptionalIntegerOf64BitsIsTheNearestThatFits) {
  for (const std::int64_t value : {std::int64_t{9223372036854775807}, -std::int64_t{9223372036854775807} - 1}) {
    ListProgram program;
    program.integer_value = program.add(integer_of(value));
    ASSERT_EQ(program.load_it(), Error::ok);
    EXPECT_EQ(last.integer.value, value > 0 ? 2147483647 : -2147483647);
  }
}

// toy::pair.out(Tensor, out, out), as ExecuTorch's compiler calls it: several outs are followed by one list of them.
TEST(Lists, MayRepeatTheOuts) {
  constexpr Kernel kPair = toy::kernel<Tensor, OutTensor, OutTensor>("toy::pair.out");
  const auto load = [&](auto results) {
    TestProgram program;
    const std::int32_t first = program.args(0)[out];
    const std::int32_t second = program.add(planned({4}, 32));
    schema::TensorListT list;
    list.items = results(first, second);
    program.plan().operators[0] = program.operator_of("toy::pair", "out");
    program.args(0) = {program.args(0)[input], first, second, program.add(list)};
    program.plan().chains[0]->instructions.resize(1);
    return load_with(program, kPair);
  };
  using Items = std::vector<std::int32_t>;
  EXPECT_EQ(load([](int a, int b) { return Items{a, b}; }), Error::ok);
  EXPECT_EQ(load([](int a, int b) { return Items{b, a}; }), Error::bad_value);
  EXPECT_EQ(load([](int a, int) { return Items{a}; }), Error::bad_value);
  EXPECT_EQ(load([](int a, int b) { return Items{a, a, a, a, b}; }), Error::bad_value);
}

TEST(Lists, RefuseItemsThatAreNoTensors) {
  const auto with = [](std::int32_t item) {
    ListProgram program;
    program.items.items[1] = item;
    return program.load_it();
  };
  EXPECT_EQ(with(-1), Error::bad_structure);
  EXPECT_EQ(with(1000), Error::bad_structure);
  EXPECT_EQ(with(ListProgram().integer_value), Error::bad_value);
}

TEST(Lists, RefuseOtherKinds) {
  ListProgram integer;
  integer.integer_value = integer.integers_value;
  EXPECT_EQ(integer.load_it(), Error::bad_value);
  ListProgram integers;
  integers.integers_value = integers.integer_value;
  EXPECT_EQ(integers.load_it(), Error::bad_value);
}

}  // namespace
}  // namespace cormorant::test
