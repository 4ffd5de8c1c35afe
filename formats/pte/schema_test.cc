// SPDX-License-Identifier: Apache-2.0
//
// The reader's field numbers are those of the description. The description itself is compared with ExecuTorch's own by
// reading ExecuTorch's files (reader_test.cc) and by letting ExecuTorch read ours.
#include <gtest/gtest.h>

#include "formats/pte/program_generated.h"
#include "formats/pte/reader.h"
#include "formats/pte/slots.h"

namespace cormorant::pte {
namespace {

struct Case {
  const char* field;
  slot::Slot reader;
  int schema;
};

#define SLOT(table, field, Schema, VT) \
  Case { #table "." #field, slot::table::field, schema::Schema::VT }

const Case kCases[] = {
    SLOT(program, execution_plan, Program, VT_EXECUTION_PLAN),
    SLOT(program, constant_buffer, Program, VT_CONSTANT_BUFFER),
    SLOT(program, segments, Program, VT_SEGMENTS),
    SLOT(program, constant_segment, Program, VT_CONSTANT_SEGMENT),
    SLOT(program, mutable_data_segments, Program, VT_MUTABLE_DATA_SEGMENTS),
    SLOT(data_segment, offset, DataSegment, VT_OFFSET),
    SLOT(data_segment, size, DataSegment, VT_SIZE),
    SLOT(subsegment_offsets, segment_index, SubsegmentOffsets, VT_SEGMENT_INDEX),
    SLOT(subsegment_offsets, offsets, SubsegmentOffsets, VT_OFFSETS),
    SLOT(execution_plan, name, ExecutionPlan, VT_NAME),
    SLOT(execution_plan, values, ExecutionPlan, VT_VALUES),
    SLOT(execution_plan, inputs, ExecutionPlan, VT_INPUTS),
    SLOT(execution_plan, outputs, ExecutionPlan, VT_OUTPUTS),
    SLOT(execution_plan, chains, ExecutionPlan, VT_CHAINS),
    SLOT(execution_plan, operators, ExecutionPlan, VT_OPERATORS),
    SLOT(execution_plan, delegates, ExecutionPlan, VT_DELEGATES),
    SLOT(execution_plan, non_const_buffer_sizes, ExecutionPlan, VT_NON_CONST_BUFFER_SIZES),
    SLOT(backend_delegate, id, BackendDelegate, VT_ID),
    SLOT(chain, instructions, Chain, VT_INSTRUCTIONS),
    SLOT(instruction, args_type, Instruction, VT_INSTR_ARGS_TYPE),
    SLOT(instruction, args, Instruction, VT_INSTR_ARGS),
    SLOT(kernel_call, op_index, KernelCall, VT_OP_INDEX),
    SLOT(kernel_call, args, KernelCall, VT_ARGS),
    SLOT(operators, name, Operator, VT_NAME),
    SLOT(operators, overload, Operator, VT_OVERLOAD),
    SLOT(evalue, type, EValue, VT_VAL_TYPE),
    SLOT(evalue, value, EValue, VT_VAL),
    {"Int", slot::only_field, schema::Int::VT_INT_VAL},
    {"Bool", slot::only_field, schema::Bool::VT_BOOL_VAL},
    {"Double", slot::only_field, schema::Double::VT_DOUBLE_VAL},
    {"String", slot::only_field, schema::String::VT_STRING_VAL},
    {"IntList", slot::only_field, schema::IntList::VT_ITEMS},
    {"DoubleList", slot::only_field, schema::DoubleList::VT_ITEMS},
    {"BoolList", slot::only_field, schema::BoolList::VT_ITEMS},
    {"TensorList", slot::only_field, schema::TensorList::VT_ITEMS},
    {"OptionalTensorList", slot::only_field, schema::OptionalTensorList::VT_ITEMS},
    SLOT(tensor, scalar_type, Tensor, VT_SCALAR_TYPE),
    SLOT(tensor, storage_offset, Tensor, VT_STORAGE_OFFSET),
    SLOT(tensor, sizes, Tensor, VT_SIZES),
    SLOT(tensor, dim_order, Tensor, VT_DIM_ORDER),
    SLOT(tensor, data_buffer_idx, Tensor, VT_DATA_BUFFER_IDX),
    SLOT(tensor, allocation_info, Tensor, VT_ALLOCATION_INFO),
    SLOT(tensor, shape_dynamism, Tensor, VT_SHAPE_DYNAMISM),
    SLOT(tensor, extra_tensor_info, Tensor, VT_EXTRA_TENSOR_INFO),
    SLOT(allocation_details, memory_id, AllocationDetails, VT_MEMORY_ID),
    SLOT(allocation_details, memory_offset_low, AllocationDetails, VT_MEMORY_OFFSET_LOW),
    SLOT(allocation_details, memory_offset_high, AllocationDetails, VT_MEMORY_OFFSET_HIGH),
    SLOT(extra_tensor_info, mutable_data_segments_idx, ExtraTensorInfo, VT_MUTABLE_DATA_SEGMENTS_IDX),
    SLOT(extra_tensor_info, fully_qualified_name, ExtraTensorInfo, VT_FULLY_QUALIFIED_NAME),
    SLOT(extra_tensor_info, location, ExtraTensorInfo, VT_LOCATION),
};

TEST(PteSchema, ReaderLooksForFieldsWhereTheDescriptionPutsThem) {
  for (const Case& c : kCases) EXPECT_EQ(static_cast<int>(c.reader), c.schema) << c.field;
}

TEST(PteSchema, KindsHaveTheNumbersOfTheUnion) {
  using Types = schema::KernelTypes;
  const std::pair<ValueKind, Types> kinds[] = {
      {ValueKind::none, Types::Null},
      {ValueKind::integer, Types::Int},
      {ValueKind::boolean, Types::Bool},
      {ValueKind::floating, Types::Double},
      {ValueKind::tensor, Types::Tensor},
      {ValueKind::string, Types::String},
      {ValueKind::int_list, Types::IntList},
      {ValueKind::double_list, Types::DoubleList},
      {ValueKind::bool_list, Types::BoolList},
      {ValueKind::tensor_list, Types::TensorList},
      {ValueKind::optional_tensor_list, Types::OptionalTensorList},
  };
  for (const auto& [kind, type] : kinds) EXPECT_EQ(static_cast<int>(kind), static_cast<int>(type));
}

}  // namespace
}  // namespace cormorant::pte
