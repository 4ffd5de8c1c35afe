// SPDX-License-Identifier: Apache-2.0
//
// Addition of 16-bit activations.
#include <utility>

#include "kernels/words.h"
#include "ops/add/kernel.h"
#include "ops/load/broadcast.h"

namespace cormorant::ops::add {
namespace {

template <bool kRepeats>
void add(const WordsPlan& p, const std::int16_t* self, const std::int16_t* other, std::int16_t* out) {
  const WordsPlan plan = p;  // in registers: a store to out could otherwise change it
  const std::int32_t offset = plan.offset + (kRepeats ? *other * plan.other_factor : 0);
  for (std::uint32_t i = 0; i < plan.tensors.count; ++i) {
    const std::int32_t sum = self[i] * plan.self_factor + offset + (kRepeats ? 0 : other[i] * plan.other_factor);
    out[i] = to_word(sum >> plan.shift, plan.activation_min, plan.activation_max);
  }
}

void execute_words(const void* raw) {
  const auto& plan = *static_cast<const WordsPlan*>(raw);
  for_each_stretch<std::int16_t>(plan.tensors,
                                 [&](const std::int16_t* self, const std::int16_t* other, std::int16_t* out) {
                                   (plan.tensors.other_repeats ? add<true> : add<false>)(plan, self, other, out);
                                 });
}

// Kept out of load_words, whose stack frame is below the reading of the arguments.
[[gnu::noinline]] Error plan_words(Call& call, const FactorAdd<TargetWorld>& a, LoadedBroadcast& loaded) {
  const bool swap = swap_repeating(loaded);
  const Factors factors{a.self_factor, a.other_factor, a.offset, a.shift};
  call.require(is_valid_for_words(factors), Error::bad_value);
  call.require(is_word(a.activation_min) && is_word(a.activation_max), Error::bad_value);
  WordsPlan p{};
  p.self_factor = swap ? a.other_factor : a.self_factor;
  p.other_factor = swap ? a.self_factor : a.other_factor;
  p.offset = a.offset;
  p.shift = static_cast<std::uint8_t>(a.shift);
  p.activation_min = static_cast<std::int16_t>(a.activation_min);
  p.activation_max = static_cast<std::int16_t>(a.activation_max);
  return store_plan(call, p, loaded);
}

}  // namespace

Error load_words(Call& call) { return load_words_broadcast<FactorAdd<TargetWorld>>(call, plan_words); }

CORMORANT_KERNELS(CORMORANT_ADD_KERNELS, words)

}  // namespace cormorant::ops::add
