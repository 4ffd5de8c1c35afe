// SPDX-License-Identifier: Apache-2.0
#include "ops/pad/kernel.h"

namespace cormorant::ops {
namespace {

struct MemoryDims {
  std::int32_t size[kPadRank] = {1, 1, 1, 1};
};

// Sizes in memory order, right-aligned.
MemoryDims memory_dims(const Tensor& tensor) {
  constexpr std::uint8_t kChannelsLast[] = {0, 2, 3, 1};
  const std::uint8_t* order = tensor.is_channels_last() ? kChannelsLast : tensor.dim_order;
  MemoryDims dims;
  for (std::size_t i = 0; i < tensor.rank; ++i) dims.size[kPadRank - tensor.rank + i] = tensor.sizes[order[i]];
  return dims;
}

}  // namespace

// Kept out of line: the caller's frame is beneath everything that reads the arguments.
[[gnu::noinline]] static Error plan_pad(Call& call, Pad<TargetWorld>& args) {
  const auto& [input, pre, post, value, out] = args;
  call.require(input.dtype == DType::i8 && out.dtype == DType::i8, Error::unsupported);
  call.require(pre.count == kPadRank && post.count == kPadRank, Error::bad_value);
  call.require(value >= -128 && value <= 127, Error::bad_value);
  call.require(input.rank >= 1 && input.rank <= kPadRank && out.rank == input.rank, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  MemoryDims from = memory_dims(input);
  const MemoryDims to = memory_dims(out);
  std::int32_t before[kPadRank];
  std::int32_t after[kPadRank];
  for (std::size_t i = 0; i < kPadRank; ++i) {
    before[i] = pre[i];
    after[i] = post[i];
    // Each is at most the output's size, so that nothing below overflows.
    call.require(before[i] >= 0 && after[i] >= 0 && before[i] <= to.size[i] && after[i] <= to.size[i] - before[i] &&
                     from.size[i] == to.size[i] - before[i] - after[i],
                 Error::bad_shape);
  }
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<PadPlan>();
  if (plan == nullptr) return call.error();
  // Inner dimensions without padding become part of the one outside them.
  std::int32_t inner[kPadRank] = {to.size[0], to.size[1], to.size[2], to.size[3]};
  for (int moved = 1; moved < kPadRank && before[3] == 0 && after[3] == 0; ++moved) {
    const std::int32_t unit = inner[3];
    for (std::size_t i = 3; i > 0; --i) {
      from.size[i] = from.size[i - 1];
      inner[i] = inner[i - 1];
      before[i] = before[i - 1];
      after[i] = after[i - 1];
    }
    from.size[0] = inner[0] = 1;
    before[0] = after[0] = 0;
    from.size[3] *= unit;
    inner[3] *= unit;
    before[3] *= unit;
    after[3] *= unit;
  }
  *plan = {.input = input.as<const std::int8_t>(),
           .output = out.as<std::int8_t>(),
           .run = from.size[3],
           .extents = {from.size[0], from.size[1], from.size[2]},
           .before = {},
           .after = {},
           .value = static_cast<std::int8_t>(value)};
  std::int32_t block = 1;
  for (std::size_t i = kPadRank; i-- > 0;) {
    plan->before[i] = before[i] * block;
    plan->after[i] = after[i] * block;
    block *= inner[i];
  }
  return Error::ok;
}

Error load_pad(Call& call) {
  Pad<TargetWorld> args;
  return call.read_signature(args) ? plan_pad(call, args) : call.error();
}

}  // namespace cormorant::ops
