// SPDX-License-Identifier: Apache-2.0
#include "ops/host/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/diagnostic.h"
#include "ir/text.h"
#include "ops/host/advice.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::ops {
namespace {

[[noreturn]] void fail(const ir::Node& node, std::string problem) {
  throw InputError(
      {.problem = std::move(problem), .advice = kInconsistent, .node = node.name, .source = node.location.text()});
}

// "int[2]?" as its parts.
struct Type {
  std::string_view element;  // "int"
  bool is_list = false, is_optional = false;
  bool has_optional_entries = false;  // "Tensor?[]"
  std::size_t entries = 0;            // of a list; 0: any number
};

Type parse_type(std::string_view text) {
  Type type;
  type.is_optional = text.ends_with('?');
  if (type.is_optional) text.remove_suffix(1);
  const std::size_t bracket = text.find('[');
  type.element = text.substr(0, bracket);
  if (bracket == std::string_view::npos) return type;
  type.is_list = true;
  type.has_optional_entries = type.element.ends_with('?');
  if (type.has_optional_entries) type.element.remove_suffix(1);
  std::from_chars(text.data() + bracket + 1, text.data() + text.size(), type.entries);
  return type;
}

template <class... T>
bool is_any_of(const ir::Argument& argument) {
  return (std::holds_alternative<T>(argument) || ...);
}

bool is_tensor(const ir::Value* value) { return value != nullptr; }

bool fits_element(const ir::Argument& argument, std::string_view element) {
  if (element == "Tensor" || element == "scratch") {
    const auto* value = std::get_if<ir::Value*>(&argument);
    return value != nullptr && is_tensor(*value);
  }
  if (element == "int") return is_any_of<std::int64_t>(argument);
  if (element == "float") return is_any_of<double, std::int64_t>(argument);
  if (element == "Scalar") return is_any_of<double, std::int64_t, bool>(argument);
  if (element == "bool") return is_any_of<bool>(argument);
  if (element == "str") return is_any_of<std::string>(argument);
  if (element == "ScalarType") return is_any_of<DType>(argument);
  return true;  // Layout, Device, MemoryFormat: ignored
}

bool fits_list(const ir::Argument& argument, const Type& type, bool in_call) {
  // In PyTorch's schemas int[2] also takes one entry for both, and int[1] a list of any length.
  const auto is_of_size = [&](const auto& list) {
    if (in_call && (type.entries == 1 || list.size() == 1)) return true;
    return type.entries == 0 || list.size() == type.entries;
  };
  if (type.element == "Tensor") {
    const auto* list = std::get_if<std::vector<ir::Value*>>(&argument);
    return list != nullptr && (type.has_optional_entries || std::ranges::all_of(*list, is_tensor));
  }
  const bool takes_integers = type.element != "float" || in_call;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&argument)) return takes_integers && is_of_size(*list);
  const auto* list = std::get_if<std::vector<double>>(&argument);
  return list != nullptr && (type.element == "float" || type.element == "Scalar") && is_of_size(*list);
}

bool fits(const ir::Argument& argument, const Type& type, bool in_call) {
  if (std::holds_alternative<ir::None>(argument)) return type.is_optional;
  return type.is_list ? fits_list(argument, type, in_call) : fits_element(argument, type.element);
}

bool has_large_integer(const ir::Argument& argument) {
  const auto is_large = [](std::int64_t n) { return n < -kLargestInteger - 1 || n > kLargestInteger; };
  if (const auto* one = std::get_if<std::int64_t>(&argument)) return is_large(*one);
  const auto* list = std::get_if<std::vector<std::int64_t>>(&argument);
  return list != nullptr && std::ranges::any_of(*list, is_large);
}

// A fused clamp is in two arguments that schemas do not name, a fused PReLU in a third.
constexpr std::string_view kSlopes = "activation_slopes";
bool is_activation(std::string_view name) { return name == "activation_min" || name == "activation_max"; }
bool takes_slopes(const ir::Node& node) { return node.op == nodes::aten_conv2d || node.op == nodes::aten_linear; }
// One for all outputs, or one for each.
bool has_sound_slopes(const ir::Node& node) {
  if (!node.has(kSlopes)) return true;
  const auto* slopes = std::get_if<std::vector<double>>(&node.get(kSlopes));
  if (slopes == nullptr || slopes->empty()) return false;
  const bool are_finite = std::ranges::all_of(*slopes, [](double slope) { return std::isfinite(slope); });
  const ir::Value* weight = node.tensor("weight");
  const bool is_known = weight != nullptr && weight->type.rank() > 0;
  return are_finite &&
         (slopes->size() == 1 || (is_known && slopes->size() == static_cast<std::size_t>(weight->type.shape[0])));
}

bool names_are(const ir::Node& node, const Operator& op, const std::vector<SchemaArgument>& schema) {
  const auto is_known = [&](const ir::NamedArgument& given) {
    return (op.fuses_activation && is_activation(given.name)) || (given.name == kSlopes && takes_slopes(node)) ||
           std::ranges::find(schema, given.name, &SchemaArgument::name) != schema.end();
  };
  const auto is_given = [&](const SchemaArgument& wanted) {
    return wanted.fallback || std::ranges::find(node.args, wanted.name, &ir::NamedArgument::name) != node.args.end();
  };
  return std::ranges::all_of(node.args, is_known) && std::ranges::all_of(schema, is_given);
}

void check_arguments(const ir::Node& node, const std::vector<SchemaArgument>& schema) {
  for (const ir::NamedArgument& given : node.args) {
    const auto wanted = std::ranges::find(schema, given.name, &SchemaArgument::name);
    const std::string_view type = wanted != schema.end()  ? std::string_view(wanted->type)
                                  : given.name == kSlopes ? "float[]"
                                                          : "float?";
    if (!fits(given.value, parse_type(type), false)) {
      fail(node, fmt::format("argument '{}' of {} does not have the type {}", given.name, node.op, type));
    }
    if (has_large_integer(given.value)) fail(node, fmt::format("argument '{}' does not fit in 32 bits", given.name));
  }
  if (!has_sound_slopes(node)) fail(node, "the slopes are not one number, or one for each output");
}

// Quantization is handled elsewhere: a node means the float operator on real numbers.
void check_results(const ir::Node& node, const Operator& op) {
  const std::vector<ir::TensorType> inferred = op.infer(node);
  if (inferred.size() != node.results.size()) {
    fail(node, fmt::format("it has {} results, but {} has {}", node.results.size(), node.op, inferred.size()));
  }
  for (std::size_t i = 0; i < inferred.size(); ++i) {
    const ir::TensorType& type = node.results[i]->type;
    if (!inferred[i].is_possible()) fail(node, "its result is larger than a program can hold: 2 GB");
    // The float semantics do not cover integers: later stages decide whether anything computes with them.
    const bool is_other = inferred[i].dtype == DType::f32 && !cormorant::is_float(type.dtype);
    const bool same_type = type.dtype == inferred[i].dtype || type.quant || is_other;
    if (type.shape == inferred[i].shape && same_type) continue;
    fail(node, fmt::format("its result is declared as {}[{}], but {} gives {}[{}] for its arguments",
                           name_of(type.dtype), fmt::join(type.shape, ", "), node.op, name_of(inferred[i].dtype),
                           fmt::join(inferred[i].shape, ", ")));
  }
}

// Indices, masks and conditions are integers; other operands have the result's type.
bool may_be_integers(std::string_view argument) {
  constexpr std::string_view kNames[] = {"index", "indices", "condition", "mask", "places"};
  return std::ranges::find(kNames, argument) != std::end(kNames);
}

void check_operands(const ir::Node& node) {
  const bool is_real = !nodes::is_conversion(node.op) && is_float(node) && !node.result()->type.quant;
  for (const ir::NamedArgument& argument : node.args) {
    if (!is_real || may_be_integers(argument.name) || node.op == nodes::cormorant_convert_any) continue;
    std::vector<ir::Value*> values;
    if (const auto* one = std::get_if<ir::Value*>(&argument.value)) values = {*one};
    if (const auto* many = std::get_if<std::vector<ir::Value*>>(&argument.value)) values = *many;
    for (const ir::Value* value : values) {
      if (value == nullptr || (value->type.dtype == DType::f32 && !value->type.quant)) continue;
      fail(node,
           fmt::format("'{}' is {}, but {} computes in float32", argument.name, ir::to_text(value->type), node.op));
    }
  }
}

std::vector<SchemaArgument> arguments_of(const Signature& signature) {
  std::vector<SchemaArgument> arguments;
  for (const Parameter& parameter : signature.parameters) arguments.push_back({parameter.type, parameter.name, {}});
  return arguments;
}

}  // namespace

void check_call(const ir::Node& call, const Schema& schema) {
  for (std::size_t i = 0; i < schema.arguments.size(); ++i) {
    const SchemaArgument& wanted = schema.arguments[i];
    const ir::Argument& given = call.args.at(i).value;
    const Type type = parse_type(wanted.type);
    const bool is_number = type.element == "Tensor" && !type.is_list && fits_element(given, "Scalar");
    // An empty list has no type in the file.
    const bool is_empty = type.is_list && std::holds_alternative<ir::None>(given);
    // Python accepts a number in place of a list.
    if (!is_number && !is_empty && given != wanted.fallback && !fits(given, type, true)) {
      fail(call, fmt::format("argument '{}' of {} does not have the type {}", wanted.name, call.op, wanted.type));
    }
    const bool is_bound = wanted.name == "start" || wanted.name == "end";
    if (!is_bound && has_large_integer(given)) {
      fail(call, fmt::format("argument '{}' of {} does not fit in 32 bits", wanted.name, call.op));
    }
  }
}

void check_node(const ir::Node& node) {
  const CanonicalSchema* canonical = find_canonical(node.op);
  const Signature* signature = find_signature(node.op);
  if (canonical == nullptr && signature == nullptr) return;  // unknown, which later stages report
  try {
    if (canonical != nullptr && (!canonical->arguments || names_are(node, *canonical->op, *canonical->arguments))) {
      if (canonical->arguments) check_arguments(node, *canonical->arguments);
      const Operator* op = find(node);
      if (op != nullptr && op->infer != nullptr) check_results(node, *op);
      return check_operands(node);
    }
    if (signature != nullptr && names_are(node, *find(node), arguments_of(*signature))) {
      return check_arguments(node, arguments_of(*signature));
    }
  } catch (const ir::ArgumentError& error) {
    fail(node, error.what());
  }
  fail(node, fmt::format("its arguments are not those of {}", node.op));
}

bool is_lowered(const ir::Node& node) {
  const CanonicalSchema* canonical = find_canonical(node.op);
  if (canonical == nullptr) return find_signature(node.op) != nullptr;
  return canonical->arguments && !names_are(node, *canonical->op, *canonical->arguments);
}

}  // namespace cormorant::ops
