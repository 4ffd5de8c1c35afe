// SPDX-License-Identifier: Apache-2.0
//
// What is written can be read back unchanged by our reader, and passes flatbuffers' own verifier. And it is small:
// ExecuTorch's own programs, written again, shrink to less than half.
#include "formats/pte/writer.h"

#include <flatbuffers/flatbuffers.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <stdexcept>

#include "base/diagnostic.h"
#include "formats/pte/bundle.h"
#include "formats/pte/bundled_program_generated.h"
#include "formats/pte/plan_io.h"
#include "formats/pte/program_generated.h"
#include "formats/pte/proportion.h"
#include "formats/pte/read_all.h"
#include "formats/pte/reader.h"

namespace cormorant::pte {
namespace {

std::vector<std::byte> some_bytes(std::size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

AlignedCopy fixture(const std::string& name) {
  std::ifstream file(std::string(CORMORANT_SOURCE_DIR) + "/tests/executorch/" + name + ".pte", std::ios::binary);
  const std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return AlignedCopy(std::as_bytes(std::span(bytes)));
}

// y = op(x, weight, [1, -2], 0.5, true, "same", none); s is state; one of each kind of list.
struct Sample {
  std::vector<std::byte> weight = some_bytes(24), state = some_bytes(6, 2);
  Program program;
  std::int32_t x = 0, w = 0, y = 0, s = 0, ints = 0, half = 0, yes = 0, text = 0, none = 0, zero = 0, doubles = 0,
               bools = 0, tensors = 0, optionals = 0;

  Sample() {
    program.constants = {weight};
    program.initial_values = {state};
    Plan plan;
    plan.name = "forward";
    plan.memory_sizes = {0, 64, 1 << 20};
    x = plan.add(Tensor{.dtype = DType::i8, .sizes = {1, 2, 3, 4}, .dim_order = {0, 2, 3, 1}, .place = Place{1, 0}});
    w = plan.add(
        Tensor{.dtype = DType::i8, .sizes = {2, 3, 4}, .dim_order = {0, 1, 2}, .data = 0, .name = "conv.weight"});
    y = plan.add(Tensor{.dtype = DType::f32, .sizes = {1, 2}, .dim_order = {0, 1}, .place = Place{2, 0xffff0}});
    s = plan.add(Tensor{.dtype = DType::i16, .sizes = {3}, .dim_order = {0}, .place = Place{1, 32}, .data = 0});
    ints = plan.intern_ints(std::vector<std::int64_t>{1, -2});
    half = plan.intern(0.5);
    yes = plan.intern(true);
    text = plan.intern(std::string("same"));
    none = plan.intern(None{});
    zero = plan.intern(std::int64_t{0});
    doubles = plan.intern(DoubleList{{1.5, -0.0}});
    bools = plan.intern(BoolList{{true, false, true}});
    tensors = plan.intern(TensorList{{x, y}});
    optionals = plan.intern(OptionalTensorList{{x, none}});
    plan.inputs = {x};
    plan.outputs = {y};
    plan.calls.push_back({plan.intern_operator("cormorant::op", "mve"),
                          {x, w, ints, half, yes, text, none, zero, doubles, bools, tensors, optionals, s, y, y}});
    plan.calls.push_back({plan.intern_operator("aten::add", "out"), {y, y, y}});
    plan.calls.push_back({plan.intern_operator("cormorant::op", "mve"), {}});
    program.plans.push_back(plan);
    program.plans.push_back({.name = "reset"});
  }
};

void expect_verified(const std::vector<std::byte>& file) {
  std::uint64_t size = 0;
  std::memcpy(&size, file.data() + 16, 8);
  const AlignedCopy copy(std::span<const std::byte>(file).first(size));
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(copy.bytes().data()), size);
  EXPECT_TRUE(schema::VerifyProgramBuffer(verifier));
}

TEST(PteWriter, EveryKindOfValueComesBack) {
  const Sample sample;
  const auto file = write(sample.program);
  expect_verified(file);
  const AlignedCopy copy(file);
  const auto opened = ProgramView::open(copy.bytes());
  ASSERT_TRUE(opened.ok()) << describe(opened.error());
  const ProgramView& program = opened.value();
  ASSERT_EQ(program.method_count(), 2U);
  EXPECT_EQ(program.method("reset").value().instruction_count(), 0U);
  const MethodView method = program.method("forward").value();

  const auto x = method.tensor(sample.x).value();
  EXPECT_EQ(x.dtype, DType::i8);
  EXPECT_TRUE(std::ranges::equal(x.sizes, std::vector{1, 2, 3, 4}));
  EXPECT_TRUE(std::ranges::equal(x.dim_order, std::vector{0, 2, 3, 1}));
  EXPECT_EQ(x.bytes, 24U);
  EXPECT_TRUE(x.is_planned());
  EXPECT_EQ(x.offset, 0U);
  const auto y = method.tensor(sample.y).value();
  EXPECT_EQ(y.memory_id, 2U);
  EXPECT_EQ(y.offset, 0xffff0U);
  const auto w = method.tensor(sample.w).value();
  EXPECT_TRUE(w.is_constant());
  EXPECT_TRUE(std::ranges::equal(program.constant(w.data_index, w.bytes).value(), sample.weight));
  EXPECT_EQ(method.tensor_name(sample.w).value(), "conv.weight");
  EXPECT_EQ(method.tensor_name(sample.x).value(), "");
  const auto s = method.tensor(sample.s).value();
  EXPECT_TRUE(std::ranges::equal(program.initial_value(s.data_index, s.bytes).value(), sample.state));

  std::int32_t ints[2] = {};
  EXPECT_EQ(method.integers(sample.ints, ints).value(), 2U);
  EXPECT_EQ(ints[0], 1);
  EXPECT_EQ(ints[1], -2);
  EXPECT_EQ(method.integers(sample.ints, std::span(ints, 1)).value(), 2U);  // the length, though only one fits
  EXPECT_EQ(method.integer(sample.zero).value(), 0);
  EXPECT_EQ(method.floating(sample.half).value(), 0.5);
  EXPECT_TRUE(method.boolean(sample.yes).value());
  EXPECT_EQ(method.string(sample.text).value(), "same");
  EXPECT_EQ(method.kind(sample.none).value(), ValueKind::none);
  const auto doubles = method.double_list(sample.doubles).value();
  ASSERT_EQ(doubles.size(), 2U);
  EXPECT_EQ(doubles[0], 1.5);
  EXPECT_TRUE(std::signbit(doubles[1]));
  EXPECT_TRUE(std::ranges::equal(method.bool_list(sample.bools).value(), std::vector{1, 0, 1}));
  EXPECT_TRUE(std::ranges::equal(method.tensor_list(sample.tensors).value(), std::vector{sample.x, sample.y}));
  EXPECT_TRUE(
      std::ranges::equal(method.optional_tensor_list(sample.optionals).value(), std::vector{sample.x, sample.none}));

  ASSERT_EQ(method.instruction_count(), 3U);
  ASSERT_EQ(method.operator_count(), 2U);
  EXPECT_EQ(method.instruction(1).value().op, 1U);
  EXPECT_EQ(method.instruction(2).value().op, 0U);
  EXPECT_EQ(method.operator_at(0).value().name, "cormorant::op");
  EXPECT_EQ(method.operator_at(0).value().overload, "mve");
  EXPECT_TRUE(std::ranges::equal(method.instruction(1).value().args, std::vector{sample.y, sample.y, sample.y}));
  EXPECT_TRUE(std::ranges::equal(method.memory_sizes(), sample.program.plans[0].memory_sizes));
}

TEST(PteWriter, ExtremeNumbersComeBack) {
  const std::int64_t integers[] = {0, 1, -1, INT32_MIN, INT32_MAX, INT64_MIN, INT64_MAX, 1LL << 40};
  const double doubles[] = {0.0, -0.0, 1e300, -INFINITY, std::numeric_limits<double>::denorm_min()};
  Plan plan;
  for (const std::int64_t integer : integers) plan.intern(integer);
  for (const double number : doubles) plan.intern(number);
  ASSERT_EQ(plan.values.size(), std::size(integers) + std::size(doubles));
  const std::int32_t list = plan.intern_ints(integers);
  const AlignedCopy copy(write({.plans = {plan}}));
  const MethodView method = ProgramView::open(copy.bytes()).value().method(0).value();
  std::int32_t i = 0;
  for (const std::int64_t integer : integers) EXPECT_EQ(method.integer(i++).value(), integer);
  for (const double number : doubles) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(method.floating(i++).value()), std::bit_cast<std::uint64_t>(number));
  }
  std::int32_t out[8] = {};
  EXPECT_EQ(method.integers(list, std::span(out, 5)).value(), 8U);
  EXPECT_EQ(method.integers(list, out).error(), Error::bad_value);  // the sixth does not fit
}

TEST(PteWriter, TensorsWithoutDimensionsComeBack) {
  Plan plan;
  plan.add(Tensor{.dtype = DType::f64, .sizes = {}, .dim_order = {}});
  const AlignedCopy copy(write({.plans = {plan}}));
  const auto tensor = ProgramView::open(copy.bytes()).value().method(0).value().tensor(0);
  ASSERT_TRUE(tensor.ok());
  EXPECT_EQ(tensor.value().bytes, 8U);
  EXPECT_FALSE(tensor.value().is_planned());
  EXPECT_FALSE(tensor.value().is_constant());
}

TEST(PteWriter, EqualProgramsGiveEqualBytes) { EXPECT_EQ(write(Sample().program), write(Sample().program)); }

TEST(PteWriter, ConstantsAreAlignedAndStoredOnce) {
  const auto a = some_bytes(5, 1), b = some_bytes(100, 2), same_as_a = a;
  Program program{.plans = {}, .constants = {a, b, same_as_a, a}};
  Plan plan;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto size = static_cast<std::int32_t>(program.constants[i].size());
    plan.add(Tensor{.dtype = DType::u8, .sizes = {size}, .dim_order = {0}, .data = i});
  }
  program.plans.push_back(plan);
  const auto file = write(program);
  expect_verified(file);
  const AlignedCopy copy(file);
  const ProgramView view = ProgramView::open(copy.bytes()).value();
  EXPECT_EQ(view.constant_count(), 3U);  // none, a, b
  EXPECT_EQ(view.constant_bytes(), 116U);
  const MethodView method = view.method(0).value();
  for (std::int32_t i = 0; i < 4; ++i) {
    const auto tensor = method.tensor(i).value();
    const auto data = view.constant(tensor.data_index, tensor.bytes).value();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data.data()) % 16, 0U);
    EXPECT_TRUE(std::ranges::equal(data, program.constants[static_cast<std::size_t>(i)]));
  }
}

TEST(PteWriter, RefusesContradictions) {
  struct Case {
    const char* what;
    std::function<void(Program&, Plan&)> harm;
  };
  const Case cases[] = {
      {"input", [](Program&, Plan& plan) { plan.inputs = {99}; }},
      {"output", [](Program&, Plan& plan) { plan.outputs = {-1}; }},
      {"argument", [](Program&, Plan& plan) { plan.calls[0].args.push_back(99); }},
      {"operator", [](Program&, Plan& plan) { plan.calls[0].op = 9; }},
      {"size of data", [](Program&, Plan& plan) { std::get<Tensor>(plan.values[1]).sizes = {25}; }},
      {"constant", [](Program& program, Plan&) { program.constants.clear(); }},
      {"dim_order", [](Program&, Plan& plan) { std::get<Tensor>(plan.values[0]).dim_order = {0, 2, 2, 1}; }},
      {"rank", [](Program&, Plan& plan) { std::get<Tensor>(plan.values[0]).dim_order = {0, 1, 2}; }},
      {"memory id", [](Program&, Plan& plan) { std::get<Tensor>(plan.values[0]).place = Place{3, 0}; }},
      {"memory", [](Program&, Plan& plan) { std::get<Tensor>(plan.values[0]).place = Place{1, 41}; }},
      {"list", [](Program&, Plan& plan) { plan.values.emplace_back(IntList{{0}}); }},  // of a tensor
  };
  for (const Case& c : cases) {
    Sample sample;
    c.harm(sample.program, sample.program.plans[0]);
    EXPECT_THROW(write(sample.program), std::logic_error) << c.what;
  }
}

// ---- the reader's refusals, with files that only flatbuffers' own builder makes -----------------------------------

struct Odd {
  flatbuffers::FlatBufferBuilder builder;
  schema::TensorT tensor;
  std::vector<std::unique_ptr<schema::ChainT>> chains;
  schema::InstructionArgumentsUnion call;
  schema::ProgramT program;

  Odd() {
    tensor.sizes = {2, 3};
    tensor.dim_order = {0, 1};
    schema::KernelCallT kernel_call;
    kernel_call.args = {0};
    call.Set(std::move(kernel_call));
  }
  AlignedCopy file() {
    auto plan = std::make_unique<schema::ExecutionPlanT>();
    plan->name = "forward";
    plan->values.push_back(std::make_unique<schema::EValueT>());
    plan->values[0]->val.Set(std::move(tensor));
    plan->operators.push_back(std::make_unique<schema::OperatorT>());
    plan->non_const_buffer_sizes = {0, 64};
    chains.insert(chains.begin(), std::make_unique<schema::ChainT>());
    chains[0]->instructions.push_back(std::make_unique<schema::InstructionT>());
    chains[0]->instructions[0]->instr_args = std::move(call);
    plan->chains = std::move(chains);
    program.execution_plan.push_back(std::move(plan));
    schema::FinishProgramBuffer(builder, schema::Program::Pack(builder, &program));
    return AlignedCopy(std::as_bytes(std::span(builder.GetBufferPointer(), std::size_t{builder.GetSize()})));
  }
  Error open() { return ProgramView::open(file().bytes()).error(); }
  Error method() {
    const AlignedCopy copy = file();
    return ProgramView::open(copy.bytes()).value().method(0).error();
  }
  Error instruction() {
    const AlignedCopy copy = file();
    return ProgramView::open(copy.bytes()).value().method(0).value().instruction(0).error();
  }
  Error read_tensor() {
    const AlignedCopy copy = file();
    return ProgramView::open(copy.bytes()).value().method(0).value().tensor(0).error();
  }
};

TEST(PteReader, ReadsFilesWithoutExtendedHeader) {
  EXPECT_EQ(Odd().open(), Error::ok);
  EXPECT_EQ(Odd().method(), Error::ok);
  EXPECT_EQ(Odd().instruction(), Error::ok);
  EXPECT_EQ(Odd().read_tensor(), Error::ok);
}

TEST(PteReader, SaysWhatItCannotRun) {
  Odd delegate;
  delegate.call.Set(schema::DelegateCallT());
  EXPECT_EQ(delegate.instruction(), Error::has_delegate);
  Odd jump;
  jump.call.Set(schema::JumpFalseCallT());
  EXPECT_EQ(jump.instruction(), Error::unsupported);
  Odd chains;
  chains.chains.push_back(std::make_unique<schema::ChainT>());
  EXPECT_EQ(chains.method(), Error::unsupported);
  Odd inline_constants;
  inline_constants.program.constant_buffer.push_back(std::make_unique<schema::BufferT>());
  inline_constants.program.constant_buffer.push_back(std::make_unique<schema::BufferT>());
  EXPECT_EQ(inline_constants.open(), Error::bad_constant);
  Odd no_segment;
  no_segment.program.constant_segment = std::make_unique<schema::SubsegmentOffsetsT>();
  no_segment.program.constant_segment->offsets = {0, 0};
  EXPECT_EQ(no_segment.open(), Error::bad_constant);
  Odd placeholder;
  placeholder.program.constant_segment = std::make_unique<schema::SubsegmentOffsetsT>();
  placeholder.program.constant_segment->offsets = {0};
  EXPECT_EQ(placeholder.open(), Error::ok);
}

TEST(PteReader, RefusesTensorsThatMakeNoSense) {
  struct Case {
    const char* what;
    Error error;
    std::function<void(schema::TensorT&)> harm;
  };
  const auto placed = [](std::uint32_t id, std::uint32_t low, std::uint32_t high) {
    return [=](schema::TensorT& t) {
      t.allocation_info = std::make_unique<schema::AllocationDetailsT>();
      t.allocation_info->memory_id = id;
      t.allocation_info->memory_offset_low = low;
      t.allocation_info->memory_offset_high = high;
    };
  };
  const Case cases[] = {
      {"negative size", Error::bad_shape, [](auto& t) { t.sizes = {2, -3}; }},
      {"negative size hidden by a zero", Error::bad_shape, [](auto& t) { t.sizes = {0, -3}; }},
      {"too many bytes", Error::bad_shape, [](auto& t) { t.sizes = {1 << 16, 1 << 15}; }},
      {"more bytes than 64 bits hold", Error::bad_shape,
       [](auto& t) { t.sizes = {1 << 30, 1 << 30, 1 << 30}, t.dim_order = {0, 1, 2}; }},
      {"almost too many bytes", Error::ok, [](auto& t) { t.sizes = {0x7fffffff, 1}; }},
      {"no element", Error::ok, [](auto& t) { t.sizes = {0, 3}; }},
      {"no sizes", Error::bad_structure, [](auto& t) { t.sizes = {}, t.dim_order = {}; }},  // which flatc leaves out
      {"dimension twice", Error::bad_shape, [](auto& t) { t.dim_order = {1, 1}; }},
      {"unknown dimension", Error::bad_shape, [](auto& t) { t.dim_order = {0, 2}; }},
      {"unknown dimension beyond the bits of a word", Error::bad_shape, [](auto& t) { t.dim_order = {0, 64}; }},
      {"dim_order too short", Error::bad_shape, [](auto& t) { t.dim_order = {0}; }},
      {"too many dimensions", Error::bad_shape,
       [](auto& t) {
         t.sizes.assign(17, 1), t.dim_order = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
       }},
      {"unknown type", Error::unsupported, [](auto& t) { t.scalar_type = schema::ScalarType::QUINT4X2; }},
      {"dynamic", Error::unsupported, [](auto& t) { t.shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_BOUND; }},
      {"storage offset", Error::unsupported, [](auto& t) { t.storage_offset = 1; }},
      {"another file", Error::bad_constant,
       [](auto& t) {
         t.extra_tensor_info = std::make_unique<schema::ExtraTensorInfoT>();
         t.extra_tensor_info->location = schema::TensorDataLocation::EXTERNAL;
       }},
      {"placed at the end", Error::ok, placed(1, 58, 0)},
      {"placed beyond the end", Error::bad_structure, placed(1, 59, 0)},
      {"placed beyond 4 GiB", Error::bad_structure, placed(1, 0, 1)},
      {"placed nowhere", Error::bad_structure, placed(0, 0, 0)},
      {"placed in a memory that is not there", Error::bad_structure, placed(2, 0, 0)},
  };
  for (const Case& c : cases) {
    Odd odd;
    c.harm(odd.tensor);
    EXPECT_EQ(odd.read_tensor(), c.error) << c.what;
  }
}

// ---- size -------------------------------------------------------------------------------------------------------

// Reads a program into the writer's structs; only what instructions, inputs and outputs use.
class Rewrite {
 public:
  explicit Rewrite(std::span<const std::byte> file)
      : view_(ProgramView::open(file).value()), method_(view_.method(0).value()) {
    const auto inputs = method_.inputs().value(), outputs = method_.outputs().value();
    for (const std::int32_t i : inputs) plan_.inputs.push_back(value(i));
    for (std::uint32_t i = 0; i < method_.instruction_count(); ++i) {
      const auto call = method_.instruction(i).value();
      const auto op = method_.operator_at(call.op).value();
      KernelCall written{plan_.intern_operator(std::string(op.name), std::string(op.overload)), {}};
      for (const std::int32_t arg : call.args) written.args.push_back(value(arg));
      plan_.calls.push_back(written);
    }
    for (const std::int32_t i : outputs) plan_.outputs.push_back(value(i));
    plan_.memory_sizes.assign(method_.memory_sizes().begin(), method_.memory_sizes().end());
    program_.plans.push_back(plan_);
  }
  [[nodiscard]] const Program& program() const { return program_; }

 private:
  std::int32_t value(std::int32_t i) {
    const auto known = indices_.find(i);
    return known != indices_.end() ? known->second : indices_[i] = new_value(i);
  }
  std::int32_t new_value(std::int32_t i) {
    switch (method_.kind(i).value()) {
      case ValueKind::none:
        return plan_.intern(None{});
      case ValueKind::integer:
        return plan_.intern(method_.integer(i).value());
      case ValueKind::boolean:
        return plan_.intern(method_.boolean(i).value());
      case ValueKind::floating:
        return plan_.intern(method_.floating(i).value());
      case ValueKind::int_list: {
        std::vector<std::int64_t> ints;
        const auto items = method_.int_list(i).value();
        for (const std::int64_t item : items) {
          ints.push_back(method_.integer(static_cast<std::int32_t>(item)).value());
        }
        return plan_.intern_ints(ints);
      }
      case ValueKind::tensor:
        return tensor(method_.tensor(i).value());
      default:
        throw std::logic_error("no fixture has such a value");
    }
  }
  std::int32_t tensor(const TensorView& view) {
    Tensor tensor{.dtype = view.dtype,
                  .sizes = {view.sizes.begin(), view.sizes.end()},
                  .dim_order = {view.dim_order.begin(), view.dim_order.end()}};
    if (view.is_planned()) tensor.place = Place{view.memory_id, view.offset};
    if (view.is_constant()) {
      tensor.data = static_cast<std::uint32_t>(program_.constants.size());
      program_.constants.push_back(view_.constant(view.data_index, view.bytes).value());
    }
    return plan_.add(tensor);
  }

  ProgramView view_;
  MethodView method_;
  Plan plan_;
  Program program_;
  std::map<std::int32_t, std::int32_t> indices_;
};

TEST(PteWriter, ExecutorchFilesShrinkToHalfAndLess) {
  const std::pair<const char*, std::uint32_t> limits[] = {
      {"ds_cnn", 4800}, {"deep_autoencoder", 3900}, {"mobilenet_v1_025", 10200}, {"resnet8", 5900}};
  for (const auto& [name, limit] : limits) {  // of 14184, 7736, 35000 and 14672 bytes
    const AlignedCopy theirs = fixture(name);
    const auto file = write(Rewrite(theirs.bytes()).program());
    expect_verified(file);
    const AlignedCopy ours(file);
    const auto before = ProgramView::open(theirs.bytes()).value(), after = ProgramView::open(ours.bytes()).value();
    EXPECT_LE(after.flatbuffer_bytes(), limit) << name;
    EXPECT_LE(after.constant_bytes(), before.constant_bytes()) << name;
    const Summary summary = ReadAll::of(ours.bytes());
    EXPECT_EQ(summary.first_error, Error::no_such_method) << name;
    EXPECT_EQ(summary.args, ReadAll::of(theirs.bytes()).args) << name;
    // A second time round nothing is left to gain or lose.
    EXPECT_EQ(write(Rewrite(ours.bytes()).program()), file) << name;
  }
}

// A list that many tables refer to is in the file once.
TEST(PteProportion, FilesThatDescribeManyTimesTheirSizeAreRefused) {
  flatbuffers::FlatBufferBuilder builder;
  const auto program_of = [&](std::size_t values, std::size_t items) {
    builder.Clear();
    const auto list = builder.CreateVector(std::vector<std::int32_t>(items, 1));
    const auto order = builder.CreateVector(std::vector<std::uint8_t>(items, 0));
    schema::TensorBuilder tensor(builder);
    tensor.add_sizes(list);
    tensor.add_dim_order(order);
    const auto shared = schema::CreateEValue(builder, schema::KernelTypes::Tensor, tensor.Finish().Union());
    const auto all = builder.CreateVector(std::vector(values, shared));
    const auto io = builder.CreateVector(std::vector<std::int32_t>{0});
    const auto name = builder.CreateString("forward");
    schema::ExecutionPlanBuilder plan(builder);
    plan.add_name(name);
    plan.add_values(all);
    plan.add_inputs(io);  // without a place: planning would unpack the program
    const auto plans = builder.CreateVector(std::vector{plan.Finish()});
    schema::ProgramBuilder program(builder);
    program.add_execution_plan(plans);
    schema::FinishProgramBuffer(builder, program.Finish());
    const auto bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  EXPECT_TRUE(is_proportionate(program_of(1000, 4)));
  EXPECT_TRUE(is_proportionate(some_bytes(100)));
  const std::vector<std::byte> file = program_of(2000, 2000);
  EXPECT_LT(file.size(), 30000U);
  EXPECT_FALSE(is_proportionate(file));
  EXPECT_THROW(require_proportionate(file, "m.pte"), InputError);
  EXPECT_EQ(with_planned_io(file), file);
}

TEST(PteBundle, CasesThatAreManyTimesTheirFileAreRefused) {
  flatbuffers::FlatBufferBuilder builder;
  const auto data = builder.CreateVector(std::vector<std::uint8_t>(1 << 16));
  const auto sizes = builder.CreateVector(std::vector<std::int32_t>{1 << 16});
  const auto order = builder.CreateVector(std::vector<std::uint8_t>{0});
  const auto tensor = bundle_schema::CreateTensor(builder, 1, sizes, data, order);
  const auto value = bundle_schema::CreateValue(builder, bundle_schema::ValueUnion::Tensor, tensor.Union());
  const auto values = builder.CreateVector(std::vector(1000, value));
  const auto test = bundle_schema::CreateBundledMethodTestCase(builder, values, values);
  const auto cases = builder.CreateVector(std::vector{test});
  const auto name = builder.CreateString("forward");
  const auto suites =
      builder.CreateVector(std::vector{bundle_schema::CreateBundledMethodTestSuite(builder, name, cases)});
  const auto program = builder.CreateVector(std::vector<std::uint8_t>(64));
  bundle_schema::FinishBundledProgramBuffer(builder, bundle_schema::CreateBundledProgram(builder, 0, suites, program));
  EXPECT_THROW(read_bundle(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()))), InputError);
}

TEST(PteBundle, UnknownElementTypesAreRefused) {
  Bundle bundle;
  bundle.program = write(Sample().program);
  // Without elements nothing but the type itself is wrong.
  bundle.cases.push_back({{{static_cast<DType>(99), {1 << 30, 1 << 30}, {0, 1}, {}}}, {}});
  EXPECT_THROW(read_bundle(write_bundle(bundle)), InputError);
}

TEST(PteBundle, ProgramAndCasesComeBack) {
  Bundle bundle;
  bundle.program = write(Sample().program);
  bundle.cases.push_back({{{DType::i8, {1, 3}, {0, 1}, some_bytes(3)}}, {{DType::f32, {2}, {0}, some_bytes(8)}}});
  bundle.cases.push_back({{{DType::i8, {1, 3}, {0, 1}, some_bytes(3, 9)}}, {}});
  const auto file = write_bundle(bundle);
  EXPECT_TRUE(is_bundle(file));
  EXPECT_FALSE(is_bundle(bundle.program));
  const Bundle read = read_bundle(file);
  EXPECT_EQ(read.program, bundle.program);
  EXPECT_EQ(read.method, "forward");
  EXPECT_EQ(read.cases, bundle.cases);
  for (std::size_t size = 0; size + 32 < file.size(); ++size) {  // up to 31 bytes of padding are at the end
    EXPECT_ANY_THROW(read_bundle(std::span(file).first(size))) << size;
  }
}

TEST(PteBundle, EveryMethodHasItsCases) {
  const TestCase one{{{DType::i8, {3}, {0}, some_bytes(3)}}, {}}, other{{{DType::i8, {2}, {0}, some_bytes(2)}}, {}};
  const std::vector<Bundle> methods = {{write(Sample().program), "encode", {one}}, {{}, "decode", {other, one}}};
  const auto file = write_bundle(methods);
  EXPECT_EQ(read_bundle(file).method, "encode");  // the first
  const Bundle decode = read_bundle(file, "decode");
  EXPECT_EQ(decode.program, methods.front().program);
  EXPECT_EQ(decode.method, "decode");
  EXPECT_EQ(decode.cases, methods.back().cases);
  EXPECT_TRUE(read_bundle(file, "follow").cases.empty());
}

}  // namespace
}  // namespace cormorant::pte
