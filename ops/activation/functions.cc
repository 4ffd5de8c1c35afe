// SPDX-License-Identifier: Apache-2.0
#include "ops/activation/functions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <stdexcept>

#include "base/float_math.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace {

using P = Parameters;

double sigmoid(double x) {
  const double e = std::exp(-std::abs(x));  // never overflows
  return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

double log_sigmoid(double x) { return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x))); }

double gelu(double x, bool by_tanh) {
  if (!by_tanh) return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

double elu(double x, double alpha, double scale, double input_scale) {
  return x > 0 ? scale * x : alpha * scale * std::expm1(x * input_scale);
}

double softplus(double x, double beta, double threshold) {
  return x * beta > threshold ? x : std::log1p(std::exp(x * beta)) / beta;
}

double hard_sigmoid(double x) { return std::clamp(x + 3, 0.0, 6.0) / 6; }

double sign(double x) { return x > 0 ? 1 : (x < 0 ? -1 : x); }

double sinc(double x) { return x == 0 ? 1 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x); }

double round_decimals(double x, double decimals) {
  const double power = std::pow(10.0, decimals);
  return std::nearbyint(x * power) / power;
}

double logit(double x, double eps) {
  const double z = std::isnan(eps) ? x : std::clamp(x, eps, 1 - eps);
  return std::log(z / (1 - z));
}

constexpr double kSeluAlpha = 1.6732632423543772848170429916717;
constexpr double kSeluScale = 1.0507009873554804934193349852946;

// nearbyint rounds ties to even, as PyTorch does.
constexpr Function kFunctions[] = {
    {"abs", "", true, [](double x, const P&) { return std::abs(x); }},
    {"acos", "", true, [](double x, const P&) { return std::acos(x); }},
    {"acosh", "", true, [](double x, const P&) { return std::acosh(x); }},
    {"asin", "", true, [](double x, const P&) { return std::asin(x); }},
    {"asinh", "", true, [](double x, const P&) { return std::asinh(x); }},
    {"atan", "", true, [](double x, const P&) { return std::atan(x); }},
    {"atanh", "", true, [](double x, const P&) { return std::atanh(x); }},
    {"ceil", "", true, [](double x, const P&) { return std::ceil(x); }},
    {"celu", "Scalar alpha=1.0", true, [](double x, const P& p) { return elu(x, p[0], 1, 1 / p[0]); }},
    {"cos", "", true, [](double x, const P&) { return std::cos(x); }},
    {"cosh", "", true, [](double x, const P&) { return std::cosh(x); }},
    {"elu", "Scalar alpha=1, Scalar scale=1, Scalar input_scale=1", true,
     [](double x, const P& p) { return elu(x, p[0], p[1], p[2]); }},
    {"erf", "", true, [](double x, const P&) { return std::erf(x); }},
    {"erfinv", "", true, [](double x, const P&) { return double{float_math::erfinv(static_cast<float>(x))}; }},
    {"erfc", "", true, [](double x, const P&) { return std::erfc(x); }},
    {"exp", "", true, [](double x, const P&) { return std::exp(x); }},
    {"exp2", "", true, [](double x, const P&) { return std::exp2(x); }},
    {"expm1", "", true, [](double x, const P&) { return std::expm1(x); }},
    {"floor", "", true, [](double x, const P&) { return std::floor(x); }},
    {"frac", "", true, [](double x, const P&) { return x - std::trunc(x); }},
    {"gelu", "str approximate='none'", true, [](double x, const P& p) { return gelu(x, p[0] == 1); }},
    {"hardshrink", "Scalar lambd=0.5", false, [](double x, const P& p) { return x >= -p[0] && x <= p[0] ? 0.0 : x; }},
    {"hardsigmoid", "", true, [](double x, const P&) { return hard_sigmoid(x); }},
    {"hardswish", "", true, [](double x, const P&) { return x * hard_sigmoid(x); }},
    {"leaky_relu", "Scalar negative_slope=0.01", true, [](double x, const P& p) { return x > 0 ? x : x * p[0]; }},
    {"log", "", true, [](double x, const P&) { return std::log(x); }},
    {"log10", "", true, [](double x, const P&) { return std::log10(x); }},
    {"log1p", "", true, [](double x, const P&) { return std::log1p(x); }},
    {"log2", "", true, [](double x, const P&) { return std::log2(x); }},
    {"log_sigmoid", "", false, [](double x, const P&) { return log_sigmoid(x); }},
    {"logit", "float? eps=None", true, [](double x, const P& p) { return logit(x, p[0]); }},
    {"mish", "", true, [](double x, const P&) { return x * std::tanh(softplus(x, 1, 20)); }},
    {"neg", "", true, [](double x, const P&) { return -x; }},
    {"reciprocal", "", true, [](double x, const P&) { return 1 / x; }},
    {"round", "", true, [](double x, const P&) { return std::nearbyint(x); }},
    {"rsqrt", "", true, [](double x, const P&) { return 1 / std::sqrt(x); }},
    {"selu", "", true, [](double x, const P&) { return elu(x, kSeluAlpha, kSeluScale, 1); }},
    {"sgn", "", true, [](double x, const P&) { return sign(x); }},
    {"sigmoid", "", true, [](double x, const P&) { return sigmoid(x); }},
    {"sign", "", true, [](double x, const P&) { return sign(x); }},
    {"silu", "", true, [](double x, const P&) { return x * sigmoid(x); }},
    {"sin", "", true, [](double x, const P&) { return std::sin(x); }},
    {"sinc", "", true, [](double x, const P&) { return sinc(x); }},
    {"sinh", "", true, [](double x, const P&) { return std::sinh(x); }},
    {"softplus", "Scalar beta=1, Scalar threshold=20", false,
     [](double x, const P& p) { return softplus(x, p[0], p[1]); }},
    {"softshrink", "Scalar lambd=0.5", false,
     [](double x, const P& p) { return x > p[0] ? x - p[0] : (x < -p[0] ? x + p[0] : 0.0); }},
    {"sqrt", "", true, [](double x, const P&) { return std::sqrt(x); }},
    {"square", "", true, [](double x, const P&) { return x * x; }},
    {"tan", "", true, [](double x, const P&) { return std::tan(x); }},
    {"tanh", "", true, [](double x, const P&) { return std::tanh(x); }},
    {"threshold", "Scalar threshold, Scalar value", true, [](double x, const P& p) { return x > p[0] ? x : p[1]; }},
    {"trunc", "", true, [](double x, const P&) { return std::trunc(x); }},
};

// Canonical nodes that more than one schema makes; import.cc says which.
constexpr Function kMoreFunctions[] = {
    {"pow", "", false, [](double x, const P& p) { return std::pow(x, p[0]); }},                   // exponent
    {"pow_of_base", "", false, [](double x, const P& p) { return std::pow(p[0], x); }},           // base
    {"round_decimals", "", false, [](double x, const P& p) { return round_decimals(x, p[0]); }},  // decimals
};

double parameter(const ir::Argument& argument) {
  if (const auto* number = std::get_if<double>(&argument)) return *number;
  if (const auto* number = std::get_if<std::int64_t>(&argument)) return static_cast<double>(*number);
  if (const auto* flag = std::get_if<bool>(&argument)) return *flag ? 1 : 0;
  if (const auto* text = std::get_if<std::string>(&argument)) return *text == "tanh" ? 1 : 0;
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

std::span<const Function> unary_functions() { return kFunctions; }

std::function<double(double)> function_of(const ir::Node& node) {
  if (node.op == nodes::cormorant_requantize) return [](double x) { return x; };
  Parameters parameters{};
  for (std::size_t i = 1; i < node.args.size() && i <= parameters.size(); ++i) {
    parameters[i - 1] = parameter(node.args[i].value);
  }
  const auto is_named = [&](const Function& f) { return node.op.substr(5) == f.name; };  // after "aten."
  for (const std::span<const Function> functions : {std::span<const Function>(kFunctions), {kMoreFunctions}}) {
    const auto found = std::ranges::find_if(functions, is_named);
    if (found == functions.end()) continue;
    return [apply = found->apply, parameters](double x) { return apply(x, parameters); };
  }
  throw std::logic_error(node.op + " is not a function of one element");
}

}  // namespace cormorant::ops
