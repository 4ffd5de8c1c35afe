// SPDX-License-Identifier: Apache-2.0
#include "kernels/words.h"
#include "ops/clamp/kernel.h"

namespace cormorant::ops {
namespace {

struct WordsClampPlan {
  static constexpr std::uint32_t kStateBytes = 16;
  const std::int16_t* input;  // may be the output
  std::int16_t* output;
  std::uint32_t count;
  std::int16_t low;
  std::int16_t high;
};

void execute_words(const void* raw) {
  const WordsClampPlan p = *static_cast<const WordsClampPlan*>(raw);
  for (std::uint32_t i = 0; i < p.count; ++i) p.output[i] = to_word(p.input[i], p.low, p.high);
}

}  // namespace

Error load_words_clamp(Call& call) {
  Clamp<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [input, low, high, out] = args;
  call.require(input.dtype == DType::i16 && out.dtype == DType::i16, Error::bad_value);
  call.require(input.lies_like(out), Error::bad_shape);
  call.require(is_word(low) && low <= high && is_word(high), Error::bad_value);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<WordsClampPlan>();
  if (plan == nullptr) return call.error();
  *plan = {.input = input.as<const std::int16_t>(),
           .output = out.as<std::int16_t>(),
           .count = static_cast<std::uint32_t>(out.elements()),
           .low = static_cast<std::int16_t>(low),
           .high = static_cast<std::int16_t>(high)};
  return Error::ok;
}

CORMORANT_KERNELS(CORMORANT_CLAMP_KERNELS, words)

}  // namespace cormorant::ops
