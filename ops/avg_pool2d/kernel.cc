// SPDX-License-Identifier: Apache-2.0
#include "ops/avg_pool2d/kernel.h"

namespace cormorant::ops {
namespace {

constexpr std::int32_t kLargestSize = 65535;

bool fits(std::int32_t value, std::int32_t lowest) { return value >= lowest && value <= kLargestSize; }

// Shift and subtract: kernels of this size are small and ARMv6-M has no division.
std::uint16_t chunk_rows(std::uint32_t kernel_w) {
  std::uint32_t rows = 0;
  for (std::uint32_t taps = kernel_w; taps <= kTapsPerChunk; taps += kernel_w) ++rows;
  return static_cast<std::uint16_t>(rows);
}

// The output size without a division: the last window is where pooled_size() says, and one more would not be.
bool is_pooled_size(std::int32_t size, std::int32_t input, std::int32_t kernel, std::int32_t stride,
                    std::int32_t padding, bool ceil_mode) {
  const std::int32_t room = input + 2 * padding - kernel;
  if (room < 0) return false;
  // fits() bounds both factors by 2^16.
  const auto starts = [&](std::int32_t index) {
    const std::uint32_t at = static_cast<std::uint32_t>(index) * static_cast<std::uint32_t>(stride);
    const auto last = static_cast<std::uint32_t>(ceil_mode ? room + stride - 1 : room);
    return at <= last && (!ceil_mode || at < static_cast<std::uint32_t>(input + padding));
  };
  return starts(size - 1) && !starts(size);
}

}  // namespace

Error load_avg_pool2d(Call& call) {
  QuantizedAvgPool2d<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const Tensor& input = args.input;
  const Tensor& out = args.out;
  call.require(input.dtype == DType::i8 && out.dtype == DType::i8, Error::bad_value);
  call.require(args.kernel_size.count == 2 && args.stride.count == 2 && args.padding.count == 2, Error::bad_value);
  call.require(input.rank == 4 && out.rank == 4, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  call.require(input.is_channels_last() && out.is_channels_last(), Error::unsupported);
  call.require(input.size(0) == out.size(0) && input.size(1) == out.size(1), Error::bad_shape);
  call.require(fits(input.size(0), 1) && fits(input.size(1), 1), Error::unsupported);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int32_t kernel = args.kernel_size[i];
    const std::int32_t stride = args.stride[i];
    const std::int32_t padding = args.padding[i];
    call.require(fits(input.size(2 + i), 1) && fits(out.size(2 + i), 1) && fits(kernel, 1) && fits(stride, 1) &&
                     fits(padding, 0),
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

}  // namespace cormorant::ops
