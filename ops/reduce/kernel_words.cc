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

struct WordsMovingMeanPlan {
  static constexpr std::uint32_t kStateBytes = 92;
  ReducePlan windows;   // of the first part that is new
  std::uint32_t fresh;  // parts that are
  std::int32_t step;    // elements of input from one to the next
  const void* past;
  const std::int32_t* sums;
  void* next_past;
  std::int32_t* next_sums;
  std::uint32_t parts;
  std::int32_t multiplier;
  std::int16_t low;
  std::int16_t high;
  std::uint8_t right;
  DType dtype;  // of past
};

// reduce(taps) is the next of `out`: calling taps(add) calls add with each tap.
template <class Result, class Reduce>
void for_each_result(const ReducePlan& p, const std::int16_t* first, Result* out, Reduce reduce) {
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

template <class Reduce>
void for_each_result(const ReducePlan& p, Reduce reduce) {
  for_each_result(p, reinterpret_cast<const std::int16_t*>(p.first.input),
                  reinterpret_cast<std::int16_t*>(p.first.output), reduce);
}

// Of a WordsMeanPlan or a WordsMovingMeanPlan.
template <class Plan>
std::int16_t mean_of(const Plan& p, std::int64_t sum) {
  const std::int64_t mean = (sum * p.multiplier + (std::int64_t{1} << (p.right - 1))) >> p.right;
  return static_cast<std::int16_t>(mean < p.low ? p.low : mean > p.high ? p.high : mean);
}

void execute_words_mean(const void* raw) {
  const auto& p = *static_cast<const WordsMeanPlan*>(raw);
  for_each_result(p.windows, [&](auto taps) {
    std::int64_t sum = 0;
    taps([&](std::int32_t value) { sum += value; });
    return mean_of(p, sum);
  });
}

// As move_mean() of kernel.h. Writable memory may hold anything: sums may wrap, and the index is forced inside.
template <class Sum>
void move_words_mean(const WordsMovingMeanPlan& p) {
  const std::uint32_t results = p.windows.outer * p.windows.inner * p.windows.first.channels;
  if (p.next_past != p.past) __builtin_memcpy(p.next_past, p.past, sizeof(Sum) * p.parts * results);
  if (p.next_sums != p.sums) __builtin_memcpy(p.next_sums, p.sums, sizeof(std::int32_t) * (results + 1));
  std::int32_t* const sums = p.next_sums;
  const auto add = [&](std::uint32_t k, std::uint32_t what) {
    sums[k] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[k]) + what);
  };
  const auto stored = static_cast<std::uint32_t>(sums[results]);
  std::uint32_t oldest = stored < p.parts ? stored : 0;
  const auto* input = reinterpret_cast<const std::int16_t*>(p.windows.first.input);
  for (std::uint32_t left = p.fresh; left != 0; --left, input += p.step) {
    Sum* const part = static_cast<Sum*>(p.next_past) + oldest * results;
    for (std::uint32_t k = 0; k < results; ++k) add(k, 0U - static_cast<std::uint32_t>(std::int32_t{part[k]}));
    for_each_result(p.windows, input, part, [](auto taps) {
      Sum sum = 0;
      taps([&](std::int16_t value) { sum = static_cast<Sum>(sum + value); });
      return sum;
    });
    for (std::uint32_t k = 0; k < results; ++k) add(k, static_cast<std::uint32_t>(std::int32_t{part[k]}));
    oldest = oldest + 1 == p.parts ? 0 : oldest + 1;
  }
  auto* const out = reinterpret_cast<std::int16_t*>(p.windows.first.output);
  for (std::uint32_t k = 0; k < results; ++k) out[k] = mean_of(p, sums[k]);
  sums[results] = static_cast<std::int32_t>(oldest);
}

void execute_words_moving_mean(const void* raw) {
  const auto& p = *static_cast<const WordsMovingMeanPlan*>(raw);
  if (p.dtype == DType::i16) return move_words_mean<std::int16_t>(p);
  move_words_mean<std::int32_t>(p);
}

void execute_words_amax(const void* raw) {
  for_each_result(*static_cast<const ReducePlan*>(raw), [](auto taps) {
    std::int32_t largest = -32768;
    taps([&](std::int32_t value) { largest = value > largest ? value : largest; });
    return static_cast<std::int16_t>(largest);
  });
}

// The factor of a Mean or a MovingMean, to a plan of either.
template <class Args, class Plan>
void take_factor(Call& call, const Args& args, Plan& plan) {
  call.require(args.input_zero_point == 0 && args.output_zero_point == 0 && args.left_shift == 0, Error::bad_value);
  call.require(is_word(args.output_min) && args.output_min <= args.output_max && is_word(args.output_max),
               Error::bad_value);
  call.require(args.right_shift >= 1 && args.right_shift <= 62 && args.multiplier >= 0, Error::bad_value);
  plan.multiplier = args.multiplier;
  plan.low = static_cast<std::int16_t>(args.output_min);
  plan.high = static_cast<std::int16_t>(args.output_max);
  plan.right = static_cast<std::uint8_t>(args.right_shift);
}

// Kept out of line: the caller's frame is beneath everything that reads the arguments.
[[gnu::noinline]] Error plan_moving_mean(Call& call, MovingMean<TargetWorld>& args) {
  auto* const plan = call.make_plan<WordsMovingMeanPlan>();
  if (plan == nullptr) return call.error();
  const std::uint32_t parts = moving_parts(call, args, DType::i16, plan->windows);
  if (parts == 0) return call.error();
  const std::uint64_t all = std::uint64_t{plan->windows.first.rows} * plan->windows.first.columns * parts;
  call.require(all <= kLargestWordsSum, Error::unsupported);
  take_factor(call, args, *plan);
  plan->fresh = static_cast<std::uint32_t>(args.input.sizes[args.axis] / args.entries);
  plan->step = args.entries * step_along(args.input, args.axis);
  plan->past = args.past.data;
  plan->sums = args.sums.as<const std::int32_t>();
  plan->next_past = args.next_past.data;
  plan->next_sums = args.next_sums.as<std::int32_t>();
  plan->parts = parts;
  plan->dtype = args.past.dtype;
  return call.error();
}

[[gnu::noinline]] Error plan_mean(Call& call, Mean<TargetWorld>& args) {
  auto* const plan = call.make_plan<WordsMeanPlan>();  // filled where it is: the deepest loads have no stack to spare
  if (plan == nullptr) return call.error();
  plan_windows(call, args.input, args.dim, args.out, DType::i16, plan->windows);
  if (call.error() != Error::ok) return call.error();
  // Sums of 2^16 elements have 31 bits, and 62 with the multiplier's.
  call.require(plan->windows.first.rows * plan->windows.first.columns <= 1U << 16, Error::unsupported);
  take_factor(call, args, *plan);
  return call.error();
}

}  // namespace

Error load_words_mean(Call& call) {
  Mean<TargetWorld> args;
  return call.read_signature(args) ? plan_mean(call, args) : call.error();
}

Error load_words_moving_mean(Call& call) {
  MovingMean<TargetWorld> args;
  return call.read_signature(args) ? plan_moving_mean(call, args) : call.error();
}

Error load_words_amax(Call& call) { return plan_amax(call, DType::i16); }

CORMORANT_KERNELS(CORMORANT_REDUCE_KERNELS, words)

}  // namespace cormorant::ops
