// SPDX-License-Identifier: Apache-2.0
//
// Some operators have two kernels of the same name: one for floats, and one for all types, which is larger and slower
// (NUMBERS in ops/load/kernel_list.h). Firmware has one of them. The types of the tensors that a program passes to the
// operator decide which: here, for whoever links firmware and for the host, which has both.
#pragma once

#include <span>
#include <string_view>

#include "formats/pte/reader.h"

namespace cormorant {

// Suffix of the operator's name in the symbol of a kernel for all types.
inline constexpr std::string_view kNumbersEnding = "_numbers";

struct CallTypes {
  std::uint32_t first = 0;  // the first tensor's type, as a bit
  std::uint32_t all = 0;

  void add(DType type) {
    const auto number = static_cast<unsigned>(type);
    const std::uint32_t bit = 1U << (number < 31 ? number : 31);
    if (first == 0) first = bit;
    all |= bit;
  }
};

// For tensors that are arguments, and those in lists. What cannot be read is ignored: load refuses it.
inline CallTypes types_of(const pte::MethodView& method, std::span<const std::int32_t> arguments) {
  CallTypes types;
  const auto add = [&](std::int32_t value) {
    pte::TensorView tensor;
    if (value >= 0 && method.read_tensor(value, tensor) == Error::ok) types.add(tensor.dtype);
  };
  for (const std::int32_t value : arguments) {
    add(value);
    if (const auto list = method.tensor_list(value); list.ok()) {
      for (const std::int32_t item : list.value()) add(item);
    }
    if (const auto list = method.optional_tensor_list(value); list.ok()) {
      for (const std::int32_t item : list.value()) add(item);
    }
  }
  return types;
}

// Whether a call is for the kernel of all types, if the operator has one.
inline bool is_of_numbers(std::string_view name, const CallTypes& types) {
  constexpr auto bit = [](DType type) { return 1U << static_cast<unsigned>(type); };
  // Moves elements of any type, as long as it is the same.
  if (name == "aten::cat.out" || name == "aten::_to_copy.out" || name == "dim_order_ops::_to_dim_order_copy.out") {
    return (types.all & (types.all - 1)) != 0;
  }
  if (name == "aten::max_pool2d_with_indices.out") return types.first != bit(DType::f32);  // the indices are integers
  if (name == "aten::clamp.out" && types.all == bit(DType::i8)) return false;
  return (types.all & ~bit(DType::f32)) != 0;
}

}  // namespace cormorant
