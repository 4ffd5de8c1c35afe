// SPDX-License-Identifier: Apache-2.0
//
// The first of the largest elements, row by row; as in PyTorch a NaN is larger than anything.
#include "base/float_math.h"
#include "ops/load/float_pool.h"
#include "ops/max_pool2d/float.h"
#include "ops/max_pool2d/max_pool2d.h"

namespace cormorant::ops {
namespace {

struct FloatMaxPlan {
  static constexpr std::uint32_t kStateBytes = 44;
  FloatPool pool;
  std::int64_t* indices;  // null: not requested
};

template <class S>
FloatMaxPlan* load_pool(Call& call, S& args) {
  if (!call.read_signature(args)) return nullptr;
  auto* const plan = call.make_plan<FloatMaxPlan>();
  if (plan == nullptr) return nullptr;
  const FloatPoolLists lists{args.kernel_size, args.stride, args.padding, args.dilation};
  return read_float_pool(call, args.self, args.out, lists, args.ceil_mode, plan->pool) ? plan : nullptr;
}

Error load_float_max_pool(Call& call) {
  FloatMaxPool2d<TargetWorld> args;
  load_pool(call, args);
  return call.error();
}

Error load_max_pool_with_indices(Call& call) {
  MaxPool2dWithIndices<TargetWorld> args;
  FloatMaxPlan* const plan = load_pool(call, args);
  if (plan == nullptr) return call.error();
  call.require(args.indices.dtype == DType::i64 && args.indices.lies_like(args.out), Error::bad_shape);
  plan->indices = args.indices.as<std::int64_t>();
  return call.error();
}

void execute_float_max_pool(const void* plan) {
  const auto& p = *static_cast<const FloatMaxPlan*>(plan);
  const std::int32_t width = p.pool.axes[1].in;
  if (p.indices == nullptr) {
    const std::int32_t pixel = p.pool.step;
    const std::int32_t row_step = p.pool.axes[0].dilation * width * pixel;
    const std::int32_t step = p.pool.axes[1].dilation * pixel;
    run_float_pool(p.pool, [=](const float* image, const FloatTaps& rows, const FloatTaps& columns, std::int32_t) {
      float largest = -float_math::kInfinity;
      const float* row = image + (rows.first * width + columns.first) * pixel;
      for (std::int32_t y = rows.count; y > 0; --y, row += row_step) {
        const float* at = row;
        for (std::int32_t x = columns.count; x > 0; --x, at += step) {
          const float value = *at;
          if (float_math::is_less(largest, value) || float_math::is_nan(value)) largest = value;
        }
      }
      return largest;
    });
    return;
  }
  run_float_pool(p.pool, [&](const float* image, const FloatTaps& rows, const FloatTaps& columns, std::int32_t out) {
    float largest = -float_math::kInfinity;
    std::int32_t where = rows.first * width + columns.first;
    for (std::int32_t y = 0; y < rows.count; ++y) {
      const std::int32_t row = (rows.first + y * p.pool.axes[0].dilation) * width + columns.first;
      for (std::int32_t x = 0; x < columns.count; ++x) {
        const std::int32_t at = row + x * p.pool.axes[1].dilation;
        const float value = image[at * p.pool.step];
        if (!float_math::is_less(largest, value) && !float_math::is_nan(value)) continue;
        largest = value;
        where = at;
      }
    }
    p.indices[out] = where;
    return largest;
  });
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_MAX_POOL2D_KERNELS, any_cpu)

}  // namespace cormorant::ops
