// SPDX-License-Identifier: Apache-2.0
//
// Programs as ExecuTorch's compiler writes them, of one call each: answers that PyTorch's documentation gives, and what
// load refuses. Whole programs of its own are in tests/executorch, all operators in tests/interop/portable.py.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numbers>
#include <numeric>
#include <span>
#include <tuple>
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

// The calls one after another, each with tensors of its own.
Made program_of(std::span<const Call1> calls) {
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
  for (const Call1& call : calls) {
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
    // A list of results is there twice.
    if (std::holds_alternative<List>(call.arguments.back())) values.push_back(values.back());
    const auto results = tensors.end() - static_cast<std::ptrdiff_t>(call.results);
    plan.inputs.insert(plan.inputs.end(), tensors.begin(), results);
    plan.outputs.insert(plan.outputs.end(), results, tensors.end());
    plan.calls.push_back({plan.intern_operator(call.name, call.overload), values});
  }
  plan.memory_sizes.push_back(static_cast<std::int64_t>(end));
  program.plans.push_back(std::move(plan));
  return {pte::write(program), end};
}
Made program_of(const Call1& call) { return program_of({&call, 1}); }

// A seed for fuzzing (tests/fuzz/seeds), where CORMORANT_SEEDS names a folder; the smallest if there are several.
void leave_seed(const std::string& name, const std::vector<std::byte>& program) {
  const char* const folder = std::getenv("CORMORANT_SEEDS");
  if (folder == nullptr) return;
  const std::filesystem::path path = std::filesystem::path(folder) / (name + ".pte");
  if (std::filesystem::exists(path) && std::filesystem::file_size(path) <= program.size()) return;
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(program.data()), static_cast<std::streamsize>(program.size()));
}

template <class N>
std::vector<N> results_of(const Call1& call, const std::vector<std::vector<std::byte>>& inputs,
                          std::size_t output = 0) {
  HostProgram program(program_of(call).file, host_kernels(), call.name);
  const auto outputs = program.run(inputs);
  std::vector<N> numbers(outputs.at(output).size() / sizeof(N));
  std::memcpy(numbers.data(), outputs[output].data(), outputs[output].size());
  return numbers;
}

// The same, and a seed of the call's name.
template <class N>
std::vector<N> run(const Call1& call, const std::vector<std::vector<std::byte>>& inputs, std::size_t output = 0) {
  const std::string name = call.name;
  const std::string overload = *call.overload == '\0' ? "" : std::string(".") + call.overload;
  leave_seed(name.substr(name.rfind(':') + 1) + overload, program_of(call).file);
  return results_of<N>(call, inputs, output);
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

// Elements of one, with the numbers that some functions take. Answers are those of the C library, or of the definition.
TEST(Portable, FunctionsComputeWhatTheirNamesSay) {
  const struct {
    const char* name;
    double x, y;
    std::vector<Argument> numbers = {};
    const char* overload = "out";
  } functions[] = {
      {"aten::acos", 0.5, std::acos(0.5)},
      {"aten::acosh", 2, std::acosh(2.0)},
      {"aten::asin", 0.5, std::asin(0.5)},
      {"aten::asinh", 1, std::asinh(1.0)},
      {"aten::atan", 1, std::atan(1.0)},
      {"aten::atanh", 0.5, std::atanh(0.5)},
      {"aten::ceil", 1.5, 2},
      {"aten::cos", 1, std::cos(1.0)},
      {"aten::cosh", 1, std::cosh(1.0)},
      {"aten::elu", -1, 2 * std::expm1(-1.0), {2.0, 1.0, 1.0}},
      {"aten::erf", 0.5, std::erf(0.5)},
      {"aten::exp", 1, std::exp(1.0)},
      {"aten::expm1", 1, std::expm1(1.0)},
      {"aten::hardsigmoid", 1, 4.0 / 6},
      {"aten::hardswish", 2, 2 * 5.0 / 6},
      {"aten::hardtanh", 3, 2, {-1.0, 2.0}},
      {"aten::leaky_relu", -2, -0.5, {0.25}},
      {"aten::log", 2, std::log(2.0)},
      {"aten::log10", 2, std::log10(2.0)},
      {"aten::log1p", 2, std::log1p(2.0)},
      {"aten::log2", 3, std::log2(3.0)},
      {"aten::logit", 0.75, std::log(3.0), {pte::None{}}},
      {"aten::neg", 2, -2},
      {"aten::pow", 3, 9, {2.0}, "Tensor_Scalar_out"},
      {"aten::reciprocal", 4, 0.25},
      {"aten::round", 2.5, 2},
      {"aten::rsqrt", 4, 0.5},
      {"aten::sign", -3, -1},
      {"aten::silu", 1, 1 / (1 + std::exp(-1.0))},
      {"aten::sin", 1, std::sin(1.0)},
      {"aten::sinh", 1, std::sinh(1.0)},
      {"aten::tan", 1, std::tan(1.0)},
      {"aten::trunc", -1.5, -1},
      {"cormorant::abs", -3, 3, {}, "any"},
      {"cormorant::celu", -1, 2 * std::expm1(-0.5), {2.0}, "float"},
      {"cormorant::convert", 1.5, 1.5, {}, "any"},
      {"cormorant::erfc", 0.5, std::erfc(0.5), {}, "float"},
      {"cormorant::erfinv", std::erf(0.25), 0.25, {}, "float"},
      {"cormorant::exp2", 3, 8, {}, "float"},
      {"cormorant::frac", 1.25, 0.25, {}, "float"},
      {"cormorant::hardshrink", 0.25, 0, {0.5}, "float"},
      {"cormorant::hardsigmoid", 1, 4.0 / 6, {}, "float"},
      {"cormorant::hardswish", 2, 2 * 5.0 / 6, {}, "float"},
      {"cormorant::log_sigmoid", 0, -std::log(2.0), {}, "float"},
      {"cormorant::mish", 1, std::tanh(std::log1p(std::exp(1.0))), {}, "float"},
      {"cormorant::round_decimals", 1.256, 1.26, {2.0}, "float"},
      {"cormorant::selu", 1, 1.0507009873554805, {}, "float"},
      {"cormorant::sgn", -2, -1, {}, "float"},
      {"cormorant::silu", 1, 1 / (1 + std::exp(-1.0)), {}, "float"},
      {"cormorant::sinc", 0.5, 2 / std::numbers::pi, {}, "float"},
      {"cormorant::softplus", 0, std::log(2.0) / 2, {2.0, 20.0}, "float"},
      {"cormorant::softshrink", 1, 0.75, {0.25}, "float"},
      {"cormorant::square", 3, 9, {}, "float"},
      {"cormorant::threshold", 0.5, 7, {1.0, 7.0}, "float"},
  };
  const T one = {{1}};
  std::vector<Call1> theirs, ours;
  for (const auto& [name, x, y, numbers, overload] : functions) {
    Call1 call = {name, overload, {one}};
    call.arguments.insert(call.arguments.end(), numbers.begin(), numbers.end());
    call.arguments.emplace_back(one);
    EXPECT_NEAR(results_of<float>(call, {bytes_of(F{static_cast<float>(x)})}).at(0), y, 2e-6 * (1 + std::abs(y)))
        << name;
    (std::string_view(name).starts_with("aten") ? theirs : ours).push_back(std::move(call));
  }
  theirs.push_back({"aten::pow", "Scalar_out", {2.0, one, one}});
  EXPECT_EQ(results_of<float>(theirs.back(), {bytes_of(F{3})}), (F{8}));
  const T truth = {{1}, DType::boolean};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [name, overload, yes, no] :
       std::initializer_list<std::tuple<const char*, const char*, float, float>>{
           {"aten::logical_not", "out", 0.0F, nan},
           {"aten::isnan", "out", nan, 1.0F},
           {"aten::isinf", "out", -1 / 0.0F, nan},
           {"cormorant::signbit", "any", -0.0F, 0.0F}}) {
    theirs.push_back({name, overload, {one, truth}});
    EXPECT_EQ(results_of<std::uint8_t>(theirs.back(), {bytes_of(F{yes})}), (B{1})) << name;
    EXPECT_EQ(results_of<std::uint8_t>(theirs.back(), {bytes_of(F{no})}), (B{0})) << name;
  }
  // Many calls in one program: it is as good a seed as one for each.
  leave_seed("functions.theirs", program_of(theirs).file);
  leave_seed("functions.ours", program_of(ours).file);
}

TEST(Portable, CopiesFillsAndReductionsDoWhatTheirNamesSay) {
  const pte::None none;
  const std::int64_t zero = 0, one = 1;
  const T number = {{}}, pair = {{2}}, square = {{2, 2}};
  const T row = {{1, 3}}, three = {{3}}, indices = {{2, 2}, DType::i64};
  const auto list = [](std::initializer_list<T> items) { return List{items, false}; };
  const F four = {1, 2, 3, 4};
  const struct {
    Call1 call;
    std::vector<F> inputs;
    F wanted;
  } calls[] = {
      {{"aten::alias_copy", "out", {pair, pair}}, {{1, 2}}, {1, 2}},
      {{"aten::detach_copy", "out", {pair, pair}}, {{1, 2}}, {1, 2}},
      {{"aten::lift_fresh_copy", "out", {pair, pair}}, {{1, 2}}, {1, 2}},
      {{"dim_order_ops::_clone_dim_order", "out", {pair, false, none, pair}}, {{1, 2}}, {1, 2}},
      {{"aten::copy", "out", {pair, T{{1}}, false, pair}}, {{1, 2}, {3}}, {3, 3}},
      {{"aten::view_copy", "out", {square, Ints{4}, T{{4}}}}, {four}, four},
      {{"aten::squeeze_copy", "dims_out", {row, Ints{0}, three}}, {{1, 2, 3}}, {1, 2, 3}},
      {{"aten::select_copy", "int_out", {square, one, zero, pair}}, {four}, {1, 3}},
      {{"aten::repeat", "out", {pair, Ints{2, 1}, square}}, {{1, 2}}, {1, 2, 1, 2}},
      {{"aten::stack", "out", {list({pair, pair}), one, square}}, {{1, 2}, {3, 4}}, {1, 3, 2, 4}},
      {{"aten::zeros", "out", {Ints{2}, pair}}, {}, {0, 0}},
      {{"aten::ones", "out", {Ints{2}, pair}}, {}, {1, 1}},
      {{"aten::empty", "out", {Ints{2}, none, pair}}, {}, {0, 0}},
      {{"dim_order_ops::_empty_dim_order", "out", {Ints{2}, none, pair}}, {}, {0, 0}},
      {{"aten::arange", "out", {3.0, three}}, {}, {0, 1, 2}},
      {{"aten::max", "unary_out", {square, number}}, {four}, {4}},
      {{"aten::min", "unary_out", {square, number}}, {four}, {1}},
      {{"aten::prod", "out", {square, none, number}}, {four}, {24}},
      {{"aten::mean", "dtype_out", {square, none, number}}, {four}, {2.5F}},
      {{"aten::amin", "out", {square, Ints{0}, false, pair}}, {four}, {1, 2}},
      {{"aten::maximum", "out", {pair, pair, pair}}, {{1, 4}, {3, 2}}, {3, 4}},
      {{"aten::minimum", "out", {pair, pair, pair}}, {{1, 4}, {3, 2}}, {1, 2}},
      {{"cormorant::cumprod", "any", {square, one, square}}, {four}, {1, 2, 3, 12}},
      {{"cormorant::logcumsumexp", "any", {pair, zero, pair}}, {{0, 0}}, {0, std::log(2.0F)}},
      {{"cormorant::rms_norm", "float", {T{{1, 2}}, none, 0.0, T{{1, 2}}}}, {{1, 7}}, {0.2F, 1.4F}},
  };
  std::vector<Call1> all;
  for (const auto& [call, inputs, wanted] : calls) {
    std::vector<std::vector<std::byte>> bytes;
    for (const F& input : inputs) bytes.push_back(bytes_of(input));
    EXPECT_EQ(results_of<float>(call, bytes), wanted) << call.name;
    all.push_back(call);
  }
  const Call1 splits[] = {
      {"aten::split_copy", "Tensor_out", {square, one, one, list({{{2, 1}}, {{2, 1}}})}, 2},
      {"aten::split_with_sizes_copy", "out", {square, Ints{1, 1}, one, list({{{2, 1}}, {{2, 1}}})}, 2},
      {"aten::unbind_copy", "int_out", {square, one, list({pair, pair})}, 2},
  };
  for (const Call1& call : splits) {
    EXPECT_EQ(results_of<float>(call, {bytes_of(four)}, 0), (F{1, 3})) << call.name;
    EXPECT_EQ(results_of<float>(call, {bytes_of(four)}, 1), (F{2, 4})) << call.name;
    all.push_back(call);
  }
  const T truth = {{}, DType::boolean}, truths = {{2}, DType::boolean};
  all.push_back({"aten::any", "all_out", {square, truth}});
  EXPECT_EQ(results_of<std::uint8_t>(all.back(), {bytes_of(F{0, 0, 0, 1})}), (B{1}));
  all.push_back({"aten::any", "dims_out", {square, Ints{0}, false, truths}});
  EXPECT_EQ(results_of<std::uint8_t>(all.back(), {bytes_of(F{0, 0, 0, 1})}), (B{0, 1}));
  all.push_back({"cormorant::cummax_index", "any", {square, one, indices}});
  EXPECT_EQ(results_of<std::int64_t>(all.back(), {bytes_of(F{1, 2, 4, 3})}), (I{0, 1, 0, 0}));
  all.push_back({"cormorant::cummin_index", "any", {square, one, indices}});
  EXPECT_EQ(results_of<std::int64_t>(all.back(), {bytes_of(F{1, 2, 4, 3})}), (I{0, 0, 0, 1}));
  // Their loads are of many kinds: some in each seed, so that one that is refused leaves the others.
  for (std::size_t i = 0; i < all.size(); i += 8) {
    const std::span<const Call1> some = std::span(all).subspan(i, std::min<std::size_t>(8, all.size() - i));
    leave_seed("copies." + std::to_string(i / 8), program_of(some).file);
  }
  // In place: the tensor that is changed is also the result.
  EXPECT_EQ(run<float>({"aten::index_put_",
                        "",
                        {T{{3}, DType::f32, 0}, List{{{{2}, DType::i64}}}, pair, false, T{{3}, DType::f32, 0}}},
                       {bytes_of(F{1, 2, 3}), bytes_of(I{0, 2}), bytes_of(F{7, 8})}),
            (F{7, 2, 8}));
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

// Parts of a tensor, one after another along a dimension.
Call1 cat_along(std::int64_t dim, std::vector<T> parts, T whole) {
  return {"aten::cat", "out", {List{std::move(parts), false}, dim, std::move(whole)}};
}
Call1 stack_along(std::int64_t dim, std::vector<T> parts, T whole) {
  return {"aten::stack", "out", {List{std::move(parts), false}, dim, std::move(whole)}};
}
Call1 split_along(std::int64_t dim, T whole, std::vector<T> parts) {
  Ints sizes;
  for (const T& part : parts) sizes.push_back(part.sizes.at(static_cast<std::size_t>(dim)));
  const std::size_t results = parts.size();
  return {"aten::split_with_sizes_copy", "out", {std::move(whole), sizes, dim, List{std::move(parts), false}}, results};
}
Call1 unbind_along(std::int64_t dim, T whole, std::vector<T> parts) {
  const std::size_t results = parts.size();
  return {"aten::unbind_copy", "int_out", {std::move(whole), dim, List{std::move(parts), false}}, results};
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
      // Other sizes before the dimension, and after it.
      {Error::bad_shape, cat_along(0, {{{2, 3}}, {{2, 4}}}, {{4, 3}})},
      {Error::bad_shape, cat_along(1, {{{2, 3}}, {{3, 4}}}, {{2, 7}})},
      {Error::bad_shape, cat_along(1, {{{2, 2, 3}}, {{2, 2, 4}}}, {{2, 4, 3}})},
      {Error::bad_shape, stack_along(0, {{{2, 3}}, {{2, 4}}}, {{2, 2, 3}})},
      {Error::bad_shape, stack_along(1, {{{2, 3}}, {{2, 4}}}, {{2, 2, 3}})},
      {Error::bad_shape, stack_along(1, {{{2, 3}}, {{3, 3}}}, {{2, 2, 3}})},
      {Error::bad_shape, split_along(0, {{4, 3}}, {{{2, 3}}, {{2, 4}}})},
      {Error::bad_shape, split_along(1, {{2, 7}}, {{{2, 3}}, {{3, 4}}})},
      {Error::bad_shape, split_along(1, {{2, 4, 3}}, {{{2, 2, 3}}, {{2, 2, 4}}})},
      {Error::bad_shape, unbind_along(0, {{2, 2, 3}}, {{{2, 3}}, {{2, 4}}})},
      {Error::bad_shape, unbind_along(1, {{2, 2, 3}}, {{{2, 3}}, {{2, 4}}})},
      {Error::bad_shape, unbind_along(1, {{2, 2, 3}}, {{{2, 3}}, {{3, 3}}})},
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
