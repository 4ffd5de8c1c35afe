// SPDX-License-Identifier: Apache-2.0
//
// Programs as ExecuTorch's compiler writes them, of one call each: answers that PyTorch's documentation gives, and what
// load refuses. Whole programs of its own are in tests/executorch, all operators in tests/interop/portable.py.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <utility>
#include <variant>

#include "formats/pte/writer.h"
#include "ops/op.h"
#include "runtime/host.h"

namespace cormorant::ops {
namespace {

using Sizes = std::vector<std::int32_t>;
using Ints = std::vector<std::int64_t>;

// A tensor of a call: `at` is where it is in the arena; −1 is after the others. Or a constant.
struct T {
  Sizes sizes;
  DType dtype = DType::f32;
  std::int64_t at = -1;
  std::vector<std::byte> constant = {};
};
struct List {
  std::vector<T> items;
  bool may_hold_none = true;  // another kind of value
};
using Argument = std::variant<pte::None, std::int64_t, bool, double, std::string, Ints, pte::DoubleList, T, List>;

constexpr std::int64_t kNothing = -2;
const T kNoIndex = {{}, DType::i64, kNothing};  // in a list

struct Call1 {
  const char* name;
  const char* overload;
  std::vector<Argument> arguments;  // the results last
  std::size_t results = 1;
};

template <class N>
std::vector<std::byte> bytes_of(const std::vector<N>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(N));
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

struct Made {
  std::vector<std::byte> file;
  std::uint64_t arena = 0;
};

Made program_of(const Call1& call) {
  pte::Program program;
  pte::Plan plan;
  std::uint64_t end = 0;
  const auto add = [&](const T& t) {
    pte::Tensor made;
    made.dtype = t.dtype;
    made.sizes = t.sizes;
    made.dim_order.resize(t.sizes.size());
    std::iota(made.dim_order.begin(), made.dim_order.end(), std::uint8_t{0});
    if (!t.constant.empty()) {
      made.data = static_cast<std::uint32_t>(program.constants.size());
      program.constants.emplace_back(t.constant);
      return plan.add(std::move(made));
    }
    made.place = pte::Place{1, t.at < 0 ? end : static_cast<std::uint64_t>(t.at)};
    end = std::max(end, (made.place->offset + made.bytes() + 15) / 16 * 16);
    return plan.add(std::move(made));
  };
  std::vector<std::int32_t> values, tensors;
  for (const Argument& argument : call.arguments) {
    if (const auto* ints = std::get_if<Ints>(&argument)) {
      values.push_back(plan.intern_ints(*ints));
    } else if (const auto* t = std::get_if<T>(&argument)) {
      values.push_back(add(*t));
      if (t->constant.empty()) tensors.push_back(values.back());
    } else if (const auto* list = std::get_if<List>(&argument)) {
      std::vector<std::int32_t> items;
      for (const T& item : list->items) {
        items.push_back(item.at == kNothing ? plan.intern(pte::None{}) : add(item));
        if (item.at != kNothing) tensors.push_back(items.back());
      }
      values.push_back(list->may_hold_none ? plan.add(pte::OptionalTensorList{items})
                                           : plan.add(pte::TensorList{items}));
    } else {
      std::visit(
          [&](const auto& value) {
            using Value = std::decay_t<decltype(value)>;
            if constexpr (std::is_constructible_v<pte::Value, Value> && !std::is_same_v<Value, Ints>) {
              values.push_back(plan.intern(value));
            }
          },
          argument);
    }
  }
  const auto inputs = static_cast<std::ptrdiff_t>(tensors.size() - call.results);
  plan.inputs.assign(tensors.begin(), tensors.begin() + inputs);
  plan.outputs.assign(tensors.begin() + inputs, tensors.end());
  plan.memory_sizes.push_back(static_cast<std::int64_t>(end));
  plan.calls.push_back({plan.intern_operator(call.name, call.overload), values});
  program.plans.push_back(std::move(plan));
  return {pte::write(program), end};
}

// A seed for fuzzing (tests/fuzz/seeds), where CORMORANT_SEEDS names a folder: the smallest program of each operator.
void leave_seed(const Call1& call, const std::vector<std::byte>& program) {
  const char* const folder = std::getenv("CORMORANT_SEEDS");
  if (folder == nullptr) return;
  const std::string name = std::string(call.name) + "." + call.overload + ".pte";
  const std::filesystem::path path = std::filesystem::path(folder) / name.substr(name.rfind(':') + 1);
  if (std::filesystem::exists(path) && std::filesystem::file_size(path) <= program.size()) return;
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(program.data()), static_cast<std::streamsize>(program.size()));
}

template <class N>
std::vector<N> run(const Call1& call, const std::vector<std::vector<std::byte>>& inputs, std::size_t output = 0) {
  const Made made = program_of(call);
  leave_seed(call, made.file);
  HostProgram program(made.file, host_kernels(), call.name);
  const auto outputs = program.run(inputs);
  std::vector<N> numbers(outputs.at(output).size() / sizeof(N));
  std::memcpy(numbers.data(), outputs[output].data(), outputs[output].size());
  return numbers;
}

// What load says. The arena has no memory until it is written, so that tensors may be as large as files can say.
Error load(const Call1& call) {
  const Made made = program_of(call);
  const AlignedBytes file(made.file);
  const std::size_t bytes = std::max<std::size_t>(made.arena, 16);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return Error::arena_too_small;
  const Region arena{memory, bytes};
  const AlignedBytes state(4096);
  Failure why;
  const auto loaded = load_program(file.span(), "forward", host_kernels(), state.span(), {&arena, 1}, why);
  munmap(memory, bytes);
  return loaded.error();
}

using F = std::vector<float>;
using I = std::vector<std::int64_t>;
using B = std::vector<std::uint8_t>;

TEST(Portable, IntegersHaveKernelsWhereFloatsHaveTheirOwn) {
  const T whole = {{3}, DType::i64};
  const std::int64_t big = (std::int64_t{1} << 53) + 1;  // no float, nor double
  EXPECT_EQ(run<std::int64_t>({"aten::add", "out", {whole, whole, std::int64_t{2}, whole}},
                              {bytes_of(I{1, big, -3}), bytes_of(I{1, 0, 4})}),
            (I{3, big, 5}));
  EXPECT_EQ(
      run<std::int64_t>({"aten::clamp", "out", {whole, -big, pte::None{}, whole}}, {bytes_of(I{-big - 1, big, 7})}),
      (I{-big, big, 7}));
  EXPECT_EQ(run<float>({"aten::sqrt", "out", {whole, T{{3}}}}, {bytes_of(I{1, 4, 9})}), (F{1, 2, 3}));
  EXPECT_EQ(run<std::int64_t>({"aten::floor", "out", {whole, whole}}, {bytes_of(I{big, 0, -1})}), (I{big, 0, -1}));
  EXPECT_EQ(run<float>({"aten::floor", "out", {T{{2}}, T{{2}}}}, {bytes_of(F{1.5F, -1.5F})}), (F{1, -2}));
  const T truth = {{2}, DType::boolean};
  EXPECT_EQ(run<std::uint8_t>({"aten::bitwise_not", "out", {truth, truth}}, {bytes_of(B{0, 1})}), (B{1, 0}));
  EXPECT_EQ(run<std::int64_t>({"aten::bitwise_not", "out", {whole, whole}}, {bytes_of(I{0, 5, -1})}), (I{-1, -6, 0}));
  // Integers in a list alone, beside floats.
  EXPECT_EQ(run<float>({"aten::cat", "out", {List{{{{1}, DType::i64}, {{2}}}, false}, std::int64_t{0}, T{{3}}}},
                       {bytes_of(I{7}), bytes_of(F{0.5F, 2})}),
            (F{7, 0.5F, 2}));
}

TEST(Portable, NumbersStandBesideTensors) {
  EXPECT_EQ(run<float>({"aten::rsub", "Scalar_out", {T{{2}}, 1.5, 2.0, T{{2}}}}, {bytes_of(F{1, 2})}),
            (F{-0.5F, -2.5F}));
  EXPECT_EQ(run<std::uint8_t>({"aten::lt", "Scalar_out", {T{{3}, DType::i64}, 0.5, T{{3}, DType::boolean}}},
                              {bytes_of(I{0, 1, -1})}),
            (B{1, 0, 1}));
  EXPECT_EQ(run<std::int64_t>({"aten::div",
                               "Scalar_mode_out",
                               {T{{2}, DType::i64}, std::int64_t{2}, std::string("floor"), T{{2}, DType::i64}}},
                              {bytes_of(I{-3, 3})}),
            (I{-2, 1}));
  EXPECT_EQ(run<float>({"aten::arange", "start_out", {1.0, 2.0, 0.25, T{{4}}}}, {}), (F{1, 1.25F, 1.5F, 1.75F}));
}

TEST(Portable, MovesElements) {
  const F six = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(
      run<float>({"aten::diagonal_copy", "out", {T{{2, 3}}, std::int64_t{1}, std::int64_t{0}, std::int64_t{1}, T{{2}}}},
                 {bytes_of(six)}),
      (F{1, 5}));
  EXPECT_EQ(
      run<float>({"aten::unfold_copy", "out", {T{{6}}, std::int64_t{0}, std::int64_t{3}, std::int64_t{2}, T{{2, 3}}}},
                 {bytes_of(six)}),
      (F{0, 1, 2, 2, 3, 4}));
  EXPECT_EQ(run<float>({"aten::as_strided_copy", "out", {T{{6}}, Ints{2, 2}, Ints{1, 3}, std::int64_t{1}, T{{2, 2}}}},
                       {bytes_of(six)}),
            (F{1, 4, 2, 5}));
  EXPECT_EQ(run<float>({"aten::pixel_shuffle", "out", {T{{4, 1, 2}}, std::int64_t{2}, T{{1, 2, 4}}}},
                       {bytes_of(F{0, 1, 2, 3, 4, 5, 6, 7})}),
            (F{0, 2, 1, 3, 4, 6, 5, 7}));
  // A size that stays is copied and a doubled one doubled, whatever the factors are; else by the factor, in double.
  const auto resized = [&](double factor, std::int32_t from, std::int32_t to) {
    std::vector<float> image(static_cast<std::size_t>(from));
    for (std::size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i);
    return run<float>({"aten::upsample_nearest2d",
                       "vec_out",
                       {T{{1, 1, from, 1}}, pte::None{}, pte::DoubleList{{factor, 1.0}}, T{{1, 1, to, 1}}}},
                      {bytes_of(image)});
  };
  EXPECT_EQ(resized(1.05, 10, 10).at(9), 9);
  EXPECT_EQ(resized(2.05, 10, 20).at(18), 9);
  EXPECT_EQ(resized(1.7, 11, 18).at(17), 10);
  EXPECT_EQ(run<float>({"aten::constant_pad_nd", "out", {T{{2}}, Ints{1, 2}, 0.5, T{{5}}}}, {bytes_of(F{3, 4})}),
            (F{0.5F, 3, 4, 0.5F, 0.5F}));
  EXPECT_EQ(run<float>({"aten::reflection_pad1d", "out", {T{{1, 3}}, Ints{2, 1}, T{{1, 6}}}}, {bytes_of(F{0, 1, 2})}),
            (F{2, 1, 0, 1, 2, 1}));
}

TEST(Portable, IndexesByTensors) {
  const T self = {{2, 3}};
  const T two = {{2}, DType::i64};
  const F six = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(run<float>({"aten::index", "Tensor_out", {self, List{{kNoIndex, two}}, T{{2, 2}}}},
                       {bytes_of(six), bytes_of(I{2, -3})}),
            (F{2, 0, 5, 3}));
  EXPECT_EQ(run<float>({"aten::index", "Tensor_out", {self, List{{two, two}}, T{{2}}}},
                       {bytes_of(six), bytes_of(I{1, 0}), bytes_of(I{1, 2})}),
            (F{4, 2}));
  // An index beyond the end writes nothing.
  EXPECT_EQ(run<float>({"aten::index_put", "out", {T{{3}}, List{{two}}, T{{2}}, true, T{{3}}}},
                       {bytes_of(F{1, 2, 3}), bytes_of(I{1, 9}), bytes_of(F{10, 20})}),
            (F{1, 12, 3}));
  EXPECT_EQ(run<std::int64_t>(
                {"aten::topk", "values", {T{{4}}, std::int64_t{2}, std::int64_t{0}, true, true, T{{2}}, two}, 2},
                {bytes_of(F{1, 4, 3, 2})}, 1),
            (I{1, 2}));
}

TEST(Portable, ReducesAndNormalizes) {
  const pte::None none;
  const std::int64_t zero = 0, one = 1, two = 2;
  const auto of = [](const F& numbers) { return bytes_of(numbers); };
  const T image = {{1, 1, 2, 4}}, rows = {{1, 2, 2}}, pair = {{2}}, number = {{}};
  EXPECT_EQ(run<float>({"aten::_adaptive_avg_pool2d", "out", {image, Ints{1, 2}, T{{1, 1, 1, 2}}}},
                       {of({0, 1, 2, 3, 4, 5, 6, 7})}),
            (F{2.5F, 4.5F}));
  // Two channels of their own mean and deviation.
  EXPECT_EQ(run<float>({"aten::native_group_norm",
                        "out",
                        {rows, none, none, one, two, two, two, 0.0, rows, T{{1, 2}}, T{{1, 2}}},
                        3},
                       {of({1, 3, 10, 30})}),
            (F{-1, 1, -1, 1}));
  EXPECT_EQ(
      run<float>(
          {"aten::_native_batch_norm_legit", "no_stats_out", {rows, none, none, true, 0.1, 0.0, rows, pair, pair}, 3},
          {of({1, 3, 10, 30})}),
      (F{-1, 1, -1, 1}));
  EXPECT_EQ(run<float>({"aten::_native_batch_norm_legit",
                        "out",
                        {rows, none, none, pair, pair, false, 0.1, 0.0, rows, T{{0}}, T{{0}}},
                        3},
                       {of({1, 3, 10, 30}), of({2, 0}), of({4, 100})}),
            (F{-0.5F, 0.5F, 1, 3}));
  EXPECT_EQ(run<float>({"aten::var", "out", {pair, Ints{0}, true, false, number}}, {of({1, 3})}), (F{2}));
  EXPECT_EQ(run<float>({"aten::var", "correction_out", {pair, Ints{0}, zero, false, number}}, {of({1, 3})}), (F{1}));
  EXPECT_EQ(run<float>({"aten::prod", "int_out", {T{{2, 2}}, one, false, none, pair}}, {of({1, 2, 3, 4})}), (F{2, 12}));
  EXPECT_EQ(run<float>({"aten::_cdist_forward", "out", {T{{1, 2}}, T{{2, 2}}, 2.0, none, T{{1, 2}}}},
                       {of({0, 0}), of({3, 4, 0, 1})}),
            (F{5, 1}));
  EXPECT_EQ(run<float>({"aten::_pdist_forward", "out", {T{{2, 2}}, 2.0, T{{1}}}}, {of({0, 0, 3, 4})}), (F{5}));
  EXPECT_EQ(run<float>({"aten::mm", "out", {T{{1, 2}}, T{{2, 1}}, T{{1, 1}}}}, {of({1, 2}), of({3, 4})}), (F{11}));
  EXPECT_EQ(run<float>({"aten::t_copy", "out", {T{{2, 3}}, T{{3, 2}}}}, {of({0, 1, 2, 3, 4, 5})}),
            (F{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(
      run<float>({"aten::pixel_unshuffle", "out", {T{{1, 2, 4}}, two, T{{4, 1, 2}}}}, {of({0, 2, 1, 3, 4, 6, 5, 7})}),
      (F{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(
      run<float>(
          {"aten::_upsample_bilinear2d_aa", "out", {T{{1, 1, 1, 2}}, Ints{1, 2}, false, none, none, T{{1, 1, 1, 2}}}},
          {of({3, 4})}),
      (F{3, 4}));
}

TEST(Portable, FillsAndScatters) {
  const pte::None none;
  const T three = {{3}}, number = {{}};
  const F old = {1, 2, 3};
  EXPECT_EQ(run<float>({"aten::scatter", "value_out", {three, std::int64_t{0}, T{{1}, DType::i64}, 9.0, three}},
                       {bytes_of(old), bytes_of(I{1})}),
            (F{1, 9, 3}));
  EXPECT_EQ(run<float>({"aten::masked_scatter", "out", {three, T{{3}, DType::boolean}, T{{2}}, three}},
                       {bytes_of(old), bytes_of(B{1, 0, 1}), bytes_of(F{7, 8})}),
            (F{7, 2, 8}));
  EXPECT_EQ(
      run<float>({"aten::clamp", "Tensor_out", {three, three, none, three}}, {bytes_of(old), bytes_of(F{2, 0, 4})}),
      (F{2, 2, 4}));
  EXPECT_EQ(run<float>({"aten::fill", "Tensor_out", {three, number, three}}, {bytes_of(old), bytes_of(F{5})}),
            (F{5, 5, 5}));
  EXPECT_EQ(run<float>({"aten::fill", "Scalar_out", {three, 5.0, three}}, {bytes_of(old)}), (F{5, 5, 5}));
  EXPECT_EQ(run<float>({"aten::full_like", "out", {three, 6.0, none, three}}, {bytes_of(old)}), (F{6, 6, 6}));
  EXPECT_EQ(run<float>({"aten::scalar_tensor", "out", {7.0, number}}, {}), (F{7}));
}

// Padding of its newest convolution: top, left, bottom, right.
TEST(Portable, ConvolutionsMayHaveFourPaddings) {
  const auto numbers = [](std::vector<std::int32_t> values) { return T{{1}, DType::i32, -1, bytes_of(values)}; };
  const T weight = {{1, 2, 2, 1}, DType::i8, -1, bytes_of(std::vector<std::int8_t>{1, 1, 1, 1})};
  const T image = {{1, 1, 2, 2}, DType::i8};
  const auto convolution = [&](const Ints& padding) {
    return Call1{"cortex_m::quantized_conv2d",
                 "out",
                 {image, weight, pte::None{}, Ints{1, 1}, padding, Ints{1, 1}, std::int64_t{0}, std::int64_t{0},
                  numbers({1 << 30}), numbers({1}), std::int64_t{-128}, std::int64_t{127}, T{{0}, DType::i8}, image}};
  };
  const auto input = bytes_of(std::vector<std::int8_t>{1, 2, 3, 4});
  EXPECT_EQ(run<std::int8_t>(convolution({0, 0, 1, 1}), {input}), (std::vector<std::int8_t>{10, 6, 7, 4}));
  EXPECT_EQ(run<std::int8_t>(convolution({1, 1, 0, 0}), {input}), (std::vector<std::int8_t>{1, 3, 4, 10}));
  EXPECT_EQ(load(convolution({0, 0, 1})), Error::bad_value);
}

TEST(Portable, NothingIsMovedWithoutSteps) {
  EXPECT_EQ(load({"aten::diagonal_copy",
                  "out",
                  {T{{0, 2, 0x3FFFFFFF}, DType::i8}, std::int64_t{0}, std::int64_t{1}, std::int64_t{2},
                   T{{0, 2}, DType::i8}}}),
            Error::ok);
  EXPECT_EQ(load({"aten::unfold_copy",
                  "out",
                  {T{{0, 0x1FFFFFFF}}, std::int64_t{1}, std::int64_t{1}, std::int64_t{0x1FFFFFFE}, T{{0, 2, 1}}}}),
            Error::ok);
  EXPECT_EQ(load({"aten::pixel_shuffle", "out", {T{{4, 0, 30000}}, std::int64_t{2}, T{{1, 0, 60000}}}}), Error::ok);
}

// Steps that are sums and products of others fit 32 bits because tensors that are moved so have at most 2^30 bytes.
TEST(Portable, RefusesTensorsWhoseStepsDoNotFit) {
  const std::int32_t large = 0x40000000;
  const T i8 = {{large}, DType::i8};
  EXPECT_EQ(load({"aten::unfold_copy",
                  "out",
                  {i8, std::int64_t{0}, std::int64_t{1}, std::int64_t{large - 1}, T{{2, 1}, DType::i8}}}),
            Error::bad_shape);
  EXPECT_EQ(
      load({"aten::as_strided_copy", "out", {i8, Ints{2, 2}, Ints{large - 2, 1}, pte::None{}, T{{2, 2}, DType::i8}}}),
      Error::bad_shape);
  EXPECT_EQ(
      load({"aten::diagonal_copy",
            "out",
            {T{{2, large / 2}, DType::i8}, std::int64_t{0}, std::int64_t{0}, std::int64_t{1}, T{{2}, DType::i8}}}),
      Error::bad_shape);
  EXPECT_EQ(load({"aten::pixel_shuffle",
                  "out",
                  {T{{4, 1, large / 4}, DType::i8}, std::int64_t{2}, T{{1, 2, large / 2}, DType::i8}}}),
            Error::bad_shape);
}

// Rows of three and of four bytes become rows of seven, at 0.
Call1 cat_in_memory(std::int64_t threes, std::int64_t fours) {
  return {"aten::cat",
          "out",
          {List{{{{2, 3}, DType::i8, threes}, {{2, 4}, DType::i8, fours}}, false}, std::int64_t{1},
           T{{2, 7}, DType::i8, 0}}};
}

TEST(Portable, RefusesWhatDoesNotFit) {
  const T six = {{6}};
  const std::vector<std::pair<Error, Call1>> calls = {
      // Beyond the source.
      {Error::bad_shape, {"aten::as_strided_copy", "out", {six, Ints{2, 2}, Ints{1, 5}, pte::None{}, T{{2, 2}}}}},
      {Error::bad_shape, {"aten::as_strided_copy", "out", {six, Ints{2}, Ints{1}, std::int64_t{5}, T{{2}}}}},
      {Error::bad_shape, {"aten::as_strided_copy", "out", {six, Ints{2}, Ints{-1}, pte::None{}, T{{2}}}}},
      {Error::bad_shape,
       {"aten::as_strided_copy", "out", {six, Ints{2, 2}, Ints{0x7FFFFFFF, 0x7FFFFFFF}, std::int64_t{2}, T{{2, 2}}}}},
      {Error::bad_shape,
       {"aten::unfold_copy", "out", {six, std::int64_t{0}, std::int64_t{3}, std::int64_t{2}, T{{3, 3}}}}},
      {Error::bad_value,
       {"aten::unfold_copy", "out", {six, std::int64_t{0}, std::int64_t{3}, std::int64_t{0}, T{{2, 3}}}}},
      {Error::bad_shape,
       {"aten::unfold_copy", "out", {six, std::int64_t{0}, std::int64_t{7}, std::int64_t{1}, T{{1, 7}}}}},
      {Error::bad_shape,
       {"aten::diagonal_copy", "out", {T{{2, 3}}, std::int64_t{1}, std::int64_t{0}, std::int64_t{1}, T{{3}}}}},
      {Error::bad_value,
       {"aten::diagonal_copy", "out", {T{{2, 3}}, std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, T{{2}}}}},
      {Error::bad_shape,
       {"aten::diagonal_copy",
        "out",
        {T{{2, 3}}, std::int64_t{-0x80000000LL}, std::int64_t{0}, std::int64_t{1}, T{{2}}}}},
      {Error::bad_value,
       {"aten::narrow_copy", "out", {six, std::int64_t{0}, std::int64_t{4}, std::int64_t{3}, T{{3}}}}},
      {Error::bad_shape, {"aten::pixel_shuffle", "out", {T{{4, 1, 1}}, std::int64_t{65536}, T{{1, 2, 2}}}}},
      {Error::bad_shape, {"aten::pixel_unshuffle", "out", {T{{1, 2, 3}}, std::int64_t{2}, T{{4, 1, 1}}}}},
      {Error::bad_value, {"aten::reflection_pad1d", "out", {T{{1, 3}}, Ints{3, 0}, T{{1, 6}}}}},
      {Error::bad_shape, {"aten::replication_pad1d", "out", {T{{1, 0}}, Ints{1, 1}, T{{1, 2}}}}},
      {Error::unsupported, {"aten::constant_pad_nd", "out", {T{{2}}, Ints{1, 1, 1, 1}, 0.0, T{{4}}}}},
      {Error::bad_value, {"aten::roll", "out", {six, Ints{1}, Ints{1}, six}}},
      // Indices.
      {Error::bad_shape,
       {"aten::embedding", "out", {T{{0, 3}}, T{{2}, DType::i64}, std::int64_t{-1}, false, false, T{{2, 3}}}}},
      {Error::unsupported, {"aten::index", "Tensor_out", {T{{2, 3}}, List{{kNoIndex}}, T{{2, 3}}}}},
      {Error::bad_shape, {"aten::index", "Tensor_out", {T{{2, 0}}, List{{kNoIndex, {{2}, DType::i64}}}, T{{2, 2}}}}},
      {Error::unsupported, {"aten::index", "Tensor_out", {T{{2, 3}}, List{{T{{2}}}}, T{{2, 3}}}}},
      {Error::bad_shape,
       {"aten::index", "Tensor_out", {T{{2, 3}}, List{{{{2}, DType::i64}, {{3}, DType::i64}}}, T{{2}}}}},
      {Error::bad_shape, {"aten::index", "Tensor_out", {T{{2}}, List{{{{2}, DType::i64}, {{2}, DType::i64}}}, T{{2}}}}},
      {Error::bad_shape, {"aten::index_put", "out", {T{{3}}, List{{{{2}, DType::i64}}}, T{{3}}, false, T{{3}}}}},
      {Error::bad_memory,
       {"aten::index_put", "out", {T{{4}}, List{{{{2}, DType::i64, 32}}}, T{{2}}, false, T{{4}, DType::f32, 32}}}},
      {Error::bad_shape,
       {"aten::slice_scatter",
        "out",
        {six, T{{3}}, std::int64_t{0}, std::int64_t{1}, std::int64_t{6}, std::int64_t{2}, T{{7}}}}},
      {Error::bad_shape,
       {"aten::slice_scatter",
        "out",
        {six, T{{4}}, std::int64_t{0}, std::int64_t{1}, std::int64_t{6}, std::int64_t{2}, six}}},
      {Error::bad_value,
       {"aten::select_scatter", "out", {T{{2, 3}}, T{{3}}, std::int64_t{0}, std::int64_t{2}, T{{2, 3}}}}},
      {Error::bad_value,
       {"aten::topk", "values", {six, std::int64_t{7}, std::int64_t{0}, true, true, T{{7}}, T{{7}, DType::i64}}, 2}},
      {Error::bad_shape,
       {"aten::embedding", "out", {T{{4, 3}}, T{{2}, DType::i64}, std::int64_t{-1}, false, false, T{{2, 4}}}}},
      {Error::bad_shape, {"aten::index_select", "out", {T{{2, 3}}, std::int64_t{0}, T{{2}, DType::i64}, T{{2, 4}}}}},
      {Error::bad_shape,
       {"aten::gather", "out", {T{{2, 3}}, std::int64_t{0}, T{{2, 4}, DType::i64}, false, T{{2, 4}}}}},
      {Error::bad_shape,
       {"aten::scatter", "src_out", {T{{2, 3}}, std::int64_t{0}, T{{2, 3}, DType::i64}, T{{1, 3}}, T{{2, 3}}}}},
      {Error::bad_shape,
       {"aten::scatter", "src_out", {T{{2, 3}}, std::int64_t{0}, T{{2, 4}, DType::i64}, T{{2, 4}}, T{{2, 3}}}}},
      {Error::bad_shape, {"cormorant::argsort", "any", {T{{3}}, std::int64_t{0}, false, T{{2}, DType::i64}}}},
      {Error::bad_shape, {"cormorant::searchsorted", "any", {T{{2, 3}}, T{{3, 4}}, false, T{{3, 4}, DType::i64}}}},
      {Error::bad_shape, {"cormorant::add", "any", {T{{3}}, T{{2}}, T{{3}}}}},
      // Reductions.
      {Error::bad_shape, {"aten::max", "dim_max", {T{{0, 3}}, std::int64_t{0}, false, T{{3}}, T{{3}, DType::i64}}, 2}},
      {Error::bad_value, {"aten::any", "dims_out", {six, Ints{1}, false, T{{}, DType::boolean}}}},
      {Error::bad_shape, {"aten::var_mean", "correction_out", {T{{2, 3}}, Ints{1}, 1.0, false, T{{2}}, T{{3}}}, 2}},
      {Error::bad_shape, {"aten::_pdist_forward", "out", {T{{3, 2}}, 2.0, T{{4}}}}},
      {Error::bad_shape, {"aten::_cdist_forward", "out", {T{{2, 3}}, T{{2, 4}}, 2.0, pte::None{}, T{{2, 2}}}}},
      // Numbers.
      {Error::bad_shape, {"aten::full", "out", {Ints{3}, 1.0, T{{2}}}}},
      {Error::unsupported, {"aten::clamp", "out", {T{{2}, DType::i64}, 0.5, pte::None{}, T{{2}, DType::i64}}}},
      {Error::bad_shape, {"aten::glu", "out", {T{{5}}, std::int64_t{0}, T{{2}}}}},
      {Error::bad_value, {"aten::div", "Scalar_mode_out", {six, 2.0, std::string("up"), six}}},
      {Error::unsupported, {"aten::masked_fill", "Scalar_out", {six, T{{6}}, 1.0, six}}},
      // In place, though elements of the operand are narrower, or fewer.
      {Error::bad_memory, {"aten::_to_copy", "out", {T{{4}, DType::i8, 0}, false, pte::None{}, T{{4}, DType::f32, 0}}}},
      {Error::bad_memory,
       {"aten::add", "out", {T{{4}, DType::i16, 0}, T{{4}, DType::i64}, std::int64_t{1}, T{{4}, DType::i64, 0}}}},
      {Error::bad_memory, {"aten::mul", "Scalar_out", {T{{1}, DType::f32, 0}, 2.0, T{{4}, DType::f32, 0}}}},
      {Error::bad_memory, {"aten::exp", "out", {T{{4}, DType::i8, 0}, T{{4}, DType::f32, 0}}}},
      {Error::bad_memory, {"aten::copy", "out", {six, T{{6}, DType::i64, 32}, false, T{{6}, DType::f32, 32}}}},
      // One tensor of a concatenation in the result's memory, where no chunk is overwritten before it is read.
      {Error::ok, cat_in_memory(4, 32)},
      {Error::bad_memory, cat_in_memory(3, 32)},
      {Error::ok, cat_in_memory(32, 6)},
      {Error::bad_memory, cat_in_memory(32, 5)},
      {Error::bad_memory, cat_in_memory(4, 6)},
      // Images.
      {Error::bad_shape,
       {"cormorant::grid_sample",
        "float",
        {T{{1, 1, 4, 4}}, T{{1, 2, 2, 2}}, std::int64_t{0}, std::int64_t{0}, false, T{{1, 1, 2, 3}}}}},
      {Error::bad_shape,
       {"aten::upsample_nearest2d", "vec_out", {T{{1, 1, 0, 2}}, Ints{2, 2}, pte::None{}, T{{1, 1, 2, 2}}}}},
      {Error::bad_shape,
       {"aten::upsample_bilinear2d", "vec_out", {T{{1, 1, 2, 2}}, Ints{4, 4}, true, pte::None{}, T{{1, 2, 4, 4}}}}},
      {Error::bad_shape,
       {"aten::max_pool2d_with_indices",
        "out",
        {T{{1, 1, 4, 4}, DType::i8}, Ints{2, 2}, Ints{2, 2}, Ints{0, 0}, Ints{1, 1}, false, T{{1, 1, 4, 4}, DType::i8},
         T{{1, 1, 4, 4}, DType::i64}},
        2}},
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const auto& [error, call] = calls[i];
    EXPECT_EQ(load(call), error) << call.name << "." << call.overload << ", call " << i;
  }
}

}  // namespace
}  // namespace cormorant::ops
