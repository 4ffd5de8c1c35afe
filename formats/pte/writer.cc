// SPDX-License-Identifier: Apache-2.0
//
// Sharing is hash-consing: children are written first, so a table is known by its scalars and the positions of its
// children, and an equal one that was written before serves again. The reader recognizes tables by their vtables and is
// fastest when all tables of a kind have the same, so some fields (a number that is 0, an offset of 0) are written
// although they have their default; sharing makes that cheap.
#include "formats/pte/writer.h"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <bit>
#include <map>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "formats/pte/program_generated.h"

namespace cormorant::pte {
namespace {

constexpr std::size_t kAlignment = 16;    // of segments in the file and of constants in their segment
constexpr std::size_t kHeaderOffset = 8;  // after the root offset and the identifier
constexpr std::uint32_t kHeaderBytes = 32;

std::size_t aligned(std::size_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

void require(bool condition, const std::string& what) {
  if (!condition) throw std::logic_error("cannot write program: " + what);
}

// Pieces of data, equal ones once.
class Segment {
 public:
  // The index by which tensors refer to the piece.
  std::uint32_t add(std::span<const std::byte> piece) {
    std::string key(reinterpret_cast<const char*>(piece.data()), piece.size());
    const auto [entry, is_new] = indices_.try_emplace(std::move(key), static_cast<std::uint32_t>(offsets_.size()));
    if (is_new) {
      bytes_.resize(aligned(bytes_.size()));
      offsets_.push_back(bytes_.size());
      bytes_.insert(bytes_.end(), piece.begin(), piece.end());
    }
    return entry->second;
  }
  [[nodiscard]] bool empty() const { return offsets_.size() == 1; }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<std::uint64_t>& offsets() const { return offsets_; }

 private:
  std::vector<std::byte> bytes_;
  std::vector<std::uint64_t> offsets_ = {0};  // entry 0 means no data
  std::map<std::string, std::uint32_t> indices_;
};

class Writer {
 public:
  explicit Writer(const Program& program) : program_(program) {}

  std::vector<std::byte> write() {
    for (const Plan& plan : program_.plans) plans_.push_back(write_plan(plan));
    // Only now it is known which constants are in use.
    schema::FinishProgramBuffer(builder_, write_root());
    return assemble();
  }

 private:
  template <class T>
  using Offset = flatbuffers::Offset<T>;

  // What make() writes, or what it wrote for the same key before. A key is a tag and whatever distinguishes two tables.
  template <class Make>
  auto once(char tag, std::string_view key, Make make) -> decltype(make()) {
    std::string whole(1, tag);
    whole += key;
    if (const auto found = written_.find(whole); found != written_.end()) return {found->second};
    // Padding that a table needs goes before it and not into it, where it would make another vtable.
    builder_.Align(tag == 'I' || tag == 'D' ? sizeof(std::int64_t) : sizeof(std::int32_t));
    const auto offset = make();
    written_.emplace(std::move(whole), offset.o);
    return offset;
  }
  template <class... Parts>
  static std::string key(const Parts&... parts) {
    std::string key;
    (key.append(reinterpret_cast<const char*>(&parts), sizeof(parts)), ...);
    return key;
  }
  template <class T>
  Offset<flatbuffers::Vector<T>> vector(const std::vector<T>& items) {
    const std::string_view bytes(reinterpret_cast<const char*>(items.data()), items.size() * sizeof(T));
    return once(static_cast<char>('0' + sizeof(T)), bytes, [&] { return builder_.CreateVector(items); });
  }
  Offset<flatbuffers::String> string(const std::string& text) { return builder_.CreateSharedString(text); }

  Offset<schema::AllocationDetails> write_place(const Place& place);
  Offset<schema::Tensor> write_tensor(const Tensor& tensor);
  std::pair<schema::KernelTypes, Offset<void>> write_payload(const Value& value);
  Offset<schema::EValue> write_value(const Value& value);
  Offset<schema::Instruction> write_call(const KernelCall& call);
  Offset<schema::ExecutionPlan> write_plan(const Plan& plan);
  Offset<schema::Program> write_root();
  std::vector<std::byte> assemble() const;

  const Program& program_;
  flatbuffers::FlatBufferBuilder builder_;
  std::map<std::string, flatbuffers::uoffset_t> written_;
  std::vector<Offset<schema::ExecutionPlan>> plans_;
  Segment constants_, initial_values_;
};

flatbuffers::Offset<schema::AllocationDetails> Writer::write_place(const Place& place) {
  return once('P', key(place.memory_id, place.offset), [&] {
    schema::AllocationDetailsBuilder details(builder_);
    details.add_memory_id(place.memory_id);
    builder_.ForceDefaults(true);
    details.add_memory_offset_low(static_cast<std::uint32_t>(place.offset));
    builder_.ForceDefaults(false);
    details.add_memory_offset_high(static_cast<std::uint32_t>(place.offset >> 32U));
    return details.Finish();
  });
}

flatbuffers::Offset<schema::Tensor> Writer::write_tensor(const Tensor& tensor) {
  const auto sizes = vector(tensor.sizes);
  const auto dim_order = vector(tensor.dim_order);
  Offset<schema::AllocationDetails> place;
  if (tensor.place) place = write_place(*tensor.place);
  Offset<schema::ExtraTensorInfo> extra;
  if (!tensor.name.empty()) {
    const auto name = string(tensor.name);
    extra = once('E', key(name.o), [&] { return schema::CreateExtraTensorInfo(builder_, 0, name); });
  }
  std::uint32_t data = 0;
  if (tensor.data) {
    data = tensor.place ? initial_values_.add(program_.initial_values[*tensor.data])
                        : constants_.add(program_.constants[*tensor.data]);
  }
  return once('T', key(tensor.dtype, sizes.o, dim_order.o, place.o, extra.o, data), [&] {
    schema::TensorBuilder table(builder_);
    table.add_sizes(sizes);
    table.add_dim_order(dim_order);
    table.add_data_buffer_idx(data);
    table.add_allocation_info(place);
    table.add_extra_tensor_info(extra);
    builder_.ForceDefaults(true);
    table.add_scalar_type(static_cast<schema::ScalarType>(tensor.dtype));
    builder_.ForceDefaults(false);
    return table.Finish();
  });
}

// A value's own table and which it is.
std::pair<schema::KernelTypes, flatbuffers::Offset<void>> Writer::write_payload(const Value& value) {
  using Types = schema::KernelTypes;
  const auto written = [](Types type, auto offset) { return std::pair(type, offset.Union()); };
  return std::visit(
      [&]<class T>(const T& v) {
        if constexpr (std::is_same_v<T, None>) {
          return written(Types::Null, once('N', "", [&] { return schema::CreateNull(builder_); }));
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          builder_.ForceDefaults(true);
          const auto table = once('I', key(v), [&] { return schema::CreateInt(builder_, v); });
          builder_.ForceDefaults(false);
          return written(Types::Int, table);
        } else if constexpr (std::is_same_v<T, bool>) {
          return written(Types::Bool, once('B', key(v), [&] { return schema::CreateBool(builder_, v); }));
        } else if constexpr (std::is_same_v<T, double>) {
          builder_.ForceDefaults(true);  // also because flatbuffers takes −0.0 for its default
          const auto table = once('D', key(v), [&] { return schema::CreateDouble(builder_, v); });
          builder_.ForceDefaults(false);
          return written(Types::Double, table);
        } else if constexpr (std::is_same_v<T, std::string>) {
          const auto text = string(v);
          return written(Types::String, once('S', key(text.o), [&] { return schema::CreateString(builder_, text); }));
        } else if constexpr (std::is_same_v<T, Tensor>) {
          return written(Types::Tensor, write_tensor(v));
        } else if constexpr (std::is_same_v<T, IntList>) {
          const auto items = vector(v.items);
          return written(Types::IntList,
                         once('i', key(items.o), [&] { return schema::CreateIntList(builder_, items); }));
        } else if constexpr (std::is_same_v<T, DoubleList>) {
          const auto items = builder_.CreateVector(v.items);
          return written(Types::DoubleList, schema::CreateDoubleList(builder_, items));
        } else if constexpr (std::is_same_v<T, BoolList>) {
          const auto items = builder_.CreateVector(v.items);
          return written(Types::BoolList, schema::CreateBoolList(builder_, items));
        } else if constexpr (std::is_same_v<T, TensorList>) {
          return written(Types::TensorList, schema::CreateTensorList(builder_, vector(v.items)));
        } else {
          static_assert(std::is_same_v<T, OptionalTensorList>);
          return written(Types::OptionalTensorList, schema::CreateOptionalTensorList(builder_, vector(v.items)));
        }
      },
      value);
}

flatbuffers::Offset<schema::EValue> Writer::write_value(const Value& value) {
  const auto payload = write_payload(value);
  return once('V', key(payload.first, payload.second.o),
              [&] { return schema::CreateEValue(builder_, payload.first, payload.second); });
}

flatbuffers::Offset<schema::Instruction> Writer::write_call(const KernelCall& call) {
  const auto args = vector(call.args);
  const auto table = once('C', key(call.op, args.o),
                          [&] { return schema::CreateKernelCall(builder_, static_cast<std::int32_t>(call.op), args); });
  return once('X', key(table.o), [&] {
    return schema::CreateInstruction(builder_, schema::InstructionArguments::KernelCall, table.Union());
  });
}

flatbuffers::Offset<schema::ExecutionPlan> Writer::write_plan(const Plan& plan) {
  std::vector<Offset<schema::EValue>> values;
  for (const Value& value : plan.values) values.push_back(write_value(value));
  std::vector<Offset<schema::Operator>> operators;
  for (const Operator& op : plan.operators) {
    const auto name = string(op.name), overload = string(op.overload);
    operators.push_back(schema::CreateOperator(builder_, name, overload));
  }
  std::vector<Offset<schema::Instruction>> instructions;
  for (const KernelCall& call : plan.calls) instructions.push_back(write_call(call));
  const std::vector chains = {schema::CreateChain(builder_, 0, 0, builder_.CreateVector(instructions))};
  Offset<schema::ContainerMetadata> metadata;
  if (!plan.encoded_inputs.empty() || !plan.encoded_outputs.empty()) {
    const auto inputs = string(plan.encoded_inputs), outputs = string(plan.encoded_outputs);
    metadata = schema::CreateContainerMetadata(builder_, inputs, outputs);
  }
  // ExecuTorch requires a list of delegates, even if it is empty.
  const auto delegates = builder_.CreateVector(std::vector<Offset<schema::BackendDelegate>>{});
  const auto name = string(plan.name);
  const auto value_vector = builder_.CreateVector(values);
  const auto inputs = vector(plan.inputs), outputs = vector(plan.outputs);
  const auto chain_vector = builder_.CreateVector(chains);
  const auto operator_vector = builder_.CreateVector(operators);
  const auto memory_sizes = vector(plan.memory_sizes);
  return schema::CreateExecutionPlan(builder_, name, metadata, value_vector, inputs, outputs, chain_vector,
                                     operator_vector, delegates, memory_sizes);
}

flatbuffers::Offset<schema::Program> Writer::write_root() {
  std::vector<Offset<schema::DataSegment>> segments;
  const auto add_segment = [&](const Segment& segment, std::size_t begin) {
    const auto index = static_cast<std::uint32_t>(segments.size());
    if (!segment.empty()) segments.push_back(schema::CreateDataSegment(builder_, begin, segment.bytes().size()));
    return schema::CreateSubsegmentOffsets(builder_, index, vector(segment.offsets()));
  };
  const auto constants = add_segment(constants_, 0);
  flatbuffers::Offset<flatbuffers::Vector<Offset<schema::SubsegmentOffsets>>> initial_values;
  if (!initial_values_.empty()) {
    const std::vector tables = {add_segment(initial_values_, aligned(constants_.bytes().size()))};
    initial_values = builder_.CreateVector(tables);
  }
  const auto plans = builder_.CreateVector(plans_);
  flatbuffers::Offset<flatbuffers::Vector<Offset<schema::DataSegment>>> segment_vector;
  if (!segments.empty()) segment_vector = builder_.CreateVector(segments);
  return schema::CreateProgram(builder_, 0, plans, 0, 0, segment_vector, constants, initial_values);
}

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}
template <class T>
void append_number(std::vector<std::byte>& out, T number) {
  static_assert(std::endian::native == std::endian::little);
  append(out, std::as_bytes(std::span(&number, 1)));
}

// The extended header goes between identifier and content, which moves every offset from the start of the file, but the
// root's is the only one of these.
std::vector<std::byte> Writer::assemble() const {
  const auto flatbuffer =
      std::as_bytes(std::span(builder_.GetBufferPointer(), static_cast<std::size_t>(builder_.GetSize())));
  const std::size_t flatbuffer_size = flatbuffer.size() + kHeaderBytes;
  std::vector<std::byte> segments = constants_.bytes();
  if (!initial_values_.empty()) {
    segments.resize(aligned(segments.size()));
    append(segments, initial_values_.bytes());
  }
  const bool has_segments = !constants_.empty() || !initial_values_.empty();
  const std::size_t segment_base = has_segments ? aligned(flatbuffer_size) : 0;

  std::vector<std::byte> file;
  append_number(file, flatbuffers::ReadScalar<std::uint32_t>(builder_.GetBufferPointer()) + kHeaderBytes);
  append(file, flatbuffer.subspan(4, 4));
  append(file, std::as_bytes(std::span("eh00", 4)));
  append_number(file, kHeaderBytes);
  append_number<std::uint64_t>(file, flatbuffer_size);
  append_number<std::uint64_t>(file, segment_base);
  append_number<std::uint64_t>(file, segments.size());
  append(file, flatbuffer.subspan(kHeaderOffset));
  file.resize(aligned(file.size()));
  append(file, segments);
  return file;
}

// ---- contradictions ---------------------------------------------------------------------------------------------

void check_tensor(const Program& program, const Plan& plan, const Tensor& tensor) {
  require(size_of(tensor.dtype) != 0, "unknown element type");
  require(std::ranges::all_of(tensor.sizes, [](std::int32_t size) { return size >= 0; }), "a size is negative");
  std::vector<std::uint8_t> dimensions = tensor.dim_order;
  std::ranges::sort(dimensions);
  require(dimensions.size() == tensor.sizes.size(), "dim_order is not as long as sizes");
  for (std::size_t i = 0; i < dimensions.size(); ++i) require(dimensions[i] == i, "dim_order is not a permutation");
  if (tensor.place) {
    const Place& place = *tensor.place;
    require(place.memory_id > 0 && place.memory_id < plan.memory_sizes.size(), "a memory id is out of range");
    require(place.offset + tensor.bytes() <= static_cast<std::uint64_t>(plan.memory_sizes[place.memory_id]),
            "a tensor is placed outside its memory");
  }
  if (tensor.data) {
    const auto& pieces = tensor.place ? program.initial_values : program.constants;
    require(*tensor.data < pieces.size(), "a constant's index is out of range");
    require(pieces[*tensor.data].size() == tensor.bytes(), "a constant does not have the size of its tensor");
  }
}

void check(const Program& program, const Plan& plan) {
  const auto check_indices = [&](const auto& indices, const char* what) {
    const auto count = static_cast<std::int64_t>(plan.values.size());
    for (const std::int64_t index : indices) require(index >= 0 && index < count, what);
  };
  for (const Value& value : plan.values) {
    if (const auto* tensor = std::get_if<Tensor>(&value)) check_tensor(program, plan, *tensor);
    if (const auto* list = std::get_if<IntList>(&value)) {
      check_indices(list->items, "an integer list's item is out of range");
      for (const std::int64_t item : list->items) {
        require(std::holds_alternative<std::int64_t>(plan.values[static_cast<std::size_t>(item)]),
                "an integer list's item is not an integer");
      }
    }
    if (const auto* list = std::get_if<TensorList>(&value)) {
      check_indices(list->items, "a tensor list's item is out of range");
    }
    if (const auto* list = std::get_if<OptionalTensorList>(&value)) {
      check_indices(list->items, "a tensor list's item is out of range");
    }
  }
  check_indices(plan.inputs, "an input is out of range");
  check_indices(plan.outputs, "an output is out of range");
  for (const KernelCall& call : plan.calls) {
    require(call.op < plan.operators.size(), "an operator's index is out of range");
    check_indices(call.args, "an argument is out of range");
  }
}

bool equal(const Value& a, const Value& b) {
  if (const auto *x = std::get_if<double>(&a), *y = std::get_if<double>(&b); x != nullptr && y != nullptr) {
    return std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);  // distinguishes 0 from −0
  }
  return a == b;
}

}  // namespace

std::uint64_t Tensor::bytes() const {
  std::uint64_t bytes = size_of(dtype);
  for (const std::int32_t size : sizes) bytes *= static_cast<std::uint64_t>(size);
  return bytes;
}

std::int32_t Plan::add(Value value) {
  values.push_back(std::move(value));
  return static_cast<std::int32_t>(values.size()) - 1;
}

std::int32_t Plan::intern(const Value& value) {
  if (!std::holds_alternative<Tensor>(value)) {
    const auto found = std::ranges::find_if(values, [&](const Value& other) { return equal(value, other); });
    if (found != values.end()) return static_cast<std::int32_t>(found - values.begin());
  }
  return add(value);
}

std::int32_t Plan::intern_ints(std::span<const std::int64_t> ints) {
  IntList list;
  for (const std::int64_t i : ints) list.items.push_back(intern(i));
  return intern(list);
}

std::uint32_t Plan::intern_operator(const std::string& op_name, const std::string& overload) {
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (operators[i].name == op_name && operators[i].overload == overload) return static_cast<std::uint32_t>(i);
  }
  operators.push_back({op_name, overload});
  return static_cast<std::uint32_t>(operators.size()) - 1;
}

std::vector<std::byte> write(const Program& program) {
  for (const Plan& plan : program.plans) check(program, plan);
  return Writer(program).write();
}

}  // namespace cormorant::pte
