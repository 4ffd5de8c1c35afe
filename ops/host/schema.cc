// SPDX-License-Identifier: Apache-2.0
#include "ops/host/schema.h"

#include <cctype>
#include <charconv>
#include <stdexcept>

namespace cormorant::ops {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

// Splits at commas outside brackets and quotes.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == ',' && depth == 0)) {
      const std::string_view part = trim(text.substr(start, i - start));
      if (!part.empty()) parts.push_back(part);
      start = i + 1;
    } else if (text[i] == '[' || text[i] == '(') {
      ++depth;
    } else if (text[i] == ']' || text[i] == ')') {
      --depth;
    }
  }
  return parts;
}

template <class T>
T number(std::string_view text) {
  T value{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size()) {
    throw std::logic_error("schema default '" + std::string(text) + "' is not a number");
  }
  return value;
}

ir::Argument parse_scalar(std::string_view type, std::string_view text) {
  if (text == "None") return ir::None{};
  if (text == "True") return true;
  if (text == "False") return false;
  if (text.front() == '"' || text.front() == '\'') return std::string(text.substr(1, text.size() - 2));
  if (std::isalpha(static_cast<unsigned char>(text.front())) != 0) return std::string(text);  // contiguous_format
  const bool real = type.starts_with("float") || text.find_first_of(".e") != std::string_view::npos;
  return real ? ir::Argument{number<double>(text)} : ir::Argument{number<std::int64_t>(text)};
}

ir::Argument parse_default(std::string_view type, std::string_view text) {
  const std::size_t bracket = type.find('[');
  if (bracket == std::string_view::npos || text == "None") return parse_scalar(type, text);
  if (text.front() == '[') {
    if (type.starts_with("float")) {
      std::vector<double> items;
      for (const auto item : split(text.substr(1, text.size() - 2))) items.push_back(number<double>(item));
      return items;
    }
    std::vector<std::int64_t> items;
    for (const auto item : split(text.substr(1, text.size() - 2))) items.push_back(number<std::int64_t>(item));
    return items;
  }
  // int[2] stride=1 means [1, 1].
  const std::string_view count = type.substr(bracket + 1, type.find(']') - bracket - 1);
  const auto repeat = count.empty() ? std::size_t{1} : number<std::size_t>(count);
  return std::vector<std::int64_t>(repeat, number<std::int64_t>(text));
}

}  // namespace

std::string Schema::target() const {
  const std::size_t colons = name.find("::");
  return name.substr(0, colons) + "." + name.substr(colons + 2) + "." + overload;
}

Schema parse_schema(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')', text.find("->"));
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    throw std::logic_error("schema without parentheses: " + std::string(text));
  }
  Schema schema;
  std::string_view head = trim(text.substr(0, open));
  if (head.find("::") == std::string_view::npos) schema.name = "aten::";
  const std::size_t dot = head.rfind('.');
  schema.name += head.substr(0, dot);
  schema.overload = dot == std::string_view::npos ? "default" : head.substr(dot + 1);
  for (std::string_view part : split(text.substr(open + 1, close - open - 1))) {
    if (part == "*") continue;  // what follows is by name only: exports give all names anyway
    SchemaArgument argument;
    if (const std::size_t equals = part.find('='); equals != std::string_view::npos) {
      const std::string_view fallback = trim(part.substr(equals + 1));
      part = trim(part.substr(0, equals));
      argument.fallback =
          parse_default(part.starts_with("Sym") ? "int" + std::string(part.substr(6)) : std::string(part), fallback);
    }
    const std::size_t space = part.rfind(' ');
    if (space == std::string_view::npos) throw std::logic_error("schema argument without a type: " + std::string(part));
    argument.type = part.substr(0, space);
    if (argument.type.starts_with("SymInt")) argument.type = "int" + argument.type.substr(6);
    if (const std::size_t alias = argument.type.find('('); alias != std::string::npos) {  // Tensor(a!) -> Tensor
      argument.type.erase(alias, argument.type.find(')') - alias + 1);
    }
    argument.name = part.substr(space + 1);
    schema.arguments.push_back(std::move(argument));
  }
  return schema;
}

}  // namespace cormorant::ops
