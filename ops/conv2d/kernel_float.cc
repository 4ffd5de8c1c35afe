// SPDX-License-Identifier: Apache-2.0
//
// The order of each sum is kernels/float_sums.h's; a transposed convolution has the same, over the taps that reach a
// result. ExecuTorch's operator also takes integers: products and sums wrap to the type of the tensors, so that their
// order does not matter.
#include "base/element.h"
#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/float.h"
#include "ops/conv2d/float_walk.h"
#include "ops/load/broadcast.h"
#include "ops/load/float_kernel.h"

namespace cormorant::ops::conv2d {
namespace {

// One dimension of the image; a signal [N, C, W] is an image of one row.
struct Axis {
  std::int32_t in = 1, out = 1, kernel = 1, stride = 1, padding = 0, dilation = 1, more = 0;
};

Axis axis(const FloatConvolution<TargetWorld>& a, std::size_t index) {
  const std::size_t missing = 4U - a.input.rank;
  if (index < missing) return {};
  const std::size_t i = index - missing;
  return {.in = a.input.sizes[2 + i],
          .out = a.out.sizes[2 + i],
          .kernel = a.weight.sizes[2 + i],
          .stride = a.stride[i],
          .padding = a.padding[i],
          .dilation = a.dilation[i],
          .more = a.transposed ? a.output_padding[i] : 0};
}

// Whether the sizes fit each other. All are below 2^15.
bool fits(const Axis& a, bool transposed) {
  const std::int32_t reach = a.dilation * (a.kernel - 1) + 1;
  if (transposed) return a.out == (a.in - 1) * a.stride - 2 * a.padding + reach + a.more;
  return a.in + 2 * a.padding >= reach && a.out == (a.in + 2 * a.padding - reach) / a.stride + 1;
}

void check_float(Call& call, const FloatConvolution<TargetWorld>& a, DType type = DType::f32) {
  const std::size_t rank = a.input.rank;
  const bool ranks = (rank == 3 || rank == 4) && a.weight.rank == rank && a.out.rank == rank;
  const bool types = a.input.dtype == type && a.weight.dtype == type && a.out.dtype == type;
  call.require(ranks && types, Error::unsupported);
  if (call.error() != Error::ok) return;
  call.require(is_countable(a.input) && is_countable(a.weight) && is_countable(a.out), Error::unsupported);
  const std::uint32_t axes = a.input.rank - 2U;
  call.require(is_countable(a.stride, axes, 1) && is_countable(a.padding, axes, 0) && is_countable(a.dilation, axes, 1),
               Error::bad_value);
  call.require(!a.transposed || is_countable(a.output_padding, axes, 0), Error::bad_value);
  call.require(a.groups >= 1 && a.groups <= kLargestFloatSize, Error::bad_value);
  if (call.error() != Error::ok) return;
  const std::int32_t many = a.weight.sizes[0];
  const std::int32_t per_group = a.weight.sizes[1];
  const std::int32_t inputs = a.transposed ? many : per_group * a.groups;
  const std::int32_t outputs = a.transposed ? per_group * a.groups : many;
  call.require(a.input.sizes[0] == a.out.sizes[0] && a.input.sizes[1] == inputs && a.out.sizes[1] == outputs &&
                   many % a.groups == 0,
               Error::bad_shape);
  for (std::size_t i = 0; i < 2; ++i) {
    const Axis sizes = axis(a, i);
    call.require(sizes.kernel >= 1 && fits(sizes, a.transposed), Error::bad_shape);
  }
  if (!a.bias.present()) return;
  call.require(a.bias.rank == 1 && a.bias.sizes[0] == outputs, Error::bad_shape);
}

// Steps by dimensions N, C, H, W; a signal has no H.
void find_steps(const Tensor& tensor, std::int32_t (&steps)[4]) {
  std::int32_t strides[kMaxRank];
  broadcast_strides(tensor, tensor, strides);
  const std::size_t missing = 4U - tensor.rank;
  for (std::size_t i = 0; i < 4; ++i) steps[i] = 0;
  for (std::size_t i = 0; i < tensor.rank; ++i) steps[i < 2 ? i : i + missing] = strides[i];
}

bool is_in_order(const FloatConvolution<TargetWorld>& a) {
  return a.input.is_contiguous() && a.weight.is_contiguous() && a.out.is_contiguous();
}

void find_steps(const FloatConvolution<TargetWorld>& a, SteppedFloatPlan& plan) {
  plan.has_steps = !is_in_order(a);
  find_steps(a.input, plan.in_steps);
  find_steps(a.weight, plan.weight_steps);
  find_steps(a.out, plan.out_steps);
}

FloatPlan* make_float_plan(Call& call, const FloatConvolution<TargetWorld>& a) {
  if (is_in_order(a)) return call.make_plan<FloatPlan>();
  auto* const plan = call.make_plan<SteppedFloatPlan>();
  if (plan != nullptr) find_steps(a, *plan);
  return plan;
}

void fill_float_plan(const FloatConvolution<TargetWorld>& a, FloatPlan* plan) {
  const auto i16 = [](std::int32_t n) { return static_cast<std::int16_t>(n); };
  plan->input = a.input.as<const float>();
  plan->weight = a.weight.as<const float>();
  plan->bias = a.bias.as<const float>();
  plan->output = a.out.as<float>();
  plan->transposed = a.transposed;
  plan->batch = i16(a.out.sizes[0]);
  plan->groups = i16(a.groups);
  plan->in_channels = i16(a.input.sizes[1] / a.groups);
  plan->out_channels = i16(a.out.sizes[1] / a.groups);
  for (std::size_t i = 0; i < 2; ++i) {
    const Axis sizes = axis(a, i);
    plan->in_size[i] = i16(sizes.in);
    plan->out_size[i] = i16(sizes.out);
    plan->kernel[i] = i16(sizes.kernel);
    plan->stride[i] = i16(sizes.stride);
    plan->padding[i] = i16(sizes.padding);
    plan->dilation[i] = i16(sizes.dilation);
  }
}

}  // namespace

Error load_convolution(Call& call) {
  FloatConvolution<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  call.require(!args.bias.present() || is_f32(args.bias), Error::unsupported);
  check_float(call, args);
  if (call.error() != Error::ok) return call.error();
  FloatPlan* const plan = make_float_plan(call, args);
  if (plan != nullptr) fill_float_plan(args, plan);
  return call.error();
}

namespace {

// What a tap reads for a result along one axis; negative: nothing.
std::int32_t place_of_tap(const FloatPlan& p, int axis, std::int32_t out, std::int32_t tap) {
  const std::int32_t way = tap * p.dilation[axis];
  std::int32_t at = out * p.stride[axis] - p.padding[axis] + way;
  if (p.transposed) {
    const std::int32_t distance = out + p.padding[axis] - way;
    if (distance < 0 || distance % p.stride[axis] != 0) return -1;
    at = distance / p.stride[axis];
  }
  return at < p.in_size[axis] ? at : -1;
}

// The products of one result, in order. T: the elements; Sum: what they are added in, unsigned for integers.
template <class Sum, class T>
Sum sum_of_taps(const SteppedFloatPlan& p, const T* in, const T* weight, std::int32_t y, std::int32_t x) {
  const std::int32_t next = p.transposed ? p.weight_steps[0] : p.weight_steps[1];
  Sum sum = 0;
  for (std::int32_t c = 0; c < p.in_channels; ++c, in += p.in_steps[1], weight += next) {
    for (std::int32_t i = 0; i < p.kernel[0]; ++i) {
      const std::int32_t row = place_of_tap(p, 0, y, i);
      if (row < 0) continue;
      for (std::int32_t k = 0; k < p.kernel[1]; ++k) {
        const std::int32_t column = place_of_tap(p, 1, x, k);
        if (column < 0) continue;
        const T value = in[row * p.in_steps[2] + column * p.in_steps[3]];
        sum += static_cast<Sum>(value) * static_cast<Sum>(weight[i * p.weight_steps[2] + k * p.weight_steps[3]]);
      }
    }
  }
  return sum;
}

// with_bias(sum, o): the result in channel o.
template <class Sum, class T, class WithBias>
[[gnu::always_inline]] inline void walk_results(const SteppedFloatPlan& p, const WithBias& with_bias) {
  const T* const input = reinterpret_cast<const T*>(p.input);
  const T* const weights = reinterpret_cast<const T*>(p.weight);
  T* const output = reinterpret_cast<T*>(p.output);
  for (std::int32_t n = 0; n < p.batch; ++n) {
    for (std::int32_t o = 0; o < p.groups * p.out_channels; ++o) {
      const std::int32_t group = o / p.out_channels;
      const T* const in = input + n * p.in_steps[0] + group * p.in_channels * p.in_steps[1];
      const T* const weight = p.transposed ? weights + group * p.in_channels * p.weight_steps[0] +
                                                 (o - group * p.out_channels) * p.weight_steps[1]
                                           : weights + o * p.weight_steps[0];
      T* const out = output + n * p.out_steps[0] + o * p.out_steps[1];
      for (std::int32_t y = 0; y < p.out_size[0]; ++y) {
        for (std::int32_t x = 0; x < p.out_size[1]; ++x) {
          const Sum sum = sum_of_taps<Sum>(p, in, weight, y, x);
          out[y * p.out_steps[2] + x * p.out_steps[3]] = static_cast<T>(with_bias(sum, o));
        }
      }
    }
  }
}

}  // namespace

void walk_stepped(const SteppedFloatPlan& p) {
  walk_results<float, float>(p, [&](float sum, std::int32_t o) { return p.bias == nullptr ? sum : sum + p.bias[o]; });
}

namespace {
void execute_convolution(const void* plan) { walk_convolution<sum_row>(*static_cast<const FloatPlan*>(plan)); }
}  // namespace

// ---- integers -------------------------------------------------------------------------------------------------------

namespace {

struct NumbersPlan : SteppedFloatPlan {
  static constexpr std::uint32_t kStateBytes = 104;
  DType type, bias_type;
};

// The bias may have any type; its elements are converted to that of the tensors.
Error load_numbers(Call& call) {
  FloatConvolution<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto is_taken = [](DType type) { return is_number(type) && type != DType::boolean; };
  call.require(is_taken(args.out.dtype) && (!args.bias.present() || is_taken(args.bias.dtype)), Error::unsupported);
  check_float(call, args, args.out.dtype);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<NumbersPlan>();
  if (plan == nullptr) return call.error();
  find_steps(args, *plan);
  fill_float_plan(args, plan);
  plan->type = args.out.dtype;
  plan->bias_type = args.bias.present() ? args.bias.dtype : args.out.dtype;
  return Error::ok;
}

template <class Sum, class T>
void walk_integers(const NumbersPlan& p) {
  const auto* const bias = reinterpret_cast<const std::byte*>(p.bias);
  walk_results<Sum, T>(p, [&](Sum sum, std::int32_t o) {
    return bias == nullptr ? sum : sum + static_cast<Sum>(integer_at(p.bias_type, bias, static_cast<std::uint32_t>(o)));
  });
}

void execute_numbers(const void* plan) {
  const auto& p = *static_cast<const NumbersPlan*>(plan);
  switch (p.type) {
    case DType::u8:
    case DType::i8:
      return walk_integers<std::uint32_t, std::uint8_t>(p);
    case DType::i16:
      return walk_integers<std::uint32_t, std::uint16_t>(p);
    case DType::i32:
      return walk_integers<std::uint32_t, std::uint32_t>(p);
    case DType::i64:
      return walk_integers<std::uint64_t, std::uint64_t>(p);
    default:
      break;
  }
  if (p.bias_type == DType::f32) return walk_convolution<sum_row>(p);
  const auto* const bias = reinterpret_cast<const std::byte*>(p.bias);
  walk_results<float, float>(
      p, [&](float sum, std::int32_t o) { return sum + real_at(p.bias_type, bias, static_cast<std::uint32_t>(o)); });
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_CONV2D_KERNELS, any_cpu)
CORMORANT_NUMBERS_KERNELS(CORMORANT_CONV2D_NUMBERS)

}  // namespace cormorant::ops::conv2d
