// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>

#include "ir/text.h"

namespace cormorant::ir {
namespace {

// The shortest text that reads back as the same number, always recognizable as a float.
std::string number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string number(float value) {
  if (std::isnan(value) || std::isinf(value)) return number(static_cast<double>(value));
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

template <class T, class F>
std::string list(const std::vector<T>& items, F item) {
  std::string text = "[";
  for (const auto& element : items) text += (text.size() > 1 ? ", " : "") + item(element);
  return text + "]";
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

struct ArgumentText {
  std::string operator()(None) const { return "none"; }
  std::string operator()(const Value* value) const { return "%" + value->name; }
  std::string operator()(const std::vector<Value*>& values) const {
    return "{" + fmt::format("{}", fmt::join(names(values), ", ")) + "}";
  }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(const std::vector<std::int64_t>& values) const { return fmt::format("{}", values); }
  std::string operator()(double value) const { return number(value); }
  std::string operator()(const std::vector<double>& values) const {
    return "floats" + list(values, [](double v) { return number(v); });
  }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return in_quotes(value); }
  std::string operator()(DType value) const { return std::string("dtype.") + name_of(value); }

  static std::vector<std::string> names(const std::vector<Value*>& values) {
    std::vector<std::string> texts;
    for (const Value* value : values) texts.push_back("%" + value->name);
    return texts;
  }
};

template <class T>
std::string elements(std::span<const std::byte> bytes) {
  std::string text = "[";
  for (std::size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
    T element;
    std::memcpy(&element, bytes.data() + i, sizeof(T));
    if (i > 0) text += ", ";
    if constexpr (std::is_floating_point_v<T>) {
      text += number(element);
    } else {
      text += std::to_string(element);
    }
  }
  return text + "]";
}

std::string inline_data(const Value& value) {
  const auto bytes = value.data.bytes;
  switch (value.type.dtype) {
    case DType::u8:
    case DType::boolean:
      return elements<std::uint8_t>(bytes);
    case DType::i8:
      return elements<std::int8_t>(bytes);
    case DType::i16:
      return elements<std::int16_t>(bytes);
    case DType::i32:
      return elements<std::int32_t>(bytes);
    case DType::i64:
      return elements<std::int64_t>(bytes);
    case DType::f32:
      return elements<float>(bytes);
    case DType::f64:
      return elements<double>(bytes);
    case DType::f16:
    case DType::bf16:
      return elements<std::uint16_t>(bytes);  // as bit patterns
  }
  return "[]";
}

std::string data_text(const Value& value, std::vector<std::byte>* blob, std::int64_t inline_elements) {
  if (blob == nullptr || value.type.elements() <= inline_elements) return inline_data(value);
  blob->resize((blob->size() + 15) / 16 * 16);
  const std::size_t offset = blob->size();
  blob->insert(blob->end(), value.data.bytes.begin(), value.data.bytes.end());
  return fmt::format("data {} {}", offset, value.data.bytes.size());
}

}  // namespace

std::string to_text(const TensorType& type) {
  std::string text = fmt::format("{}[{}]", name_of(type.dtype), fmt::join(type.shape, ","));
  if (!type.dim_order.empty()) text += fmt::format(" order({})", fmt::join(type.dim_order, ","));
  if (!type.quant) return text;
  const QuantParams& q = *type.quant;
  text += " quant(";
  if (q.axis) text += fmt::format("axis {}, ", *q.axis);
  if (q.dtype == DType::i8 ? (q.qmin != -128 || q.qmax != 127) : q.dtype != DType::i32) {
    text += fmt::format("range {} {}, ", q.qmin, q.qmax);
  }
  text += list(q.scales, [](double scale) { return number(scale); }) + ", " + fmt::format("{}", q.zero_points) + ")";
  return text;
}

std::string print(const Graph& graph, std::vector<std::byte>* blob, std::int64_t inline_elements) {
  std::string text = "graph " + graph.name() + "\n";
  for (const Value* input : graph.inputs()) text += fmt::format("input %{} : {}\n", input->name, to_text(input->type));
  for (const Value& value : graph.values()) {
    if (value.kind == ValueKind::constant || value.kind == ValueKind::state) {
      text += fmt::format("{} %{} : {} = {}\n", value.kind == ValueKind::constant ? "const" : "state", value.name,
                          to_text(value.type), data_text(value, blob, inline_elements));
    } else if (value.kind == ValueKind::scratch) {
      text += fmt::format("scratch %{} : {}\n", value.name, to_text(value.type));
    }
  }
  for (const Node& node : graph.nodes()) {
    text += fmt::format("node {} {} {}\n  ", in_quotes(node.name), in_quotes(node.location.module),
                        in_quotes(node.location.source));
    std::string results;
    for (const Value* result : node.results) {
      if (!results.empty()) results += ", ";
      results += fmt::format("%{} : {}", result->name, to_text(result->type));
    }
    std::string arguments;
    for (const NamedArgument& argument : node.args) {
      if (!arguments.empty()) arguments += ", ";
      arguments += argument.name + "=" + std::visit(ArgumentText{}, argument.value);
    }
    text += fmt::format("{} = {}({})\n", results, node.op, arguments);
  }
  for (const Update& update : graph.updates()) {
    text += fmt::format("update %{} = %{}\n", update.state->name, update.value->name);
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const std::string& key = graph.output_keys()[i];
    text += fmt::format("output %{}{}\n", graph.outputs()[i]->name, key.empty() ? "" : " " + in_quotes(key));
  }
  return text;
}

}  // namespace cormorant::ir
