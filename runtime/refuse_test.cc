// SPDX-License-Identifier: Apache-2.0
//
// Every way in which a program can be wrong, one row each: what load answers and where it says the fault is.
#include <gtest/gtest.h>

#include <functional>
#include <ostream>
#include <string>

#include "runtime/test_load.h"

namespace cormorant::test {
namespace {

constexpr std::uint16_t kNone = Failure::kNone;

struct Bad {
  const char* name;
  std::function<void(TestProgram&)> damage;
  Error error;
  std::uint16_t instruction = 0;
  std::uint16_t argument = kNone;
};

void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }

std::string name_of_case(const testing::TestParamInfo<Bad>& info) { return info.param.name; }

class Refusals : public testing::TestWithParam<Bad> {};

TEST_P(Refusals, refuses) {
  TestProgram program;
  GetParam().damage(program);
  const Loaded loaded = load(program.file());
  EXPECT_EQ(loaded.program.error(), GetParam().error);
  EXPECT_EQ(loaded.why.error, GetParam().error);
  EXPECT_EQ(loaded.why.instruction, GetParam().instruction);
  EXPECT_EQ(loaded.why.argument, GetParam().argument);
}

schema::DoubleT a_float() { return {}; }
schema::BoolT a_bool() { return {}; }
schema::StringT a_string() { return {}; }
schema::TensorT copy_of_constant(TestProgram& p) { return p.tensor(constant); }

const Bad kKinds[] = {
    {"int_for_tensor", [](auto& p) { p.set(input, integer_of(1)); }, Error::bad_value, 0, input},
    {"none_for_tensor", [](auto& p) { p.set(input, schema::NullT()); }, Error::bad_value, 0, input},
    {"float_for_optional", [](auto& p) { p.set(optional, a_float()); }, Error::bad_value, 0, optional},
    {"float_for_int", [](auto& p) { p.set(integer, a_float()); }, Error::bad_value, 0, integer},
    {"int_for_float", [](auto& p) { p.set(floating, integer_of(1)); }, Error::bad_value, 0, floating},
    {"int_for_bool", [](auto& p) { p.set(boolean, integer_of(1)); }, Error::bad_value, 0, boolean},
    {"int_for_list", [](auto& p) { p.set(list, integer_of(1)); }, Error::bad_value, 0, list},
    {"bool_for_dtype", [](auto& p) { p.set(dtype, a_bool()); }, Error::bad_value, 0, dtype},
    {"bool_for_scratch", [](auto& p) { p.set(scratch, a_bool()); }, Error::bad_value, 0, scratch},
    {"string_for_out", [](auto& p) { p.set(out, a_string()); }, Error::bad_value, 0, out},
    {"nothing_for_int", [](auto& p) { p.value(integer).val.Reset(); }, Error::bad_structure, 0, integer},
    {"nothing_for_optional", [](auto& p) { p.value(optional).val.Reset(); }, Error::bad_structure, 0, optional},
    {"wide_int", [](auto& p) { p.set(integer, integer_of(std::int64_t{1} << 31)); }, Error::bad_value, 0, integer},
    {"wide_int_in_list", [](auto& p) { p.plan().values[1]->val.Set(integer_of(-(std::int64_t{1} << 40))); },
     Error::bad_value, 0, list},
    {"float_in_list", [](auto& p) { p.plan().values[1]->val.Set(a_float()); }, Error::bad_value, 0, list},
    {"negative_item", [](auto& p) { p.value(list).val.AsIntList()->items[1] = -1; }, Error::bad_structure, 0, list},
    {"item_of_64_bits", [](auto& p) { p.value(list).val.AsIntList()->items[1] += std::int64_t{1} << 32; },
     Error::bad_structure, 0, list},
    {"unknown_dtype", [](auto& p) { p.set(dtype, integer_of(99)); }, Error::unsupported, 0, dtype},
    {"dtype_beyond_a_byte", [](auto& p) { p.set(dtype, integer_of(256)); }, Error::unsupported, 0, dtype},
    {"negative_dtype", [](auto& p) { p.set(dtype, integer_of(-1)); }, Error::unsupported, 0, dtype},
};
INSTANTIATE_TEST_SUITE_P(Kinds, Refusals, testing::ValuesIn(kKinds), name_of_case);

const Bad kCalls[] = {
    {"negative_index", [](auto& p) { p.args(0)[integer] = -1; }, Error::bad_structure, 0, integer},
    {"index_out_of_range", [](auto& p) { p.args(0)[list] = 1000; }, Error::bad_structure, 0, list},
    {"too_few_arguments", [](auto& p) { p.args(0).resize(9); }, Error::bad_value, 0, out},
    {"no_arguments", [](auto& p) { p.args(0).clear(); }, Error::bad_value, 0, input},
    {"too_many_arguments", [](auto& p) { p.args(0).push_back(p.args(0)[integer]); }, Error::bad_value, 0, 10},
    {"twice_as_many_and_more", [](auto& p) { p.args(1).resize(100); }, Error::bad_value, 1, 2},
    {"other_result_than_out", [](auto& p) { p.args(0)[10] = p.args(0)[scratch]; }, Error::bad_value, 0, 10},
    {"operator_out_of_range",
     [](auto& p) { p.plan().chains[0]->instructions[1]->instr_args.AsKernelCall()->op_index = 2; },
     Error::bad_structure, 1},
    {"unknown_operator", [](auto& p) { p.plan().operators[1]->name = "toy::sun"; }, Error::unknown_operator, 1},
    {"longer_operator", [](auto& p) { p.plan().operators[1]->name = "toy::summit"; }, Error::unknown_operator, 1},
    {"shorter_operator", [](auto& p) { p.plan().operators[1]->name = "toy::su"; }, Error::unknown_operator, 1},
    {"nameless_operator", [](auto& p) { p.plan().operators[1]->name = ""; }, Error::unknown_operator, 1},
    {"other_overload", [](auto& p) { p.plan().operators[1]->overload = "in"; }, Error::unknown_operator, 1},
    {"longer_overload", [](auto& p) { p.plan().operators[1]->overload = "outer"; }, Error::unknown_operator, 1},
    {"no_overload", [](auto& p) { p.plan().operators[1]->overload = ""; }, Error::unknown_operator, 1},
    {"nul_behind_the_name",
     [](auto& p) { p.plan().operators[1] = p.operator_of("toy::sum.out" + std::string(40, '\0'), ""); },
     Error::unknown_operator, 1},
    {"nul_behind_the_overload", [](auto& p) { p.plan().operators[1]->overload = "out" + std::string(40, '\0'); },
     Error::unknown_operator, 1},
    {"delegate", [](auto& p) { p.plan().chains[0]->instructions[1]->instr_args.Set(schema::DelegateCallT()); },
     Error::has_delegate, 1},
    {"jump", [](auto& p) { p.plan().chains[0]->instructions[1]->instr_args.Set(schema::JumpFalseCallT()); },
     Error::unsupported, 1},
    {"constant_input", [](auto& p) { p.plan().inputs = {p.args(0)[constant]}; }, Error::bad_constant, kNone, 0},
    {"constant_output", [](auto& p) { p.plan().outputs[1] = p.args(0)[constant]; }, Error::bad_constant, kNone, 1},
    {"number_as_input", [](auto& p) { p.plan().inputs = {p.args(0)[integer]}; }, Error::bad_value, kNone, 0},
    {"output_out_of_range", [](auto& p) { p.plan().outputs = {1000}; }, Error::bad_structure, kNone, 0},
};
INSTANTIATE_TEST_SUITE_P(Calls, Refusals, testing::ValuesIn(kCalls), name_of_case);

const Bad kTensors[] = {
    {"rank_7", [](auto& p) { p.set(input, planned({1, 1, 1, 1, 1, 1, 4}, 0)); }, Error::unsupported, 0, input},
    {"negative_size", [](auto& p) { p.tensor(input).sizes = {1, -4}; }, Error::bad_shape, 0, input},
    {"two_negative_sizes", [](auto& p) { p.tensor(input).sizes = {-1, -4}; }, Error::bad_shape, 0, input},
    {"sizes_overflow", [](auto& p) { p.tensor(input).sizes = {1 << 16, 1 << 16}; }, Error::bad_shape, 0, input},
    {"sizes_overflow_behind_a_zero", [](auto& p) { p.set(input, planned({0, 1 << 16, 1 << 16}, 0)); }, Error::bad_shape,
     0, input},
    {"sizes_overflow_before_a_zero", [](auto& p) { p.set(input, planned({1 << 16, 1 << 16, 0}, 0)); }, Error::bad_shape,
     0, input},
    {"bytes_overflow", [](auto& p) { p.set(input, planned({1 << 30}, 0, DType::f32)); }, Error::bad_shape, 0, input},
    {"dim_order_repeats", [](auto& p) { p.tensor(input).dim_order = {1, 1}; }, Error::bad_shape, 0, input},
    {"dim_order_out_of_range", [](auto& p) { p.tensor(input).dim_order = {0, 2}; }, Error::bad_shape, 0, input},
    {"dim_order_modulo_32", [](auto& p) { p.tensor(input).dim_order = {0, 33}; }, Error::bad_shape, 0, input},
    {"dim_order_too_short", [](auto& p) { p.tensor(input).dim_order = {0}; }, Error::bad_shape, 0, input},
    {"other_element_type", [](auto& p) { p.tensor(input).scalar_type = schema::ScalarType::QINT32; },
     Error::unsupported, 0, input},
    {"dynamic_shape", [](auto& p) { p.tensor(input).shape_dynamism = schema::TensorShapeDynamism::DYNAMIC_UNBOUND; },
     Error::unsupported, 0, input},
    {"larger_than_arena", [](auto& p) { p.set(out, planned({65}, 0)); }, Error::bad_structure, 0, out},
    {"much_larger", [](auto& p) { p.set(out, planned({0x7fffffff}, 0)); }, Error::bad_structure, 0, out},
    {"across_the_end", [](auto& p) { p.place(out).memory_offset_low = 63; }, Error::bad_structure, 0, out},
    {"far_behind", [](auto& p) { p.place(out).memory_offset_low = 0xfffffff0; }, Error::bad_structure, 0, out},
    {"offset_of_64_bits", [](auto& p) { p.place(out).memory_offset_high = 1; }, Error::bad_structure, 0, out},
    {"memory_id_0", [](auto& p) { p.place(out).memory_id = 0; }, Error::bad_structure, 0, out},
    {"memory_id_out_of_range", [](auto& p) { p.place(out).memory_id = 2; }, Error::bad_structure, 0, out},
    {"neither_place_nor_data", [](auto& p) { p.tensor(input).allocation_info = nullptr; }, Error::unsupported, 0,
     input},
    {"constant_out_of_range", [](auto& p) { p.tensor(constant).data_buffer_idx = 2; }, Error::bad_constant, 0,
     constant},
    {"constant_too_short", [](auto& p) { p.tensor(constant).sizes = {2, 9}; }, Error::bad_constant, 0, constant},
    {"constant_behind_its_segment", [](auto& p) { p.program.constant_segment->offsets[1] = 16; }, Error::bad_constant,
     0, constant},
    {"constant_far_behind", [](auto& p) { p.program.constant_segment->offsets[1] = ~std::uint64_t{15}; },
     Error::bad_constant, 0, constant},
    {"state_without_initial_values", [](auto& p) { p.tensor(input).data_buffer_idx = 1; }, Error::bad_constant, 0,
     input},
    {"state_with_a_short_initial_value", [](auto& p) { p.initial_value("abc"), p.tensor(input).data_buffer_idx = 1; },
     Error::bad_constant, 0, input},
    {"misaligned_words", [](auto& p) { p.set(input, planned({1}, 2, DType::f32)); }, Error::misaligned, 0, input},
    {"misaligned_longs", [](auto& p) { p.set(input, planned({1}, 4, DType::i64)); }, Error::misaligned, 0, input},
    {"misaligned_scratch", [](auto& p) { p.place(scratch).memory_offset_low = 33; }, Error::misaligned},
    {"scratch_over_the_input", [](auto& p) { p.place(scratch).memory_offset_low = 0; }, Error::bad_memory},
    {"scratch_over_the_result", [](auto& p) { p.place(scratch).memory_offset_low = 12; }, Error::bad_memory},
    {"result_over_the_input", [](auto& p) { p.place(out).memory_offset_low = 0; }, Error::bad_memory},
    {"result_over_the_last_byte_of_the_input", [](auto& p) { p.place(out).memory_offset_low = 3; }, Error::bad_memory},
    {"constant_out", [](auto& p) { p.set(out, copy_of_constant(p)); }, Error::bad_constant, 0, out},
    {"constant_scratch", [](auto& p) { p.set(scratch, copy_of_constant(p)); }, Error::bad_constant, 0, scratch},
};
INSTANTIATE_TEST_SUITE_P(Tensors, Refusals, testing::ValuesIn(kTensors), name_of_case);

const Bad kPrograms[] = {
    {"other_method", [](auto& p) { p.plan().name = "backward"; }, Error::no_such_method, kNone},
    {"no_method", [](auto& p) { p.program.execution_plan.clear(); }, Error::no_such_method, kNone},
    {"negative_memory", [](auto& p) { p.plan().non_const_buffer_sizes[1] = -1; }, Error::arena_too_small, kNone, 1},
    {"larger_memory", [](auto& p) { p.plan().non_const_buffer_sizes[1] = 65; }, Error::arena_too_small, kNone, 1},
    {"memory_of_64_bits", [](auto& p) { p.plan().non_const_buffer_sizes[1] = (std::int64_t{1} << 32) + 64; },
     Error::arena_too_small, kNone, 1},
    {"another_memory_of_no_bytes", [](auto& p) { p.plan().non_const_buffer_sizes.push_back(0); },
     Error::arena_too_small, kNone, 2},
    {"another_memory", [](auto& p) { p.plan().non_const_buffer_sizes.push_back(1); }, Error::arena_too_small, kNone, 2},
    {"no_memory", [](auto& p) { p.plan().non_const_buffer_sizes.clear(); }, Error::bad_structure, 0, input},
    {"segment_outside_of_the_file", [](auto& p) { p.program.segments[0]->size = 17; }, Error::bad_constant, kNone},
    {"no_segments", [](auto& p) { p.program.segments.clear(); }, Error::bad_constant, kNone},
};
INSTANTIATE_TEST_SUITE_P(Programs, Refusals, testing::ValuesIn(kPrograms), name_of_case);

}  // namespace
}  // namespace cormorant::test
