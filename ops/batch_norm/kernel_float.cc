// SPDX-License-Identifier: Apache-2.0
//
// Batch norm with fixed statistics, for ExecuTorch's files: our own compiler folds it or turns it into a product and a
// sum. Per element: (x − mean) · (1 / √(variance + eps)) · weight + bias. The other two outs are empty at inference.
// Without fixed statistics, those of the input itself are used: instance norm becomes this.
#include "base/fields.h"
#include "base/float_math.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/load/float_kernel.h"

namespace cormorant::ops::batch_norm {
namespace {

struct NoTraining {  // aten::_native_batch_norm_legit_no_training.out
  Tensor input{};
  OptionalTensor weight{}, bias{};
  Tensor running_mean{}, running_var{};
  float momentum = 0, eps = 0;
  OutTensor out0{}, out1{}, out2{};

  CORMORANT_FIELDS(input, weight, bias, running_mean, running_var, momentum, eps, out0, out1, out2)
};

struct Legit {  // aten::_native_batch_norm_legit.out, whose statistics change in training, which is not supported
  Tensor input{};
  OptionalTensor weight{}, bias{};
  Tensor running_mean{}, running_var{};
  bool training = false;
  float momentum = 0, eps = 0;
  OutTensor out0{}, out1{}, out2{};

  CORMORANT_FIELDS(input, weight, bias, running_mean, running_var, training, momentum, eps, out0, out1, out2)
};

struct NoStats {
  Tensor input{};
  OptionalTensor weight{}, bias{};
  bool training = false;
  float momentum = 0, eps = 0;
  OutTensor out0{}, save_mean{}, save_invstd{};

  CORMORANT_FIELDS(input, weight, bias, training, momentum, eps, out0, save_mean, save_invstd)
};

struct Plan {
  static constexpr std::uint32_t kStateBytes = 40;
  const float* input;  // may be the output
  const float* weight;
  const float* bias;  // may be null, as weight
  const float* mean;
  const float* variance;
  float* output;
  std::uint32_t batch, channels, inner;
  float eps;
};

bool is_per_channel(const Tensor& tensor, std::int32_t channels) {
  return is_f32(tensor) && tensor.rank == 1 && tensor.sizes[0] == channels;
}

template <class Signature>
Error load(Call& call) {
  Signature a;
  if (!call.read_signature(a)) return call.error();
  if constexpr (requires { a.training; }) call.require(!a.training, Error::unsupported);
  const bool is_last = a.input.rank == 4 && a.input.is_channels_last();
  call.require(is_f32(a.input) && is_f32(a.out0) && (a.input.is_contiguous() || is_last), Error::unsupported);
  call.require(a.input.lies_like(a.out0) && a.input.rank >= 2 && a.input.elements() > 0, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const std::int32_t channels = a.input.sizes[1];
  call.require(is_per_channel(a.running_mean, channels) && is_per_channel(a.running_var, channels), Error::bad_shape);
  call.require((!a.weight.present() || is_per_channel(a.weight, channels)) &&
                   (!a.bias.present() || is_per_channel(a.bias, channels)),
               Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<Plan>();
  if (plan == nullptr) return call.error();
  const auto count = static_cast<std::uint32_t>(channels);
  const std::uint32_t planes = static_cast<std::uint32_t>(a.input.elements()) / count;
  const auto batch = a.input.is_contiguous() ? static_cast<std::uint32_t>(a.input.sizes[0]) : planes;
  *plan = {.input = a.input.template as<const float>(),
           .weight = a.weight.template as<const float>(),
           .bias = a.bias.template as<const float>(),
           .mean = a.running_mean.template as<const float>(),
           .variance = a.running_var.template as<const float>(),
           .output = a.out0.template as<float>(),
           .batch = batch,
           .channels = count,
           .inner = planes / batch,
           .eps = a.eps};
  return Error::ok;
}

void execute(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  for (std::uint32_t c = 0; c < p.channels; ++c) {
    const float factor = 1 / float_math::sqrt(p.variance[c] + p.eps);
    const float weight = p.weight == nullptr ? 1 : p.weight[c];
    const float bias = p.bias == nullptr ? 0 : p.bias[c];
    const float mean = p.mean[c];
    for (std::uint32_t n = 0; n < p.batch; ++n) {
      const std::uint32_t first = (n * p.channels + c) * p.inner;
      for (std::uint32_t i = first; i < first + p.inner; ++i) {
        p.output[i] = (p.input[i] - mean) * factor * weight + bias;
      }
    }
  }
}

struct NoStatsPlan {
  static constexpr std::uint32_t kStateBytes = 40;
  const float* input;  // may be the output
  const float* weight;
  const float* bias;  // may be null, as weight
  float* means;
  float* factors;  // 1 / √(variance + eps)
  float* output;
  std::uint32_t batch, channels, inner;
  float eps;
};

Error load_no_stats(Call& call) {
  NoStats a;
  if (!call.read_signature(a)) return call.error();
  call.require(is_f32(a.input) && is_f32(a.out0) && a.input.is_contiguous() && a.out0.is_contiguous(),
               Error::unsupported);
  call.require(a.input.lies_like(a.out0) && a.input.rank >= 2 && a.input.elements() > 0, Error::bad_shape);
  call.require(a.training, Error::unsupported);  // else there are no statistics at all
  if (call.error() != Error::ok) return call.error();
  const std::int32_t channels = a.input.sizes[1];
  call.require(is_per_channel(a.save_mean, channels) && is_per_channel(a.save_invstd, channels), Error::bad_shape);
  call.require((!a.weight.present() || is_per_channel(a.weight, channels)) &&
                   (!a.bias.present() || is_per_channel(a.bias, channels)),
               Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<NoStatsPlan>();
  if (plan == nullptr) return call.error();
  const auto batch = static_cast<std::uint32_t>(a.input.sizes[0]);
  const auto count = static_cast<std::uint32_t>(channels);
  *plan = {.input = a.input.as<const float>(),
           .weight = a.weight.as<const float>(),
           .bias = a.bias.as<const float>(),
           .means = a.save_mean.as<float>(),
           .factors = a.save_invstd.as<float>(),
           .output = a.out0.as<float>(),
           .batch = batch,
           .channels = count,
           .inner = static_cast<std::uint32_t>(a.input.elements()) / (batch * count),
           .eps = a.eps};
  return Error::ok;
}

void execute_no_stats(const void* plan) {
  const auto& p = *static_cast<const NoStatsPlan*>(plan);
  const auto each = [&](std::uint32_t c, auto use) {
    for (std::uint32_t n = 0; n < p.batch; ++n) {
      const std::size_t first = (std::size_t{n} * p.channels + c) * p.inner;
      for (std::uint32_t i = 0; i < p.inner; ++i) use(first + i);
    }
  };
  const auto count = static_cast<float>(p.batch * p.inner);
  for (std::uint32_t c = 0; c < p.channels; ++c) {
    float sum = 0, squares = 0;
    each(c, [&](std::size_t i) { sum += p.input[i]; });
    const float mean = sum / count;
    each(c, [&](std::size_t i) { squares += (p.input[i] - mean) * (p.input[i] - mean); });
    const float factor = 1 / float_math::sqrt(squares / count + p.eps);
    const float weight = p.weight == nullptr ? 1 : p.weight[c];
    const float bias = p.bias == nullptr ? 0 : p.bias[c];
    each(c, [&](std::size_t i) { p.output[i] = (p.input[i] - mean) * factor * weight + bias; });
    p.means[c] = mean;
    p.factors[c] = factor;
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_BATCH_NORM_KERNELS, any_cpu)

}  // namespace cormorant::ops::batch_norm
