// SPDX-License-Identifier: Apache-2.0
//
// The window's elements added up row by row, divided by their number.
#include "ops/avg_pool2d/avg_pool2d.h"
#include "ops/avg_pool2d/float.h"
#include "ops/load/float_pool.h"

namespace cormorant::ops {
namespace {

struct FloatAvgPlan {
  static constexpr std::uint32_t kStateBytes = 48;
  FloatPool pool;
  std::int32_t divisor;  // 0: the number of elements
  bool count_padding;
};

Error load_float_avg_pool(Call& call) {
  FloatAvgPool2d<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  static constexpr IntPair kOnce = {.count = 2, .items = {1, 1}};
  auto* const plan = call.make_plan<FloatAvgPlan>();
  if (plan == nullptr) return call.error();
  const FloatPoolLists lists{args.kernel_size, args.stride, args.padding, kOnce};
  if (!read_float_pool(call, args.self, args.out, lists, args.ceil_mode, plan->pool)) return call.error();
  plan->divisor = args.divisor_override.value_or(0);
  plan->count_padding = args.count_include_pad;
  call.require(!args.divisor_override.present || plan->divisor != 0, Error::bad_value);
  return call.error();
}

void execute_float_avg_pool(const void* plan) {
  const auto& p = *static_cast<const FloatAvgPlan*>(plan);
  const std::int32_t width = p.pool.axes[1].in;
  run_float_pool(p.pool, [&](const float* image, const FloatTaps& rows, const FloatTaps& columns, std::int32_t) {
    float sum = 0;
    for (std::int32_t y = 0; y < rows.count; ++y) {
      const float* from = image + ((rows.first + y) * width + columns.first) * p.pool.step;
      for (std::int32_t x = 0; x < columns.count; ++x, from += p.pool.step) sum += *from;
    }
    std::int32_t divisor = p.count_padding ? rows.counted * columns.counted : rows.count * columns.count;
    if (p.divisor != 0) divisor = p.divisor;
    return sum / static_cast<float>(divisor);
  });
}

// ---- windows that follow from the sizes -----------------------------------------------------------------------------

struct AdaptivePlan {
  static constexpr std::uint32_t kStateBytes = 20;
  const float* input;
  float* output;
  std::int32_t planes;
  std::int16_t in[2], out[2];  // height, width
};

Error load_adaptive_avg_pool(Call& call) {
  FloatAdaptiveAvgPool2d<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [self, size, out] = args;
  call.require(self.rank == 4 && out.rank == 4 && is_f32(self) && is_f32(out), Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  call.require(self.is_contiguous() && out.is_contiguous() && is_countable(self) && is_countable(out),
               Error::unsupported);
  call.require(is_countable(size, 2, 1) && self.elements() > 0, Error::bad_value);
  call.require(self.sizes[0] == out.sizes[0] && self.sizes[1] == out.sizes[1] && size[0] == out.sizes[2] &&
                   size[1] == out.sizes[3],
               Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<AdaptivePlan>();
  if (plan == nullptr) return call.error();
  *plan = {self.as<const float>(), out.as<float>(), out.sizes[0] * out.sizes[1], {}, {}};
  for (std::size_t i = 0; i < 2; ++i) {
    plan->in[i] = static_cast<std::int16_t>(self.sizes[2 + i]);
    plan->out[i] = static_cast<std::int16_t>(out.sizes[2 + i]);
  }
  return Error::ok;
}

void execute_adaptive_avg_pool(const void* plan) {
  const auto& p = *static_cast<const AdaptivePlan*>(plan);
  const float* image = p.input;
  float* out = p.output;
  for (std::int32_t plane = 0; plane < p.planes; ++plane, image += p.in[0] * p.in[1]) {
    for (std::int32_t oy = 0; oy < p.out[0]; ++oy) {
      const std::int32_t top = oy * p.in[0] / p.out[0];
      const std::int32_t bottom = ((oy + 1) * p.in[0] + p.out[0] - 1) / p.out[0];
      for (std::int32_t ox = 0; ox < p.out[1]; ++ox) {
        const std::int32_t left = ox * p.in[1] / p.out[1];
        const std::int32_t right = ((ox + 1) * p.in[1] + p.out[1] - 1) / p.out[1];
        float sum = 0;
        for (std::int32_t y = top; y < bottom; ++y) {
          for (std::int32_t x = left; x < right; ++x) sum += image[y * p.in[1] + x];
        }
        *out++ = sum / static_cast<float>((bottom - top) * (right - left));
      }
    }
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_AVG_POOL2D_KERNELS, any_cpu)

}  // namespace cormorant::ops
