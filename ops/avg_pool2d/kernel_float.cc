// SPDX-License-Identifier: Apache-2.0
//
// The window's elements added up row by row, divided by their number.
#include "ops/avg_pool2d/float.h"
#include "ops/float_pool.h"

namespace cormorant::ops {
namespace {

struct FloatAvgPlan {
  FloatPool pool;
  std::int32_t divisor;  // 0: the number of elements
  bool count_padding;
};

Error load_float_avg_pool(Call& call) {
  FloatAvgPool2d<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  IntList once;
  once.count = 2;
  once.items[0] = once.items[1] = 1;
  FloatAvgPlan plan{};
  const FloatPoolLists lists{args.kernel_size, args.stride, args.padding, once};
  if (!read_float_pool(call, args.self, args.out, lists, args.ceil_mode, plan.pool)) return call.error();
  plan.divisor = args.divisor_override.value_or(0);
  plan.count_padding = args.count_include_pad;
  call.require(!args.divisor_override.present || plan.divisor != 0, Error::bad_value);
  if (call.error() != Error::ok) return call.error();
  auto* const stored = call.make_plan<FloatAvgPlan>();
  if (stored == nullptr) return call.error();
  *stored = plan;
  return Error::ok;
}

void execute_float_avg_pool(const void* plan) {
  const auto& p = *static_cast<const FloatAvgPlan*>(plan);
  const std::int32_t width = p.pool.axes[1].in;
  run_float_pool(p.pool, [&](const float* image, const FloatTaps& rows, const FloatTaps& columns) {
    float sum = 0;
    for (std::int32_t y = 0; y < rows.count; ++y) {
      const float* from = image + (rows.first + y) * width + columns.first;
      for (std::int32_t x = 0; x < columns.count; ++x) sum += from[x];
    }
    std::int32_t divisor = p.count_padding ? rows.counted * columns.counted : rows.count * columns.count;
    if (p.divisor != 0) divisor = p.divisor;
    return sum / static_cast<float>(divisor);
  });
}

}  // namespace
}  // namespace cormorant::ops

CORMORANT_KERNEL(aten_avg_pool2d_out_scalar, "aten::avg_pool2d.out", cormorant::ops::load_float_avg_pool,
                 cormorant::ops::execute_float_avg_pool)
