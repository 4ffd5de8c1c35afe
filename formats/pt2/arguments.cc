// SPDX-License-Identifier: Apache-2.0
#include "formats/pt2/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/diagnostic.h"
#include "formats/pt2/source.h"

namespace cormorant::pt2 {
namespace {

[[noreturn]] void fail(const Node& node, std::string_view name, std::string_view expected) {
  throw InputError(diagnose(node, fmt::format("{}: the argument '{}' is not {}", node.target, name, expected),
                            "only the operator's usual form is supported; report it if PyTorch wrote this"));
}

// Readers return nothing if the argument has another type.
std::optional<std::int64_t> read_int(const Argument& argument) {
  if (const auto* value = argument.get_if<std::int64_t>()) return *value;
  if (const auto* value = argument.get_if<bool>()) return *value ? 1 : 0;
  return std::nullopt;
}

std::optional<double> read_float(const Argument& argument) {
  if (const auto* value = argument.get_if<double>()) return *value;
  if (const std::optional<std::int64_t> value = read_int(argument)) return static_cast<double>(*value);
  return std::nullopt;
}

std::optional<bool> read_bool(const Argument& argument) {
  if (const auto* value = argument.get_if<bool>()) return *value;
  return std::nullopt;
}

std::optional<std::string> read_string(const Argument& argument) {
  if (const auto* value = argument.get_if<std::string>()) return *value;
  return std::nullopt;
}

std::optional<std::vector<std::int64_t>> read_ints(const Argument& argument) {
  if (const auto* value = argument.get_if<std::vector<std::int64_t>>()) return *value;
  if (const auto* value = argument.get_if<std::int64_t>()) return std::vector{*value};
  return std::nullopt;
}

std::optional<std::vector<double>> read_floats(const Argument& argument) {
  if (const auto* value = argument.get_if<std::vector<double>>()) return *value;
  if (const auto value = read_ints(argument)) return std::vector<double>(value->begin(), value->end());
  if (const auto value = read_float(argument)) return std::vector{*value};
  return std::nullopt;
}

std::optional<std::string> read_tensor(const Argument& argument) {
  if (const auto* value = argument.get_if<TensorRef>()) return value->name;
  return std::nullopt;
}

std::optional<std::vector<std::string>> read_tensors(const Argument& argument) {
  std::vector<std::string> names;
  if (const auto* tensors = argument.get_if<std::vector<TensorRef>>()) {
    for (const TensorRef& tensor : *tensors) names.push_back(tensor.name);
    return names;
  }
  if (const auto name = read_tensor(argument)) return std::vector{*name};
  return std::nullopt;
}

std::optional<DType> read_dtype(const Argument& argument) {
  const auto* type = argument.get_if<ScalarType>();
  return type == nullptr ? std::nullopt : type->dtype;
}

template <typename Read, typename T>
T get(const Node& node, std::string_view name, Read read, std::optional<T> absent, std::string_view expected) {
  const Argument* argument = find_argument(node, name);
  if (argument == nullptr) {
    if (!absent) fail(node, name, "there, though the operator needs it");
    return *std::move(absent);
  }
  auto value = read(*argument);
  if (!value) fail(node, name, expected);
  return *std::move(value);
}

template <typename Read>
auto get_optional(const Node& node, std::string_view name, Read read, std::string_view expected)
    -> decltype(read(std::declval<const Argument&>())) {
  const Argument* argument = find_argument(node, name);
  if (argument == nullptr || argument->is_none()) return std::nullopt;
  auto value = read(*argument);
  if (!value) fail(node, name, expected);
  return value;
}

}  // namespace

const Argument* find_argument(const Node& node, std::string_view name) {
  const auto found = std::find_if(node.arguments.begin(), node.arguments.end(),
                                  [&](const NamedArgument& argument) { return argument.name == name; });
  return found == node.arguments.end() ? nullptr : &found->argument;
}

std::int64_t get_int(const Node& node, std::string_view name, std::optional<std::int64_t> absent) {
  return get(node, name, read_int, absent, "an integer");
}

double get_float(const Node& node, std::string_view name, std::optional<double> absent) {
  return get(node, name, read_float, absent, "a number");
}

bool get_bool(const Node& node, std::string_view name, std::optional<bool> absent) {
  return get(node, name, read_bool, absent, "true or false");
}

std::string get_string(const Node& node, std::string_view name, std::optional<std::string> absent) {
  return get(node, name, read_string, std::move(absent), "a string");
}

std::vector<std::int64_t> get_ints(const Node& node, std::string_view name,
                                   std::optional<std::vector<std::int64_t>> absent) {
  return get(node, name, read_ints, std::move(absent), "a list of integers");
}

std::vector<double> get_floats(const Node& node, std::string_view name, std::optional<std::vector<double>> absent) {
  return get(node, name, read_floats, std::move(absent), "a list of numbers");
}

std::string get_tensor(const Node& node, std::string_view name) {
  return get(node, name, read_tensor, std::optional<std::string>(), "a tensor");
}

std::vector<std::string> get_tensors(const Node& node, std::string_view name) {
  return get(node, name, read_tensors, std::optional<std::vector<std::string>>(), "a list of tensors");
}

std::optional<std::string> get_optional_tensor(const Node& node, std::string_view name) {
  return get_optional(node, name, read_tensor, "a tensor");
}

std::optional<std::int64_t> get_optional_int(const Node& node, std::string_view name) {
  return get_optional(node, name, read_int, "an integer");
}

std::optional<double> get_optional_float(const Node& node, std::string_view name) {
  return get_optional(node, name, read_float, "a number");
}

std::optional<std::vector<std::int64_t>> get_optional_ints(const Node& node, std::string_view name) {
  return get_optional(node, name, read_ints, "a list of integers");
}

std::optional<DType> get_optional_dtype(const Node& node, std::string_view name) {
  return get_optional(node, name, read_dtype, "a supported element type");
}

}  // namespace cormorant::pt2
