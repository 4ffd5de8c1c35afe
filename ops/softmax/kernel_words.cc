// SPDX-License-Identifier: Apache-2.0
#include "ops/softmax/kernel.h"

namespace cormorant::ops::softmax {
namespace {

struct WordsPlan {
  const std::int16_t* input;  // may be the output
  std::int16_t* out;
  const std::int32_t* coarse;
  const std::int32_t* fine;
  std::uint32_t outer;
  std::uint32_t inner;
  std::uint32_t row_size;
};

// 2^63 / divisor, rounded down, for a divisor of 32 bits whose highest is set: bit by bit, once per row.
std::uint32_t reciprocal(std::uint32_t divisor) {
  if (divisor == 0x80000000U) return 0xffffffffU;
  std::uint64_t rest = 0x80000000U;
  std::uint32_t quotient = 0;
  for (int bit = 0; bit < 32; ++bit) {
    rest <<= 1;
    quotient <<= 1;
    if (rest >= divisor) {
      rest -= divisor;
      ++quotient;
    }
  }
  return quotient;
}

void compute_row(const WordsPlan& p, const std::int16_t* input, std::int16_t* out) {
  const std::uint32_t length = p.row_size * p.inner;
  std::int32_t largest = -32768;
  for (std::uint32_t i = 0; i < length; i += p.inner) largest = input[i] > largest ? input[i] : largest;
  const auto exponential = [&](std::int32_t x) {  // in 2^-31
    const auto d = static_cast<std::uint32_t>(largest - x);
    return static_cast<std::uint32_t>(
        (std::uint64_t(static_cast<std::uint32_t>(p.coarse[d >> 8])) * static_cast<std::uint32_t>(p.fine[d & 255])) >>
        31);
  };
  std::uint64_t sum = 1;  // never nothing, whatever the tables hold
  for (std::uint32_t i = 0; i < length; i += p.inner) sum += exponential(input[i]);
  std::uint32_t bits = 32;  // of the sum, which the 32 highest of stand for
  while (bits < 63 && (sum >> bits) != 0) ++bits;
  auto leading = static_cast<std::uint32_t>(sum >> (bits - 32));
  for (; (leading & 0x80000000U) == 0; --bits) leading <<= 1;
  const std::uint32_t factor = reciprocal(leading);
  const std::uint32_t shift = 16 + bits;
  for (std::uint32_t i = 0; i < length; i += p.inner) {
    const std::uint64_t product = std::uint64_t{exponential(input[i])} * factor;
    const std::uint64_t level = (product + (std::uint64_t{1} << (shift - 1))) >> shift;
    out[i] = static_cast<std::int16_t>(level > 32767 ? 32767 : level);
  }
}

void execute_words(const void* raw) {
  const auto& p = *static_cast<const WordsPlan*>(raw);
  for (std::uint32_t i = 0; i < p.outer; ++i) {
    const std::uint32_t first = i * p.row_size * p.inner;
    for (std::uint32_t j = 0; j < p.inner; ++j) compute_row(p, p.input + first + j, p.out + first + j);
  }
}

bool is_table(const Tensor& table) {
  if (table.dtype != DType::i32 || table.rank != 1 || table.size(0) != kWordsParts || !table.constant) return false;
  for (std::int32_t i = 0; i < kWordsParts; ++i) {
    if (table.as<const std::int32_t>()[i] < 0) return false;
  }
  return true;
}

}  // namespace

Error load_words(Call& call) {
  WordsSoftmax<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  const Tensor& input = a.input;
  const std::int32_t dim = a.dim < 0 ? a.dim + input.rank : a.dim;
  call.require(input.dtype == DType::i16 && a.out.dtype == DType::i16, Error::bad_value);
  call.require(input.rank != 0 && input.lies_like(a.out) && dim >= 0 && dim < input.rank, Error::bad_shape);
  call.require(is_table(a.coarse) && is_table(a.fine), Error::bad_constant);
  if (call.error() != Error::ok) return call.error();
  call.require(input.sizes[dim] >= 1 && input.sizes[dim] <= kMaxRow, Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  std::uint32_t outer = 1, inner = 1;
  std::size_t i = 0;
  for (; input.dim_order[i] != dim; ++i) outer *= static_cast<std::uint32_t>(input.sizes[input.dim_order[i]]);
  for (++i; i < input.rank; ++i) inner *= static_cast<std::uint32_t>(input.sizes[input.dim_order[i]]);
  auto* const plan = call.make_plan<WordsPlan>();
  if (plan == nullptr) return call.error();
  *plan = {.input = input.as<const std::int16_t>(),
           .out = a.out.as<std::int16_t>(),
           .coarse = a.coarse.as<const std::int32_t>(),
           .fine = a.fine.as<const std::int32_t>(),
           .outer = outer,
           .inner = inner,
           .row_size = static_cast<std::uint32_t>(input.sizes[dim])};
  return Error::ok;
}

CORMORANT_KERNELS(CORMORANT_SOFTMAX_KERNELS, words)

}  // namespace cormorant::ops::softmax
