// SPDX-License-Identifier: Apache-2.0
#include "ops/batch_matmul/words_kernel.h"

namespace cormorant::ops::batch_matmul {
namespace {

std::int16_t product(const WordsPlan& p, const std::int16_t* lhs, const std::int16_t* rhs) {
  std::int64_t sum = 0;
  for (std::uint32_t k = p.size.inner; k > 0; --k) sum += std::int32_t{*lhs++} * *rhs++;
  return rescaled_word(sum, p.multiplier, p.shift);
}

// One row with two columns: an element of the row is loaded once for both.
void two_products(const WordsPlan& p, const std::int16_t* lhs, const std::int16_t* rhs, std::int16_t* out,
                  std::int16_t* /*second*/) {
  const std::int16_t* other = rhs + p.size.inner;
  std::int64_t first = 0;
  std::int64_t second = 0;
  for (std::uint32_t k = p.size.inner; k > 0; --k) {
    const std::int32_t x = *lhs++;
    first += x * *rhs++;
    second += x * *other++;
  }
  out[0] = rescaled_word(first, p.multiplier, p.shift);
  out[1] = rescaled_word(second, p.multiplier, p.shift);
}

void execute_words(const void* raw) {
  multiply_words<1, 2>(*static_cast<const WordsPlan*>(raw), two_products, product);
}

}  // namespace

Error load_words(Call& call) {
  WordsBatchMatmul<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  const auto& [lhs, rhs, multiplier, shift, result] = a;
  const Tensor& out = result;
  for (const Tensor* tensor : {&lhs, &rhs, &out}) {
    call.require(tensor->dtype == DType::i16, Error::bad_value);
    call.require(tensor->rank == 3 && tensor->is_contiguous(), Error::bad_shape);
  }
  call.require(multiplier >= 0 && multiplier <= kMaxWordsMultiplier && shift >= 1 && shift <= kMaxWordsShift,
               Error::bad_value);
  if (call.error() != Error::ok) return call.error();
  const Size size{static_cast<std::uint32_t>(lhs.size(1)), static_cast<std::uint32_t>(rhs.size(2)),
                  static_cast<std::uint32_t>(rhs.size(1))};
  call.require(lhs.size(2) == rhs.size(2) && out.size(1) == lhs.size(1) && out.size(2) == rhs.size(1),
               Error::bad_shape);
  call.require(out.size(0) == rhs.size(0) && (lhs.size(0) == rhs.size(0) || lhs.size(0) == 1), Error::bad_shape);
  call.require(is_computable(size) && out.size(0) >= 1, Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  auto* plan = call.make_plan<WordsPlan>();
  if (plan == nullptr) return call.error();
  *plan = {.lhs = lhs.as<const std::int16_t>(),
           .rhs = rhs.as<const std::int16_t>(),
           .out = out.as<std::int16_t>(),
           .size = size,
           .batches = static_cast<std::uint32_t>(out.size(0)),
           .multiplier = static_cast<std::int16_t>(multiplier),
           .shift = static_cast<std::uint8_t>(shift),
           .one_lhs = lhs.size(0) != out.size(0)};
  return Error::ok;
}

CORMORANT_KERNELS(CORMORANT_BATCH_MATMUL_KERNELS, words)

}  // namespace cormorant::ops::batch_matmul
