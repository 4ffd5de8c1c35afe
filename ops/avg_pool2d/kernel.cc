// SPDX-License-Identifier: Apache-2.0
#include "ops/avg_pool2d/kernel.h"

#include "ops/load/explicit_layout.h"

namespace cormorant::ops {
namespace {

// Shift and subtract: kernels of this size are small and ARMv6-M has no division.
std::uint16_t chunk_rows(std::uint32_t kernel_w) {
  std::uint32_t rows = 0;
  for (std::uint32_t taps = kernel_w; taps <= kTapsPerChunk; taps += kernel_w) ++rows;
  return static_cast<std::uint16_t>(rows);
}

}  // namespace

PoolAxis mean_pool_axis(Call& call, const AvgPool2d<TargetWorld>& args, std::size_t i) {
  const std::int32_t input = args.input.size(2 + i);
  const std::int32_t output = args.out.size(2 + i);
  const std::int32_t kernel = args.kernel_size[i];
  const std::int32_t stride = args.stride[i];
  const std::int32_t padding = args.padding[i];
  call.require(is_pool_size(input, 1) && is_pool_size(output, 1) && is_pool_size(kernel, 1) &&
                   is_pool_size(stride, 0) && is_pool_size(padding, 0),
               Error::unsupported);
  if (call.error() != Error::ok) return {};
  // Windows are clipped to the input wherever they start, but starts must not overflow.
  const auto last = static_cast<std::uint32_t>(output - 1) * static_cast<std::uint32_t>(stride);
  call.require(last < static_cast<std::uint32_t>(input + padding) && (stride != 0 || padding == 0), Error::bad_shape);
  const auto narrow = [](std::int32_t value) { return static_cast<std::uint16_t>(value); };
  return {narrow(input), narrow(output), narrow(kernel), narrow(stride), narrow(padding), 1};
}

namespace {

bool is_int8(std::int32_t value) { return value >= -128 && value <= 127; }

// Kept out of load_mean_pool2d, whose stack frame is below the reading of the arguments.
[[gnu::noinline]] Error plan_mean_pool2d(Call& call, const AvgPool2d<TargetWorld>& args) {
  const Tensor& input = args.input;
  const Tensor& out = args.out;
  const Tensor& divisors = args.divisors;
  const bool is_typed = input.dtype == DType::i8 && out.dtype == DType::i8 && divisors.dtype == DType::i32;
  const bool is_paired = args.kernel_size.count == 2 && args.stride.count == 2 && args.padding.count == 2;
  const bool is_bounded = is_int8(args.input_zero_point) && is_int8(args.output_zero_point) &&
                          is_int8(args.output_min) && is_int8(args.output_max) && args.output_min <= args.output_max;
  call.require(is_typed && is_paired && is_bounded && args.left_shift >= 0 && args.left_shift < 32, Error::bad_value);
  call.require(input.rank == 4 && out.rank == 4 && divisors.rank == 2, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  call.require(input.is_channels_last() && out.is_channels_last(), Error::unsupported);
  call.require(divisors.size(1) == 3 && is_pool_size(divisors.size(0), 1) && divisors.is_contiguous(),
               Error::bad_shape);
  call.require(input.size(0) == out.size(0) && input.size(1) == out.size(1), Error::bad_shape);
  call.require(is_pool_size(input.size(0), 1) && is_pool_size(input.size(1), 1), Error::unsupported);
  const PoolAxis height = mean_pool_axis(call, args, 0);
  const PoolAxis width = mean_pool_axis(call, args, 1);
  if (call.error() != Error::ok) return call.error();
  call.require(most_taps(height) * most_taps(width) <= kLargestMeanWindow, Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<MeanPoolPlan>();
  if (plan == nullptr) return call.error();
  *plan = {.geometry = {.input = input.as<const std::int8_t>(),
                        .output = out.as<std::int8_t>(),
                        .batch = static_cast<std::uint16_t>(input.size(0)),
                        .channels = static_cast<std::uint16_t>(input.size(1)),
                        .height = height,
                        .width = width},
           .divisors = divisors.as<const std::int32_t>(),
           .divisor_count = static_cast<std::uint16_t>(divisors.size(0)),
           .count_include_pad = args.count_include_pad,
           .left = static_cast<std::uint8_t>(args.left_shift),
           .input_zero_point = static_cast<std::int8_t>(args.input_zero_point),
           .output_zero_point = static_cast<std::int8_t>(args.output_zero_point),
           .low = static_cast<std::int8_t>(args.output_min),
           .high = static_cast<std::int8_t>(args.output_max)};
  return Error::ok;
}

// Kept out of line: the caller's frame is beneath everything that reads the arguments.
template <class Tensors>
[[gnu::noinline]] Error plan_avg_pool2d(Call& call, QuantizedAvgPool2d<TargetWorld>& args) {
  const Tensors tensors(call, args.input, args.out);
  if (!tensors.fit()) return call.error();
  const Tensor& input = args.input;
  const Tensor& out = args.out;
  call.require(input.dtype == DType::i8 && out.dtype == DType::i8, Error::bad_value);
  call.require(args.kernel_size.count == 2 && args.stride.count == 2 && args.padding.count == 2, Error::bad_value);
  call.require(input.rank == 4 && out.rank == 4, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  call.require(input.is_channels_last() && out.is_channels_last(), Error::unsupported);
  call.require(input.size(0) == out.size(0) && input.size(1) == out.size(1), Error::bad_shape);
  call.require(is_pool_size(input.size(0), 1) && is_pool_size(input.size(1), 1), Error::unsupported);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int32_t kernel = args.kernel_size[i];
    const std::int32_t stride = args.stride[i];
    const std::int32_t padding = args.padding[i];
    call.require(is_pool_size(input.size(2 + i), 1) && is_pool_size(out.size(2 + i), 1) && is_pool_size(kernel, 1) &&
                     is_pool_size(stride, 1) && is_pool_size(padding, 0),
                 Error::unsupported);
    if (call.error() != Error::ok) return call.error();
    // Padding smaller than the kernel leaves no window empty.
    call.require(
        padding < kernel && is_pooled_size(out.size(2 + i), input.size(2 + i), kernel, stride, padding, args.ceil_mode),
        Error::bad_shape);
  }
  const auto clipped = [&](std::size_t i) {
    return args.kernel_size[i] < input.size(2 + i) ? args.kernel_size[i] : input.size(2 + i);
  };
  call.require(static_cast<std::uint32_t>(clipped(0)) * static_cast<std::uint32_t>(clipped(1)) <=
                   static_cast<std::uint32_t>(kLargestWindow),
               Error::unsupported);
  call.require_scratch(args.scratch, static_cast<std::uint32_t>(kAvgPoolScratchBytes));
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<AvgPoolPlan>();
  if (plan == nullptr) return call.error();
  const auto narrow = [](std::int32_t value) { return static_cast<std::uint16_t>(value); };
  *plan = {.input = input.as<const std::int8_t>(),
           .output = out.as<std::int8_t>(),
           .batch = narrow(input.size(0)),
           .channels = narrow(input.size(1)),
           .input_h = narrow(input.size(2)),
           .input_w = narrow(input.size(3)),
           .output_h = narrow(out.size(2)),
           .output_w = narrow(out.size(3)),
           .kernel_h = narrow(args.kernel_size[0]),
           .kernel_w = narrow(args.kernel_size[1]),
           .stride_h = narrow(args.stride[0]),
           .stride_w = narrow(args.stride[1]),
           .padding_h = narrow(args.padding[0]),
           .padding_w = narrow(args.padding[1]),
           .chunk_rows = chunk_rows(static_cast<std::uint32_t>(clipped(1)))};
  return Error::ok;
}

template <class Tensors>
Error load_avg_pool2d_as(Call& call) {
  QuantizedAvgPool2d<TargetWorld> args;
  return call.read_signature(args) ? plan_avg_pool2d<Tensors>(call, args) : call.error();
}

}  // namespace

Error load_avg_pool2d(Call& call) { return load_avg_pool2d_as<TensorsAsGiven>(call); }
Error load_avg_pool2d_nhwc(Call& call) { return load_avg_pool2d_as<NhwcTensors>(call); }

Error load_mean_pool2d(Call& call) {
  AvgPool2d<TargetWorld> args;
  return call.read_signature(args) ? plan_mean_pool2d(call, args) : call.error();
}

void execute_mean_pool2d(const MeanPoolPlan& p, void (*window_mean)(const Window&, const MeanScale&)) {
  MeanScale scale = {.offset = 0,
                     .multiplier = 0,
                     .left = p.left,
                     .right = 0,
                     .low = p.low - p.output_zero_point,
                     .high = p.high - p.output_zero_point,
                     .zero_point = p.output_zero_point};
  const auto pool = [&](const Window& window, const PoolSpan& rows, const PoolSpan& columns) {
    const std::int32_t taps = rows.taps * columns.taps;
    const std::int32_t* divisor = divisor_row(
        p.divisors, p.divisor_count, p.count_include_pad ? wrapping_product(rows.counted, columns.counted) : taps);
    scale.offset = -taps * p.input_zero_point;
    scale.multiplier = divisor[1];
    scale.right = right_shift_of(divisor);
    window_mean(window, scale);
  };
  for_each_pool_window<PoolKind::adaptive>(p.geometry, pool);
}

}  // namespace cormorant::ops
