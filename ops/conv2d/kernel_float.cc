// SPDX-License-Identifier: Apache-2.0
//
// The order of each sum is kernels/float_sums.h's; a transposed convolution has the same, over the taps that reach a
// result.
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

void check_float(Call& call, const FloatConvolution<TargetWorld>& a) {
  const std::size_t rank = a.input.rank;
  const bool ranks = (rank == 3 || rank == 4) && a.weight.rank == rank && a.out.rank == rank;
  call.require(ranks && is_f32(a.input) && is_f32(a.weight) && is_f32(a.out), Error::unsupported);
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
  call.require(is_f32(a.bias) && a.bias.rank == 1 && a.bias.sizes[0] == outputs, Error::bad_shape);
}

// Steps by dimensions N, C, H, W; a signal has no H.
void find_steps(const Tensor& tensor, std::int32_t (&steps)[4]) {
  std::int32_t strides[kMaxRank];
  broadcast_strides(tensor, tensor, strides);
  const std::size_t missing = 4U - tensor.rank;
  for (std::size_t i = 0; i < 4; ++i) steps[i] = 0;
  for (std::size_t i = 0; i < tensor.rank; ++i) steps[i < 2 ? i : i + missing] = strides[i];
}

FloatPlan* make_float_plan(Call& call, const FloatConvolution<TargetWorld>& a) {
  if (a.input.is_contiguous() && a.weight.is_contiguous() && a.out.is_contiguous()) return call.make_plan<FloatPlan>();
  auto* const plan = call.make_plan<SteppedFloatPlan>();
  if (plan == nullptr) return nullptr;
  plan->has_steps = true;
  find_steps(a.input, plan->in_steps);
  find_steps(a.weight, plan->weight_steps);
  find_steps(a.out, plan->out_steps);
  return plan;
}

Error plan_float(Call& call, const FloatConvolution<TargetWorld>& a) {
  FloatPlan* const plan = make_float_plan(call, a);
  if (plan == nullptr) return call.error();
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
  return Error::ok;
}

}  // namespace

Error load_convolution(Call& call) {
  FloatConvolution<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  check_float(call, args);
  return call.error() != Error::ok ? call.error() : plan_float(call, args);
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

float sum_of_taps(const SteppedFloatPlan& p, const float* in, const float* weight, std::int32_t y, std::int32_t x) {
  const std::int32_t next = p.transposed ? p.weight_steps[0] : p.weight_steps[1];
  float sum = 0;
  for (std::int32_t c = 0; c < p.in_channels; ++c, in += p.in_steps[1], weight += next) {
    for (std::int32_t i = 0; i < p.kernel[0]; ++i) {
      const std::int32_t row = place_of_tap(p, 0, y, i);
      if (row < 0) continue;
      for (std::int32_t k = 0; k < p.kernel[1]; ++k) {
        const std::int32_t column = place_of_tap(p, 1, x, k);
        if (column < 0) continue;
        sum += in[row * p.in_steps[2] + column * p.in_steps[3]] * weight[i * p.weight_steps[2] + k * p.weight_steps[3]];
      }
    }
  }
  return sum;
}

}  // namespace

void walk_stepped(const SteppedFloatPlan& p) {
  for (std::int32_t n = 0; n < p.batch; ++n) {
    for (std::int32_t o = 0; o < p.groups * p.out_channels; ++o) {
      const std::int32_t group = o / p.out_channels;
      const float* const in = p.input + n * p.in_steps[0] + group * p.in_channels * p.in_steps[1];
      const float* const weight = p.transposed ? p.weight + group * p.in_channels * p.weight_steps[0] +
                                                     (o - group * p.out_channels) * p.weight_steps[1]
                                               : p.weight + o * p.weight_steps[0];
      float* const out = p.output + n * p.out_steps[0] + o * p.out_steps[1];
      for (std::int32_t y = 0; y < p.out_size[0]; ++y) {
        for (std::int32_t x = 0; x < p.out_size[1]; ++x) {
          const float sum = sum_of_taps(p, in, weight, y, x);
          out[y * p.out_steps[2] + x * p.out_steps[3]] = p.bias == nullptr ? sum : sum + p.bias[o];
        }
      }
    }
  }
}

namespace {
void execute_convolution(const void* plan) { walk_convolution<sum_row>(*static_cast<const FloatPlan*>(plan)); }
}  // namespace

CORMORANT_KERNELS(CORMORANT_CONV2D_KERNELS, any_cpu)

}  // namespace cormorant::ops::conv2d
