// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/editable_program.h"

#include <cstring>

#include "base/dtype.h"
#include "formats/pte/verified.h"

namespace cormorant::fuzz {
namespace {

constexpr std::size_t kBegin = 8, kHeader = 32, kAlignment = 16;

template <class T>
T number_at(std::span<const std::byte> file, std::size_t at) {
  T number;
  std::memcpy(&number, file.data() + at, sizeof number);
  return number;
}

std::size_t aligned(std::size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

std::int64_t bytes_of(const schema::TensorT& tensor) {
  auto bytes = static_cast<std::int64_t>(size_of(static_cast<DType>(tensor.scalar_type)));
  for (const std::int32_t size : tensor.sizes) {
    if (size < 0 || (size != 0 && bytes > (std::int64_t{1} << 40) / size)) return -1;
    bytes *= size;
  }
  return bytes;
}

std::optional<EditableProgram> EditableProgram::read(std::span<const std::byte> file) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(file.data());
  if (file.size() < 64 || !schema::ProgramBufferHasIdentifier(data)) return std::nullopt;
  const schema::Program* const program = pte::verified_program(file);
  if (program == nullptr) return std::nullopt;
  EditableProgram edit;
  program->UnPackTo(&edit.program);
  if (edit.program.execution_plan.empty() || edit.program.execution_plan[0]->chains.empty()) return std::nullopt;
  for (const auto& value : edit.program.execution_plan[0]->values) {  // a kind without a value cannot be packed
    if (value->val.type != schema::KernelTypes::NONE && value->val.value == nullptr) return std::nullopt;
  }
  if (std::memcmp(data + kBegin, "eh00", 4) != 0) return edit;
  const auto base = number_at<std::uint64_t>(file, 24);
  if (base <= file.size()) edit.segments.assign(file.begin() + static_cast<std::ptrdiff_t>(base), file.end());
  return edit;
}

namespace {

// Packing leaves out empty lists, and a tensor without dimensions has two that must be there. They are written with
// one entry that nothing else has, and emptied in the file.
constexpr std::int32_t kNoSizes = 0x7a5ac3a5;
constexpr std::uint8_t kNoOrder = 0xc3;

void mark_scalars(schema::ProgramT& program) {
  for (const auto& plan : program.execution_plan) {
    for (const auto& value : plan->values) {
      schema::TensorT* tensor = value == nullptr ? nullptr : value->val.AsTensor();
      if (tensor == nullptr || !tensor->sizes.empty()) continue;
      tensor->sizes = {kNoSizes};
      tensor->dim_order = {kNoOrder};
    }
  }
}

void empty_marked_lists(std::span<std::uint8_t> file) {
  const std::uint32_t sizes[] = {1, static_cast<std::uint32_t>(kNoSizes)};
  const std::uint32_t order[] = {1, kNoOrder};
  for (std::size_t at = 0; at + sizeof sizes <= file.size(); at += 4) {
    const bool is_marked =
        std::memcmp(&file[at], sizes, sizeof sizes) == 0 || std::memcmp(&file[at], order, sizeof order) == 0;
    if (is_marked) std::memset(&file[at], 0, sizeof sizes);
  }
}

}  // namespace

Bytes EditableProgram::write() const {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(schema::Program::Pack(builder, &program), "ET12");
  schema::ProgramT marked;  // a copy
  schema::GetProgram(builder.GetBufferPointer())->UnPackTo(&marked);
  builder.Clear();
  mark_scalars(marked);
  builder.Finish(schema::Program::Pack(builder, &marked), "ET12");
  empty_marked_lists({builder.GetBufferPointer(), builder.GetSize()});
  const std::size_t program_size = builder.GetSize() + kHeader;
  const std::size_t base = aligned(program_size);
  Bytes file(base + segments.size());
  std::memcpy(file.data(), builder.GetBufferPointer(), kBegin);
  std::memcpy(file.data() + kBegin + kHeader, builder.GetBufferPointer() + kBegin, builder.GetSize() - kBegin);
  if (!segments.empty()) std::memcpy(file.data() + base, segments.data(), segments.size());
  const auto put = [&file](std::size_t at, auto number) { std::memcpy(file.data() + at, &number, sizeof number); };
  put(0, static_cast<std::uint32_t>(number_at<std::uint32_t>(file, 0) + kHeader));
  std::memcpy(file.data() + kBegin, "eh00", 4);
  put(12, static_cast<std::uint32_t>(kHeader));
  put(16, std::uint64_t{program_size});
  put(24, segments.empty() ? std::uint64_t{0} : std::uint64_t{base});  // 0: there are none
  put(32, std::uint64_t{segments.size()});
  return file;
}

schema::TensorT* EditableProgram::tensor(std::int32_t value) {
  const auto index = static_cast<std::size_t>(value);
  if (value < 0 || index >= plan().values.size() || plan().values[index] == nullptr) return nullptr;
  return plan().values[index]->val.AsTensor();
}

std::vector<schema::TensorT*> EditableProgram::tensors() {
  std::vector<schema::TensorT*> all;
  for (std::size_t i = 0; i < plan().values.size(); ++i) {
    if (schema::TensorT* found = tensor(static_cast<std::int32_t>(i))) all.push_back(found);
  }
  return all;
}

std::vector<schema::KernelCallT*> EditableProgram::calls() {
  std::vector<schema::KernelCallT*> all;
  for (const auto& instruction : plan().chains[0]->instructions) {
    if (instruction == nullptr) continue;
    if (schema::KernelCallT* call = instruction->instr_args.AsKernelCall()) all.push_back(call);
  }
  return all;
}

std::string EditableProgram::operator_of(const schema::KernelCallT& call) const {
  const auto& operators = program.execution_plan[0]->operators;
  const auto index = static_cast<std::size_t>(call.op_index);
  if (call.op_index < 0 || index >= operators.size() || operators[index] == nullptr) return {};
  return operators[index]->overload.empty() ? operators[index]->name
                                            : operators[index]->name + "." + operators[index]->overload;
}

std::span<std::byte> EditableProgram::constant(const schema::TensorT& tensor) {
  const auto& table = program.constant_segment;
  if (tensor.data_buffer_idx == 0 || table == nullptr || tensor.data_buffer_idx >= table->offsets.size()) return {};
  const std::uint64_t offset = table->offsets[tensor.data_buffer_idx];
  if (offset >= segments.size()) return {};
  return std::span(segments).subspan(offset);
}

void EditableProgram::replace_constant(schema::TensorT& tensor, std::span<const std::byte> data) {
  auto& table = program.constant_segment;
  if (table == nullptr || table->segment_index >= program.segments.size() || table->offsets.empty()) return;
  schema::DataSegmentT& segment = *program.segments[table->segment_index];
  const std::size_t at = aligned(segments.size());
  segments.resize(at);
  segments.insert(segments.end(), data.begin(), data.end());
  table->offsets.push_back(at - segment.offset);
  segment.size = segments.size() - segment.offset;
  tensor.data_buffer_idx = static_cast<std::uint32_t>(table->offsets.size() - 1);
  tensor.sizes = {static_cast<std::int32_t>(data.size())};
  tensor.dim_order = {0};
}

void EditableProgram::plan_again(std::uint32_t alignment, std::uint32_t gap, const schema::TensorT* last) {
  constexpr std::uint64_t kWhole = 16;  // what memories are multiples of
  std::uint64_t at = 0;
  const auto place = [&](schema::TensorT& t, bool at_end) {
    const std::int64_t bytes = bytes_of(t);
    if (t.allocation_info == nullptr || bytes < 0 || bytes > 1 << 24) return;
    const auto size = static_cast<std::uint64_t>(bytes);
    const std::uint64_t own = std::max<std::uint64_t>(alignment, size_of(static_cast<DType>(t.scalar_type)));
    at = (at + own - 1) / own * own;
    const std::uint64_t end = (at + size + kWhole - 1) / kWhole * kWhole;
    if (at_end) at = (end - size) / own * own;
    t.allocation_info->memory_id = 1;
    t.allocation_info->memory_offset_low = static_cast<std::uint32_t>(at);
    t.allocation_info->memory_offset_high = 0;
    at = at_end ? end : at + size + gap;
  };
  for (schema::TensorT* t : tensors()) {
    if (t != last) place(*t, false);
  }
  for (schema::TensorT* t : tensors()) {
    if (t == last) place(*t, true);
  }
  plan().non_const_buffer_sizes = {0, static_cast<std::int64_t>(at)};
}

}  // namespace cormorant::fuzz
