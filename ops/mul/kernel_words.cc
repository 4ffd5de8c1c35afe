// SPDX-License-Identifier: Apache-2.0
#include "kernels/words.h"
#include "ops/load/broadcast.h"
#include "ops/mul/kernel.h"

namespace cormorant::ops::mul {
namespace {

struct WordsPlan {
  static constexpr std::uint32_t kStateBytes = 32;
  Broadcast tensors;
  std::int32_t factor;
  std::int16_t activation_min;
  std::int16_t activation_max;
};

void execute_words(const void* raw) {
  const WordsPlan p = *static_cast<const WordsPlan*>(raw);
  const std::uint32_t step = p.tensors.other_repeats ? 0 : 1;
  for_each_stretch<std::int16_t>(
      p.tensors, [&](const std::int16_t* self, const std::int16_t* other, std::int16_t* out) {
        for (std::uint32_t i = p.tensors.count; i > 0; --i, other += step) {
          *out++ = to_word(high_multiply(*self++ * *other, p.factor), p.activation_min, p.activation_max);
        }
      });
}

// Kept out of load_words, whose stack frame is below the reading of the arguments.
[[gnu::noinline]] Error plan_words(Call& call, const WordsMul<TargetWorld>& a, LoadedBroadcast& loaded) {
  swap_repeating(loaded);
  call.require(is_word(a.activation_min) && is_word(a.activation_max), Error::bad_value);
  WordsPlan p{};
  p.factor = a.factor;
  p.activation_min = static_cast<std::int16_t>(a.activation_min);
  p.activation_max = static_cast<std::int16_t>(a.activation_max);
  return store_plan(call, p, loaded);
}

}  // namespace

Error load_words(Call& call) { return load_words_broadcast<WordsMul<TargetWorld>>(call, plan_words); }

CORMORANT_KERNELS(CORMORANT_MUL_KERNELS, words)

}  // namespace cormorant::ops::mul
