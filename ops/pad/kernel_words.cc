// SPDX-License-Identifier: Apache-2.0
//
// Padding of 16-bit activations; the borders are found as for bytes.
#include "kernels/words.h"
#include "ops/pad/kernel.h"

namespace cormorant::ops {
namespace {

struct WordsPadPlan {
  static constexpr std::uint32_t kStateBytes = 60;
  const std::int16_t* input;
  std::int16_t* output;
  std::int32_t sizes[kPadRank];  // of the output in memory, outermost first
  std::int32_t first[kPadRank];  // of the input in it
  std::int32_t end[kPadRank];
  std::int16_t value;
};

void execute_words_pad(const void* raw) {
  const auto& p = *static_cast<const WordsPadPlan*>(raw);
  const std::int16_t* from = p.input;
  std::int16_t* to = p.output;
  const auto is_inside = [&](std::size_t dim, std::int32_t at) { return at >= p.first[dim] && at < p.end[dim]; };
  for (std::int32_t i = 0; i < p.sizes[0]; ++i) {
    for (std::int32_t j = 0; j < p.sizes[1]; ++j) {
      for (std::int32_t k = 0; k < p.sizes[2]; ++k) {
        const bool inside = is_inside(0, i) && is_inside(1, j) && is_inside(2, k);
        for (std::int32_t l = 0; l < p.sizes[3]; ++l) *to++ = inside && is_inside(3, l) ? *from++ : p.value;
      }
    }
  }
}

void read_dims(const Tensor& tensor, std::int32_t (&sizes)[kPadRank]) {
  constexpr std::uint8_t kChannelsLast[] = {0, 2, 3, 1};
  const std::uint8_t* order = tensor.is_channels_last() ? kChannelsLast : tensor.dim_order;
  for (std::int32_t& size : sizes) size = 1;
  for (std::size_t i = 0; i < tensor.rank; ++i) sizes[kPadRank - tensor.rank + i] = tensor.sizes[order[i]];
}

// Kept out of line: the caller's frame is beneath everything that reads the arguments.
[[gnu::noinline]] Error plan_words(Call& call, const Pad<TargetWorld>& args) {
  const auto& [input, pre, post, value, out] = args;
  call.require(input.dtype == DType::i16 && out.dtype == DType::i16, Error::unsupported);
  call.require(pre.count == kPadRank && post.count == kPadRank && is_word(value), Error::bad_value);
  call.require(input.rank >= 1 && input.rank <= kPadRank && out.rank == input.rank, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<WordsPadPlan>();
  if (plan == nullptr) return call.error();
  std::int32_t from[kPadRank];
  read_dims(input, from);
  read_dims(out, plan->sizes);
  for (std::size_t i = 0; i < kPadRank; ++i) {
    const std::int32_t size = plan->sizes[i];
    call.require(
        pre[i] >= 0 && post[i] >= 0 && pre[i] <= size && post[i] <= size - pre[i] && from[i] == size - pre[i] - post[i],
        Error::bad_shape);
    plan->first[i] = pre[i];
    plan->end[i] = size - post[i];
  }
  plan->input = input.as<const std::int16_t>();
  plan->output = out.as<std::int16_t>();
  plan->value = static_cast<std::int16_t>(value);
  return call.error();
}

}  // namespace

Error load_words_pad(Call& call) {
  Pad<TargetWorld> args;
  return call.read_signature(args) ? plan_words(call, args) : call.error();
}

CORMORANT_KERNELS(CORMORANT_PAD_KERNELS, words)

}  // namespace cormorant::ops
