// SPDX-License-Identifier: Apache-2.0
#include "ops/max_pool2d/kernel.h"

#include "ops/load/explicit_layout.h"

namespace cormorant::ops {

PoolAxis max_pool_axis(Call& call, const QuantizedMaxPool2d<TargetWorld>& args, std::size_t i) {
  const std::int32_t input = args.input.size(2 + i);
  const std::int32_t output = args.out.size(2 + i);
  const std::int32_t kernel = args.kernel_size[i];
  const std::int32_t stride = args.stride[i];
  const std::int32_t padding = args.padding[i];
  const std::int32_t dilation = args.dilation[i];
  call.require(is_pool_size(input, 1) && is_pool_size(output, 1) && is_pool_size(kernel, 1) &&
                   is_pool_size(stride, 1) && is_pool_size(padding, 0) && is_pool_size(dilation, 1),
               Error::unsupported);
  if (call.error() != Error::ok) return {};
  // Both factors are below 2^16; a window that spans more than this fits no input.
  const std::uint32_t reach = static_cast<std::uint32_t>(kernel - 1) * static_cast<std::uint32_t>(dilation) + 1;
  call.require(reach < 1U << 30 &&
                   is_pooled_size(output, input, static_cast<std::int32_t>(reach), stride, padding, args.ceil_mode),
               Error::bad_shape);
  const auto narrow = [](std::int32_t value) { return static_cast<std::uint16_t>(value); };
  return {narrow(input), narrow(output), narrow(kernel), narrow(stride), narrow(padding), narrow(dilation)};
}

namespace {

// Kept out of line: the caller's frame is beneath everything that reads the arguments.
template <class Tensors>
[[gnu::noinline]] Error plan_max_pool2d(Call& call, QuantizedMaxPool2d<TargetWorld>& args) {
  const Tensors tensors(call, args.input, args.out);
  if (!tensors.fit()) return call.error();
  const Tensor& input = args.input;
  const Tensor& out = args.out;
  const std::int32_t low = args.activation_min;
  const std::int32_t high = args.activation_max;
  call.require(input.dtype == DType::i8 && out.dtype == DType::i8, Error::bad_value);
  call.require(
      args.kernel_size.count == 2 && args.stride.count == 2 && args.padding.count == 2 && args.dilation.count == 2,
      Error::bad_value);
  call.require(args.input_zero_point == args.output_zero_point, Error::unsupported);
  call.require(low >= -128 && low <= high && high <= 127, Error::bad_value);
  call.require(input.rank == 4 && out.rank == 4, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  call.require(input.is_channels_last() && out.is_channels_last(), Error::unsupported);
  call.require(input.size(0) == out.size(0) && input.size(1) == out.size(1), Error::bad_shape);
  call.require(is_pool_size(input.size(0), 1) && is_pool_size(input.size(1), 1), Error::unsupported);
  const PoolAxis height = max_pool_axis(call, args, 0);
  const PoolAxis width = max_pool_axis(call, args, 1);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<MaxPoolPlan>();
  if (plan == nullptr) return call.error();
  *plan = {.geometry = {.input = input.as<const std::int8_t>(),
                        .output = out.as<std::int8_t>(),
                        .batch = static_cast<std::uint16_t>(input.size(0)),
                        .channels = static_cast<std::uint16_t>(input.size(1)),
                        .height = height,
                        .width = width},
           .low = static_cast<std::int8_t>(low),
           .high = static_cast<std::int8_t>(high)};
  return Error::ok;
}

template <class Tensors>
Error load_max_pool2d_as(Call& call) {
  QuantizedMaxPool2d<TargetWorld> args;
  return call.read_signature(args) ? plan_max_pool2d<Tensors>(call, args) : call.error();
}

}  // namespace

Error load_max_pool2d(Call& call) { return load_max_pool2d_as<TensorsAsGiven>(call); }
Error load_max_pool2d_nhwc(Call& call) { return load_max_pool2d_as<NhwcTensors>(call); }

void execute_max_pool2d(const MaxPoolPlan& plan, void (*window_max)(const Window&, std::int32_t, std::int32_t)) {
  for_each_pool_window<PoolKind::dilated>(plan.geometry, [&](const Window& window, const PoolSpan&, const PoolSpan&) {
    window_max(window, plan.low, plan.high);
  });
}

}  // namespace cormorant::ops
