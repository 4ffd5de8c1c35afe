// SPDX-License-Identifier: Apache-2.0
#include "formats/pte/plan_io.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <span>

#include "base/dtype.h"
#include "formats/pte/proportion.h"
#include "formats/pte/verified.h"

namespace cormorant::pte {
namespace {

constexpr std::size_t kAlignment = 16;
constexpr std::size_t kHeaderOffset = 8;  // after the root offset and the identifier
constexpr std::size_t kHeaderBytes = 32;

std::size_t round_up(std::size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

template <class T>
T read_number(const std::vector<std::byte>& file, std::size_t at) {
  T number;
  std::memcpy(&number, file.data() + at, sizeof number);
  return number;
}
template <class T>
void write_number(std::vector<std::byte>& file, std::size_t at, T number) {
  std::memcpy(file.data() + at, &number, sizeof number);
}

// Inputs and outputs that have neither a place nor data.
std::vector<schema::TensorT*> unplanned(schema::ExecutionPlanT& plan) {
  std::vector<schema::TensorT*> tensors;
  std::set<const schema::TensorT*> known;
  for (const auto* indices : {&plan.inputs, &plan.outputs}) {
    for (const std::int32_t index : *indices) {
      if (index < 0 || static_cast<std::size_t>(index) >= plan.values.size()) continue;
      schema::TensorT* tensor = plan.values[static_cast<std::size_t>(index)]->val.AsTensor();
      if (tensor == nullptr || tensor->allocation_info || tensor->data_buffer_idx != 0) continue;
      if (known.insert(tensor).second) tensors.push_back(tensor);
    }
  }
  return tensors;
}

// Whether there are any, without unpacking the program.
bool has_unplanned(const schema::ExecutionPlan& plan) {
  if (plan.values() == nullptr) return false;
  const auto is_unplanned = [&](std::int32_t index) {
    if (index < 0 || static_cast<std::uint32_t>(index) >= plan.values()->size()) return false;
    const schema::Tensor* tensor = plan.values()->Get(static_cast<std::uint32_t>(index))->val_as_Tensor();
    return tensor != nullptr && tensor->allocation_info() == nullptr && tensor->data_buffer_idx() == 0;
  };
  const auto any_of = [&](const flatbuffers::Vector<std::int32_t>* indices) {
    return indices != nullptr && std::any_of(indices->begin(), indices->end(), is_unplanned);
  };
  return any_of(plan.inputs()) || any_of(plan.outputs());
}

// Puts them one after another; false where one has no size.
bool give_places(schema::ExecutionPlanT& plan, const std::vector<schema::TensorT*>& tensors) {
  if (plan.non_const_buffer_sizes.empty()) plan.non_const_buffer_sizes.push_back(0);  // id 0 is unused
  const std::size_t id = plan.non_const_buffer_sizes.size();
  std::size_t used = 0;
  for (schema::TensorT* tensor : tensors) {
    std::size_t bytes = size_of(static_cast<DType>(tensor->scalar_type));
    for (const std::int32_t size : tensor->sizes) {
      if (size < 0 || bytes > (std::size_t{1} << 31)) return false;
      bytes *= static_cast<std::size_t>(size);
    }
    if (used + bytes > (std::size_t{1} << 31)) return false;
    tensor->allocation_info = std::make_unique<schema::AllocationDetailsT>();
    tensor->allocation_info->memory_id = static_cast<std::uint32_t>(id);
    tensor->allocation_info->memory_offset_low = static_cast<std::uint32_t>(used);
    used += round_up(bytes);
  }
  plan.non_const_buffer_sizes.push_back(static_cast<std::int64_t>(used));
  return true;
}

// The flatbuffer with the extended header after its identifier, then the old file's segments.
std::vector<std::byte> assemble(const schema::ProgramT& program, std::span<const std::byte> segments) {
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishProgramBuffer(builder, schema::Program::Pack(builder, &program));
  const std::size_t program_size = builder.GetSize() + kHeaderBytes;
  const std::size_t segment_base = segments.empty() ? 0 : round_up(program_size);
  const auto* flatbuffer = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  std::vector<std::byte> file(std::max(segment_base, program_size) + segments.size());
  std::copy_n(flatbuffer, kHeaderOffset, file.begin());
  std::copy_n(flatbuffer + kHeaderOffset, builder.GetSize() - kHeaderOffset,
              file.begin() + kHeaderOffset + kHeaderBytes);
  std::ranges::copy(segments, file.begin() + static_cast<std::ptrdiff_t>(file.size() - segments.size()));
  write_number(file, 0, read_number<std::uint32_t>(file, 0) + static_cast<std::uint32_t>(kHeaderBytes));
  std::memcpy(file.data() + kHeaderOffset, "eh00", 4);
  write_number(file, 12, static_cast<std::uint32_t>(kHeaderBytes));
  write_number(file, 16, std::uint64_t{program_size});
  write_number(file, 24, std::uint64_t{segment_base});
  write_number(file, 32, std::uint64_t{segments.size()});
  return file;
}

}  // namespace

std::vector<std::byte> with_planned_io(std::vector<std::byte> file) {
  constexpr std::size_t kSmallest = 64;
  if (file.size() < kSmallest) return file;
  const schema::Program* verified = verified_program(file);
  if (verified == nullptr) return file;  // opening it reports what is wrong
  if (all_of(verified->execution_plan(), [](const auto* plan) { return !has_unplanned(*plan); })) return file;
  if (!is_proportionate(file)) return file;  // then loading it does
  schema::ProgramT program;
  verified->UnPackTo(&program);
  for (const auto& plan : program.execution_plan) {
    const std::vector<schema::TensorT*> tensors = unplanned(*plan);
    if (!tensors.empty() && !give_places(*plan, tensors)) return file;
  }
  std::size_t segment_base = file.size();
  if (std::memcmp(file.data() + kHeaderOffset, "eh00", 4) == 0) {
    const auto base = read_number<std::uint64_t>(file, 24);
    if (base > file.size()) return file;
    if (base != 0) segment_base = static_cast<std::size_t>(base);
  }
  return assemble(program, std::span(file).subspan(segment_base));
}

}  // namespace cormorant::pte
