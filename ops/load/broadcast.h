// SPDX-License-Identifier: Apache-2.0
//
// From the shapes and dim orders of a call's tensors to the loops of kernels/broadcast.h, at load. Nothing in the file
// is trusted except what the loader has proved: sizes that fit 31 bits and dim orders that are permutations.
#pragma once

#include <utility>

#include "kernels/broadcast.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

// A broadcast on its way into the state memory: `loops` of `broadcast` stays null until store_plan().
struct LoadedBroadcast {
  Broadcast broadcast{};
  BroadcastLoop loops[kMaxRank]{};
};

// The distance in elements between neighbours along each dimension of the result, 0 where the operand repeats. Shapes
// are aligned at the last dimension.
inline bool broadcast_strides(const Tensor& operand, const Tensor& out, std::int32_t (&strides)[kMaxRank]) {
  if (operand.rank > out.rank || out.rank > kMaxRank) return false;
  const std::size_t missing = out.rank - std::size_t{operand.rank};
  for (std::int32_t& stride : strides) stride = 0;
  std::int32_t distance = 1;
  for (std::size_t i = operand.rank; i-- > 0;) {
    const std::size_t dim = operand.dim_order[i];
    const std::int32_t size = operand.sizes[dim];
    if (size != 1 && size != out.sizes[missing + dim]) return false;
    if (size != 1) strides[missing + dim] = distance;
    if (size != 0) distance *= size;  // without elements, no operand repeats
  }
  return true;
}

// Loops over the result's dimensions from the innermost in memory outwards; neighbours are merged if both operands
// continue across the boundary.
inline void read_broadcast(Call& call, const Tensor& self, const Tensor& other, const Tensor& out,
                           LoadedBroadcast& loaded) {
  std::int32_t a[kMaxRank];
  std::int32_t b[kMaxRank];
  const bool fits = broadcast_strides(self, out, a) && broadcast_strides(other, out, b);
  call.require(fits, Error::bad_shape);
  if (!fits) return;
  BroadcastLoop* const loops = loaded.loops;  // with strides in the place of steps at first
  std::uint32_t n = 0;
  for (std::size_t i = out.rank; i-- > 0;) {
    const std::size_t dim = out.dim_order[i];
    const std::int32_t size = out.sizes[dim];
    if (size == 1) continue;
    call.require(a[dim] != 0 || b[dim] != 0, Error::bad_shape);
    if (n != 0) {
      const auto turns = static_cast<std::int32_t>(loops[n - 1].turns);
      if (a[dim] == loops[n - 1].self_step * turns && b[dim] == loops[n - 1].other_step * turns) {
        loops[n - 1].turns = static_cast<std::uint32_t>(turns * size);
        continue;
      }
    }
    loops[n++] = {static_cast<std::uint32_t>(size), a[dim], b[dim]};
  }
  Broadcast& result = loaded.broadcast;
  result.self = self.as<const std::int8_t>();
  result.other = other.as<const std::int8_t>();
  result.out = out.as<std::int8_t>();
  result.count = 1;
  // An operand in another memory order than the result jumps in the innermost loop: stretches of one element.
  std::uint32_t first = 0;
  if (n != 0 && loops[0].self_step <= 1 && loops[0].other_step <= 1) {
    result.count = loops[0].turns;
    result.self_repeats = loops[0].self_step == 0;
    result.other_repeats = loops[0].other_step == 0;
    first = 1;
  }
  if (out.elements() == 0) {
    result.count = 0;
    first = n;
  }
  std::int32_t self_inner = 0;
  std::int32_t other_inner = 0;
  for (std::uint32_t i = first; i < n; ++i) {
    const BroadcastLoop loop = loops[i];
    const auto last = static_cast<std::int32_t>(loop.turns) - 1;
    loops[i - first] = {loop.turns, loop.self_step - self_inner, loop.other_step - other_inner};
    self_inner += loop.self_step * last;
    other_inner += loop.other_step * last;
  }
  result.outer = static_cast<std::uint8_t>(n - first);
}

// The same where all three are int8.
[[gnu::always_inline]] inline void read_int8_broadcast(Call& call, const Tensor& self, const Tensor& other,
                                                       const Tensor& out, LoadedBroadcast& loaded) {
  call.require(self.dtype == DType::i8 && other.dtype == DType::i8 && out.dtype == DType::i8, Error::bad_value);
  read_broadcast(call, self, other, out, loaded);
}

// All of loading for int16 tensors: plan(call, arguments, loaded) makes and stores what execution needs.
template <class Signature, class PlanOf>
Error load_words_broadcast(Call& call, PlanOf plan) {
  Signature args;
  if (!call.read_signature(args)) return call.error();
  const bool is_typed = args.self.dtype == DType::i16 && args.other.dtype == DType::i16 && args.out.dtype == DType::i16;
  call.require(is_typed, Error::bad_value);
  LoadedBroadcast loaded;
  if (call.error() == Error::ok) read_broadcast(call, args.self, args.other, args.out, loaded);
  return call.error() == Error::ok ? plan(call, args, loaded) : call.error();
}

// Swaps the operands if the operator allows it, so that self never repeats. True if it did.
inline bool swap_repeating(LoadedBroadcast& loaded) {
  Broadcast& b = loaded.broadcast;
  if (!b.self_repeats) return false;
  std::swap(b.self, b.other);
  std::swap(b.self_repeats, b.other_repeats);
  for (BroadcastLoop& loop : loaded.loops) std::swap(loop.self_step, loop.other_step);
  return true;
}

// Puts the plan, whose `tensors` become the loaded ones, and the loops after it into the state memory.
template <class Plan>
Error store_plan(Call& call, Plan& plan, const LoadedBroadcast& loaded) {
  plan.tensors = loaded.broadcast;
  const std::uint32_t outer = plan.tensors.outer;
  BroadcastLoop* loops = nullptr;
  if (call.error() == Error::ok && outer != 0) loops = call.allocate_list<BroadcastLoop>(outer);
  auto* const stored = call.make_plan<Plan>();
  if (call.error() != Error::ok) return call.error();
  for (std::uint32_t i = 0; i < outer; ++i) loops[i] = loaded.loops[i];
  plan.tensors.loops = loops;
  *stored = plan;
  return Error::ok;
}

}  // namespace cormorant::ops
