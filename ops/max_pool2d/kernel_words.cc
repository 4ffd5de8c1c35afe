// SPDX-License-Identifier: Apache-2.0
//
// Max pooling of 16-bit activations. The loops over windows count bytes.
#include "kernels/words.h"
#include "ops/max_pool2d/kernel.h"

namespace cormorant::ops {
namespace {

struct WordsMaxPoolPlan {
  static constexpr std::uint32_t kStateBytes = 40;
  PoolGeometry geometry;
  std::int16_t low;
  std::int16_t high;
};

// Kept out of load_words_max_pool, whose stack frame is below the reading of the arguments.
[[gnu::noinline]] Error plan_words(Call& call, const QuantizedMaxPool2d<TargetWorld>& args) {
  const Tensor& input = args.input;
  const Tensor& out = args.out;
  const std::int32_t low = args.activation_min, high = args.activation_max;
  call.require(input.dtype == DType::i16 && out.dtype == DType::i16, Error::bad_value);
  call.require(
      args.kernel_size.count == 2 && args.stride.count == 2 && args.padding.count == 2 && args.dilation.count == 2,
      Error::bad_value);
  call.require(is_word(low) && low <= high && is_word(high), Error::bad_value);
  call.require(input.rank == 4 && out.rank == 4, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  call.require(input.is_channels_last() && out.is_channels_last(), Error::unsupported);
  call.require(input.size(0) == out.size(0) && input.size(1) == out.size(1), Error::bad_shape);
  call.require(
      is_pool_size(input.size(0), 1) && is_pool_size(input.size(1), 1) && input.size(1) <= kMostMaxPoolWordsChannels,
      Error::unsupported);
  const PoolAxis height = max_pool_axis(call, args, 0);
  const PoolAxis width = max_pool_axis(call, args, 1);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<WordsMaxPoolPlan>();
  if (plan == nullptr) return call.error();
  *plan = {.geometry = {.input = input.as<const std::int8_t>(),
                        .output = out.as<std::int8_t>(),
                        .batch = static_cast<std::uint16_t>(input.size(0)),
                        .channels = static_cast<std::uint16_t>(2 * input.size(1)),
                        .height = height,
                        .width = width},
           .low = static_cast<std::int16_t>(low),
           .high = static_cast<std::int16_t>(high)};
  return Error::ok;
}

void pool(const WordsMaxPoolPlan& p, const Window& window) {
  for (std::uint32_t channel = 0; channel < window.channels; channel += 2) {
    std::int32_t largest = p.low;
    const std::int8_t* row = window.input + channel;
    for (std::uint32_t y = window.rows; y != 0; --y, row += window.row_step) {
      const std::int8_t* tap = row;
      for (std::uint32_t x = window.columns; x != 0; --x, tap += window.column_step) {
        const std::int32_t value = *reinterpret_cast<const std::int16_t*>(tap);
        if (value > largest) largest = value;
      }
    }
    *reinterpret_cast<std::int16_t*>(window.output + channel) = to_word(largest, p.low, p.high);
  }
}

void execute_words(const void* raw) {
  const auto& p = *static_cast<const WordsMaxPoolPlan*>(raw);
  for_each_pool_window<PoolKind::dilated>(p.geometry, [&](const Window& windows, const PoolSpan&, const PoolSpan&) {
    for_each_following(windows, [&](const Window& window) { pool(p, window); });
  });
}

}  // namespace

Error load_words_max_pool(Call& call) {
  QuantizedMaxPool2d<TargetWorld> args;
  return call.read_signature(args) ? plan_words(call, args) : call.error();
}

CORMORANT_KERNELS(CORMORANT_MAX_POOL2D_KERNELS, words)

}  // namespace cormorant::ops
