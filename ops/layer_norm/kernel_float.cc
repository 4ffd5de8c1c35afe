// SPDX-License-Identifier: Apache-2.0
//
// Per row: the mean of its elements, the mean of the squared distances from it, both added up in order;
// then (x − mean) · (1 / √(variance + eps)) · weight + bias.
#include "base/float_math.h"
#include "ops/layer_norm/float.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/load/float_kernel.h"

namespace cormorant::ops::layer_norm {
namespace {

struct FloatPlan {
  static constexpr std::uint32_t kStateBytes = 48;
  const float* input;  // may be the output
  const float* weight;
  const float* bias;  // may be null, as weight
  float* output;
  float* means;  // null: not requested
  float* factors;
  std::uint32_t rows;
  std::uint32_t channels, inner;  // of a row
  std::uint32_t groups;           // rows that differ in their parameters
  float eps;
  bool subtracts_mean;
};

bool are_parameters(const OptionalTensor& tensor, std::int32_t count) {
  return !tensor.present() || (is_f32(tensor) && tensor.elements() == count && tensor.is_contiguous());
}

// Rows of channels · inner elements in `groups` kinds; none of the numbers is trusted.
FloatPlan* plan_rows(Call& call, const Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias,
                     const Tensor& out, std::int32_t groups, std::int32_t channels, std::int32_t inner) {
  call.require(is_f32(input) && is_f32(out) && input.is_contiguous() && out.is_contiguous(), Error::unsupported);
  call.require(input.lies_like(out), Error::bad_shape);
  call.require(groups >= 1 && channels >= 1 && inner >= 1 && input.elements() > 0, Error::bad_shape);
  if (call.error() != Error::ok) return nullptr;
  // Each factor divides the rest of the tensor, so no product overflows.
  std::int32_t rows = input.elements();
  for (const std::int32_t n : {inner, channels, groups}) {
    call.require(rows % n == 0, Error::bad_shape);
    rows /= n;
  }
  if (call.error() != Error::ok) return nullptr;
  call.require(are_parameters(weight, groups * channels) && are_parameters(bias, groups * channels), Error::bad_shape);
  if (call.error() != Error::ok) return nullptr;
  auto* const plan = call.make_plan<FloatPlan>();
  if (plan == nullptr) return nullptr;
  const auto u32 = [](std::int32_t n) { return static_cast<std::uint32_t>(n); };
  *plan = {.input = input.as<const float>(),
           .weight = weight.as<const float>(),
           .bias = bias.as<const float>(),
           .output = out.as<float>(),
           .means = nullptr,
           .factors = nullptr,
           .rows = u32(rows * groups),
           .channels = u32(channels),
           .inner = u32(inner),
           .groups = u32(groups),
           .eps = 0,
           .subtracts_mean = true};
  return plan;
}

void take_statistics(Call& call, FloatPlan& plan, const Tensor& means, const Tensor& factors) {
  for (const Tensor* tensor : {&means, &factors}) {
    call.require(is_f32(*tensor) && static_cast<std::uint32_t>(tensor->elements()) == plan.rows, Error::bad_shape);
  }
  plan.means = means.as<float>();
  plan.factors = factors.as<float>();
}

Error load_layer_norm(Call& call) {
  NativeLayerNorm<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  std::int32_t size = 1;
  const IntList& shape = args.normalized_shape;
  call.require(shape.count >= 1 && shape.count <= args.input.rank, Error::bad_shape);
  for (std::uint32_t i = 0; i < shape.count && call.error() == Error::ok; ++i) {
    call.require(shape.items[i] == args.input.sizes[args.input.rank - shape.count + i], Error::bad_shape);
    size *= args.input.sizes[args.input.rank - shape.count + i];
  }
  if (call.error() != Error::ok) return call.error();
  FloatPlan* const plan = plan_rows(call, args.input, args.weight, args.bias, args.out0, 1, size, 1);
  if (plan == nullptr) return call.error();
  plan->eps = args.eps;
  take_statistics(call, *plan, args.out1, args.out2);
  return call.error();
}

Error load_group_norm(Call& call) {
  NativeGroupNorm<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  call.require(args.group >= 1 && args.C >= 1 && args.C % args.group == 0, Error::bad_value);
  call.require(args.input.rank >= 2 && args.input.sizes[1] == args.C && args.input.sizes[0] == args.N,
               Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  FloatPlan* const plan =
      plan_rows(call, args.input, args.weight, args.bias, args.out0, args.group, args.C / args.group, args.HxW);
  if (plan == nullptr) return call.error();
  plan->eps = args.eps;
  take_statistics(call, *plan, args.out1, args.out2);
  return call.error();
}

Error load_rms_norm(Call& call) {
  FloatRmsNorm<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  call.require(args.input.rank >= 1, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  FloatPlan* const plan =
      plan_rows(call, args.input, args.weight, {}, args.out, 1, args.input.sizes[args.input.rank - 1], 1);
  if (plan == nullptr) return call.error();
  plan->eps = args.eps;
  plan->subtracts_mean = false;
  return Error::ok;
}

void scale_channels(const FloatPlan& p, const float* from, float* to, std::uint32_t group, float mean, float factor) {
  for (std::uint32_t c = 0; c < p.channels; ++c) {
    const float weight = p.weight == nullptr ? 1 : p.weight[group * p.channels + c];
    const float bias = p.bias == nullptr ? 0 : p.bias[group * p.channels + c];
    for (std::uint32_t i = 0; i < p.inner; ++i) *to++ = (*from++ - mean) * factor * weight + bias;
  }
}

void execute_float(const void* plan) {
  const auto& p = *static_cast<const FloatPlan*>(plan);
  const std::uint32_t size = p.channels * p.inner;
  const auto count = static_cast<float>(size);
  std::uint32_t group = 0;
  for (std::uint32_t row = 0; row < p.rows; ++row) {
    const float* from = p.input + row * size;
    float* to = p.output + row * size;
    float mean = 0;
    if (p.subtracts_mean) {
      for (std::uint32_t i = 0; i < size; ++i) mean += from[i];
      mean /= count;
    }
    float spread = 0;
    for (std::uint32_t i = 0; i < size; ++i) {
      const float distance = from[i] - mean;
      spread += distance * distance;
    }
    const float factor = 1 / float_math::sqrt(spread / count + p.eps);
    if (p.inner == 1 && p.weight != nullptr && p.bias != nullptr) {
      const float* const weight = p.weight + group * p.channels;
      const float* const bias = p.bias + group * p.channels;
      for (std::uint32_t c = 0; c < size; ++c) to[c] = (from[c] - mean) * factor * weight[c] + bias[c];
    } else {
      scale_channels(p, from, to, group, mean, factor);
    }
    if (p.means != nullptr) {
      p.means[row] = mean;
      p.factors[row] = factor;
    }
    if (++group == p.groups) group = 0;
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_LAYER_NORM_KERNELS, any_cpu)

}  // namespace cormorant::ops::layer_norm
