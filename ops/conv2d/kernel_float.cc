// SPDX-License-Identifier: Apache-2.0
//
// Per output: the products of each input channel, row by row of the kernel, added up from zero in this order; then the
// bias. Taps in the padding are left out. The loops are turned so that the innermost one runs along a row of the image
// with one weight: no bounds to check, and the order of each output's sum is the same.
#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/float.h"
#include "ops/float_kernel.h"

namespace cormorant::ops::conv2d {
namespace {

struct FloatPlan {
  const float* input;
  const float* weight;
  const float* bias;  // may be null
  float* output;
  std::int16_t batch, groups;
  std::int16_t in_channels, out_channels;  // of one group
  std::int16_t in_size[2], out_size[2];    // height, width
  std::int16_t kernel[2], stride[2], padding[2], dilation[2];
  bool transposed;
};

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

// The places of one side that a tap connects with places of the other: `many` walks by the stride, `few` one by one.
struct Walk {
  std::int32_t many, few, count;
};
// few[i] is at many[i · stride + offset]: those i for which both exist.
Walk walk(std::int32_t offset, std::int32_t stride, std::int32_t many_size, std::int32_t few_size) {
  Walk w{offset, 0, 0};
  while (w.many < 0) {
    w.many += stride;
    ++w.few;
  }
  for (std::int32_t at = w.many; at < many_size && w.few + w.count < few_size; at += stride) ++w.count;
  return w;
}

// out += weight · in, one channel of each, one tap after the other.
void add_plane(const FloatPlan& p, const float* in, const float* weight, float* out) {
  for (std::int32_t ky = 0; ky < p.kernel[0]; ++ky) {
    const Walk rows = walk(ky * p.dilation[0] - p.padding[0], p.stride[0], p.in_size[0], p.out_size[0]);
    for (std::int32_t kx = 0; kx < p.kernel[1]; ++kx) {
      const Walk columns = walk(kx * p.dilation[1] - p.padding[1], p.stride[1], p.in_size[1], p.out_size[1]);
      const float w = *weight++;
      const std::int32_t step = p.stride[1];
      for (std::int32_t y = 0; y < rows.count; ++y) {
        const float* from = in + (rows.many + y * p.stride[0]) * p.in_size[1] + columns.many;
        float* to = out + (rows.few + y) * p.out_size[1] + columns.few;
        if (step == 1) {
          for (std::int32_t x = 0; x < columns.count; ++x) to[x] += w * from[x];
        } else {
          for (std::int32_t x = 0; x < columns.count; ++x) to[x] += w * from[x * step];
        }
      }
    }
  }
}

// The same the other way round: an input pixel goes to the outputs that a stride leads to.
void add_plane_transposed(const FloatPlan& p, const float* in, const float* weight, float* out) {
  for (std::int32_t ky = 0; ky < p.kernel[0]; ++ky) {
    const Walk rows = walk(ky * p.dilation[0] - p.padding[0], p.stride[0], p.out_size[0], p.in_size[0]);
    for (std::int32_t kx = 0; kx < p.kernel[1]; ++kx) {
      const Walk columns = walk(kx * p.dilation[1] - p.padding[1], p.stride[1], p.out_size[1], p.in_size[1]);
      const float w = *weight++;
      for (std::int32_t y = 0; y < rows.count; ++y) {
        const float* from = in + (rows.few + y) * p.in_size[1] + columns.few;
        float* to = out + (rows.many + y * p.stride[0]) * p.out_size[1] + columns.many;
        for (std::int32_t x = 0; x < columns.count; ++x) to[x * p.stride[1]] += w * from[x];
      }
    }
  }
}

template <bool transposed>
void execute_float(const void* plan) {
  const auto& p = *static_cast<const FloatPlan*>(plan);
  const std::int32_t in_plane = p.in_size[0] * p.in_size[1];
  const std::int32_t out_plane = p.out_size[0] * p.out_size[1];
  const std::int32_t taps = p.kernel[0] * p.kernel[1];
  const float* image = p.input;
  float* out = p.output;
  for (std::int32_t n = 0; n < p.batch; ++n) {
    for (std::int32_t g = 0; g < p.groups; ++g, image += p.in_channels * in_plane) {
      for (std::int32_t o = 0; o < p.out_channels; ++o, out += out_plane) {
        for (std::int32_t i = 0; i < out_plane; ++i) out[i] = 0;
        for (std::int32_t c = 0; c < p.in_channels; ++c) {
          const std::int32_t kernel =
              transposed ? (g * p.in_channels + c) * p.out_channels + o : (g * p.out_channels + o) * p.in_channels + c;
          const float* weight = p.weight + kernel * taps;
          if constexpr (transposed) {
            add_plane_transposed(p, image + c * in_plane, weight, out);
          } else {
            add_plane(p, image + c * in_plane, weight, out);
          }
        }
        if (p.bias == nullptr) continue;
        const float bias = p.bias[g * p.out_channels + o];
        for (std::int32_t i = 0; i < out_plane; ++i) out[i] += bias;
      }
    }
  }
}

Error load_convolution(Call& call) {
  FloatConvolution<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  check_float(call, args);
  return call.error() != Error::ok ? call.error() : plan_float(call, args);
}

void execute_convolution(const void* plan) {
  if (static_cast<const FloatPlan*>(plan)->transposed) {
    execute_float<true>(plan);
  } else {
    execute_float<false>(plan);
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_CONV2D_KERNELS, any_cpu)

}  // namespace cormorant::ops::conv2d
