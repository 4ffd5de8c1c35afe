// SPDX-License-Identifier: Apache-2.0
#include "ops/linear/float.h"
#include "ops/linear/float_product.h"
#include "ops/linear/linear.h"
#include "ops/load/float_kernel.h"

namespace cormorant::ops::linear {
namespace {

FloatPlan* plan_product(Call& call, const Tensor& left, const Tensor& right, const Tensor& out) {
  const bool matrices = left.rank == 2 && right.rank == 2 && out.rank == 2;
  call.require(matrices && is_f32(left) && is_f32(right) && is_f32(out), Error::unsupported);
  if (call.error() != Error::ok) return nullptr;
  call.require(left.is_contiguous() && right.is_contiguous() && out.is_contiguous(), Error::unsupported);
  call.require(left.sizes[0] == out.sizes[0] && left.sizes[1] == right.sizes[0] && right.sizes[1] == out.sizes[1],
               Error::bad_shape);
  if (call.error() != Error::ok) return nullptr;
  auto* const plan = call.make_plan<FloatPlan>();
  if (plan == nullptr) return nullptr;
  const auto u32 = [](std::int32_t n) { return static_cast<std::uint32_t>(n); };
  *plan = {.left = left.as<const float>(),
           .right = right.as<const float>(),
           .output = out.as<float>(),
           .size = {u32(left.sizes[0]), u32(left.sizes[1]), u32(right.sizes[1])},
           .bias = nullptr,
           .bias_step = 0,
           .alpha = 1,
           .beta = 0};
  return plan;
}

}  // namespace

Error load_mm(Call& call) {
  Mm<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  plan_product(call, args.self, args.mat2, args.out);
  return call.error();
}

Error load_addmm(Call& call) {
  Addmm<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  FloatPlan* const plan = plan_product(call, args.mat1, args.mat2, args.out);
  if (plan == nullptr) return call.error();
  const Tensor& bias = args.self;
  call.require(is_f32(bias) && (bias.rank == 1 || bias.rank == 2), Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  const std::int32_t rows = bias.rank == 2 ? bias.sizes[0] : 1;
  call.require(bias.is_contiguous(), Error::unsupported);
  call.require(bias.sizes[bias.rank - 1] == args.out.sizes[1] && (rows == 1 || rows == args.out.sizes[0]),
               Error::bad_shape);
  plan->bias = bias.as<const float>();
  plan->bias_step = rows == 1 ? 0 : plan->size.columns;
  plan->alpha = args.alpha.value;
  plan->beta = args.beta.value;
  return call.error();
}

// The weight's rows are the columns of the product's right matrix.
Error load_linear(Call& call) {
  FloatLinear<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  call.require(is_f32(a.input) && is_f32(a.weight) && is_f32(a.out) && a.weight.rank == 2, Error::unsupported);
  call.require(a.input.rank >= 1 && a.out.rank == a.input.rank, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  call.require(a.input.is_contiguous() && a.weight.is_contiguous() && a.out.is_contiguous(), Error::unsupported);
  const std::size_t last = a.input.rank - 1U;
  const std::int32_t inner = a.weight.sizes[1];
  const std::int32_t columns = a.weight.sizes[0];
  call.require(a.input.sizes[last] == inner && a.out.sizes[last] == columns && inner > 0 && columns > 0,
               Error::bad_shape);
  for (std::size_t i = 0; i < last; ++i) call.require(a.input.sizes[i] == a.out.sizes[i], Error::bad_shape);
  call.require(!a.bias.present() || (is_f32(a.bias) && a.bias.rank == 1 && a.bias.sizes[0] == columns),
               Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<FloatPlan>();
  if (plan == nullptr) return call.error();
  const auto u32 = [](std::int32_t n) { return static_cast<std::uint32_t>(n); };
  *plan = {.left = a.input.as<const float>(),
           .right = a.weight.as<const float>(),
           .output = a.out.as<float>(),
           .size = {u32(a.out.elements() / columns), u32(inner), u32(columns)},
           .bias = a.bias.as<const float>(),
           .bias_step = 0,
           .alpha = 1,
           .beta = 1};
  return Error::ok;
}

void add_bias(const FloatPlan& p) {
  if (p.bias == nullptr) return;
  const float* bias = p.bias;
  float* out = p.output;
  for (std::uint32_t m = 0; m < p.size.rows; ++m, bias += p.bias_step, out += p.size.columns) {
    for (std::uint32_t n = 0; n < p.size.columns; ++n) out[n] = p.alpha * out[n] + p.beta * bias[n];
  }
}

namespace {
void execute_linear(const void* plan) { multiply_by_weight<sum_row>(*static_cast<const FloatPlan*>(plan)); }
void execute_float(const void* plan) { multiply_and_add<sum_row>(*static_cast<const FloatPlan*>(plan)); }
}  // namespace

CORMORANT_KERNELS(CORMORANT_LINEAR_KERNELS, any_cpu)

}  // namespace cormorant::ops::linear
