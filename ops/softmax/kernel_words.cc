// SPDX-License-Identifier: Apache-2.0
#include "kernels/requantize.h"
#include "ops/softmax/arithmetic.h"
#include "ops/softmax/kernel.h"

namespace cormorant::ops::softmax {
namespace {

// As in kernel.h.
struct WordRows {
  const std::int16_t* input;  // may be the output
  std::int16_t* out;
  std::uint32_t outer;
  std::uint32_t inner;
  std::uint32_t row_size;
};

struct WordsPlan {
  static constexpr std::uint32_t kStateBytes = 28;
  WordRows rows;
  const std::int32_t* coarse;
  const std::int32_t* fine;
};

struct LogWordsPlan {
  static constexpr std::uint32_t kStateBytes = 44;
  WordRows rows;
  std::int32_t multiplier;
  std::int32_t diff_min;
  std::int32_t factor;
  std::int32_t term;
  std::int32_t log_multiplier;
  std::int8_t log_shift;
  std::uint8_t input_shift;
  std::uint8_t shift;
};

std::int32_t largest_of(const std::int16_t* row, std::uint32_t length, std::uint32_t step) {
  std::int32_t largest = -32768;
  for (std::uint32_t i = 0; i < length; i += step) largest = row[i] > largest ? row[i] : largest;
  return largest;
}

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
  const std::uint32_t step = p.rows.inner;
  const std::uint32_t length = p.rows.row_size * step;
  const std::int32_t largest = largest_of(input, length, step);
  const auto exponential = [&](std::int32_t x) {  // in 2^-31
    const auto d = static_cast<std::uint32_t>(largest - x);
    return static_cast<std::uint32_t>(
        (std::uint64_t(static_cast<std::uint32_t>(p.coarse[d >> 8])) * static_cast<std::uint32_t>(p.fine[d & 255])) >>
        31);
  };
  std::uint64_t sum = 1;  // never zero, whatever the tables hold
  for (std::uint32_t i = 0; i < length; i += step) sum += exponential(input[i]);
  std::uint32_t bits = 32;  // of the sum, of which the highest 32 are used
  while (bits < 63 && (sum >> bits) != 0) ++bits;
  auto leading = static_cast<std::uint32_t>(sum >> (bits - 32));
  for (; (leading & 0x80000000U) == 0; --bits) leading <<= 1;
  const std::uint32_t factor = reciprocal(leading);
  const std::uint32_t shift = 16 + bits;
  for (std::uint32_t i = 0; i < length; i += step) {
    const std::uint64_t product = std::uint64_t{exponential(input[i])} * factor;
    const std::uint64_t level = (product + (std::uint64_t{1} << (shift - 1))) >> shift;
    out[i] = static_cast<std::int16_t>(level > 32767 ? 32767 : level);
  }
}

void compute_log_row(const LogWordsPlan& p, const std::int16_t* input, std::int16_t* out) {
  constexpr auto kMultiply = kHasLongMultiply ? doubling_high_multiply : doubling_high_multiply_in_pieces;
  const std::uint32_t step = p.rows.inner;
  const std::uint32_t length = p.rows.row_size * step;
  const std::int32_t largest = largest_of(input, length, step);
  std::uint32_t sum = 0;  // Q12.19
  for (std::uint32_t i = 0; i < length; i += step) {
    const std::int32_t difference = input[i] - largest;
    if (difference < p.diff_min) continue;
    const std::int32_t exponent = exponent_of<kMultiply>(difference, p.multiplier, p.input_shift);
    sum += static_cast<std::uint32_t>(rounding_shift_right(exp_of_negative<kMultiply>(exponent), kSumBits));
  }
  const std::int32_t start = p.term - log_of_sum<kMultiply>(sum, p.log_multiplier, p.log_shift);
  for (std::uint32_t i = 0; i < length; i += step) {
    const std::int32_t scaled = kMultiply(shift_left(input[i] - largest, 15), p.factor);
    out[i] = static_cast<std::int16_t>(clamp((scaled + start) >> p.shift, -32768, 32767));
  }
}

template <class AnyPlan, class Compute>
void for_each_row(const AnyPlan& p, Compute compute) {
  const WordRows& rows = p.rows;
  for (std::uint32_t i = 0; i < rows.outer; ++i) {
    const std::uint32_t first = i * rows.row_size * rows.inner;
    for (std::uint32_t j = 0; j < rows.inner; ++j) compute(p, rows.input + first + j, rows.out + first + j);
  }
}

void execute_words(const void* plan) { for_each_row(*static_cast<const WordsPlan*>(plan), compute_row); }
void execute_log_words(const void* plan) { for_each_row(*static_cast<const LogWordsPlan*>(plan), compute_log_row); }

void check_table(Call& call, const Tensor& table) {
  call.require(table.dtype == DType::i32 && table.rank == 1 && table.elements() == kWordsParts, Error::bad_constant);
  for (const std::int32_t entry : call.elements<std::int32_t>(table)) call.require(entry >= 0, Error::bad_constant);
}

// `dim` may be negative.
bool fill(Call& call, const Tensor& input, std::int32_t dim, const Tensor& result, WordRows& rows) {
  if (dim < 0) dim += input.rank;
  call.require(input.dtype == DType::i16 && result.dtype == DType::i16, Error::bad_value);
  call.require(input.rank != 0 && input.lies_like(result) && dim >= 0 && dim < input.rank, Error::bad_shape);
  if (call.error() != Error::ok) return false;
  call.require(input.sizes[dim] >= 1 && input.sizes[dim] <= kMaxRow, Error::unsupported);
  if (call.error() != Error::ok) return false;
  std::uint32_t outer = 1, inner = 1;
  std::size_t i = 0;
  for (; input.dim_order[i] != dim; ++i) outer *= static_cast<std::uint32_t>(input.sizes[input.dim_order[i]]);
  for (++i; i < input.rank; ++i) inner *= static_cast<std::uint32_t>(input.sizes[input.dim_order[i]]);
  rows = {.input = input.as<const std::int16_t>(),
          .out = result.as<std::int16_t>(),
          .outer = outer,
          .inner = inner,
          .row_size = static_cast<std::uint32_t>(input.sizes[dim])};
  return true;
}

bool is_within(std::int32_t value, std::int32_t bound) { return value > -bound && value < bound; }

}  // namespace

Error load_words(Call& call) {
  WordsSoftmax<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  check_table(call, a.coarse);
  check_table(call, a.fine);
  WordRows rows{};
  if (!fill(call, a.input, a.dim, a.out, rows)) return call.error();
  auto* const plan = call.make_plan<WordsPlan>();
  if (plan == nullptr) return call.error();
  *plan = {.rows = rows, .coarse = a.coarse.as<const std::int32_t>(), .fine = a.fine.as<const std::int32_t>()};
  return Error::ok;
}

Error load_log_words(Call& call) {
  LogSoftmax<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  WordRows rows{};
  if (!fill(call, a.input, a.dim, a.out, rows)) return call.error();
  call.require(a.input_multiplier >= 0 && a.input_shift >= 0 && a.input_shift <= 31 && a.diff_min <= 0,
               Error::bad_value);
  call.require(a.factor >= 0 && is_within(a.factor, kLogBound) && is_within(a.term, kLogBound), Error::bad_value);
  call.require(a.shift >= 0 && a.shift <= 31 && a.log_multiplier >= 0, Error::bad_value);
  call.require(a.log_shift >= -31 && a.log_shift <= 1, Error::bad_value);
  auto* const plan = call.make_plan<LogWordsPlan>();
  if (plan == nullptr || call.error() != Error::ok) return call.error();
  *plan = {.rows = rows,
           .multiplier = a.input_multiplier,
           .diff_min = a.diff_min,
           .factor = a.factor,
           .term = a.term,
           .log_multiplier = a.log_multiplier,
           .log_shift = static_cast<std::int8_t>(a.log_shift),
           .input_shift = static_cast<std::uint8_t>(a.input_shift),
           .shift = static_cast<std::uint8_t>(a.shift)};
  return Error::ok;
}

CORMORANT_KERNELS(CORMORANT_SOFTMAX_KERNELS, words)

}  // namespace cormorant::ops::softmax
