// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/conformance.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <numeric>
#include <span>

#include "base/diagnostic.h"
#include "compiler/compile.h"
#include "emit/emit.h"
#include "evaluate/graph.h"
#include "formats/pte/reader.h"
#include "ir/verify.h"
#include "ops/host/schema.h"
#include "ops/op.h"
#include "passes/passes.h"
#include "program/program_io.h"
#include "runtime/host.h"
#include "target/parse.h"
#include "tests/check.h"
#include "tests/fuzz/guard.h"
#include "tests/known_state.h"

namespace cormorant::conformance {
namespace {

ir::Graph build_graph(const std::vector<Case>& cases) {
  ir::Graph graph;
  for (const Case& c : cases) graph.add_output(c.build(graph));
  ir::verify(graph, "test case");
  return graph;
}

std::vector<std::byte> compile_for(const std::vector<Case>& cases, const ops::Config& config,
                                   memory::Reuse reuse = memory::Reuse::quick) {
  ir::Graph graph = build_graph(cases);
  compiler::Options options;
  options.config = config;
  options.reuse = reuse;
  return compiler::compile(graph, options).program;
}

// The kind of test that ctest asked this process for.
bool is_wanted(std::string_view kind) {
  const char* asked = std::getenv("CORMORANT_CONFORMANCE");
  return asked == nullptr || asked == kind;
}

std::map<std::string, int> count_operators(const ir::Graph& graph) {
  std::map<std::string, int> counts;
  for (const ir::Node& node : graph.nodes()) {
    if (!ops::is_alias(node)) ++counts[node.op];
  }
  return counts;
}

// Sample 0 has only extremes, the rest any byte; float inputs are spread over a few orders of magnitude.
std::vector<std::byte> random_bytes(const ProgramTensor& tensor, std::int64_t elements, int sample,
                                    std::mt19937& random) {
  std::vector<std::byte> bytes;
  for (std::int64_t i = 0; i < elements; ++i) {
    if (tensor.dtype == DType::f32) {
      std::normal_distribution<float> normal(0, sample == 0 ? 1000.0F : 3.0F);
      const float value = normal(random);
      const auto* raw = reinterpret_cast<const std::byte*>(&value);
      bytes.insert(bytes.end(), raw, raw + sizeof(value));
    } else if (tensor.dtype == DType::i16) {
      const auto bits = static_cast<std::uint32_t>(random());
      const std::uint32_t word = sample == 0 ? ((bits & 1U) != 0 ? 0x7fffU : 0x8000U) : bits & 0xffffU;
      bytes.push_back(static_cast<std::byte>(word & 255U));
      bytes.push_back(static_cast<std::byte>(word >> 8));
    } else {
      const auto bits = static_cast<std::uint32_t>(random());
      bytes.push_back(
          static_cast<std::byte>(sample == 0 ? ((bits & 1U) != 0 ? 127 : -128) : static_cast<int>(bits & 255U)));
    }
  }
  return bytes;
}

std::int64_t elements_of(const ProgramTensor& tensor) {
  std::int64_t n = 1;
  for (const std::int64_t size : tensor.shape) n *= size;
  return n;
}

// Inputs in logical order, so that they mean the same in programs of different layout.
std::vector<Arrays> random_samples(const ProgramFile& program, int samples, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Arrays> all;
  for (int s = 0; s < samples; ++s) {
    Arrays arrays;
    for (const ProgramTensor& tensor : program.inputs) {
      arrays.push_back({tensor.dtype, tensor.shape, random_bytes(tensor, elements_of(tensor), s, random)});
    }
    all.push_back(std::move(arrays));
  }
  return all;
}

void expect_equal(const std::vector<Case>& cases, const std::vector<Arrays>& wanted, const std::vector<Arrays>& got,
                  const std::string& where) {
  ASSERT_EQ(wanted.size(), got.size()) << where;
  for (std::size_t c = 0; c < cases.size(); ++c) {
    for (std::size_t s = 0; s < wanted.size(); ++s) {
      const auto& expected = wanted[s].at(c).data;
      const auto& actual = got[s].at(c).data;
      ASSERT_EQ(expected.size(), actual.size()) << where << ", " << cases[c].name;
      const auto [e, a] = std::mismatch(expected.begin(), expected.end(), actual.begin());
      if (e == expected.end()) continue;
      const auto differing = std::inner_product(expected.begin(), expected.end(), actual.begin(), 0, std::plus<>(),
                                                [](std::byte x, std::byte y) { return x == y ? 0 : 1; });
      ADD_FAILURE() << where << ", case '" << cases[c].name << "', sample " << s << ": byte " << (e - expected.begin())
                    << " is " << static_cast<int>(static_cast<std::int8_t>(*a)) << ", the reference says "
                    << static_cast<int>(static_cast<std::int8_t>(*e)) << " (" << differing << " of " << expected.size()
                    << " bytes differ)";
      break;
    }
  }
}

// Where every byte of every kernel is guarded: one place per instruction set, and ARMv6-M, which has its own loops.
bool is_guarded(const Where& place) {
  constexpr std::string_view kCpus[] = {"cortex-m55", "cortex-m4", "cortex-m3", "cortex-m0"};
  const bool is_small = place.target.name() == "cortex-m0" && place.target.optimize == Optimize::size;
  return place.compiler == "gcc" && (place.target.optimize == Optimize::balanced || is_small) &&
         std::ranges::find(kCpus, place.target.name()) != std::end(kCpus);
}

// Nor do they read past the arena: each case as a program of its own, or some of them.
void expect_at_end(const std::vector<Case>& cases, const Where& place, const fuzz::FuzzBoard& board) {
  constexpr std::size_t kOfABoot = 8;
  const std::size_t count = tests::is_check() ? cases.size() : std::min<std::size_t>(cases.size(), 3);
  for (std::size_t first = 0; first < count; first += kOfABoot) {
    std::vector<fuzz::Bytes> programs;
    std::string names;
    for (std::size_t i = first; i < std::min(count, first + kOfABoot); ++i) {
      const Case& c = cases[i * cases.size() / count];
      programs.push_back(compile_for({c}, {.target = place.target}));
      names += fmt::format("{}{} '{}'", i == first ? "" : ", ", i - first, c.name);
    }
    EXPECT_EQ(fuzz::run_at_end(board, programs), "") << names;
  }
}

// No kernel writes outside its results and scratch.
void expect_guarded(const std::vector<Case>& cases, const Where& place, std::span<const std::byte> program,
                    bool is_part = false) {
  static std::map<std::string, fuzz::FuzzBoard> boards;
  const auto [board, is_new] = boards.try_emplace(place.text(), place.target);
  if (is_new || (tests::is_check() && !is_part)) expect_at_end(cases, place, board->second);
  const fuzz::Guarded guarded = fuzz::run_guarded(board->second, program);
  EXPECT_EQ(guarded.failure, "");
  if (guarded.fits) return;
  ASSERT_GT(cases.size(), 1U) << cases.at(0).name << " is too large for " << place.text();
  const auto half = cases.begin() + static_cast<std::ptrdiff_t>(cases.size() / 2);
  for (const std::vector<Case>& part : {std::vector(cases.begin(), half), std::vector(half, cases.end())}) {
    expect_guarded(part, place, compile_for(part, {.target = place.target}), true);
  }
}

// Seeds for fuzzing (tests/fuzz/seeds), where CORMORANT_SEEDS names a folder: of all cases the smallest program of each
// set of operators.
void leave_seeds(const std::filesystem::path& folder, const std::vector<Case>& cases,
                 const std::vector<Where>& places) {
  constexpr std::size_t kLargest = 6000;
  for (const Where& place : places) {
    for (const Case& c : cases) {
      const std::vector<std::byte> program = compile_for({c}, {.target = place.target});
      if (program.size() > kLargest) continue;
      const AlignedBytes bytes(program);
      const auto method = pte::ProgramView::open(bytes.span()).value().method(0);
      std::string name;
      for (std::uint32_t i = 0; i < method.value().operator_count(); ++i) {
        const pte::OperatorView op = method.value().operator_at(i).value();
        name += fmt::format("{}{}.{}", i == 0 ? "" : "+", op.name.substr(op.name.rfind(':') + 1), op.overload);
      }
      const std::filesystem::path path = folder / (name + ".pte");
      if (name.empty() || (std::filesystem::exists(path) && std::filesystem::file_size(path) <= program.size()))
        continue;
      std::ofstream(path, std::ios::binary)
          .write(reinterpret_cast<const char*>(program.data()), static_cast<std::streamsize>(program.size()));
    }
  }
}

// Programs with everything alive at once must fit a board; long tables are cut into several.
std::vector<std::vector<Case>> in_batches(const std::vector<Case>& cases) {
  constexpr std::int64_t kBytes = 400'000;
  std::vector<std::vector<Case>> batches(1);
  std::int64_t filled = 0;
  for (const Case& c : cases) {
    ir::Graph graph;
    const ir::Value* result = c.build(graph);
    std::int64_t bytes = result->type.bytes();
    for (const ir::Value* input : graph.inputs()) bytes += input->type.bytes();
    for (const ir::Value& value : graph.values())
      bytes += value.kind == ir::ValueKind::constant ? value.type.bytes() : 0;
    if (filled + bytes > kBytes && !batches.back().empty()) {
      batches.emplace_back();
      filled = 0;
    }
    filled += bytes;
    batches.back().push_back(c);
  }
  return batches;
}

}  // namespace

std::string Where::text() const {
  return fmt::format("{} {} {} {}", target.name(), cormorant::name_of(target.isa), cormorant::name_of(target.optimize),
                     compiler);
}

namespace {

Target optimized(std::string_view target, Optimize optimize) {
  Target t = parse_target(target);
  t.optimize = optimize;
  return t;
}

}  // namespace

// Where two of an instruction set run, they have different goals.
std::vector<Where> everywhere() {
  std::vector<Where> places = {
      {parse_target("cortex-m3"), "gcc"},  {optimized("cortex-m0", Optimize::size), "gcc"},
      {parse_target("cortex-m4"), "gcc"},  {optimized("cortex-m4", Optimize::speed), "gcc"},
      {parse_target("cortex-m55"), "gcc"}, {optimized("cortex-m55", Optimize::size), "clang"},
  };
  if (!tests::is_check()) return places;
  places.insert(places.end(), {{parse_target("cortex-m0"), "gcc"},
                               {optimized("cortex-m0", Optimize::size), "clang"},
                               {parse_target("cortex-m7"), "gcc"},
                               {parse_target("cortex-m23"), "gcc"},
                               {parse_target("cortex-m33"), "gcc"},
                               {optimized("cortex-m23", Optimize::size), "gcc"},
                               {optimized("cortex-m33", Optimize::speed), "gcc"},
                               {optimized("cortex-m4", Optimize::size), "gcc"},
                               {parse_target("cortex-m0"), "clang"},
                               {parse_target("cortex-m55"), "clang"},
                               {parse_target("cortex-m33", "scalar"), "gcc"},
                               {parse_target("cortex-m55", "dsp"), "gcc"},
                               {parse_target("cortex-m55", "scalar"), "gcc"},
                               {parse_target("cortex-m4"), "clang"},
                               {optimized("cortex-m4", Optimize::speed), "clang"}});
  return places;
}

// Faults are injected into some of the archives: CORMORANT_PLACES="gcc/m55 gcc/m4" leaves the other places out.
static bool is_asked_for(const Where& place) {
  const char* const asked = std::getenv("CORMORANT_PLACES");
  const std::string name = fmt::format(" {}/{} ", place.compiler, place.target.cpu->archive);
  return asked == nullptr || fmt::format(" {} ", asked).find(name) != std::string::npos;
}

void expect_same_bits_everywhere(const std::vector<Case>& cases, int samples, const std::vector<Where>& places) {
  if (!is_wanted("implementation")) return;
  if (const char* folder = std::getenv("CORMORANT_SEEDS")) return leave_seeds(folder, cases, places);
  for (const std::vector<Case>& batch : in_batches(cases)) {
    std::vector<Arrays> inputs;
    std::vector<Arrays> reference;
    std::map<std::string, ProgramFile> programs;  // by target: both compilers' places run the same one
    for (const Where& place : places) {
      if (!is_asked_for(place)) continue;
      SCOPED_TRACE(place.text());
      const auto [at, is_new] = programs.try_emplace(Where{place.target, ""}.text());
      ProgramFile& program = at->second;
      if (is_new) {
        program = program_from(compile_for(batch, {.target = place.target}), place.text());
        if (inputs.empty()) inputs = random_samples(program, samples, 1);
        const std::vector<Arrays> host = execute(program, inputs, {}).outputs;
        if (reference.empty()) {  // every tensor in a place of its own
          reference =
              execute(program_from(compile_for(batch, {.target = place.target}, memory::Reuse::none), place.text()),
                      inputs, {})
                  .outputs;
        }
        expect_equal(batch, reference, host, "host runtime, program for " + place.text());
      }
      ExecuteOn board;
      board.target = place.target;
      board.compiler = place.compiler == "clang" ? Compiler::clang : Compiler::gcc;
      const Execution there = execute(program, inputs, board);
      expect_equal(batch, reference, there.outputs, "board, " + place.text());
      tests::expect_known_state(program, board, there);
      if (is_guarded(place)) expect_guarded(batch, place, program.bytes);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

void expect_same_bits_where_flash_is_saved(std::vector<Case> cases) {
  constexpr std::size_t kSome = 8;
  cases.resize(kSome);
  const std::vector<Where> places = {{optimized("cortex-m3", Optimize::size), "gcc"},
                                     {optimized("cortex-m4", Optimize::size), "gcc"}};
  expect_same_bits_everywhere(cases, 2, places);
}

namespace {

// check(what the program computed, what the graph means, the tensor) for the result of each case and sample.
template <class Check>
void compare_with_evaluation(const std::vector<Case>& cases, int samples, const ops::Config& config, Check check) {
  if (!is_wanted("dialect")) return;
  const ir::Graph graph = build_graph(cases);
  const ProgramFile program = program_from(compile_for(cases, config), "conformance");
  const std::vector<Arrays> inputs = random_samples(program, samples, 2);
  const std::vector<Arrays> outputs = execute(program, inputs, {}).outputs;
  const evaluate::Evaluator evaluator(graph);
  for (std::size_t s = 0; s < inputs.size(); ++s) {
    std::vector<evaluate::Tensor> tensors;
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      tensors.emplace_back(graph.inputs()[i]->type.shape, real_values(inputs[s][i], program.inputs[i]));
    }
    const std::vector<evaluate::Tensor> wanted = evaluator.run(tensors);
    for (std::size_t c = 0; c < cases.size(); ++c) {
      SCOPED_TRACE(fmt::format("case '{}', sample {}", cases[c].name, s));
      const std::vector<float> got = real_values(outputs[s][c], program.outputs[c]);
      ASSERT_EQ(got.size(), wanted[c].values().size());
      check(std::span(got), std::span<const float>(wanted[c].values()), program.outputs[c]);
    }
  }
}

}  // namespace

void expect_near_float_semantics(const std::vector<Case>& cases, double steps, int samples, const ops::Config& config) {
  const auto check = [steps](std::span<const float> got, std::span<const float> wanted, const ProgramTensor& tensor) {
    const double step = tensor.scale.value_or(1e-6);
    double worst = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      worst = std::max(worst, std::abs(static_cast<double>(got[i]) - static_cast<double>(wanted[i])) / step);
    }
    EXPECT_LE(worst, steps + 1e-3);
  };
  compare_with_evaluation(cases, samples, config, check);
}

void expect_near_evaluation(const std::vector<Case>& cases, double relative, int samples) {
  const auto check = [relative](std::span<const float> got, std::span<const float> wanted, const ProgramTensor&) {
    double sum = 0;
    for (const float w : wanted) sum += std::isfinite(w) ? std::abs(w) : 0;
    const double mean = sum / static_cast<double>(wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (got[i] == wanted[i] || (std::isnan(got[i]) && std::isnan(wanted[i]))) continue;
      const double error = std::abs(static_cast<double>(got[i]) - static_cast<double>(wanted[i]));
      if (error <= relative * (std::abs(static_cast<double>(wanted[i])) + mean)) continue;
      ADD_FAILURE() << "element " << i << ": " << got[i] << ", not " << wanted[i];
      break;
    }
  };
  compare_with_evaluation(cases, samples, {}, check);
}

ir::Value* add_float(ir::Graph& graph, std::string op, std::vector<ir::NamedArgument> args) {
  std::string name = op.substr(op.find('.') + 1);
  ir::Node* node = graph.add_node(std::move(name), std::move(op), std::move(args), {ir::float_type({})});
  node->result()->type = ops::find(*node)->infer(*node).front();
  return node->result();
}

ir::Value* float_constant(ir::Graph& graph, ir::Shape shape, std::mt19937& random) {
  const ir::TensorType type = ir::float_type(std::move(shape));
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> data(static_cast<std::size_t>(type.elements()));
  for (float& value : data) value = normal(random);
  return graph.add_constant("w", type, ir::Bytes::of(std::span<const float>(data)));
}

void expect_dialect(const Case& c, const Dialect& expected, const Target& target) {
  if (!is_wanted("dialect")) return;
  ir::Graph graph = build_graph({c});
  EXPECT_EQ(count_operators(graph), expected.before) << c.name << ", before lowering";
  ops::Config config;
  config.target = target;
  passes::lower(graph, config);
  passes::decide_layout(graph, config);
  EXPECT_EQ(count_operators(graph), expected.after) << c.name << ", after lowering for " << target.name();
  expect_near_float_semantics({c}, expected.steps, 3, config);
}

std::vector<std::pair<std::string, int>> lowered_operators(const Case& c, const Target& target) {
  ir::Graph graph = build_graph({c});
  ops::Config config;
  config.target = target;
  passes::lower(graph, config);
  passes::decide_layout(graph, config);
  const std::map<std::string, int> counts = count_operators(graph);
  return {counts.begin(), counts.end()};
}

ir::Value* words_input(ir::Graph& graph, ir::Shape shape, double scale) {
  const std::string name = "x" + std::to_string(graph.inputs().size());
  return graph.add_input(name, ir::quantized_type(std::move(shape), {DType::i16, -32768, 32767, {}, {scale}, {0}}));
}

ir::Value* add_words(ir::Graph& graph, std::string op, std::vector<ir::NamedArgument> args, ir::Shape shape,
                     double scale) {
  const std::string name = "node" + std::to_string(graph.nodes().size());
  const ir::TensorType type = ir::quantized_type(std::move(shape), {DType::i16, -32768, 32767, {}, {scale}, {0}});
  return graph.add_node(name, std::move(op), std::move(args), {type})->result();
}

ir::Value* int8_input(ir::Graph& graph, ir::Shape shape, double scale, std::int32_t zero_point) {
  return graph.add_input("x", ir::quantized_type(std::move(shape), ir::per_tensor_i8(scale, zero_point)));
}

ir::Value* float_input(ir::Graph& graph, ir::Shape shape) {
  return graph.add_input("x", ir::float_type(std::move(shape)));
}

ir::Value* int8_weights(ir::Graph& graph, ir::Shape shape, std::int32_t axis, std::mt19937& random,
                        std::vector<double> scales) {
  ir::QuantParams quant{DType::i8, -127, 127, axis, std::move(scales), {}};
  const auto channels = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
  if (quant.scales.empty()) {
    std::uniform_real_distribution<double> exponent(-8, -4);
    for (std::size_t i = 0; i < channels; ++i) quant.scales.push_back(std::exp2(exponent(random)));
  }
  quant.zero_points.assign(channels, 0);
  ir::TensorType type = ir::quantized_type(std::move(shape), std::move(quant));
  std::vector<std::int8_t> data(static_cast<std::size_t>(type.elements()));
  std::uniform_int_distribution<int> any(-127, 127);
  for (auto& element : data) element = static_cast<std::int8_t>(any(random));
  return graph.add_constant("w", std::move(type), ir::Bytes::of(std::span<const std::int8_t>(data)));
}

ir::Value* int32_bias(ir::Graph& graph, const ir::Value* input, const ir::Value* weights, std::mt19937& random,
                      std::int32_t magnitude) {
  ir::QuantParams quant = *weights->type.quant;
  quant.dtype = DType::i32;
  quant.qmin = std::numeric_limits<std::int32_t>::min();
  quant.qmax = std::numeric_limits<std::int32_t>::max();
  quant.axis = 0;
  for (double& scale : quant.scales) scale *= input->type.quant->scale();
  const auto channels = static_cast<std::int64_t>(quant.scales.size());
  std::vector<std::int32_t> data(static_cast<std::size_t>(channels));
  std::uniform_int_distribution<std::int32_t> any(-magnitude, magnitude);
  for (auto& element : data) element = any(random);
  return graph.add_constant("b", ir::quantized_type({channels}, std::move(quant)),
                            ir::Bytes::of(std::span<const std::int32_t>(data)));
}

ir::Value* add_quantized(ir::Graph& graph, std::string op, std::vector<ir::NamedArgument> args, ir::Shape shape,
                         double scale, std::int32_t zero_point) {
  std::string name = op.substr(op.find('.') + 1);
  return graph
      .add_node(std::move(name), std::move(op), std::move(args),
                {ir::quantized_type(std::move(shape), ir::per_tensor_i8(scale, zero_point))})
      ->result();
}

std::vector<ir::Value*> import_call(ir::Graph& graph, std::string_view target,
                                    const std::vector<ir::NamedArgument>& given, const ir::Shape& shape,
                                    std::size_t results) {
  for (const ops::Operator& op : ops::all_operators()) {
    for (const ops::AtenForm& form : op.forms) {
      const ops::Schema schema = ops::parse_schema(form.schema);
      if (schema.target() != target) continue;
      ir::Node call;
      call.name = "call";
      call.op = schema.target();
      for (const ops::SchemaArgument& argument : schema.arguments) {
        const auto known = std::ranges::find(given, argument.name, &ir::NamedArgument::name);
        call.args.push_back(
            {argument.name, known != given.end() ? known->value : argument.fallback.value_or(ir::None{})});
      }
      ops::Importer importer{&graph, &call, std::vector<ir::TensorType>(results, ir::float_type(shape))};
      return form.import(importer);
    }
  }
  ADD_FAILURE() << "no operator imports " << target;
  return {};
}

Import import_call(std::string_view target, const ir::Shape& input, const ir::Shape& output,
                   const std::vector<ir::NamedArgument>& given) {
  Import import;
  std::vector<ir::NamedArgument> args = given;
  args.push_back({"self", import.graph.add_input("x", ir::float_type(input))});
  import.results = import_call(import.graph, target, args, output, 2);
  for (const ir::Node& node : import.graph.nodes()) import.operators.push_back(node.op);
  return import;
}

std::vector<std::byte> program_of(const ir::Graph& graph, memory::Reuse reuse) {
  return emit::emit(graph, {}, memory::map_memory(graph, {}, ops::Runtime::cormorant, reuse)).program;
}

bool loads(const ir::Graph& graph) {
  const std::vector<std::byte> program = program_of(graph, memory::Reuse::none);  // nothing is left out
  try {
    HostProgram(program, ops::host_kernels());
    return true;
  } catch (const InputError&) {
    return false;
  }
}

bool loads(const std::string& op, const ir::TensorType& in, std::vector<ir::NamedArgument> args,
           const ir::TensorType& out) {
  ir::Graph graph;
  args.insert(args.begin(), {"self", graph.add_input("x", in)});
  graph.add_output(graph.add_node("node", op, std::move(args), {out})->result());
  return loads(graph);
}

}  // namespace cormorant::conformance
