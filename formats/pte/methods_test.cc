// SPDX-License-Identifier: Apache-2.0
#include "formats/pte/methods.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "base/diagnostic.h"
#include "formats/pte/method_names.h"
#include "formats/pte/reader.h"
#include "formats/pte/writer.h"

namespace cormorant::pte {
namespace {

// The reader's alignment.
class File {
 public:
  explicit File(const std::vector<std::byte>& bytes) : blocks_((bytes.size() + 15) / 16), size_(bytes.size()) {
    std::memcpy(blocks_.data(), bytes.data(), bytes.size());
  }
  [[nodiscard]] std::span<const std::byte> span() const {
    return {reinterpret_cast<const std::byte*>(blocks_.data()), size_};
  }

 private:
  struct alignas(16) Block {
    std::byte bytes[16];
  };
  std::vector<Block> blocks_;
  std::size_t size_;
};

Tensor bytes_at(std::int32_t count, std::uint64_t offset, std::optional<std::uint32_t> data = {},
                std::uint32_t memory = 1) {
  return {.dtype = DType::i8, .sizes = {count}, .dim_order = {0}, .place = Place{memory, offset}, .data = data};
}

struct Memory {
  std::uint32_t id = 0, begin = 0, end = 0;
  bool is_kept = false;
  bool operator==(const Memory&) const = default;
  [[nodiscard]] bool meets(const Memory& o) const {
    return id == o.id && begin < end && o.begin < o.end && begin < o.end && o.begin < end;
  }
};

// Of every tensor in RAM, in the order of the values.
std::vector<Memory> memory_of(const MethodView& method) {
  std::vector<Memory> all;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(method.value_count()); ++i) {
    const auto tensor = method.tensor(i);
    if (!tensor.ok() || !tensor.value().is_planned()) continue;
    const TensorView& view = tensor.value();
    all.push_back({view.memory_id, view.offset, view.offset + view.bytes, view.data_index != 0});
  }
  return all;
}

TEST(Methods, AreJoinedWithEqualConstantsStoredOnce) {
  std::vector<std::byte> shared(1000), own(48);
  for (std::size_t i = 0; i < shared.size(); ++i) shared[i] = static_cast<std::byte>(i * 7);
  const auto program = [&](std::span<const std::byte> second) {
    Program one{.plans = {Plan{}}, .constants = {shared, second}};
    Plan& plan = one.plans[0];
    plan.memory_sizes = {0, 64};
    plan.inputs = {plan.add(bytes_at(16, 0))};
    plan.outputs = {plan.add(bytes_at(16, 48))};
    const auto weight = plan.add(Tensor{.dtype = DType::i8, .sizes = {1000}, .dim_order = {0}, .data = 0});
    const auto bias = plan.add(
        Tensor{.dtype = DType::i8, .sizes = {static_cast<std::int32_t>(second.size())}, .dim_order = {0}, .data = 1});
    plan.calls.push_back(
        {plan.intern_operator("ns::op", "out"),
         {plan.inputs[0], weight, bias, plan.intern(std::int64_t{5}), plan.intern(0.5), plan.intern(true),
          plan.intern(None{}), plan.intern(std::string("text")), plan.intern_ints(std::vector<std::int64_t>{5, 6}),
          plan.intern(DoubleList{{1.5}}), plan.intern(BoolList{{true, false}}), plan.intern(TensorList{{weight, bias}}),
          plan.intern(OptionalTensorList{{weight}}), plan.outputs[0]}});
    return one;
  };
  const File first(write(program(own))), second(write(program(std::span(own).first(16))));
  const File joined(join_methods(std::vector<NamedProgram>{{"encode", first.span()}, {"decode", second.span()}}));

  EXPECT_EQ(method_names(joined.span()), (std::vector<std::string>{"encode", "decode"}));
  EXPECT_LT(joined.span().size(), first.span().size() + second.span().size() - shared.size());
  const ProgramView view = ProgramView::open(joined.span()).value();
  EXPECT_EQ(view.constant_count(), 1 + 3U);
  // Each method is what it was: the same bytes as when the writer is given both at once.
  Program both = program(own);
  Program other = program(std::span(own).first(16));
  both.plans.push_back(other.plans[0]);
  both.plans[0].name = "encode";
  both.plans[1].name = "decode";
  both.constants = {shared, own, std::span(own).first(16)};
  for (Value& value : both.plans[1].values) {
    if (auto* tensor = std::get_if<Tensor>(&value); tensor != nullptr && tensor->data == 1U) tensor->data = 2;
  }
  const std::vector<std::byte> expected = write(both);
  EXPECT_TRUE(std::ranges::equal(joined.span(), expected));
}

// A method with state in the middle of its arena, with a view of it and one that begins inside; another with two states
// in two memories.
TEST(Methods, KeepTheirStateWhereNoOtherMethodWrites) {
  const std::vector<std::byte> initial(100);
  Program first{.plans = {Plan{}}, .initial_values = {std::span(initial).first(24)}};
  first.plans[0].memory_sizes = {0, 160, 32};
  for (Tensor& tensor : std::vector<Tensor>{bytes_at(32, 0), bytes_at(24, 36, 0), bytes_at(8, 44), bytes_at(32, 64),
                                            bytes_at(20, 100), bytes_at(32, 0, {}, 2)}) {
    first.plans[0].add(std::move(tensor));
  }
  Program second{.plans = {Plan{}}, .initial_values = {std::span(initial).first(40), std::span(initial).first(12)}};
  second.plans[0].memory_sizes = {0, 72, 16};
  for (Tensor& tensor : std::vector<Tensor>{bytes_at(32, 0), bytes_at(40, 32, 0), bytes_at(12, 0, 1, 2), bytes_at(0, 8),
                                            bytes_at(4, 12, {}, 2)}) {
    second.plans[0].add(std::move(tensor));
  }
  const File a(write(first)), b(write(second));
  const File joined(join_methods(std::vector<NamedProgram>{{"a", a.span()}, {"b", b.span()}}));
  const ProgramView view = ProgramView::open(joined.span()).value();
  const MethodView methods[] = {view.method("a").value(), view.method("b").value()};
  const std::vector<Memory> before[] = {memory_of(ProgramView::open(a.span()).value().method(0).value()),
                                        memory_of(ProgramView::open(b.span()).value().method(0).value())};
  const std::vector<Memory> after[] = {memory_of(methods[0]), memory_of(methods[1])};
  for (std::size_t m = 0; m < 2; ++m) {
    ASSERT_EQ(after[m].size(), before[m].size());
    for (std::size_t i = 0; i < after[m].size(); ++i) {
      EXPECT_EQ(after[m][i].begin % 16, before[m][i].begin % 16);
      EXPECT_LE(after[m][i].end, static_cast<std::uint64_t>(methods[m].memory_sizes()[after[m][i].id]));
      // What shared bytes still does, at the same distance, and nothing else.
      for (std::size_t k = 0; k < i; ++k) {
        EXPECT_EQ(after[m][i].meets(after[m][k]), before[m][i].meets(before[m][k])) << m << " " << i << " " << k;
        if (before[m][i].meets(before[m][k])) {
          EXPECT_EQ(after[m][i].begin - after[m][k].begin, before[m][i].begin - before[m][k].begin);
        }
      }
      if (!after[m][i].is_kept) continue;
      for (const Memory& other : after[1 - m]) EXPECT_FALSE(other.meets(after[m][i])) << m << " " << i;
    }
  }
  // 24 + 40 bytes are kept in the first memory, whatever else there is comes after them.
  EXPECT_LE(methods[0].memory_sizes()[1], 24 + 8 + 40 + 16 + 160);
  EXPECT_EQ(methods[1].memory_sizes()[2], 16 + 16);
}

TEST(Methods, AreChosenByName) {
  const std::vector<std::string> two = {"encode", "decode"}, with_forward = {"encode", "forward"};
  EXPECT_EQ(choose_method(two, "decode", "two.pte"), "decode");
  EXPECT_EQ(choose_method({"encode"}, "", "one.pte"), "encode");
  EXPECT_EQ(choose_method(with_forward, "", "two.pte"), "forward");
  const auto message = [&](const std::string& wanted) -> std::string {
    try {
      return choose_method(two, wanted, "two.pte");
    } catch (const InputError& error) {
      return error.what();
    }
  };
  EXPECT_EQ(message(""), "two.pte: it has 2 methods: encode, decode\n  choose one with --method");
  EXPECT_EQ(message("decod"),
            "two.pte: there is no method 'decod'; did you mean 'decode'?\n  the methods are encode, decode");
}

}  // namespace
}  // namespace cormorant::pte
