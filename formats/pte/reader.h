// SPDX-License-Identifier: Apache-2.0
//
// Reads a .pte where it is, in flash or in a mapped file, without trusting any of it: every offset, vtable, vector,
// string, union type and index is checked when it is followed, so a damaged file gives an Error and never undefined
// behaviour. Views point into the file, which must outlive them; a MethodView also notes the vtables it has checked.
//
// Written for the target: no heap, no exceptions, aligned accesses only (ARMv6-M faults on others). Checks are made
// where the bytes are read, not in a pass of their own, because a loader reads every argument exactly once anyway.
// Measured on Cortex-M55 with gcc 12 -Os: an integer costs about 80 instructions, a tensor about 270; what a loader
// links is 3.5 KB. A ProgramView is 40 bytes, a MethodView 156.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "base/result.h"

namespace cormorant::pte {

// The numbers are those of the schema's union KernelTypes.
enum class ValueKind : std::uint8_t {
  none = 1,
  integer = 2,
  boolean = 3,
  floating = 4,
  tensor = 5,
  string = 6,
  int_list = 7,
  double_list = 8,
  bool_list = 9,
  tensor_list = 10,
  optional_tensor_list = 11,
};

inline constexpr std::uint32_t kMaxRank = 16;  // what ExecuTorch permits

// Sizes are not negative and their product in bytes is `bytes`, below 2^31; dim_order is a permutation; a planned place
// is within its memory. Undefined before read_tensor() has
// succeeded: initializing it would cost a loader more than the
// checks.
struct TensorView {
  std::span<const std::int32_t> sizes;      // logical sizes, NCHW
  std::span<const std::uint8_t> dim_order;  // memory order of the dimensions, outermost first
  std::uint32_t bytes;
  std::uint32_t data_index;  // 0: none; else of ProgramView::constant, or ::initial_value if it has a place
  std::uint32_t memory_id;   // 0: no place; else index of MethodView::memory_sizes
  std::uint32_t offset;      // bytes from the start of that memory
  DType dtype;

  [[nodiscard]] bool is_planned() const { return memory_id != 0; }
  [[nodiscard]] bool is_constant() const { return memory_id == 0 && data_index != 0; }
};

struct InstructionView {
  std::uint32_t op = 0;                // of MethodView::operator_at
  std::span<const std::int32_t> args;  // value indices; the accessors check each when it is used
};

struct OperatorView {
  std::string_view name;      // "cortex_m::quantized_add"
  std::string_view overload;  // "out"; may be empty
};

namespace detail {
// Elements in the file: position of the first, and how many.
struct Vector {
  std::uint32_t at = 0, count = 0;
};
struct Bytes {
  const std::byte* base = nullptr;
  std::uint32_t size = 0;
};
// A vtable that has been checked: where it puts the fields of a table, 0 for those it leaves out, and how far they
// reach.
template <std::size_t kFields>
struct TableLayout {
  std::uint32_t vtable = 0;
  std::uint16_t extent = 0;  // how many bytes of the table its fields reach; 0: nothing is known, or it is not sound
  std::uint8_t at[kFields] = {};
};
}  // namespace detail

class MethodView;

class ProgramView {
 public:
  ProgramView() = default;

  // bad_header: not a .pte of this version, or shorter than its header says. misaligned: `file` is not 16-byte aligned.
  // bad_constant: constants are not in a segment of this file.
  [[nodiscard]] static Result<ProgramView> open(std::span<const std::byte> file) {
    ProgramView view;
    const Error error = view.read(file);
    if (error != Error::ok) return error;
    return view;
  }
  [[nodiscard]] Error read(std::span<const std::byte> file);  // the same in place; after a failure it must not be used

  [[nodiscard]] std::uint32_t method_count() const { return methods_.count; }
  [[nodiscard]] Result<MethodView> method(std::uint32_t index) const;
  // no_such_method if no method has that name.
  [[nodiscard]] Result<MethodView> method(std::string_view name) const;
  // The same in place; and by the method's position.
  [[nodiscard]] Error find_method(std::string_view name, MethodView& method) const;
  [[nodiscard]] Error open_method(std::uint32_t position, MethodView& method) const;

  // The bytes of a tensor's data, by its data_index. The file knows where a constant begins, the tensor how long it is.
  [[nodiscard]] Result<std::span<const std::byte>> constant(std::uint32_t index, std::uint32_t bytes) const {
    return as_result(constant_data(index, bytes), bytes);
  }
  // Likewise for state: the initial contents of a tensor that has both a place and data.
  [[nodiscard]] Result<std::span<const std::byte>> initial_value(std::uint32_t index, std::uint32_t bytes) const {
    return as_result(initial_data(index, bytes), bytes);
  }
  // The same without the length that the caller knows; null for bad_constant.
  [[nodiscard]] const std::byte* constant_data(std::uint32_t index, std::uint32_t bytes) const;
  [[nodiscard]] const std::byte* initial_data(std::uint32_t index, std::uint32_t bytes) const;

  [[nodiscard]] std::uint32_t flatbuffer_bytes() const { return size_; }
  [[nodiscard]] std::uint32_t constant_count() const {
    return constants_.offsets.count;
  }  // including entry 0, which means no data
  [[nodiscard]] std::uint32_t constant_bytes() const { return constants_.bytes; }

 private:
  friend class MethodView;
  // One segment and where its pieces begin: positions in the file.
  struct Pieces {
    std::uint32_t begin = 0, bytes = 0;  // of the segment
    detail::Vector offsets;              // of the pieces within it, u64 each
  };
  static Result<std::span<const std::byte>> as_result(const std::byte* data, std::uint32_t bytes) {
    if (data == nullptr) return Error::bad_constant;
    return std::span(data, bytes);
  }
  [[nodiscard]] Error read_header();
  [[nodiscard]] Error read_root();
  [[nodiscard]] Error find_pieces(std::uint32_t table, Pieces& pieces) const;
  [[nodiscard]] const std::byte* piece(const Pieces& pieces, std::uint32_t index, std::uint32_t bytes,
                                       std::uint32_t alignment) const;

  const std::byte* base_ = nullptr;
  std::uint32_t size_ = 0;          // of the flatbuffer
  std::uint32_t segment_base_ = 0;  // 0: the file has no segments
  std::uint32_t segments_size_ = 0;
  detail::Vector methods_;
  Pieces constants_, initial_values_;
};

// One method ("forward"). Accessors give bad_structure where the file is damaged (an index out of range included) and
// bad_value where a value is not of the requested kind.
class MethodView {
 public:
  MethodView() = default;

  [[nodiscard]] std::uint32_t position() const { return table_; }
  [[nodiscard]] Result<std::string_view> name() const;
  [[nodiscard]] Result<std::span<const std::int32_t>> inputs() const;   // value indices
  [[nodiscard]] Result<std::span<const std::int32_t>> outputs() const;  // value indices
  // Bytes of each planned memory by memory id; entry 0 means nothing.
  [[nodiscard]] std::span<const std::int64_t> memory_sizes() const;

  [[nodiscard]] std::uint32_t instruction_count() const { return instructions_.count; }
  [[nodiscard]] std::uint32_t operator_count() const { return operators_.count; }
  [[nodiscard]] std::uint32_t value_count() const { return values_.count; }

  // has_delegate for a delegate's call; unsupported for moves and jumps, which only control flow uses.
  [[nodiscard]] Result<InstructionView> instruction(std::uint32_t index) const;
  [[nodiscard]] Result<OperatorView> operator_at(std::uint32_t index) const;

  // Values, by the indices that instructions, inputs, outputs and lists hold.
  [[nodiscard]] Result<ValueKind> kind(std::int32_t index) const;
  [[nodiscard]] Result<std::int64_t> integer(std::int32_t index) const {
    const Result<std::uint64_t> word = number(index, ValueKind::integer);
    if (!word.ok()) return word.error();
    return static_cast<std::int64_t>(word.value());
  }
  [[nodiscard]] Result<double> floating(std::int32_t index) const {
    const Result<std::uint64_t> word = number(index, ValueKind::floating);
    if (!word.ok()) return word.error();
    return std::bit_cast<double>(word.value());
  }
  [[nodiscard]] Result<bool> boolean(std::int32_t index) const;
  [[nodiscard]] Result<std::string_view> string(std::int32_t index) const;
  // unsupported: dynamic shape, or an element type outside base/dtype.h. bad_shape: sizes or dim_order make no sense.
  // bad_constant: the data is in another file.
  [[nodiscard]] Result<TensorView> tensor(std::int32_t index) const {
    TensorView view;
    const Error error = read_tensor(index, view);
    if (error != Error::ok) return error;
    return view;
  }
  [[nodiscard]] Error read_tensor(std::int32_t index, TensorView& view) const;   // without the copy
  [[nodiscard]] Result<std::string_view> tensor_name(std::int32_t index) const;  // empty if the file gives none
  // Whether a tensor's data is in another file, for a message; such a tensor cannot be read.
  [[nodiscard]] Result<bool> is_external(std::int32_t index) const;
  // Each item is the index of an integer value.
  [[nodiscard]] Result<std::span<const std::int64_t>> int_list(std::int32_t index) const;
  // The integers of an int list: fills `out` as far as it goes and yields the list's full length. bad_value where one
  // does not fit 32 bits.
  [[nodiscard]] Result<std::uint32_t> integers(std::int32_t index, std::span<std::int32_t> out) const;
  [[nodiscard]] Result<std::span<const double>> double_list(std::int32_t index) const;
  [[nodiscard]] Result<std::span<const std::uint8_t>> bool_list(std::int32_t index) const;
  // Each item is the index of a tensor value, in an optional tensor list also of a none value.
  [[nodiscard]] Result<std::span<const std::int32_t>> tensor_list(std::int32_t index) const;
  [[nodiscard]] Result<std::span<const std::int32_t>> optional_tensor_list(std::int32_t index) const;

  // For messages: the delegates whose blobs a program contains, which we cannot run.
  [[nodiscard]] Result<std::uint32_t> delegate_count() const;
  [[nodiscard]] Result<std::string_view> delegate_name(std::uint32_t index) const;

 private:
  friend class ProgramView;
  using Vector = detail::Vector;
  [[nodiscard]] Error open(const std::byte* base, std::uint32_t size, std::uint32_t table);
  [[nodiscard]] Result<Vector> own_vector(unsigned slot, unsigned log2_width) const;
  [[nodiscard]] std::uint32_t value_table(std::int32_t index, ValueKind kind) const;
  [[nodiscard]] Error read_place(std::uint32_t at, TensorView& view) const;
  [[nodiscard]] Error check_extra(std::uint32_t at) const;
  [[nodiscard]] Result<std::uint64_t> number(std::int32_t index, ValueKind kind) const;
  [[nodiscard]] std::uint32_t find_number(std::int32_t index, ValueKind kind) const;
  [[nodiscard]] Result<Vector> list(std::int32_t index, ValueKind kind, unsigned log2_width) const;

  detail::Bytes file_;
  std::uint32_t table_ = 0;
  Vector values_, instructions_, operators_, memories_;
  // The vtables met last. They were checked, so what is here is only a matter of speed.
  mutable struct {
    detail::TableLayout<2> unions[1], calls[1];
    detail::TableLayout<1> numbers[1], lists[1];
    detail::TableLayout<8> tensors[2];
    detail::TableLayout<3> places[1];
  } known_;
};

inline Error ProgramView::open_method(std::uint32_t position, MethodView& method) const {
  return method.open(base_, size_, position);
}

inline Result<MethodView> ProgramView::method(std::string_view name) const {
  MethodView view;
  const Error error = find_method(name, view);
  if (error != Error::ok) return error;
  return view;
}

}  // namespace cormorant::pte
