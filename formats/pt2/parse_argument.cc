// SPDX-License-Identifier: Apache-2.0
//
// Arguments are unions, written as an object whose only key names the alternative. One table lists them all.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "formats/pt2/parse.h"

namespace cormorant::pt2 {
namespace {

std::int64_t parse_int(const Json& json) { return json.integer(); }
double parse_float(const Json& json) { return json.floating(); }
bool parse_bool(const Json& json) { return json.boolean(); }
std::string parse_string(const Json& json) { return json.string(); }
TensorRef parse_tensor(const Json& json) { return {.name = json["name"].string()}; }

template <typename Parse>
auto parse_list(const Json& json, Parse parse) {
  std::vector<decltype(parse(json))> list;
  for (const Json& item : json.items()) list.push_back(parse(item));
  return list;
}

template <auto parse>
Argument single(const Json& json, const ParseContext&) {
  return {.value = parse(json)};
}
template <auto parse>
Argument list(const Json& json, const ParseContext&) {
  return {.value = parse_list(json, parse)};
}
template <auto parse>
Argument list_of_lists(const Json& json, const ParseContext&) {
  return {.value = parse_list(json, [](const Json& inner) { return parse_list(inner, parse); })};
}

std::optional<TensorRef> parse_optional_tensor(const Json& json) {
  const auto [key, value] = json.alternative();
  if (key == "as_none") return std::nullopt;
  if (key == "as_tensor") return parse_tensor(value);
  json.fail("as_tensor or as_none was expected");
}

Argument optional_tensor(const Json& json, const ParseContext&) {
  std::optional<TensorRef> tensor = parse_optional_tensor(json);
  return tensor ? Argument{.value = *std::move(tensor)} : Argument{.value = None{}};
}

// {"as_name": "s0"} or a plain number under `plain`.
template <typename T, auto parse>
std::variant<T, Symbol> parse_symbolic(const Json& json, std::string_view plain, const ParseContext& context) {
  const auto [key, value] = json.alternative();
  if (key == "as_name") {
    const std::string name = value.string();
    if (const auto known = context.numbers.find(name); known != context.numbers.end()) {
      const auto* const whole = std::get_if<std::int64_t>(&known->second);
      if (whole != nullptr) return static_cast<T>(*whole);
      if constexpr (std::is_same_v<T, double>) return std::get<double>(known->second);
    }
    return Symbol{.name = name};
  }
  if (key == plain) return parse(value);
  json.fail(fmt::format("as_name or {} was expected", plain));
}

template <typename T, auto parse>
Argument symbolic(const Json& json, std::string_view plain, const ParseContext& context) {
  std::variant<T, Symbol> value = parse_symbolic<T, parse>(json, plain, context);
  if (const T* number = std::get_if<T>(&value)) return {.value = *number};
  return {.value = std::get<Symbol>(std::move(value))};
}

// Plain numbers throughout become a plain list.
template <typename T, auto parse>
Argument symbolic_list(const Json& json, std::string_view plain, const ParseContext& context) {
  std::vector<std::variant<T, Symbol>> mixed;
  std::vector<T> numbers;
  for (const Json& item : json.items()) {
    mixed.push_back(parse_symbolic<T, parse>(item, plain, context));
    if (const T* number = std::get_if<T>(&mixed.back())) numbers.push_back(*number);
  }
  if (numbers.size() == mixed.size()) return {.value = std::move(numbers)};
  return {.value = std::move(mixed)};
}

template <typename Enum>
Enum parse_enum(const Json& json, Enum last) {
  const std::int64_t code = json.integer();
  if (code < 0 || code > static_cast<std::int64_t>(last)) json.fail("the code is unknown");
  return static_cast<Enum>(code);
}

Device parse_device(const Json& json) {
  Device device{.type = json["type"].string(), .index = {}};
  if (const std::optional<Json> index = json.find("index")) device.index = index->integer();
  return device;
}

CustomObject parse_custom_object(const Json& json) {
  return {.name = json["name"].string(), .class_name = json["class_fqn"].string()};
}

Argument subgraph(const Json& json, const ParseContext& context) {
  return {.value = Subgraph{.name = json["name"].string(),
                            .graph = std::make_shared<const Graph>(parse_graph(json["graph"], context))}};
}

Argument argument_map(const Json& json, const ParseContext& context) {
  std::vector<std::pair<std::string, Argument>> map;
  for (const auto& [key, value] : json.members()) map.emplace_back(key, parse_argument(value, context));
  return {.value = std::make_shared<const std::vector<std::pair<std::string, Argument>>>(std::move(map))};
}

struct Alternative {
  std::string_view key;
  Argument (*parse)(const Json&, const ParseContext&);
};

using Context = const ParseContext&;

constexpr std::array kAlternatives = {
    Alternative{"as_none", [](const Json&, Context) { return Argument{.value = None{}}; }},
    Alternative{"as_tensor", single<parse_tensor>},
    Alternative{"as_tensors", list<parse_tensor>},
    Alternative{"as_optional_tensor", optional_tensor},
    Alternative{"as_optional_tensors", list<parse_optional_tensor>},
    Alternative{"as_nested_tensors", list_of_lists<parse_tensor>},
    Alternative{"as_bool", single<parse_bool>},
    Alternative{"as_bools", list<parse_bool>},
    Alternative{"as_int", single<parse_int>},
    Alternative{"as_ints", list<parse_int>},
    Alternative{"as_int_lists", list_of_lists<parse_int>},
    Alternative{"as_float", single<parse_float>},
    Alternative{"as_floats", list<parse_float>},
    Alternative{"as_float_lists", list_of_lists<parse_float>},
    Alternative{"as_string", single<parse_string>},
    Alternative{"as_strings", list<parse_string>},
    Alternative{"as_scalar_type", single<parse_scalar_type>},
    Alternative{"as_device", single<parse_device>},
    Alternative{"as_custom_obj", single<parse_custom_object>},
    Alternative{"as_graph", subgraph},
    Alternative{"as_string_to_argument", argument_map},
    Alternative{"as_memory_format",
                [](const Json& j, Context) { return Argument{.value = parse_enum(j, MemoryFormat::preserve)}; }},
    Alternative{"as_layout", [](const Json& j, Context) { return Argument{.value = parse_enum(j, Layout::strided)}; }},
    Alternative{"as_operator",
                [](const Json& j, Context) { return Argument{.value = OperatorRef{.target = j.string()}}; }},
    Alternative{"as_complex",
                [](const Json& j, Context) {
                  return Argument{.value = Complex{.real = j["real"].floating(), .imag = j["imag"].floating()}};
                }},
    Alternative{"as_sym_int",
                [](const Json& j, Context c) { return symbolic<std::int64_t, parse_int>(j, "as_int", c); }},
    Alternative{"as_sym_ints",
                [](const Json& j, Context c) { return symbolic_list<std::int64_t, parse_int>(j, "as_int", c); }},
    Alternative{"as_sym_float",
                [](const Json& j, Context c) { return symbolic<double, parse_float>(j, "as_float", c); }},
    Alternative{"as_sym_floats",
                [](const Json& j, Context c) { return symbolic_list<double, parse_float>(j, "as_float", c); }},
    Alternative{"as_sym_bool", [](const Json& j, Context c) { return symbolic<bool, parse_bool>(j, "as_bool", c); }},
    Alternative{"as_sym_bools",
                [](const Json& j, Context c) { return symbolic_list<bool, parse_bool>(j, "as_bool", c); }},
};

}  // namespace

Argument parse_argument(const Json& json, const ParseContext& context) {
  const auto [key, value] = json.alternative();
  const auto* found = std::find_if(kAlternatives.begin(), kAlternatives.end(),
                                   [&](const Alternative& alternative) { return alternative.key == key; });
  if (found == kAlternatives.end()) {
    json.fail(fmt::format("the kind of argument '{}' is unknown", key),
              fmt::format("the file was written by PyTorch {}, which may be newer than cormorant supports; report it, "
                          "or try an older PyTorch (2.9 or later)",
                          context.torch_version));
  }
  return found->parse(value, context);
}

}  // namespace cormorant::pt2
