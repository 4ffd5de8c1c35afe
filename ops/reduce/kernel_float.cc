// SPDX-License-Identifier: Apache-2.0
//
// One walk through the input in memory order; each element is added to its result, or compared with it. A sum begins at
// zero, a mean is the sum divided by the number of elements. As in PyTorch, a NaN counts as both the largest and the
// smallest.
#include "base/float_math.h"
#include "ops/load/float_kernel.h"
#include "ops/reduce/float.h"
#include "ops/reduce/reduce.h"

namespace cormorant::ops {
namespace {

struct FloatReducePlan {
  static constexpr std::uint32_t kStateBytes = 68;
  const float* input;
  float* output;
  std::uint32_t results;
  float divisor;
  std::uint32_t rank;
  struct {
    std::uint32_t size, step;  // of the result, 0 along what is reduced
  } loops[kMaxRank];           // outermost first
};

Error plan_reduce(Call& call, const Tensor& self, const IntList& dims, bool keepdim, const Tensor& out) {
  call.require(is_f32(self) && is_f32(out), Error::unsupported);
  call.require(dims.count <= self.rank, Error::bad_value);
  if (call.error() != Error::ok) return call.error();
  std::uint32_t reduced = dims.count == 0 ? (1U << self.rank) - 1 : 0;
  for (std::uint32_t i = 0; i < dims.count; ++i) {
    const std::int32_t dim = dims.items[i] < 0 ? dims.items[i] + self.rank : dims.items[i];
    call.require(dim >= 0 && dim < self.rank, Error::bad_value);
    if (call.error() != Error::ok) return call.error();
    reduced |= 1U << dim;
  }
  // The result's shape, dimension by dimension, and where each of them is in memory.
  std::uint32_t steps[kMaxRank] = {};
  std::uint32_t own[kMaxRank] = {};
  std::uint32_t step = 1;
  for (std::size_t i = out.rank; i-- > 0;) {
    own[out.dim_order[i]] = step;
    step *= static_cast<std::uint32_t>(out.sizes[out.dim_order[i]]);
  }
  std::size_t next = 0;
  for (std::size_t d = 0; d < self.rank; ++d) {
    const bool is_reduced = (reduced >> d & 1U) != 0;
    if (is_reduced && !keepdim) continue;
    call.require(next < out.rank && out.sizes[next] == (is_reduced ? 1 : self.sizes[d]), Error::bad_shape);
    if (call.error() != Error::ok) return call.error();
    if (!is_reduced) steps[d] = own[next];
    ++next;
  }
  call.require(next == out.rank && self.elements() > 0, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<FloatReducePlan>();
  if (plan == nullptr) return call.error();
  plan->input = self.as<const float>();
  plan->output = out.as<float>();
  plan->results = static_cast<std::uint32_t>(out.elements());
  plan->rank = self.rank;
  std::int32_t count = 1;
  for (std::size_t i = 0; i < self.rank; ++i) {
    const std::uint8_t d = self.dim_order[i];
    plan->loops[i] = {static_cast<std::uint32_t>(self.sizes[d]), steps[d]};
    if ((reduced >> d & 1U) != 0) count *= self.sizes[d];
  }
  plan->divisor = static_cast<float>(count);
  return Error::ok;
}

Error load_sum(Call& call) {
  FloatMean<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  return plan_reduce(call, args.self, args.dim, args.keepdim, args.out);
}

Error load_extreme(Call& call) {
  FloatExtreme<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  return plan_reduce(call, args.self, args.dim, args.keepdim, args.out);
}

template <class F>
void reduce(const FloatReducePlan& p, float first, F f) {
  for (std::uint32_t i = 0; i < p.results; ++i) p.output[i] = first;
  std::uint32_t turn[kMaxRank] = {};
  const float* from = p.input;
  float* to = p.output;
  for (;;) {
    *to = f(*to, *from++);
    std::uint32_t i = p.rank;
    for (; i > 0; --i) {
      to += p.loops[i - 1].step;
      if (++turn[i - 1] < p.loops[i - 1].size) break;
      to -= p.loops[i - 1].step * p.loops[i - 1].size;
      turn[i - 1] = 0;
    }
    if (i == 0) return;
  }
}

void execute_float_sum(const void* plan) {
  reduce(*static_cast<const FloatReducePlan*>(plan), 0, [](float sum, float x) { return sum + x; });
}
void execute_float_mean(const void* plan) {
  const auto& p = *static_cast<const FloatReducePlan*>(plan);
  execute_float_sum(plan);
  for (std::uint32_t i = 0; i < p.results; ++i) p.output[i] /= p.divisor;
}
void execute_float_amax(const void* plan) {
  reduce(*static_cast<const FloatReducePlan*>(plan), -float_math::kInfinity,
         [](float largest, float x) { return x > largest || x != x ? x : largest; });
}
void execute_float_amin(const void* plan) {
  reduce(*static_cast<const FloatReducePlan*>(plan), float_math::kInfinity,
         [](float smallest, float x) { return x < smallest || x != x ? x : smallest; });
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_REDUCE_KERNELS, any_cpu)

}  // namespace cormorant::ops
