// SPDX-License-Identifier: Apache-2.0
//
// PyTorch's forms of functions of one element: elu, elu_ and aliases become aten.elu(self, alpha, …).
#include <deque>

#include "ops/activation/functions.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

// Other names that PyTorch has for a function of the table.
constexpr struct {
  std::string_view alias, name;
} kAliases[] = {{"absolute", "abs"},        {"negative", "neg"},        {"fix", "trunc"},
                {"arccos", "acos"},         {"arccosh", "acosh"},       {"arcsin", "asin"},
                {"arcsinh", "asinh"},       {"arctan", "atan"},         {"arctanh", "atanh"},
                {"special_erf", "erf"},     {"special_sinc", "sinc"},   {"special_erfinv", "erfinv"},
                {"special_erfc", "erfc"},   {"special_exp2", "exp2"},   {"special_expit", "sigmoid"},
                {"special_expm1", "expm1"}, {"special_log1p", "log1p"}, {"special_logit", "logit"}};

// "aten.elu_.default" -> "elu".
std::string_view name_of(std::string_view op) {
  op.remove_prefix(op.find('.') + 1);
  op = op.substr(0, op.find('.'));
  if (op.ends_with('_')) op.remove_suffix(1);
  for (const auto& [alias, name] : kAliases) {
    if (op == alias) return name;
  }
  return op;
}

std::vector<ir::Value*> make(Importer& importer, std::string_view name, std::vector<ir::NamedArgument> parameters) {
  std::vector<ir::NamedArgument> args = {{"self", importer.call->tensor("self")}};
  args.insert(args.end(), parameters.begin(), parameters.end());
  return importer.node("aten." + std::string(name), std::move(args), {importer.types.at(0)})->results;
}

// The arguments as they are, in the schema's order.
std::vector<ir::Value*> import_function(Importer& importer) {
  const auto& args = importer.call->args;
  return make(importer, name_of(importer.call->op), {args.begin() + 1, args.end()});
}

std::vector<ir::Value*> import_log_sigmoid_forward(Importer& importer) {
  return {make(importer, "log_sigmoid", {}).front(), nullptr};
}
std::vector<ir::Value*> import_pow(Importer& importer) {
  return make(importer, "pow", {{"exponent", importer.call->number("exponent")}});
}
std::vector<ir::Value*> import_round_decimals(Importer& importer) {
  return make(importer, "round_decimals", {{"decimals", importer.call->integer("decimals")}});
}
// Here the base is called self, and the tensor exponent.
std::vector<ir::Value*> import_pow_of_base(Importer& importer) {
  return importer
      .node(nodes::aten_pow_of_base,
            {{"self", importer.call->tensor("exponent")}, {"base", importer.call->number("self")}})
      ->results;
}
// At inference the slope is the mean of its bounds.
std::vector<ir::Value*> import_rrelu(Importer& importer) {
  if (importer.call->boolean("training")) {
    importer.reject("rrelu with random slopes, as in training", "call model.eval() before the export");
  }
  return make(importer, "leaky_relu",
              {{"negative_slope", (importer.call->number("lower") + importer.call->number("upper")) / 2}});
}

constexpr AtenForm kMoreForms[] = {
    {"log_sigmoid_forward.default(Tensor self)", import_log_sigmoid_forward},
    {"pow.Tensor_Scalar(Tensor self, Scalar exponent)", import_pow},
    {"pow_.Scalar(Tensor self, Scalar exponent)", import_pow},
    {"pow.Scalar(Scalar self, Tensor exponent)", import_pow_of_base},
    {"round.decimals(Tensor self, *, int decimals)", import_round_decimals},
    {"round_.decimals(Tensor self, *, int decimals)", import_round_decimals},
    {"special_round.default(Tensor self, *, int decimals=0)", import_round_decimals},
    {"rrelu.default(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, "
     "Generator? generator=None)",
     import_rrelu},
    {"rrelu_.default(Tensor self, Scalar lower=0.125, Scalar upper=0.3333333333333333, bool training=False, "
     "Generator? generator=None)",
     import_rrelu}};

std::vector<AtenForm> make_forms() {
  static std::deque<std::string> texts;  // forms view them
  std::vector<AtenForm> forms;
  const auto add = [&](std::string_view name, std::string_view mark, std::string_view arguments) {
    std::string text = std::string(name) + std::string(mark) + ".default(Tensor self";
    if (!arguments.empty()) text += ", " + std::string(arguments);
    forms.push_back({texts.emplace_back(text + ")"), import_function});
  };
  const auto add_both = [&](std::string_view name, const Function& function) {
    add(name, "", function.arguments);
    if (function.in_place && !name.starts_with("special_")) add(name, "_", function.arguments);
  };
  for (const Function& function : unary_functions()) {
    add_both(function.name, function);
    for (const auto& [alias, name] : kAliases) {
      if (name == function.name) add_both(alias, function);
    }
  }
  forms.insert(forms.end(), std::begin(kMoreForms), std::end(kMoreForms));
  return forms;
}

}  // namespace

std::vector<AtenForm> activation_forms() {
  static const std::vector<AtenForm> forms = make_forms();
  return forms;
}

}  // namespace cormorant::ops
