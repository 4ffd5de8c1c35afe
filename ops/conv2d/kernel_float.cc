// SPDX-License-Identifier: Apache-2.0
//
// The order of each sum is kernels/float_sums.h's; a transposed convolution has the same, over the taps that reach a
// result.
#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/float.h"
#include "ops/conv2d/float_walk.h"
#include "ops/float_kernel.h"

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
  call.require(a.input.is_contiguous() && a.weight.is_contiguous() && a.out.is_contiguous(), Error::unsupported);
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

Error plan_float(Call& call, const FloatConvolution<TargetWorld>& a) {
  auto* const plan = call.make_plan<FloatPlan>();
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
void execute_convolution(const void* plan) { walk_convolution<sum_row>(*static_cast<const FloatPlan*>(plan)); }
}  // namespace

CORMORANT_KERNELS(CORMORANT_CONV2D_KERNELS, any_cpu)

}  // namespace cormorant::ops::conv2d
