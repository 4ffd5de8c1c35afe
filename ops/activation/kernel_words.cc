// SPDX-License-Identifier: Apache-2.0
//
// Functions of 16-bit activations by table and interpolation, and changes between int8 and int16.
#include "base/fixed_point.h"
#include "ops/activation/kernel.h"

namespace cormorant::ops {
namespace {

void execute_words(const void* raw) {
  const WordsActivationPlan p = *static_cast<const WordsActivationPlan*>(raw);
  for (std::uint32_t i = 0; i < p.count; ++i) {
    p.output[i] = static_cast<std::int16_t>(rounded_word(interpolated(p.table, p.input[i])));
  }
}

struct WordsRequantizePlan {
  static constexpr std::uint32_t kStateBytes = 28;
  const void* input;
  void* output;
  std::uint32_t count;
  std::int32_t factor;
  std::int16_t input_zero_point;
  std::int16_t output_zero_point;
  std::int16_t low;
  std::int16_t high;
  std::uint8_t shift;
  bool reads_bytes;
  bool writes_bytes;
};

template <class From, class To>
void requantize_all(const WordsRequantizePlan& plan) {
  const WordsRequantizePlan p = plan;
  const auto* input = static_cast<const From*>(p.input);
  auto* output = static_cast<To*>(p.output);
  const std::int64_t round = std::int64_t{1} << (p.shift - 1);
  for (std::uint32_t i = 0; i < p.count; ++i) {
    const std::int64_t product = std::int64_t{input[i] - p.input_zero_point} * p.factor;
    const std::int64_t level = ((product + round) >> p.shift) + p.output_zero_point;
    output[i] = static_cast<To>(level < p.low ? p.low : level > p.high ? p.high : level);
  }
}

void execute_words_requantize(const void* raw) {
  const auto& p = *static_cast<const WordsRequantizePlan*>(raw);
  if (p.reads_bytes) {
    requantize_all<std::int8_t, std::int16_t>(p);
  } else if (p.writes_bytes) {
    requantize_all<std::int16_t, std::int8_t>(p);
  } else {
    requantize_all<std::int16_t, std::int16_t>(p);
  }
}

bool is_within(std::int32_t value, DType dtype) {
  const std::int32_t bound = dtype == DType::i8 ? 128 : 32768;
  return value >= -bound && value < bound;
}

// Every segment's values are in the table, and no interpolation between them leaves 32 bits.
bool is_sound(std::span<const std::int32_t> table) {
  if (table.empty() || table[0] < kFewestWordsBits || table[0] > kMostWordsBits) return false;
  const std::int32_t segments = 1 << table[0];
  const std::int32_t values = static_cast<std::int32_t>(table.size()) - 1 - segments;
  if (values < 1) return false;
  const WordsTable t = words_table(table.data());
  for (std::int32_t i = 0; i < values; ++i) {
    if (t.values[i] < -(1 << 22) || t.values[i] > 1 << 22) return false;
  }
  for (std::int32_t i = 0; i < segments; ++i) {
    const std::int32_t shift = t.segments[i] & 15;
    const std::int32_t first = t.segments[i] >> 4;
    if (shift > t.segment_bits) return false;
    const std::int32_t parts = 1 << (t.segment_bits - shift);
    if (first < 0 || first >= values || parts >= values - first) return false;
    for (std::int32_t part = first; part < first + parts; ++part) {
      if (!can_interpolate(t.values[part + 1] - t.values[part], shift)) return false;
    }
  }
  return true;
}

}  // namespace

Error load_words_activation(Call& call) {
  WordsActivation<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [input, table, out] = args;
  call.require(input.dtype == DType::i16 && out.dtype == DType::i16 && table.dtype == DType::i32, Error::bad_value);
  call.require(input.lies_like(out) && table.rank == 1, Error::bad_shape);
  const auto entries = call.elements<std::int32_t>(table);
  call.require(is_sound(entries), Error::bad_constant);
  auto* const plan = call.make_plan<WordsActivationPlan>();
  if (plan == nullptr) return call.error();
  *plan = {.input = input.as<const std::int16_t>(),
           .output = out.as<std::int16_t>(),
           .table = words_table(entries.data()),
           .count = static_cast<std::uint32_t>(out.elements())};
  return Error::ok;
}

Error load_words_requantize(Call& call) {
  WordsRequantize<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const DType from = args.input.dtype, to = args.out.dtype;
  const bool is_typed =
      (from == DType::i16 && (to == DType::i16 || to == DType::i8)) || (from == DType::i8 && to == DType::i16);
  call.require(is_typed, Error::bad_value);
  call.require(args.input.lies_like(args.out), Error::bad_shape);
  call.require(is_within(args.input_zero_point, from) && is_within(args.output_zero_point, to) &&
                   is_within(args.output_min, to) && is_within(args.output_max, to) &&
                   args.output_min <= args.output_max && args.shift >= 1 && args.shift <= 62,
               Error::bad_value);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<WordsRequantizePlan>();
  if (plan == nullptr) return call.error();
  *plan = {.input = args.input.data,
           .output = args.out.data,
           .count = static_cast<std::uint32_t>(args.out.elements()),
           .factor = args.factor,
           .input_zero_point = static_cast<std::int16_t>(args.input_zero_point),
           .output_zero_point = static_cast<std::int16_t>(args.output_zero_point),
           .low = static_cast<std::int16_t>(args.output_min),
           .high = static_cast<std::int16_t>(args.output_max),
           .shift = static_cast<std::uint8_t>(args.shift),
           .reads_bytes = from == DType::i8,
           .writes_bytes = to == DType::i8};
  return Error::ok;
}

CORMORANT_KERNELS(CORMORANT_ACTIVATION_KERNELS, words)

}  // namespace cormorant::ops
