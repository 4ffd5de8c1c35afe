// SPDX-License-Identifier: Apache-2.0
//
// Reductions of 16-bit activations: the same windows as for bytes, with steps that count elements.
#include "kernels/words.h"
#include "ops/reduce/kernel.h"

namespace cormorant::ops {
namespace {

struct WordsMeanPlan {
  static constexpr std::uint32_t kStateBytes = 64;
  ReducePlan windows;
  std::int32_t multiplier;
  std::int16_t low;
  std::int16_t high;
  std::uint8_t right;
};

// reduce(channel, output, taps): calling taps(add) calls add with each tap.
template <class Reduce>
void for_each_result(const ReducePlan& p, Reduce reduce) {
  const auto* first = reinterpret_cast<const std::int16_t*>(p.first.input);
  auto* out = reinterpret_cast<std::int16_t*>(p.first.output);
  for (std::uint32_t i = 0; i < p.outer; ++i) {
    const std::int16_t* window = first + static_cast<std::int32_t>(i) * p.outer_step;
    for (std::uint32_t j = 0; j < p.inner; ++j, window += p.inner_step) {
      for (std::uint32_t channel = 0; channel < p.first.channels; ++channel) {
        *out++ = reduce([&](auto add) {
          const std::int16_t* row = window + channel;
          for (std::uint32_t y = p.first.rows; y != 0; --y, row += p.first.row_step) {
            const std::int16_t* tap = row;
            for (std::uint32_t x = p.first.columns; x != 0; --x, tap += p.first.column_step) add(*tap);
          }
        });
      }
    }
  }
}

void execute_words_mean(const void* raw) {
  const auto& p = *static_cast<const WordsMeanPlan*>(raw);
  const std::int64_t round = std::int64_t{1} << (p.right - 1);
  for_each_result(p.windows, [&](auto taps) {
    std::int64_t sum = 0;
    taps([&](std::int32_t value) { sum += value; });
    const std::int64_t mean = (sum * p.multiplier + round) >> p.right;
    return static_cast<std::int16_t>(mean < p.low ? p.low : mean > p.high ? p.high : mean);
  });
}

void execute_words_amax(const void* raw) {
  for_each_result(*static_cast<const ReducePlan*>(raw), [](auto taps) {
    std::int32_t largest = -32768;
    taps([&](std::int32_t value) { largest = value > largest ? value : largest; });
    return static_cast<std::int16_t>(largest);
  });
}

// Kept out of line: the caller's frame is beneath everything that reads the arguments.
[[gnu::noinline]] Error plan_mean(Call& call, Mean<TargetWorld>& args) {
  auto* const plan = call.make_plan<WordsMeanPlan>();  // filled where it is: the deepest loads have no stack to spare
  if (plan == nullptr) return call.error();
  plan_windows(call, args.input, args.dim, args.out, DType::i16, plan->windows);
  if (call.error() != Error::ok) return call.error();
  // Sums of 2^16 elements have 31 bits, and 62 with the multiplier's.
  call.require(plan->windows.first.rows * plan->windows.first.columns <= 1U << 16, Error::unsupported);
  call.require(args.input_zero_point == 0 && args.output_zero_point == 0 && args.left_shift == 0, Error::bad_value);
  call.require(is_word(args.output_min) && args.output_min <= args.output_max && is_word(args.output_max),
               Error::bad_value);
  call.require(args.right_shift >= 1 && args.right_shift <= 62 && args.multiplier >= 0, Error::bad_value);
  plan->multiplier = args.multiplier;
  plan->low = static_cast<std::int16_t>(args.output_min);
  plan->high = static_cast<std::int16_t>(args.output_max);
  plan->right = static_cast<std::uint8_t>(args.right_shift);
  return call.error();
}

}  // namespace

Error load_words_mean(Call& call) {
  Mean<TargetWorld> args;
  return call.read_signature(args) ? plan_mean(call, args) : call.error();
}

Error load_words_amax(Call& call) { return plan_amax(call, DType::i16); }

CORMORANT_KERNELS(CORMORANT_REDUCE_KERNELS, words)

}  // namespace cormorant::ops
