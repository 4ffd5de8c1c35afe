// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cormorant::fuzz {

std::size_t pick(Random& random, std::size_t count) { return count == 0 ? 0 : random() % count; }

std::int64_t odd_number(Random& random) {
  static constexpr std::int64_t kNumbers[] = {
      0,       1,       2,       3,       4,          5,          7,          8,          9,     15,
      16,      17,      31,      32,      33,         63,         64,         65,         127,   128,
      129,     255,     256,     257,     4095,       4096,       32767,      32768,      65535, 65536,
      1 << 20, 1 << 24, 1 << 28, 1 << 30, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000};
  const std::int64_t number = kNumbers[pick(random, std::size(kNumbers))];
  return random() % 4 == 0 ? -number : number;
}

namespace {

// Mostly small: large ones are refused by the first check that they meet.
std::int32_t odd_size(Random& random) {
  if (random() % 4 != 0) return static_cast<std::int32_t>(random() % 20);
  return static_cast<std::int32_t>(odd_number(random));
}

template <class T>
T nudged(T number, Random& random) {
  constexpr int kSteps[] = {1, -1, 2, -2, 4, -4, 16, -16};
  const int step = kSteps[pick(random, std::size(kSteps))];
  return static_cast<T>(static_cast<std::uint64_t>(number) + static_cast<std::uint64_t>(step));  // wraps
}

// ---- tensors --------------------------------------------------------------------------------------------------------

void change_shape(schema::TensorT& tensor, Random& random) {
  switch (random() % 4) {
    case 0:
      tensor.sizes.insert(tensor.sizes.begin() + static_cast<std::ptrdiff_t>(pick(random, tensor.sizes.size() + 1)), 1);
      tensor.dim_order.push_back(static_cast<std::uint8_t>(tensor.dim_order.size()));
      break;
    case 1:
      if (tensor.sizes.size() > 1) std::swap(tensor.sizes[0], tensor.sizes[pick(random, tensor.sizes.size())]);
      break;
    default:
      if (!tensor.sizes.empty()) tensor.sizes[pick(random, tensor.sizes.size())] = odd_size(random);
      break;
  }
}

void change_order(schema::TensorT& tensor, Random& random) {
  if (tensor.dim_order.empty()) return;
  if (random() % 8 == 0) {
    tensor.dim_order[pick(random, tensor.dim_order.size())] = static_cast<std::uint8_t>(random() % 20);
  } else {
    std::shuffle(tensor.dim_order.begin(), tensor.dim_order.end(), random);
  }
}

void change_place(EditableProgram& p, schema::TensorT& tensor, Random& random) {
  if (tensor.allocation_info == nullptr) return;
  schema::AllocationDetailsT& place = *tensor.allocation_info;
  const auto tensors = p.tensors();
  const schema::TensorT& other = *tensors[pick(random, tensors.size())];
  switch (random() % 6) {
    case 0:
      place.memory_id = static_cast<std::uint32_t>(random() % 4);
      break;
    case 1:
      place.memory_offset_high = static_cast<std::uint32_t>(odd_number(random));
      break;
    case 2:
      place.memory_offset_low = static_cast<std::uint32_t>(odd_number(random));
      break;
    case 3:
      place.memory_offset_low = nudged(place.memory_offset_low, random);
      break;
    default:  // over another tensor
      if (other.allocation_info != nullptr) place = *other.allocation_info;
      if (random() % 2 == 0) place.memory_offset_low = nudged(place.memory_offset_low, random);
      break;
  }
}

void change_tensor(EditableProgram& p, Random& random) {
  const auto tensors = p.tensors();
  if (tensors.empty()) return;
  schema::TensorT& tensor = *tensors[pick(random, tensors.size())];
  constexpr schema::ScalarType kTypes[] = {schema::ScalarType::CHAR, schema::ScalarType::BYTE,
                                           schema::ScalarType::INT,  schema::ScalarType::FLOAT,
                                           schema::ScalarType::LONG, schema::ScalarType::SHORT};
  switch (random() % 8) {
    case 0:
    case 1:
      return change_shape(tensor, random);
    case 2:
      return change_order(tensor, random);
    case 3:
    case 4:
      return change_place(p, tensor, random);
    case 5:
      tensor.scalar_type = kTypes[pick(random, std::size(kTypes))];
      return;
    case 6:
      tensor.data_buffer_idx = static_cast<std::uint32_t>(random() % 5);
      return;
    default:
      if (random() % 2 == 0) {
        tensor.allocation_info = nullptr;
      } else {
        tensor.storage_offset = static_cast<std::int32_t>(odd_number(random));
      }
      return;
  }
}

// A size wherever a call has it, in shapes and integers alike: operators agree about most of their sizes.
void change_common_size(EditableProgram& p, Random& random) {
  const auto calls = p.calls();
  if (calls.empty()) return;
  const schema::KernelCallT& call = *calls[pick(random, calls.size())];
  std::vector<schema::TensorT*> tensors;
  std::vector<std::int32_t> sizes;
  for (const std::int32_t argument : call.args) {
    schema::TensorT* const tensor = p.tensor(argument);
    if (tensor == nullptr || std::ranges::find(tensors, tensor) != tensors.end()) continue;
    tensors.push_back(tensor);
    sizes.insert(sizes.end(), tensor->sizes.begin(), tensor->sizes.end());
  }
  if (sizes.empty()) return;
  const std::int32_t from = sizes[pick(random, sizes.size())];
  const std::int32_t to = random() % 2 == 0 ? nudged(from, random) : odd_size(random);
  for (schema::TensorT* tensor : tensors) std::ranges::replace(tensor->sizes, from, to);
}

// ---- numbers --------------------------------------------------------------------------------------------------------

void change_number(EditableProgram& p, Random& random) {
  auto& values = p.plan().values;
  std::vector<schema::EValueT*> numbers;
  for (const auto& value : values) {
    if (value == nullptr) continue;
    const schema::KernelTypes type = value->val.type;
    if (type != schema::KernelTypes::Tensor && type != schema::KernelTypes::NONE) numbers.push_back(value.get());
  }
  if (numbers.empty()) return;
  schema::EValueT& value = *numbers[pick(random, numbers.size())];
  constexpr double kReals[] = {0.0, -0.0, 1.0, -1.0, 1e-30, 1e30, 1e300, -1e300, 0.5, 127.5, 1.0 / 256, 65536.0};
  if (auto* integer = value.val.AsInt()) {
    integer->int_val = random() % 3 == 0 ? nudged(integer->int_val, random) : odd_number(random);
  } else if (auto* real = value.val.AsDouble()) {
    real->double_val = kReals[pick(random, std::size(kReals))];
    if (random() % 8 == 0) real->double_val /= 0.0;
  } else if (auto* boolean = value.val.AsBool()) {
    boolean->bool_val = !boolean->bool_val;
  } else if (auto* list = value.val.AsIntList()) {
    if (list->items.empty() || random() % 3 == 0) {
      list->items.push_back(static_cast<std::int64_t>(pick(random, values.size())));
    } else if (random() % 3 == 0) {
      list->items.pop_back();
    } else {
      list->items[pick(random, list->items.size())] = static_cast<std::int64_t>(pick(random, values.size()));
    }
  } else if (auto* tensors = value.val.AsTensorList()) {
    if (tensors->items.empty() || random() % 2 == 0) {
      tensors->items.push_back(static_cast<std::int32_t>(pick(random, values.size())));
    } else {
      tensors->items[pick(random, tensors->items.size())] = static_cast<std::int32_t>(pick(random, values.size()));
    }
  }
}

void change_call(EditableProgram& p, Random& random) {
  const auto calls = p.calls();
  if (calls.empty()) return;
  schema::KernelCallT& call = *calls[pick(random, calls.size())];
  auto& args = call.args;
  switch (random() % 6) {
    case 0:
      call.op_index = static_cast<std::int32_t>(pick(random, p.plan().operators.size() + 1));
      break;
    case 1:
      if (!args.empty()) args.pop_back();
      break;
    case 2:
      args.push_back(static_cast<std::int32_t>(pick(random, p.plan().values.size())));
      break;
    default:
      if (args.empty()) break;
      args[pick(random, args.size())] = random() % 2 == 0
                                            ? args[pick(random, args.size())]
                                            : static_cast<std::int32_t>(pick(random, p.plan().values.size() + 1));
      break;
  }
}

void change_program(EditableProgram& p, Random& random) {
  auto& sizes = p.plan().non_const_buffer_sizes;
  switch (random() % 4) {
    case 0:
      sizes.push_back(random() % 2 == 0 ? 0 : odd_number(random));
      break;
    case 1:
      if (!sizes.empty()) sizes[pick(random, sizes.size())] = odd_number(random);
      break;
    case 2:
      if (p.program.constant_segment == nullptr || p.program.constant_segment->offsets.empty()) break;
      p.program.constant_segment->offsets[pick(random, p.program.constant_segment->offsets.size())] =
          static_cast<std::uint64_t>(random() % 2 == 0 ? odd_number(random)
                                                       : static_cast<std::int64_t>(random() % 64) * 16);
      break;
    default:
      auto& border = random() % 2 == 0 ? p.plan().inputs : p.plan().outputs;
      if (!border.empty())
        border[pick(random, border.size())] = static_cast<std::int32_t>(pick(random, p.plan().values.size()));
      break;
  }
}

// ---- constants ------------------------------------------------------------------------------------------------------

// A number of two or four bytes, or a byte, mostly near the beginning, where headers are.
void change_constant(EditableProgram& p, Random& random) {
  const auto tensors = p.tensors();
  if (tensors.empty()) return;
  const std::span<std::byte> data = p.constant(*tensors[pick(random, tensors.size())]);
  if (data.size() < 4) return;
  const std::size_t reach = random() % 3 == 0 ? data.size() : std::min<std::size_t>(data.size(), 112);
  const std::size_t width = std::size_t{1} << random() % 3;
  const std::size_t at = pick(random, reach - 3) / width * width;
  std::uint32_t number = 0;
  std::copy_n(data.data() + at, width, reinterpret_cast<std::byte*>(&number));
  number = random() % 2 == 0 ? nudged(number, random) : static_cast<std::uint32_t>(odd_number(random));
  std::copy_n(reinterpret_cast<const std::byte*>(&number), width, data.data() + at);
}

void change_once(EditableProgram& p, Random& random) {
  switch (random() % 10) {
    case 0:
    case 1:
      return change_tensor(p, random);
    case 2:
    case 3:
      return change_common_size(p, random);
    case 4:
      return change_number(p, random);
    case 5:
      return change_call(p, random);
    case 6:
      return random() % 4 == 0 ? change_program(p, random) : change_number(p, random);
    case 7:
      return change_constant(p, random);
    default:
      if (!change_geometry(p, random)) change_constant(p, random);
      return;
  }
}

Bytes flip_bytes(std::span<const std::byte> file, Random& random) {
  Bytes changed(file.begin(), file.end());
  for (std::size_t i = 0; !changed.empty() && i < 1 + random() % 4; ++i) {
    changed[pick(random, changed.size())] = static_cast<std::byte>(random());
  }
  return changed;
}

}  // namespace

Bytes mutate(std::span<const std::byte> file, Random& random) {
  if (random() % 16 == 0) return flip_bytes(file, random);
  std::optional<EditableProgram> program = EditableProgram::read(file);
  if (!program) return flip_bytes(file, random);
  const std::size_t changes = 1 + random() % 4;
  for (std::size_t i = 0; i < changes; ++i) change_once(*program, random);
  // Larger tensors need room; without a gap each ends where the next begins, the last one with the arena.
  if (random() % 8 < 5) program->plan_again(random() % 4 == 0 ? 4 : 16, 0);
  return program->write();
}

}  // namespace cormorant::fuzz
