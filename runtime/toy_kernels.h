// SPDX-License-Identifier: Apache-2.0
//
// Kernels for the runtime's own tests and fuzzer. They have the signatures of real operators but compute nothing of
// interest: `execute` reads every byte of what it was given to read and writes every byte of what it was given to
// write, so that a sanitizer sees any tensor that reaches outside the memory it was promised.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <tuple>
#include <type_traits>

#include "runtime/program.h"

namespace cormorant::toy {

template <class... Fields>
struct Signature {
  static constexpr std::uint32_t kStateBytes = 0;  // no Cortex-M loads them
  std::tuple<Fields...> fields;
  template <class Visitor>
  void visit(Visitor&& visitor) {
    std::apply([&](auto&... field) { (visitor("", field), ...); }, fields);
  }
};

template <class S>
Error load(Call& call) {
  call.read_plan<S>();
  return call.error();
}

// Each output byte becomes the sum of all bytes read (and of all integers); scratch is filled with it as well.
template <class S>
void execute(const void* plan) {
  S fields = *static_cast<const S*>(plan);
  unsigned sum = 0;
  fields.visit([&]<class F>(const char*, F& field) {
    if constexpr (std::is_same_v<F, Tensor> || std::is_same_v<F, OptionalTensor>) {
      for (std::uint32_t i = 0; field.data != nullptr && i < field.bytes(); ++i)
        sum += field.template as<std::uint8_t>()[i];
    } else if constexpr (std::is_same_v<F, std::int32_t>) {
      sum += static_cast<unsigned>(field);
    } else if constexpr (std::is_same_v<F, IntList>) {
      for (std::size_t i = 0; i < kMaxRank && i < field.count; ++i) sum += static_cast<unsigned>(field[i]);
    }
  });
  fields.visit([&]<class F>(const char*, F& field) {
    if constexpr (std::is_same_v<F, OutTensor> || std::is_same_v<F, ScratchTensor>) {
      if (field.bytes() != 0) std::memset(field.data, static_cast<int>(sum & 0xff), field.bytes());
    }
  });
}

template <class... Fields>
constexpr Kernel kernel(const char* name) {
  return {name, load<Signature<Fields...>>, execute<Signature<Fields...>>};
}

using Int = std::int32_t;

// The operators of the programs in tests/executorch.
inline constexpr Kernel kExecutorch[] = {
    kernel<Tensor, float, Int, Int, Int, DType, OutTensor>("cortex_m::quantize_per_tensor.out"),
    kernel<Tensor, float, Int, Int, Int, DType, OutTensor>("cortex_m::dequantize_per_tensor.out"),
    kernel<Tensor, Tensor, OptionalTensor, IntList, IntList, IntList, Int, Int, Tensor, Tensor, Int, Int, ScratchTensor,
           OutTensor>("cortex_m::quantized_conv2d.out"),
    kernel<Tensor, Tensor, OptionalTensor, IntList, IntList, IntList, Int, Int, Int, Tensor, Tensor, Int, Int,
           ScratchTensor, OutTensor>("cortex_m::quantized_depthwise_conv2d.out"),
    kernel<Tensor, IntList, IntList, Int, OutTensor>("cortex_m::pad.out"),
    kernel<Tensor, IntList, IntList, IntList, bool, Int, Int, Int, ScratchTensor, OutTensor>(
        "cortex_m::quantized_avg_pool2d.out"),
    kernel<Tensor, Tensor, OptionalTensor, OptionalTensor, Int, Int, Int, IntList, IntList, Int, Int, OutTensor>(
        "cortex_m::quantized_linear.out"),
    kernel<Tensor, Int, Int, Int, Tensor, Int, Int, Int, Int, Int, Int, Int, Int, OutTensor>(
        "cortex_m::quantized_add.out"),
    kernel<Tensor, Int, Int, Int, Int, Int, Int, OutTensor>("cortex_m::softmax.out"),
};

// Everything a caller can do with a program, if it loads at all: for damaged files under sanitizers.
inline bool exercise(std::span<const std::byte> pte, std::span<const Kernel* const> table, std::span<std::byte> state,
                     std::span<const Region> arenas) {
  Failure why;
  const auto loaded = load_program(pte, "forward", table, state, arenas, why);
  if (!loaded.ok()) return false;
  const Program& program = loaded.value();
  for (std::size_t i = 0; i < program.input_count(); ++i) {
    const Span<std::byte> input = program.input(i).as<std::byte>();
    std::fill(input.begin(), input.end(), std::byte{0x55});
  }
  program.execute();
  program.reset();
  unsigned sum = 0;
  for (std::size_t i = 0; i < program.output_count(); ++i) {
    for (const std::uint8_t byte : program.output(i).as<std::uint8_t>()) sum += byte;
  }
  return sum != 1;  // all but always true, and the sum is really computed
}

}  // namespace cormorant::toy
