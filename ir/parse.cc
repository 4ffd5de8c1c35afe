// SPDX-License-Identifier: Apache-2.0
//
// A recursive-descent parser over a flat character range; every error names the line.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "base/diagnostic.h"
#include "ir/text.h"

namespace cormorant::ir {
namespace {

class Parser {
 public:
  Parser(std::string_view text, std::string_view origin, const Bytes& blob)
      : text_(text), origin_(origin), blob_(blob) {}

  Graph run() {
    expect_word("graph");
    Graph graph(word());
    graph_ = &graph;
    while (!at_end()) {
      const std::string keyword = word();
      if (keyword == "input") {
        auto [name, type] = typed_name();
        define(name, graph.add_input(name, type));
      } else if (keyword == "const" || keyword == "state") {
        constant(keyword == "state");
      } else if (keyword == "scratch") {
        auto [name, type] = typed_name();
        if (type.dtype != DType::u8 || type.rank() != 1) fail("scratch must be bytes: u8[N]");
        define(name, graph.add_scratch(name, type.elements()));
      } else if (keyword == "node") {
        node();
      } else if (keyword == "update") {
        update();
      } else if (keyword == "output") {
        Value* const made = value();
        space();
        const bool has_key = at_ < text_.size() && text_[at_] == '"';
        graph.add_output(made, has_key ? quoted() : "");
      } else {
        fail("expected input, const, state, scratch, node, update or output, not '" + keyword + "'");
      }
    }
    return graph;
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    throw InputError(
        {problem, "the text form is described in docs/architecture.md", fmt::format("{}:{}", origin_, line)});
  }

  void space() {
    while (at_ < text_.size() && (std::isspace(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '#')) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        ++at_;
      }
    }
  }
  bool at_end() {
    space();
    return at_ == text_.size();
  }
  bool accept(std::string_view token) {
    space();
    if (text_.substr(at_).substr(0, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("expected '{}'", token));
  }
  void expect_word(std::string_view expected) {
    if (word() != expected) fail(fmt::format("expected '{}'", expected));
  }
  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }
  std::string word() {
    space();
    const std::size_t start = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == start) fail("expected a word");
    return std::string(text_.substr(start, at_ - start));
  }
  char peek() {
    space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  std::string quoted() {
    expect("\"");
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        ++at_;
        out += text_[at_] == 'n' ? '\n' : text_[at_];
      } else {
        out += text_[at_];
      }
      ++at_;
    }
    expect("\"");
    return out;
  }

  // An integer or a float, told apart as the printer writes them.
  std::variant<std::int64_t, double> number() {
    space();
    const std::size_t start = at_;
    if (at_ < text_.size() && text_[at_] == '-') ++at_;
    while (at_ < text_.size() &&
           (is_word(text_[at_]) || ((text_[at_] == '-' || text_[at_] == '+') && text_[at_ - 1] == 'e')))
      ++at_;
    const std::string_view token = text_.substr(start, at_ - start);
    const double infinity = std::numeric_limits<double>::infinity();
    if (token == "inf") return infinity;
    if (token == "-inf") return -infinity;
    if (token == "nan") return std::nan("");
    const char* end = token.data() + token.size();
    if (token.find_first_of(".e") == std::string_view::npos) {
      std::int64_t integer = 0;
      const auto [rest, error] = std::from_chars(token.data(), end, integer);
      if (error != std::errc() || rest != end) fail(fmt::format("'{}' is not a number", token));
      return integer;
    }
    double real = 0;
    const auto [rest, error] = std::from_chars(token.data(), end, real);
    if (error != std::errc() || rest != end) fail(fmt::format("'{}' is not a number", token));
    return real;
  }
  std::int64_t integer() {
    const auto n = number();
    if (!std::holds_alternative<std::int64_t>(n)) fail("expected an integer");
    return std::get<std::int64_t>(n);
  }
  double real() {
    return std::visit([](auto n) { return static_cast<double>(n); }, number());
  }
  // A number that its type holds.
  template <class T>
  T within(std::int64_t number) const {
    if (number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max()) {
      fail(fmt::format("{} is outside {} to {}", number, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    }
    return static_cast<T>(number);
  }
  template <class F>
  void list(F item, std::string_view open = "[", std::string_view close = "]") {
    expect(open);
    if (accept(close)) return;
    do item();
    while (accept(","));
    expect(close);
  }
  std::vector<std::int64_t> integers() {
    std::vector<std::int64_t> out;
    list([&] { out.push_back(integer()); });
    return out;
  }
  std::vector<double> reals() {
    std::vector<double> out;
    list([&] { out.push_back(real()); });
    return out;
  }

  DType dtype(std::string_view name) const {
    for (int code = 0; code < 16; ++code) {
      const auto type = static_cast<DType>(code);
      if (size_of(type) != 0 && name == name_of(type)) return type;
    }
    fail(fmt::format("unknown element type '{}'", name));
  }

  TensorType type() {
    TensorType type;
    type.dtype = dtype(word());
    type.shape = integers();
    if (!type.is_possible())
      fail("a dimension is negative, or the tensor has 2 GB or more, or more than 16 dimensions");
    if (accept("order")) {
      list([&] { type.dim_order.push_back(within<std::uint8_t>(integer())); }, "(", ")");
      std::vector<std::uint8_t> dims(type.shape.size());
      std::iota(dims.begin(), dims.end(), std::uint8_t{0});
      if (!std::ranges::is_permutation(type.dim_order, dims)) fail("an order has each dimension once");
    }
    if (accept("quant")) {
      QuantParams q;
      q.dtype = type.dtype;
      if (type.dtype == DType::i32) {
        q.qmin = std::numeric_limits<std::int32_t>::min();
        q.qmax = std::numeric_limits<std::int32_t>::max();
      }
      expect("(");
      if (accept("axis")) {
        q.axis = within<std::int32_t>(integer());
        expect(",");
      }
      if (accept("range")) {
        q.qmin = within<std::int32_t>(integer());
        q.qmax = within<std::int32_t>(integer());
        expect(",");
      }
      q.scales = reals();
      expect(",");
      for (const std::int64_t zero_point : integers()) q.zero_points.push_back(within<std::int32_t>(zero_point));
      expect(")");
      type.quant = std::move(q);
    }
    return type;
  }

  std::string value_name() {
    expect("%");
    return word();
  }
  std::pair<std::string, TensorType> typed_name() {
    std::string name = value_name();
    expect(":");
    return {std::move(name), type()};
  }
  Value* value() {
    const std::string name = value_name();
    const auto found = values_.find(name);
    if (found == values_.end()) fail("%" + name + " is used before it is defined");
    return found->second;
  }
  void define(const std::string& name, Value* value) {
    if (!values_.emplace(name, value).second) fail("%" + name + " is defined twice");
  }

  template <class T>
  void append(std::vector<std::byte>& out, T element) {
    const auto* raw = reinterpret_cast<const std::byte*>(&element);
    out.insert(out.end(), raw, raw + sizeof(T));
  }

  void update() {
    Value* state = value();
    if (state->kind != ValueKind::state) fail("%" + state->name + " is not state");
    expect("=");
    graph_->add_update(state, value());
  }

  void constant(bool is_state) {
    auto [name, type] = typed_name();
    expect("=");
    Bytes data;
    if (accept("data")) {
      const auto offset = static_cast<std::size_t>(within<std::uint32_t>(integer()));
      const auto size = static_cast<std::size_t>(within<std::uint32_t>(integer()));
      if (offset > blob_.bytes.size() || size > blob_.bytes.size() - offset) {
        fail(fmt::format("%{} refers to bytes {}+{} of the data beside the text, which has {}", name, offset, size,
                         blob_.bytes.size()));
      }
      const auto bytes = blob_.bytes.subspan(offset, size);
      const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % size_of(type.dtype) == 0;
      data = is_aligned ? Bytes{blob_.owner, bytes} : Bytes::own({bytes.begin(), bytes.end()});
    } else {
      data = Bytes::own(elements(type.dtype));
    }
    if (static_cast<std::int64_t>(data.bytes.size()) != type.bytes()) {
      fail(fmt::format("%{} has {} bytes of data, its type needs {}", name, data.bytes.size(), type.bytes()));
    }
    define(name, is_state ? graph_->add_state(name, type, data) : graph_->add_constant(name, type, data));
  }

  std::vector<std::byte> elements(DType dtype) {
    std::vector<std::byte> out;
    list([&] {
      switch (dtype) {
        case DType::f32:
          return append(out, static_cast<float>(real()));
        case DType::f64:
          return append(out, real());
        case DType::i64:
          return append(out, integer());
        case DType::i32:
          return append(out, within<std::int32_t>(integer()));
        case DType::i16:
          return append(out, within<std::int16_t>(integer()));
        case DType::f16:
        case DType::bf16:  // their bits
          return append(out, static_cast<std::uint16_t>(integer()));
        case DType::i8:
          return append(out, within<std::int8_t>(integer()));
        case DType::u8:
        case DType::boolean:
          return append(out, within<std::uint8_t>(integer()));
      }
    });
    return out;
  }

  Argument argument() {
    switch (peek()) {
      case '%':
        return value();
      case '{': {
        std::vector<Value*> values;
        list([&] { values.push_back(value()); }, "{", "}");
        return values;
      }
      case '[':
        return integers();
      case '"':
        return quoted();
      default:
        break;
    }
    if (accept("none")) return None{};
    if (accept("true")) return true;
    if (accept("false")) return false;
    if (accept("floats")) return reals();
    if (accept("dtype.")) return dtype(word());
    return std::visit([](auto n) { return Argument{n}; }, number());
  }

  void node() {
    std::string name = quoted();
    Location location;
    location.module = quoted();
    location.source = quoted();
    std::vector<std::string> names;
    std::vector<TensorType> types;
    do {
      auto [result, type] = typed_name();
      names.push_back(std::move(result));
      types.push_back(std::move(type));
    } while (accept(","));
    expect("=");
    std::string op = word();
    std::vector<NamedArgument> args;
    list(
        [&] {
          std::string arg = word();
          expect("=");
          args.push_back({std::move(arg), argument()});
        },
        "(", ")");
    Node* added = graph_->add_node(name, op, std::move(args), {}, location);
    graph_->add_results(added, names, types);
    for (std::size_t i = 0; i < names.size(); ++i) define(names[i], added->results[i]);
  }

  std::string_view text_;
  std::string_view origin_;
  const Bytes& blob_;
  std::size_t at_ = 0;
  Graph* graph_ = nullptr;
  std::unordered_map<std::string, Value*> values_;
};

}  // namespace

Graph parse(std::string_view text, std::string_view origin, const Bytes& blob) {
  return Parser(text, origin, blob).run();
}

}  // namespace cormorant::ir
