// SPDX-License-Identifier: Apache-2.0
//
// A small program for the runtime's tests, as the objects that flatc makes of the schema: unlike the compiler's writer
// they allow every kind of error. It has two instructions, the first with one argument of every type:
//
//   input(4) at 0 -> toy::every.out -> out(2) at 16, with scratch(8) at 32; -> toy::sum.out -> result(3) at 48
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "formats/pte/program_generated.h"

namespace cormorant::test {

namespace schema = pte::schema;

// The arguments of the first instruction.
enum Argument : std::size_t { input, optional, constant, integer, floating, boolean, list, dtype, scratch, out };

inline constexpr std::string_view kWeights = "weights of 16 by";

inline schema::TensorT planned(std::vector<std::int32_t> sizes, std::uint32_t offset, DType type = DType::i8) {
  schema::TensorT tensor;
  tensor.scalar_type = static_cast<schema::ScalarType>(type);
  for (std::size_t i = 0; i < sizes.size(); ++i) tensor.dim_order.push_back(static_cast<std::uint8_t>(i));
  tensor.sizes = std::move(sizes);
  tensor.allocation_info = std::make_unique<schema::AllocationDetailsT>();
  tensor.allocation_info->memory_id = 1;
  tensor.allocation_info->memory_offset_low = offset;
  return tensor;
}

inline schema::IntT integer_of(std::int64_t value) {
  schema::IntT result;
  result.int_val = value;
  return result;
}

class TestProgram {
 public:
  schema::ProgramT program;
  std::string segment = std::string(kWeights);  // what follows the flatbuffer

  TestProgram() {
    program.execution_plan.push_back(std::make_unique<schema::ExecutionPlanT>());
    plan().name = "forward";
    plan().chains.push_back(std::make_unique<schema::ChainT>());
    plan().non_const_buffer_sizes = {0, 64};
    plan().operators.push_back(operator_of("toy::every", "out"));
    plan().operators.push_back(operator_of("toy::sum", "out"));

    const auto result = add(planned({3}, 48));
    schema::TensorT weights = planned({2, 8}, 0);
    weights.allocation_info = nullptr;
    weights.data_buffer_idx = 1;
    schema::DoubleT half;
    half.double_val = 0.5;
    schema::BoolT yes;
    yes.bool_val = true;
    schema::IntListT three;
    for (const std::int64_t item : {3, -1, 3}) three.items.push_back(add(integer_of(item)));
    std::vector<std::int32_t> every = {add(planned({1, 4}, 0)), add(schema::NullT()), add(std::move(weights)),
                                       add(integer_of(-70000)), add(std::move(half)), add(std::move(yes)),
                                       add(std::move(three)),   add(integer_of(3)),   add(planned({8}, 32)),
                                       add(planned({2}, 16))};
    plan().inputs = {every[input]};
    plan().outputs = {result, every[out]};
    call(1, {every[out], result, result});
    every.push_back(every[out]);  // as ExecuTorch's compiler appends it
    call(0, every);
    std::swap(plan().chains[0]->instructions[0], plan().chains[0]->instructions[1]);

    constants({0, 0}, kWeights.size());
  }

  schema::ExecutionPlanT& plan() { return *program.execution_plan[0]; }
  std::vector<std::int32_t>& args(std::size_t instruction) {
    return plan().chains[0]->instructions[instruction]->instr_args.AsKernelCall()->args;
  }
  // The value of an argument of the first instruction.
  schema::EValueT& value(Argument argument) { return *plan().values[static_cast<std::size_t>(args(0)[argument])]; }
  schema::TensorT& tensor(Argument argument) { return *value(argument).val.AsTensor(); }
  schema::AllocationDetailsT& place(Argument argument) { return *tensor(argument).allocation_info; }
  template <class T>
  void set(Argument argument, T content) {
    value(argument).val.Set(std::move(content));
  }

  template <class T>
  std::int32_t add(T content) {
    plan().values.push_back(std::make_unique<schema::EValueT>());
    plan().values.back()->val.Set(std::move(content));
    return static_cast<std::int32_t>(plan().values.size()) - 1;
  }
  void call(std::int32_t op, std::vector<std::int32_t> args) {
    schema::KernelCallT kernel;
    kernel.op_index = op;
    kernel.args = std::move(args);
    auto& instructions = plan().chains[0]->instructions;
    instructions.push_back(std::make_unique<schema::InstructionT>());
    instructions.back()->instr_args.Set(std::move(kernel));
  }
  static std::unique_ptr<schema::OperatorT> operator_of(std::string name, std::string overload) {
    auto op = std::make_unique<schema::OperatorT>();
    op->name = std::move(name);
    op->overload = std::move(overload);
    return op;
  }
  // One segment that begins with the constants; entry 0 of the offsets means no data.
  void constants(std::vector<std::uint64_t> offsets, std::size_t bytes) {
    program.constant_segment = std::make_unique<schema::SubsegmentOffsetsT>();
    program.constant_segment->offsets = std::move(offsets);
    program.segments.push_back(std::make_unique<schema::DataSegmentT>());
    program.segments[0]->size = bytes;
  }
  // A second segment with one initial value, 16 bytes past the constants.
  void initial_value(std::string_view bytes) {
    program.segments.push_back(std::make_unique<schema::DataSegmentT>());
    program.segments[1]->offset = segment.size();
    program.segments[1]->size = bytes.size();
    program.mutable_data_segments.push_back(std::make_unique<schema::SubsegmentOffsetsT>());
    program.mutable_data_segments[0]->segment_index = 1;
    program.mutable_data_segments[0]->offsets = {0, 0};
    segment += bytes;
  }

  // The flatbuffer with the extended header after its identifier, then the segments.
  [[nodiscard]] std::vector<std::byte> file() const {
    constexpr std::size_t kBegin = 8, kHeader = 32;
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(schema::Program::Pack(builder, &program), "ET12");
    const std::size_t program_size = builder.GetSize() + kHeader;
    const std::size_t segment_base = (program_size + 15) / 16 * 16;
    std::vector<std::byte> file(segment_base + segment.size());
    std::memcpy(file.data(), builder.GetBufferPointer(), kBegin);
    std::memcpy(file.data() + kBegin + kHeader, builder.GetBufferPointer() + kBegin, builder.GetSize() - kBegin);
    std::memcpy(file.data() + segment_base, segment.data(), segment.size());
    const auto put = [&file](std::size_t at, auto number) { std::memcpy(file.data() + at, &number, sizeof(number)); };
    std::uint32_t root = 0;
    std::memcpy(&root, file.data(), sizeof(root));
    put(0, static_cast<std::uint32_t>(root + kHeader));
    std::memcpy(file.data() + kBegin, "eh00", 4);
    put(12, static_cast<std::uint32_t>(kHeader));
    put(16, static_cast<std::uint64_t>(program_size));
    put(24, static_cast<std::uint64_t>(segment_base));
    put(32, static_cast<std::uint64_t>(segment.size()));
    return file;
  }
};

}  // namespace cormorant::test
