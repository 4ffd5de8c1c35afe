// SPDX-License-Identifier: Apache-2.0
//
// Average pooling of 16-bit activations. The loops over windows count bytes.
#include "kernels/words.h"
#include "ops/avg_pool2d/kernel.h"

namespace cormorant::ops {
namespace {

struct WordsPoolPlan {
  static constexpr std::uint32_t kStateBytes = 48;
  PoolGeometry geometry;
  const std::int32_t* divisors;
  std::uint16_t divisor_count;
  bool count_include_pad;
  std::int16_t low;
  std::int16_t high;
};

// Kept out of load_words_pool2d, whose stack frame is below the reading of the arguments.
[[gnu::noinline]] Error plan_words(Call& call, const AvgPool2d<TargetWorld>& args) {
  const Tensor& input = args.input;
  const Tensor& out = args.out;
  const Tensor& divisors = args.divisors;
  const bool is_typed = input.dtype == DType::i16 && out.dtype == DType::i16 && divisors.dtype == DType::i32;
  const bool is_paired = args.kernel_size.count == 2 && args.stride.count == 2 && args.padding.count == 2;
  call.require(is_typed && is_paired && is_word(args.output_min) && is_word(args.output_max), Error::bad_value);
  call.require(args.output_min <= args.output_max && args.input_zero_point == 0 && args.output_zero_point == 0,
               Error::bad_value);
  call.require(input.rank == 4 && out.rank == 4 && divisors.rank == 2, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  call.require(input.is_channels_last() && out.is_channels_last(), Error::unsupported);
  call.require(
      divisors.size(1) == 3 && is_pool_size(divisors.size(0), 1) && divisors.is_contiguous() && divisors.constant,
      Error::bad_shape);
  call.require(input.size(0) == out.size(0) && input.size(1) == out.size(1), Error::bad_shape);
  call.require(is_pool_size(input.size(0), 1) && is_pool_size(input.size(1), 1) && input.size(1) <= kMostWordsChannels,
               Error::unsupported);
  const PoolAxis height = mean_pool_axis(call, args, 0);
  const PoolAxis width = mean_pool_axis(call, args, 1);
  if (call.error() != Error::ok) return call.error();
  call.require(most_taps(height) * most_taps(width) <= static_cast<std::uint32_t>(kLargestWindow), Error::unsupported);
  const auto rows = call.elements<std::int32_t>(divisors);  // of three
  for (std::size_t i = 2; i < rows.size(); i += 3) {
    call.require(rows[i - 1] >= 0 && rows[i] >= 1 && rows[i] <= 62, Error::bad_value);
  }
  auto* const plan = call.make_plan<WordsPoolPlan>();
  if (plan == nullptr) return call.error();
  *plan = {.geometry = {.input = input.as<const std::int8_t>(),
                        .output = out.as<std::int8_t>(),
                        .batch = static_cast<std::uint16_t>(input.size(0)),
                        .channels = static_cast<std::uint16_t>(2 * input.size(1)),
                        .height = height,
                        .width = width},
           .divisors = rows.data(),
           .divisor_count = static_cast<std::uint16_t>(divisors.size(0)),
           .count_include_pad = args.count_include_pad,
           .low = static_cast<std::int16_t>(args.output_min),
           .high = static_cast<std::int16_t>(args.output_max)};
  return Error::ok;
}

void pool(const WordsPoolPlan& p, const Window& window, const std::int32_t* divisor) {
  const std::int64_t round = std::int64_t{1} << (divisor[2] - 1);
  for (std::uint32_t channel = 0; channel < window.channels; channel += 2) {
    std::int32_t sum = 0;
    const std::int8_t* row = window.input + channel;
    for (std::uint32_t y = window.rows; y != 0; --y, row += window.row_step) {
      const std::int8_t* tap = row;
      for (std::uint32_t x = window.columns; x != 0; --x, tap += window.column_step) {
        sum += *reinterpret_cast<const std::int16_t*>(tap);
      }
    }
    const std::int64_t mean = (std::int64_t{sum} * divisor[1] + round) >> divisor[2];
    const std::int64_t low = p.low, high = p.high;
    *reinterpret_cast<std::int16_t*>(window.output + channel) = static_cast<std::int16_t>(mean < low    ? low
                                                                                          : mean > high ? high
                                                                                                        : mean);
  }
}

void execute_words(const void* raw) {
  const auto& p = *static_cast<const WordsPoolPlan*>(raw);
  for_each_pool_window<PoolKind::adaptive>(
      p.geometry, [&](const Window& window, const PoolSpan& rows, const PoolSpan& columns) {
        const std::int32_t count =
            p.count_include_pad ? wrapping_product(rows.counted, columns.counted) : rows.taps * columns.taps;
        pool(p, window, divisor_row(p.divisors, p.divisor_count, count));
      });
}

}  // namespace

Error load_words_pool2d(Call& call) {
  AvgPool2d<TargetWorld> args;
  return call.read_signature(args) ? plan_words(call, args) : call.error();
}

CORMORANT_KERNELS(CORMORANT_AVG_POOL2D_KERNELS, words)

}  // namespace cormorant::ops
