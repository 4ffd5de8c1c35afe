// SPDX-License-Identifier: Apache-2.0
//
// Where the fields of program.fbs are in a flatbuffer's vtables: 4 + 2 · (position in the table); a union takes two
// positions, its type first. Only fields that the reader looks at. schema_test.cc compares every number with the one
// that flatc derives from program.fbs.
#pragma once

namespace cormorant::pte::slot {

using Slot = unsigned;

namespace program {
inline constexpr Slot execution_plan = 6, constant_buffer = 8, segments = 12, constant_segment = 14,
                      mutable_data_segments = 16;
}
namespace data_segment {
inline constexpr Slot offset = 4, size = 6;
}
namespace subsegment_offsets {
inline constexpr Slot segment_index = 4, offsets = 6;
}
namespace execution_plan {
inline constexpr Slot name = 4, values = 8, inputs = 10, outputs = 12, chains = 14, operators = 16, delegates = 18,
                      non_const_buffer_sizes = 20;
}
namespace backend_delegate {
inline constexpr Slot id = 4;
}
namespace chain {
inline constexpr Slot instructions = 8;
}
namespace instruction {
inline constexpr Slot args_type = 4, args = 6;
}
namespace kernel_call {
inline constexpr Slot op_index = 4, args = 6;
}
namespace operators {
inline constexpr Slot name = 4, overload = 6;
}
namespace evalue {
inline constexpr Slot type = 4, value = 6;
}
// Int, Bool, Double, String and all lists have one field.
inline constexpr Slot only_field = 4;
namespace tensor {
inline constexpr Slot scalar_type = 4, storage_offset = 6, sizes = 8, dim_order = 10, data_buffer_idx = 14,
                      allocation_info = 16, shape_dynamism = 20, extra_tensor_info = 22;
}
namespace allocation_details {
inline constexpr Slot memory_id = 4, memory_offset_low = 6, memory_offset_high = 8;
}
namespace extra_tensor_info {
inline constexpr Slot mutable_data_segments_idx = 4, fully_qualified_name = 6, location = 8;
}

}  // namespace cormorant::pte::slot
