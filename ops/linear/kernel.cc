// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/kernel.h"

namespace cormorant::ops::linear {
namespace {

// Input [..., inputs] and out [..., outputs] are int8, contiguous, and agree in all other dimensions.
bool activations_fit(const Tensor& input, const Tensor& out) {
  if (input.rank == 0 || input.rank != out.rank) return false;
  for (std::size_t i = 0; i + 1 < input.rank; ++i) {
    if (input.sizes[i] != out.sizes[i]) return false;
  }
  return input.is_contiguous() && out.is_contiguous();
}

std::uint32_t last_size(const Tensor& tensor) { return static_cast<std::uint32_t>(tensor.sizes[tensor.rank - 1]); }

bool is_int8(std::int32_t value) { return value >= -128 && value <= 127; }

void check_activations(Call& call, const Tensor& input, const Tensor& out) {
  call.require(input.dtype == DType::i8 && out.dtype == DType::i8, Error::bad_value);
  call.require(activations_fit(input, out), Error::bad_shape);
}

std::uint32_t count_rows(const Tensor& input) {
  std::uint32_t rows = 1;
  for (std::size_t i = 0; i + 1 < input.rank; ++i) rows *= static_cast<std::uint32_t>(input.sizes[i]);
  return rows;
}

// Every shift is one that all CPUs do alike: to the right by 1 … 31 if requantization is simple, else by up to 31 in
// either direction. Checked four bytes at a time, since there are as many as features: their three highest bits must be
// equal (and set, if all are to the right), and the five others must not be zero with those set, which would be −32.
bool has_sound_shifts(const PackedGeometry& geometry, const std::byte* record, bool simple) {
  constexpr std::uint32_t kLowFive = 0x1f1f1f1f;
  constexpr std::uint32_t kSign = 0x20202020;  // as good as the highest bit, once the three are known to be equal
  const std::uint32_t right = simple ? kSign : 0;
  std::uint32_t bad = 0;
  const auto look_at = [&](std::uint32_t shifts) {
    const std::uint32_t nonzero = (shifts & kLowFive) + kLowFive;  // carries into the sign's place
    bad |= ((shifts ^ (shifts >> 1)) & 0x60606060) | (shifts & ~nonzero & kSign) | (~shifts & right);
  };
  const std::uint32_t group = geometry.group();
  const std::uint32_t groups = geometry.groups();
  if (groups != 0) {
    const std::uint32_t bytes = geometry.group_bytes();
    const std::byte* shifts = record + 8 * group + geometry.group_weight_bytes();
    for (std::uint32_t i = groups; i > 0; --i, shifts += bytes) {
      const auto* words = reinterpret_cast<const std::uint32_t*>(shifts);
      look_at(words[0]);
      if (group == 8) look_at(words[1]);
    }
    record += groups * bytes;
  }
  const std::uint32_t bytes = geometry.single_bytes();
  const std::byte* shift = record + 8 + round_up_4(geometry.inputs);
  for (std::uint32_t i = geometry.singles_beside(groups); i > 0; --i, shift += bytes) {
    look_at(static_cast<std::uint32_t>(static_cast<std::int8_t>(*shift)) | 0xffffff00);
  }
  return bad == 0;
}

Error load_packed(Call& call, Layout layout) {
  PackedLinear<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [input, packed, out] = args;
  check_activations(call, input, out);
  call.require(packed.dtype == DType::i8, Error::bad_value);
  const auto* const found = call.packed<PackedHeader>(packed, 4);
  if (found == nullptr) return call.error();
  const PackedHeader& header = *found;
  const PackedGeometry geometry{layout, header.inputs, header.outputs};
  call.require(header.layout == static_cast<std::uint8_t>(layout), Error::bad_constant);
  call.require(header.inputs - 1 < kMaxFeatures && header.outputs - 1 < kMaxFeatures, Error::bad_constant);
  call.require(header.inputs == last_size(input) && header.outputs == last_size(out), Error::bad_shape);
  call.require(packed.bytes() == geometry.bytes(), Error::bad_constant);
  const bool simple = (header.flags & kSimpleRequantize) != 0;
  const auto* const stream = call.after<std::byte>(found);
  if (stream == nullptr) return call.error();
  call.require(has_sound_shifts(geometry, stream, simple), Error::bad_constant);

  auto* plan = call.allocate<PackedPlan>();
  if (plan == nullptr) return call.error();
  *plan = {.input = input.as<const std::int8_t>(),
           .packed = packed.data,
           .out = out.as<std::int8_t>(),
           .rows = count_rows(input)};
  call.set_plan(plan);
  return Error::ok;
}

}  // namespace

Error load_packed_scalar(Call& call) { return load_packed(call, Layout::scalar); }
Error load_packed_dsp_pairs(Call& call) { return load_packed(call, Layout::dsp_pairs); }
Error load_packed_dsp_wide(Call& call) { return load_packed(call, Layout::dsp_wide); }
Error load_packed_rows(Call& call) { return load_packed(call, Layout::rows); }
Error load_packed_mve(Call& call) { return load_packed(call, Layout::mve); }

Error load(Call& call) {
  QuantizedLinear<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  check_activations(call, a.input, a.out);
  call.require(a.weights.dtype == DType::i8, Error::bad_value);
  call.require(a.weights.rank == 2 && a.weights.is_contiguous(), Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const std::uint32_t inputs = last_size(a.input);
  const std::uint32_t outputs = last_size(a.out);
  call.require(last_size(a.weights) == inputs && a.weights.sizes[0] == a.out.sizes[a.out.rank - 1], Error::bad_shape);
  call.require(inputs != 0, Error::bad_shape);  // loops over a row check only after the first turn
  for (const OptionalTensor* sums : {&a.bias, &a.kernel_sum}) {
    if (!sums->present()) continue;
    call.require(sums->dtype == DType::i32, Error::bad_value);
    call.require(static_cast<std::uint32_t>(sums->elements()) == outputs, Error::bad_shape);
  }
  // Upstream's kernel reads one multiplier and ignores others; its compiler writes no second one.
  call.require(a.requantize_multipliers.count == 1 && a.requantize_shifts.count == 1, Error::unsupported);
  call.require(a.filter_offset == 0, Error::unsupported);
  const std::int32_t shift = a.requantize_shifts[0];
  call.require(shift >= -31 && shift <= 31 && a.requantize_multipliers[0] >= 0, Error::bad_value);
  call.require(a.input_offset >= -127 && a.input_offset <= 128 && is_int8(a.output_offset), Error::bad_value);
  call.require(is_int8(a.activation_min) && is_int8(a.activation_max), Error::bad_value);

  auto* plan = call.allocate<Plan>();
  if (plan == nullptr) return call.error();
  const bool folded = a.kernel_sum.present();
  *plan = {.input = a.input.as<const std::int8_t>(),
           .weights = a.weights.as<const std::int8_t>(),
           .bias = (folded ? a.kernel_sum : a.bias).as<const std::int32_t>(),
           .out = a.out.as<std::int8_t>(),
           .rows = count_rows(a.input),
           .inputs = inputs,
           .outputs = outputs,
           .multiplier = a.requantize_multipliers[0],
           .input_offset = static_cast<std::int16_t>(folded ? 0 : a.input_offset),
           .output_offset = static_cast<std::int16_t>(a.output_offset),
           .shift = static_cast<std::int8_t>(shift),
           .activation_min = static_cast<std::int8_t>(a.activation_min),
           .activation_max = static_cast<std::int8_t>(a.activation_max)};
  call.set_plan(plan);
  return Error::ok;
}

}  // namespace cormorant::ops::linear
