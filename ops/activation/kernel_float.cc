// SPDX-License-Identifier: Apache-2.0
//
// One loop per function; the functions are those of functions.cc, in the arithmetic of base/float_math.h.
#include "base/float_math.h"
#include "ops/activation/activation.h"
#include "ops/activation/float.h"
#include "ops/load/float_kernel.h"
#include "ops/map/kernel.h"

namespace cormorant::ops::activation {
namespace {

namespace fm = float_math;

template <template <class> class S>
Error load_function(Call& call) {
  S<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  float parameters[3] = {};
  args.get(parameters);
  if constexpr (requires { args.self.data; }) {
    return plan_float_map(call, args.self, args.out, parameters);
  } else {
    return plan_float_map(call, args.exponent, args.out, parameters);
  }
}

float elu_of(float x, float alpha, float scale, float input_scale) {
  return x > 0 ? scale * x : alpha * scale * fm::expm1(x * input_scale);
}
float hard_sigmoid(float x) {
  const float y = x + 3;
  return (y < 0 ? 0.0F : (y > 6 ? 6.0F : y)) / 6;
}
float softplus_of(float x) { return x > 20 ? x : fm::log1p(fm::exp(x)); }
float sign_of(float x) { return x > 0 ? 1.0F : (x < 0 ? -1.0F : x); }

// The parameters are the schema's, in order.
struct Functions {
  static float abs(float x, const float*) { return fm::abs(x); }
  static float acos(float x, const float*) { return fm::acos(x); }
  static float acosh(float x, const float*) { return fm::acosh(x); }
  static float asin(float x, const float*) { return fm::asin(x); }
  static float asinh(float x, const float*) { return fm::asinh(x); }
  static float atan(float x, const float*) { return fm::atan(x); }
  static float atanh(float x, const float*) { return fm::atanh(x); }
  static float ceil(float x, const float*) { return fm::ceil(x); }
  static float celu(float x, const float* p) { return x > 0 ? x : p[0] * fm::expm1(x / p[0]); }
  static float cos(float x, const float*) { return fm::cos(x); }
  static float cosh(float x, const float*) { return fm::cosh(x); }
  static float elu(float x, const float* p) { return elu_of(x, p[0], p[1], p[2]); }
  static float erf(float x, const float*) { return fm::erf(x); }
  static float erfc(float x, const float*) { return fm::erfc(x); }
  static float erfinv(float x, const float*) { return fm::erfinv(x); }
  static float exp(float x, const float*) { return fm::exp(x); }
  static float exp2(float x, const float*) { return fm::exp2(x); }
  static float expm1(float x, const float*) { return fm::expm1(x); }
  static float floor(float x, const float*) { return fm::floor(x); }
  static float frac(float x, const float*) { return x - fm::trunc(x); }
  static float gelu(float x, const float* p) {
    if (p[0] == 0) return 0.5F * x * fm::erfc(x * -0.707106769F);
    // 1 + tanh(y) = 2 · sigmoid(2y), which does not cancel where the result is small.
    return x * fm::sigmoid(1.59576917F * (x + 0.044715F * (x * x * x)));
  }
  static float hardshrink(float x, const float* p) { return x >= -p[0] && x <= p[0] ? 0.0F : x; }
  static float hardsigmoid(float x, const float*) { return hard_sigmoid(x); }
  static float hardswish(float x, const float*) { return x * hard_sigmoid(x); }
  static float leaky_relu(float x, const float* p) { return x > 0 ? x : x * p[0]; }
  static float log(float x, const float*) { return fm::log(x); }
  static float log10(float x, const float*) { return fm::log10(x); }
  static float log1p(float x, const float*) { return fm::log1p(x); }
  static float log2(float x, const float*) { return fm::log2(x); }
  static float log_sigmoid(float x, const float*) { return (x < 0 ? x : 0.0F) - fm::log1p(fm::exp(-fm::abs(x))); }
  static float logit(float x, const float* p) {
    const float low = p[0];
    const float z = low < 0 ? x : (x < low ? low : (x > 1 - low ? 1 - low : x));
    return fm::log(z / (1 - z));
  }
  static float mish(float x, const float*) { return x * fm::tanh(softplus_of(x)); }
  static float neg(float x, const float*) { return -x; }
  static float pow(float x, const float* p) { return fm::pow(x, p[0]); }
  static float pow_of_base(float x, const float* p) { return fm::pow(p[0], x); }
  static float reciprocal(float x, const float*) { return 1 / x; }
  static float round(float x, const float*) { return fm::round(x); }
  static float round_decimals(float x, const float* p) {
    const float power = fm::pow(10, p[0]);
    return fm::round(x * power) / power;
  }
  static float rsqrt(float x, const float*) { return x < 0 ? fm::kNan : 1 / fm::sqrt(x); }
  static float selu(float x, const float*) { return elu_of(x, 1.67326319F, 1.05070102F, 1); }
  static float sgn(float x, const float*) { return sign_of(x); }
  static float sigmoid(float x, const float*) { return fm::sigmoid(x); }
  static float sign(float x, const float*) { return sign_of(x); }
  static float silu(float x, const float*) { return x * fm::sigmoid(x); }
  static float sin(float x, const float*) { return fm::sin(x); }
  static float sinc(float x, const float*) { return fm::sinc(x); }
  static float sinh(float x, const float*) { return fm::sinh(x); }
  static float softplus(float x, const float* p) {
    const float y = x * p[0];
    return y > p[1] ? x : fm::log1p(fm::exp(y)) / p[0];
  }
  static float softshrink(float x, const float* p) { return x > p[0] ? x - p[0] : (x < -p[0] ? x + p[0] : 0.0F); }
  static float sqrt(float x, const float*) { return fm::sqrt(x); }
  static float square(float x, const float*) { return x * x; }
  static float tan(float x, const float*) { return fm::tan(x); }
  static float tanh(float x, const float*) { return fm::tanh(x); }
  static float threshold(float x, const float* p) { return x > p[0] ? x : p[1]; }
  static float trunc(float x, const float*) { return fm::trunc(x); }
};

template <float (*f)(float, const float*)>
void execute_function(const void* plan) {
  run_float_map(plan, [](float x, const float* parameters) { return f(x, parameters); });
}

struct OfNumbersPlan {
  static constexpr std::uint32_t kStateBytes = 156;
  map::Plan convert;
  FloatMapPlan function;  // in place, on the result
};

Error load_of_numbers(Call& call) {
  Unary<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  call.require(is_f32(args.out) && is_number(args.self.dtype), Error::unsupported);
  call.require(args.self.lies_like(args.out), Error::bad_shape);
  call.require(args.self.data != args.out.data || size_of(args.self.dtype) == sizeof(float), Error::bad_memory);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<OfNumbersPlan>();
  if (plan == nullptr) return call.error();
  const Tensor* const operands[] = {&args.self};
  call.fail(map::plan_operands(operands, 1, args.out, plan->convert));
  plan->convert.is_real = true;
  plan->function = {
      args.out.as<const float>(), args.out.as<float>(), static_cast<std::uint32_t>(args.out.elements()), {}};
  return call.error();
}

template <void (*kFunction)(const void*)>
void execute_of_numbers(const void* plan) {
  const auto& p = *static_cast<const OfNumbersPlan*>(plan);
  map::execute_unary<map::Convert>(&p.convert);
  kFunction(&p.function);
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_ACTIVATION_KERNELS, any_cpu)
CORMORANT_NUMBERS_KERNELS(CORMORANT_ACTIVATION_NUMBERS)

}  // namespace cormorant::ops::activation
