// SPDX-License-Identifier: Apache-2.0
//
// How a flatbuffer is checked while it is read. A table starts with a signed distance back to its vtable; the vtable
// starts with its own size and the table's, then has one 16-bit entry per field: where in the table the field is, 0 if
// it has its default. Fields that refer to tables, vectors or strings hold a distance forward. A step is sound if what
// it reads is inside the flatbuffer and is aligned, and that is all that memory safety needs: no recursion, no loops
// over offsets, so a cyclic file cannot hang us either.
//
// Arguments are read often, and their tables usually share two vtables per kind. So for those a vtable is checked
// once, noted as a TableLayout and recognized by its position from then on: a table costs a comparison and a bound, its
// fields nothing. Reading all arguments of ds_cnn this way took a third fewer instructions than a check per field, for
// 0.8 KB more code.
//
// Elsewhere a Walk carries one failure for all steps of a function instead of a Result per step: after a failure fields
// read as absent, reads stay inside the buffer, and the function looks once at the end, which makes less code.
//
// The extended header, at byte 8: "eh00", u32 its length, u64 size of the flatbuffer (from byte 0, header included),
// u64 where segments begin, u64 bytes of segments (if the length is 32 or more). Files without segments may lack it.
#include "formats/pte/reader.h"

#include <bit>

#include "base/wide_product.h"
#include "formats/pte/slots.h"

namespace cormorant::pte {
namespace {

using detail::Vector;
using slot::Slot;

static_assert(std::endian::native == std::endian::little, "flatbuffers are read in place");

constexpr std::uint32_t four_characters(const char (&text)[5]) {
  std::uint32_t word = 0;
  for (unsigned i = 0; i < 4; ++i) word |= static_cast<std::uint32_t>(text[i]) << (8 * i);
  return word;
}
constexpr std::uint32_t kIdentifier = four_characters("ET12");
constexpr std::uint32_t kHeaderMagic = four_characters("eh00");
constexpr std::uint32_t kSmallestFile = 64;          // ExecuTorch's runtime requires the same
constexpr std::uint32_t kLargestFile = 0x7fff'ffff;  // positions and sums of two of them fit 32 bits
constexpr std::uint32_t kFileAlignment = 16;

// The alignment is known to the compiler, so this is one load, on ARMv6-M and in freestanding builds too.
template <class T>
T load(const std::byte* base, std::uint32_t at) {
  T value;
  __builtin_memcpy(&value, __builtin_assume_aligned(base + at, sizeof(T)), sizeof(T));
  return value;
}
std::uint64_t load_wide(const std::byte* base, std::uint32_t at) {
  return load<std::uint32_t>(base, at) | std::uint64_t{load<std::uint32_t>(base, at + 4)} << 32U;
}
// A u64 of the file as 32 bits; anything larger than a file can be becomes larger than any limit.
std::uint32_t load_clamped(const std::byte* base, std::uint32_t at) {
  const auto low = load<std::uint32_t>(base, at);
  return load<std::uint32_t>(base, at + 4) == 0 ? low : ~0U;
}

// The position that an offset stored at `at` leads to. The caller checks it before use.
std::uint32_t follow(const std::byte* base, std::uint32_t at) { return at + load<std::uint32_t>(base, at); }

template <class T>
std::span<const T> as_span(const std::byte* base, Vector vector) {
  return {reinterpret_cast<const T*>(base + vector.at), vector.count};
}
std::string_view as_string(const std::byte* base, Vector vector) {
  return {reinterpret_cast<const char*>(base + vector.at), vector.count};
}
template <class T>
Result<std::span<const T>> as_span(const std::byte* base, const Result<Vector>& vector) {
  if (!vector.ok()) return vector.error();
  return as_span<T>(base, vector.value());
}
Result<std::string_view> as_string(const std::byte* base, const Result<Vector>& vector) {
  if (!vector.ok()) return vector.error();
  return as_string(base, vector.value());
}

constexpr unsigned kByte = 0, kWord = 2, kWide = 3;  // logarithms of widths
constexpr std::uint32_t kNowhere = ~0U;              // positions that are in no file
constexpr std::uint32_t kWrongKind = ~1U;
Error why(std::uint32_t at) { return at == kWrongKind ? Error::bad_value : Error::bad_structure; }

// Whether 2^log2_width bytes at `at` are aligned and are in a buffer of `size` bytes. Rotation puts bits that break the
// alignment on top, where they make the position too large: one comparison checks both.
bool inside(std::uint32_t size, std::uint32_t at, unsigned log2_width) {
  return std::rotr(at, static_cast<int>(log2_width)) < size >> log2_width;
}
// The size of a vtable that is in the buffer, 0 otherwise (a real one has four bytes at least).
std::uint32_t vtable_bytes(const std::byte* base, std::uint32_t size, std::uint32_t vtable) {
  if (!inside(size, vtable, 1)) return 0;
  const std::uint32_t bytes = load<std::uint16_t>(base, vtable) & ~1U;
  return bytes <= size - vtable ? bytes : 0;
}
// The table that an entry of a vector of tables refers to.
std::uint32_t entry(const std::byte* base, Vector tables, std::uint32_t index) {
  return index < tables.count ? follow(base, tables.at + 4 * index) : kNowhere;
}
// A Vector in two registers: the ABI returns structs of this size in memory.
using PackedVector = std::uint64_t;
constexpr PackedVector pack(std::uint32_t at, std::uint32_t count) { return PackedVector{count} << 32U | at; }
constexpr Vector unpack(PackedVector packed) {
  return {static_cast<std::uint32_t>(packed), static_cast<std::uint32_t>(packed >> 32U)};
}
// The vector of elements of 2^log2_width bytes at `at`; one that is not sound has no count but a position.
[[gnu::noinline]] PackedVector vector_at(const std::byte* base, std::uint32_t size, std::uint32_t at,
                                         unsigned log2_width) {
  if (inside(size, at, kWord)) {
    const auto count = load<std::uint32_t>(base, at);
    at += 4;
    if (count == 0) return pack(0, 0);
    if (inside(size, at, log2_width) && count <= (size - at) >> log2_width) return pack(at, count);
  }
  return pack(kNowhere, 0);
}

class Walk {
 public:
  Walk(const std::byte* base, std::uint32_t size) : base_(base), size_(size) {}

  [[nodiscard]] Error error() const { return error_; }
  void fail(Error error) {
    if (error_ == Error::ok) error_ = error;
  }
  // The result of a function that has read everything it needs.
  template <class T>
  Result<T> done(const T& value) const {
    if (error_ != Error::ok) return error_;
    return value;
  }

  // Makes a table the current one.
  [[gnu::noinline]] void enter(std::uint32_t at) {
    table_ = at;
    vtable_size_ = 0;
    if (inside(size_, at, kWord)) {
      vtable_ = at - load<std::uint32_t>(base_, at);
      vtable_size_ = vtable_bytes(base_, size_, vtable_);
    }
    if (vtable_size_ == 0) fail(Error::bad_structure);
  }
  [[gnu::noinline]] void enter(Vector tables, std::uint32_t index) { enter(entry(base_, tables, index)); }

  // Position of a field of 2^log2_width bytes, 0 if the table does not have it.
  [[gnu::noinline]] std::uint32_t field(Slot slot, unsigned log2_width) {
    if (slot >= vtable_size_) return 0;
    const std::uint32_t distance = load<std::uint16_t>(base_, vtable_ + slot);
    if (distance == 0) return 0;
    const std::uint32_t at = table_ + distance;
    if (inside(size_, at, log2_width)) return at;
    fail(Error::bad_structure);
    return 0;
  }
  std::uint32_t u8(Slot slot) {
    const std::uint32_t at = field(slot, kByte);
    return at == 0 ? 0 : load<std::uint8_t>(base_, at);
  }
  std::uint32_t u32(Slot slot) {
    const std::uint32_t at = field(slot, kWord);
    return at == 0 ? 0 : load<std::uint32_t>(base_, at);
  }
  std::uint32_t u64_clamped(Slot slot) {
    const std::uint32_t at = field(slot, kWide);
    return at == 0 ? 0 : load_clamped(base_, at);
  }
  // The table that a field refers to, nowhere if there is no field.
  std::uint32_t table(Slot slot) {
    const std::uint32_t at = field(slot, kWord);
    return at == 0 ? kNowhere : follow(base_, at);
  }
  // A vector; empty if there is no field.
  [[gnu::always_inline]] Vector vector(Slot slot, unsigned log2_width) {
    return unpack(packed_vector(slot, log2_width));
  }
  std::string_view string(Slot slot) { return as_string(base_, vector(slot, 0)); }

 private:
  [[gnu::noinline]] PackedVector packed_vector(Slot slot, unsigned log2_width) {
    const std::uint32_t at = table(slot);
    if (at == kNowhere) return pack(0, 0);
    const PackedVector vector = vector_at(base_, size_, at, log2_width);
    if (unpack(vector).at == kNowhere) fail(Error::bad_structure);
    return vector;
  }

  const std::byte* base_;
  std::uint32_t size_;
  Error error_ = Error::ok;
  // Set by enter(), which comes before anything that reads a field.
  std::uint32_t table_;
  std::uint32_t vtable_;
  std::uint32_t vtable_size_;
};

}  // namespace

// ---- the file ---------------------------------------------------------------------------------------------------

Error ProgramView::read(std::span<const std::byte> file) {
  if (reinterpret_cast<std::uintptr_t>(file.data()) % kFileAlignment != 0) return Error::misaligned;
  if (file.size() < kSmallestFile || file.size() > kLargestFile) return Error::bad_header;
  base_ = file.data();
  size_ = static_cast<std::uint32_t>(file.size());
  const Error error = read_header();
  return error == Error::ok ? read_root() : error;
}

// On entry size_ is that of the file, afterwards that of the flatbuffer.
Error ProgramView::read_header() {
  if (load<std::uint32_t>(base_, 4) != kIdentifier) return Error::bad_header;
  if (load<std::uint32_t>(base_, 8) != kHeaderMagic) return Error::ok;
  const auto header_length = load<std::uint32_t>(base_, 12);
  const std::uint32_t program_size = load_clamped(base_, 16);
  const std::uint32_t segment_base = load_clamped(base_, 24);
  std::uint32_t segments_size = header_length >= 32 ? load_clamped(base_, 32) : 0;
  if (header_length < 24 || program_size < kSmallestFile || program_size > size_ || segment_base > size_ ||
      segments_size > size_ - segment_base) {
    return Error::bad_header;
  }
  if (segment_base != 0) {
    if (segments_size == 0) segments_size = size_ - segment_base;  // older files do not say
    segment_base_ = segment_base;
    segments_size_ = segments_size;
  }
  size_ = program_size;
  return Error::ok;
}

Error ProgramView::read_root() {
  Walk walk{base_, size_};
  walk.enter(load<std::uint32_t>(base_, 0));
  methods_ = walk.vector(slot::program::execution_plan, 2);
  if (walk.vector(slot::program::constant_buffer, 2).count > 1) walk.fail(Error::bad_constant);
  const std::uint32_t constants = walk.table(slot::program::constant_segment);
  const Vector states = walk.vector(slot::program::mutable_data_segments, 2);
  if (walk.error() != Error::ok) return walk.error();
  if (states.count != 0 && find_pieces(entry(base_, states, 0), initial_values_) != Error::ok) initial_values_ = {};
  return constants == kNowhere ? Error::ok : find_pieces(constants, constants_);
}

// Where the segment of a SubsegmentOffsets table and its list of offsets are.
Error ProgramView::find_pieces(std::uint32_t table, Pieces& pieces) const {
  Walk walk{base_, size_};
  walk.enter(table);
  const std::uint32_t segment = walk.u32(slot::subsegment_offsets::segment_index);
  pieces.offsets = walk.vector(slot::subsegment_offsets::offsets, 3);
  if (pieces.offsets.count > 1) {  // entry 0 means no data: without others there need not be a segment
    walk.enter(load<std::uint32_t>(base_, 0));
    walk.enter(walk.vector(slot::program::segments, 2), segment);
    const std::uint32_t offset = walk.u64_clamped(slot::data_segment::offset);
    pieces.bytes = walk.u64_clamped(slot::data_segment::size);
    pieces.begin = segment_base_ + offset;
    if (offset > segments_size_ || pieces.bytes > segments_size_ - offset) walk.fail(Error::bad_constant);
  }
  return walk.error() == Error::ok ? Error::ok : Error::bad_constant;
}

const std::byte* ProgramView::piece(const Pieces& pieces, std::uint32_t index, std::uint32_t bytes,
                                    std::uint32_t alignment) const {
  if (index == 0 || index >= pieces.offsets.count) return nullptr;
  const std::uint32_t offset = load_clamped(base_, pieces.offsets.at + 8 * index);
  if (offset > pieces.bytes || bytes > pieces.bytes - offset) return nullptr;
  const std::uint32_t at = pieces.begin + offset;
  return (at & (alignment - 1)) == 0 ? base_ + at : nullptr;
}

const std::byte* ProgramView::constant_data(std::uint32_t index, std::uint32_t bytes) const {
  return piece(constants_, index, bytes, kFileAlignment);
}

const std::byte* ProgramView::initial_data(std::uint32_t index, std::uint32_t bytes) const {
  return piece(initial_values_, index, bytes, 1);  // copied at load, so it may be anywhere
}

Result<MethodView> ProgramView::method(std::uint32_t index) const {
  if (index >= methods_.count) return Error::no_such_method;
  MethodView method;
  const Error error = method.open(base_, size_, follow(base_, methods_.at + 4 * index));
  if (error != Error::ok) return error;
  return method;
}

Error ProgramView::find_method(std::string_view name, MethodView& method) const {
  for (std::uint32_t i = 0; i < methods_.count; ++i) {
    Walk walk{base_, size_};
    walk.enter(methods_, i);
    if (walk.string(slot::execution_plan::name) == name && walk.error() == Error::ok) {
      return method.open(base_, size_, entry(base_, methods_, i));
    }
  }
  return Error::no_such_method;
}

// ---- one method -------------------------------------------------------------------------------------------------

Error MethodView::open(const std::byte* base, std::uint32_t size, std::uint32_t table) {
  file_ = {base, size};
  table_ = table;
  Walk walk{base, size};
  walk.enter(table);
  values_ = walk.vector(slot::execution_plan::values, 2);
  operators_ = walk.vector(slot::execution_plan::operators, 2);
  memories_ = walk.vector(slot::execution_plan::non_const_buffer_sizes, 3);
  const Vector chains = walk.vector(slot::execution_plan::chains, 2);
  if (chains.count > 1) walk.fail(Error::unsupported);  // parallel chains: no compiler writes them
  walk.enter(chains, 0);
  instructions_ = walk.vector(slot::chain::instructions, 2);
  return walk.error();
}

Result<Vector> MethodView::own_vector(unsigned slot, unsigned log2_width) const {
  Walk walk{file_.base, file_.size};
  walk.enter(table_);
  return walk.done(walk.vector(slot, log2_width));
}

Result<std::string_view> MethodView::name() const {
  return as_string(file_.base, own_vector(slot::execution_plan::name, 0));
}
Result<std::span<const std::int32_t>> MethodView::inputs() const {
  return as_span<std::int32_t>(file_.base, own_vector(slot::execution_plan::inputs, 2));
}
Result<std::span<const std::int32_t>> MethodView::outputs() const {
  return as_span<std::int32_t>(file_.base, own_vector(slot::execution_plan::outputs, 2));
}
std::span<const std::int64_t> MethodView::memory_sizes() const { return as_span<std::int64_t>(file_.base, memories_); }

Result<OperatorView> MethodView::operator_at(std::uint32_t index) const {
  Walk walk{file_.base, file_.size};
  walk.enter(operators_, index);
  const OperatorView view{walk.string(slot::operators::name), walk.string(slot::operators::overload)};
  return walk.done(view);
}

// ---- values -----------------------------------------------------------------------------------------------------

namespace {

// The fields of a kind of table, packed: slot and logarithm of the width.
constexpr std::uint8_t want(Slot slot, unsigned log2_width) {
  return static_cast<std::uint8_t>(slot << 2U | log2_width);
}
struct Wanted {
  std::uint8_t count;
  std::uint8_t fields[8];
};
// A union, of a value or of an instruction: tables of the same form, which therefore usually share their vtable.
enum UnionField : unsigned { kType, kValue };
constexpr Wanted kUnionFields = {2, {want(slot::evalue::type, kByte), want(slot::evalue::value, kWord)}};
static_assert(slot::instruction::args_type == slot::evalue::type && slot::instruction::args == slot::evalue::value);
enum CallField : unsigned { kOperator, kArguments };
constexpr Wanted kCallFields = {2, {want(slot::kernel_call::op_index, kWord), want(slot::kernel_call::args, kWord)}};
constexpr Wanted kNumberField = {1, {want(slot::only_field, kWide)}};
constexpr Wanted kListField = {1, {want(slot::only_field, kWord)}};
enum TensorField : unsigned { kScalarType, kSizes, kDimOrder, kData, kPlace, kStorageOffset, kDynamism, kExtra };
constexpr Wanted kTensorFields = {
    8,
    {want(slot::tensor::scalar_type, kByte), want(slot::tensor::sizes, kWord), want(slot::tensor::dim_order, kWord),
     want(slot::tensor::data_buffer_idx, kWord), want(slot::tensor::allocation_info, kWord),
     want(slot::tensor::storage_offset, kWord), want(slot::tensor::shape_dynamism, kByte),
     want(slot::tensor::extra_tensor_info, kWord)}};
enum PlaceField : unsigned { kMemoryId, kOffsetLow, kOffsetHigh };
constexpr Wanted kPlaceFields = {
    3,
    {want(slot::allocation_details::memory_id, kWord), want(slot::allocation_details::memory_offset_low, kWord),
     want(slot::allocation_details::memory_offset_high, kWord)}};

// A table whose layout is known: its fields are in the buffer and aligned.
struct Known {
  const std::byte* base;
  std::uint32_t table;
  const std::uint8_t* fields;  // distances from the table; null: the table is not sound

  [[gnu::always_inline, nodiscard]] std::uint32_t at(unsigned field) const { return table + fields[field]; }
  [[gnu::always_inline, nodiscard]] bool has(unsigned field) const { return fields[field] != 0; }
  [[gnu::always_inline, nodiscard]] std::uint32_t u8(unsigned field) const {
    return has(field) ? load<std::uint8_t>(base, at(field)) : 0;
  }
  [[gnu::always_inline, nodiscard]] std::uint32_t u32(unsigned field) const {
    return has(field) ? load<std::uint32_t>(base, at(field)) : 0;
  }
};

// Checks a vtable and notes where it puts the wanted fields. The result is how far a table must reach for them, 0 if
// the vtable is not sound.
[[gnu::noinline]] std::uint16_t learn(const detail::Bytes& file, std::uint32_t vtable, std::uint8_t* fields,
                                      const Wanted& wanted) {
  const std::uint32_t vtable_size = vtable_bytes(file.base, file.size, vtable);
  if (vtable_size == 0) return 0;
  std::uint32_t extent = 4;
  for (std::uint32_t i = 0; i < wanted.count; ++i) {
    const Slot slot = wanted.fields[i] >> 2U;
    std::uint32_t distance = 0;
    if (slot < vtable_size) {
      distance = load<std::uint16_t>(file.base, vtable + slot);
      const std::uint32_t width = 1U << (wanted.fields[i] & 3U);
      if ((distance & (width - 1) & 3U) != 0 || distance > 0xff) return 0;
      if (distance != 0 && extent < distance + width) extent = distance + width;
    }
    fields[i] = static_cast<std::uint8_t>(distance);
  }
  return static_cast<std::uint16_t>(extent);
}

// The fields of the table at `at`, by a layout met before if possible; null if the table is not sound.
template <class TableLayout, std::size_t kCount>
[[gnu::always_inline]] inline const std::uint8_t* fields_of(const detail::Bytes& file, std::uint32_t at,
                                                            TableLayout (&known)[kCount], const Wanted& wanted) {
  if (!inside(file.size, at, kWord)) return nullptr;
  const std::uint32_t vtable = at - load<std::uint32_t>(file.base, at);
  TableLayout* layout = known;
  if (vtable != layout->vtable) {
    if constexpr (kCount == 2) ++layout;
    if (kCount == 1 || vtable != layout->vtable) {
      if constexpr (kCount == 2) known[0] = known[1];
      layout->extent = learn(file, vtable, layout->at, wanted);
      layout->vtable = vtable;
    }
  }
  return std::uint32_t{layout->extent} - 1 < file.size - at ? layout->at : nullptr;
}

// Sizes and order of the dimensions, and how many bytes they make.
Error check_shape(TensorView& tensor) {
  const auto rank = static_cast<std::uint32_t>(tensor.sizes.size());
  auto bytes = static_cast<std::uint32_t>(size_of(tensor.dtype));
  if (bytes == 0) return Error::unsupported;
  if (rank > kMaxRank || tensor.dim_order.size() != rank) return Error::bad_shape;
  const std::int32_t* const sizes = tensor.sizes.data();
  const std::uint8_t* const order = tensor.dim_order.data();
  std::uint32_t missing = (1U << rank) - 1;  // dimensions that the order does not have yet
  bool empty = false;
  for (std::uint32_t i = rank; i-- > 0;) {
    const std::uint32_t dim = order[i];
    if (dim >= rank) return Error::bad_shape;
    missing &= ~(1U << dim);
    const auto size = static_cast<std::uint32_t>(sizes[i]);
    if (size == 0) {  // counts as one, so that the product of any of the sizes, which kernels form, fits as well
      empty = true;
      continue;
    }
    const std::uint64_t product = wide_product(bytes, size);
    if (product > kLargestFile) return Error::bad_shape;  // or negative
    bytes = static_cast<std::uint32_t>(product);
  }
  tensor.bytes = empty ? 0 : bytes;
  return missing == 0 ? Error::ok : Error::bad_shape;
}

}  // namespace

// The table of a value's own kind (Int, Tensor…); kNowhere if the file is damaged, kWrongKind if it is of another kind.
std::uint32_t MethodView::value_table(std::int32_t index, ValueKind kind) const {
  const std::uint32_t at = entry(file_.base, values_, static_cast<std::uint32_t>(index));
  const Known value{file_.base, at, fields_of(file_, at, known_.unions, kUnionFields)};
  if (value.fields == nullptr || !value.has(kValue)) return kNowhere;
  if (value.u8(kType) != static_cast<std::uint32_t>(kind)) return kWrongKind;
  return follow(file_.base, value.at(kValue));
}

Result<InstructionView> MethodView::instruction(std::uint32_t index) const {
  constexpr std::uint32_t kKernelCall = 1, kDelegateCall = 2;
  const std::byte* const base = file_.base;
  const std::uint32_t at = entry(base, instructions_, index);
  const Known instruction{base, at, fields_of(file_, at, known_.unions, kUnionFields)};
  if (instruction.fields == nullptr || !instruction.has(kValue)) return Error::bad_structure;
  const std::uint32_t type = instruction.u8(kType);
  if (type != kKernelCall) return type == kDelegateCall ? Error::has_delegate : Error::unsupported;
  const std::uint32_t call_at = follow(base, instruction.at(kValue));
  const Known call{base, call_at, fields_of(file_, call_at, known_.calls, kCallFields)};
  if (call.fields == nullptr) return Error::bad_structure;
  InstructionView view{call.u32(kOperator), {}};
  if (call.has(kArguments)) {
    const Vector args = unpack(vector_at(base, file_.size, follow(base, call.at(kArguments)), kWord));
    if (args.at == kNowhere) return Error::bad_structure;
    view.args = as_span<std::int32_t>(base, args);
  }
  if (view.op >= operators_.count) return Error::bad_structure;
  return view;
}

Result<ValueKind> MethodView::kind(std::int32_t index) const {
  Walk walk{file_.base, file_.size};
  walk.enter(values_, static_cast<std::uint32_t>(index));
  return walk.done(static_cast<ValueKind>(walk.u8(slot::evalue::type)));
}

// Position of a value's 64 bits, 0 if it is the default; else as value_table().
[[gnu::noinline]] std::uint32_t MethodView::find_number(std::int32_t index, ValueKind kind) const {
  const std::uint32_t at = value_table(index, kind);
  const Known table{file_.base, at, fields_of(file_, at, known_.numbers, kNumberField)};
  if (table.fields == nullptr) return at == kWrongKind ? kWrongKind : kNowhere;
  return table.has(0) ? table.at(0) : 0;
}

Result<std::uint64_t> MethodView::number(std::int32_t index, ValueKind kind) const {
  const std::uint32_t at = find_number(index, kind);
  if (at >= kWrongKind) return why(at);
  return at != 0 ? load_wide(file_.base, at) : 0;
}

Result<bool> MethodView::boolean(std::int32_t index) const {
  const std::uint32_t at = value_table(index, ValueKind::boolean);
  Walk walk{file_.base, file_.size};
  if (at == kWrongKind) walk.fail(Error::bad_value);
  walk.enter(at);
  return walk.done(walk.u8(slot::only_field) != 0);
}

Result<Vector> MethodView::list(std::int32_t index, ValueKind kind, unsigned log2_width) const {
  const std::uint32_t at = value_table(index, kind);
  const Known table{file_.base, at, fields_of(file_, at, known_.lists, kListField)};
  if (table.fields == nullptr) return why(at);
  if (!table.has(0)) return Vector{};
  const Vector vector = unpack(vector_at(file_.base, file_.size, follow(file_.base, table.at(0)), log2_width));
  if (vector.at == kNowhere) return Error::bad_structure;
  return vector;
}

Result<std::string_view> MethodView::string(std::int32_t index) const {
  return as_string(file_.base, list(index, ValueKind::string, 0));
}
Result<std::span<const std::int64_t>> MethodView::int_list(std::int32_t index) const {
  return as_span<std::int64_t>(file_.base, list(index, ValueKind::int_list, 3));
}
Result<std::span<const double>> MethodView::double_list(std::int32_t index) const {
  return as_span<double>(file_.base, list(index, ValueKind::double_list, 3));
}
Result<std::span<const std::uint8_t>> MethodView::bool_list(std::int32_t index) const {
  return as_span<std::uint8_t>(file_.base, list(index, ValueKind::bool_list, 0));
}
Result<std::span<const std::int32_t>> MethodView::tensor_list(std::int32_t index) const {
  return as_span<std::int32_t>(file_.base, list(index, ValueKind::tensor_list, 2));
}
Result<std::span<const std::int32_t>> MethodView::optional_tensor_list(std::int32_t index) const {
  return as_span<std::int32_t>(file_.base, list(index, ValueKind::optional_tensor_list, 2));
}

Result<std::uint32_t> MethodView::integers(std::int32_t index, std::span<std::int32_t> out) const {
  const std::byte* const base = file_.base;
  const Result<Vector> items = list(index, ValueKind::int_list, 3);
  if (!items.ok()) return items.error();
  const std::uint32_t count = items.value().count;
  for (std::uint32_t i = 0; i < count && i < out.size(); ++i) {
    const std::uint32_t item = load_clamped(base, items.value().at + 8 * i);
    const std::uint32_t at = find_number(static_cast<std::int32_t>(item), ValueKind::integer);
    if (at >= kWrongKind) return why(at);
    out[i] = at != 0 ? load<std::int32_t>(base, at) : 0;
    if (at != 0 && load<std::int32_t>(base, at + 4) != out[i] >> 31) return Error::bad_value;
  }
  return count;
}

Error MethodView::read_tensor(std::int32_t index, TensorView& view) const {
  const std::byte* const base = file_.base;
  const std::uint32_t at = value_table(index, ValueKind::tensor);
  const Known table{base, at, fields_of(file_, at, known_.tensors, kTensorFields)};
  if (table.fields == nullptr) return why(at);
  if (!table.has(kSizes) || !table.has(kDimOrder)) return Error::bad_structure;
  const Vector sizes = unpack(vector_at(base, file_.size, follow(base, table.at(kSizes)), 2));
  const Vector dim_order = unpack(vector_at(base, file_.size, follow(base, table.at(kDimOrder)), 0));
  if (sizes.at == kNowhere || dim_order.at == kNowhere) return Error::bad_structure;
  if ((table.u32(kStorageOffset) | table.u8(kDynamism)) != 0) return Error::unsupported;
  view.dtype = static_cast<DType>(table.u8(kScalarType));
  view.sizes = as_span<std::int32_t>(base, sizes);
  view.dim_order = as_span<std::uint8_t>(base, dim_order);
  view.data_index = table.u32(kData);
  view.memory_id = 0;
  view.offset = 0;
  Error error = check_shape(view);
  if (error == Error::ok && table.has(kPlace)) error = read_place(follow(base, table.at(kPlace)), view);
  if (error == Error::ok && table.has(kExtra)) error = check_extra(follow(base, table.at(kExtra)));
  return error;
}

Error MethodView::read_place(std::uint32_t at, TensorView& view) const {
  const Known place{file_.base, at, fields_of(file_, at, known_.places, kPlaceFields)};
  if (place.fields == nullptr) return Error::bad_structure;
  view.memory_id = place.u32(kMemoryId);
  view.offset = place.u32(kOffsetLow);
  if (view.memory_id == 0 || view.memory_id >= memories_.count || place.u32(kOffsetHigh) != 0) {
    return Error::bad_structure;
  }
  const std::uint32_t memory = load_clamped(file_.base, memories_.at + 8 * view.memory_id);
  if (view.offset > memory || view.bytes > memory - view.offset) return Error::bad_structure;
  return Error::ok;
}

// Data in another file, or in a segment that the format permits but no compiler writes.
Error MethodView::check_extra(std::uint32_t at) const {
  Walk walk{file_.base, file_.size};
  walk.enter(at);
  const std::uint32_t elsewhere =
      walk.u8(slot::extra_tensor_info::location) | walk.u64_clamped(slot::extra_tensor_info::mutable_data_segments_idx);
  if (elsewhere != 0) walk.fail(Error::bad_constant);
  return walk.error();
}

Result<std::string_view> MethodView::tensor_name(std::int32_t index) const {
  const std::uint32_t at = value_table(index, ValueKind::tensor);
  const Known table{file_.base, at, fields_of(file_, at, known_.tensors, kTensorFields)};
  if (table.fields == nullptr) return why(at);
  if (!table.has(kExtra)) return std::string_view{};
  Walk walk{file_.base, file_.size};
  walk.enter(follow(file_.base, table.at(kExtra)));
  return walk.done(walk.string(slot::extra_tensor_info::fully_qualified_name));
}

Result<bool> MethodView::is_external(std::int32_t index) const {
  const std::uint32_t at = value_table(index, ValueKind::tensor);
  const Known table{file_.base, at, fields_of(file_, at, known_.tensors, kTensorFields)};
  if (table.fields == nullptr) return why(at);
  if (!table.has(kExtra)) return false;
  Walk walk{file_.base, file_.size};
  walk.enter(follow(file_.base, table.at(kExtra)));
  return walk.done(walk.u8(slot::extra_tensor_info::location) != 0);
}

// ---- delegates: only so that a message can name them ------------------------------------------------------------

Result<std::uint32_t> MethodView::delegate_count() const {
  const Result<Vector> delegates = own_vector(slot::execution_plan::delegates, 2);
  if (!delegates.ok()) return delegates.error();
  return delegates.value().count;
}

Result<std::string_view> MethodView::delegate_name(std::uint32_t index) const {
  Walk walk{file_.base, file_.size};
  walk.enter(table_);
  walk.enter(walk.vector(slot::execution_plan::delegates, 2), index);
  return walk.done(walk.string(slot::backend_delegate::id));
}

}  // namespace cormorant::pte
