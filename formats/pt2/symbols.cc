// SPDX-License-Identifier: Apache-2.0
#include "formats/pt2/symbols.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace cormorant::pt2 {
namespace {

// Numbers are small: a double holds them, and quotients on the way, exactly enough.
class Evaluation {
 public:
  Evaluation(std::string_view text, const std::map<std::string, std::int64_t, std::less<>>& numbers)
      : rest_(text), numbers_(numbers) {}

  std::optional<double> run() {
    const std::optional<double> value = expression(0);
    skip_spaces();
    return rest_.empty() ? value : std::nullopt;
  }

 private:
  static constexpr int kDeepest = 100;

  void skip_spaces() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  bool take(char c) {
    skip_spaces();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view word() {
    skip_spaces();
    std::size_t n = 0;
    const auto is_part = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
             c == '-' || c == '+';
    };
    while (n < rest_.size() && is_part(rest_[n])) ++n;
    const std::string_view found = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return found;
  }
  std::optional<std::string_view> quoted() {
    if (!take('\'')) return std::nullopt;
    const std::size_t end = rest_.find('\'');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return found;
  }
  static std::optional<double> number(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  }
  std::optional<double> of_symbol(std::string_view name) const {
    const auto found = numbers_.find(name);
    if (found == numbers_.end()) return std::nullopt;
    return static_cast<double>(found->second);
  }

  // NAME, NUMBER or NAME(ARGUMENT, …), where a quoted text may come first and properties (x=True) last.
  std::optional<double> expression(int depth) {
    if (depth > kDeepest) return std::nullopt;
    const std::string_view name = word();
    if (name.empty()) return std::nullopt;
    if (!take('(')) {
      const std::optional<double> plain = number(name);
      return plain ? plain : of_symbol(name);
    }
    std::vector<double> arguments;
    std::optional<double> text;
    skip_spaces();
    if (!rest_.empty() && rest_.front() == '\'') {
      const std::optional<std::string_view> inside = quoted();
      if (!inside) return std::nullopt;
      text = name == "Symbol" ? of_symbol(*inside) : number(*inside);
      if (!text) return std::nullopt;
      while (take(',')) {
        word();
        if (take('=')) word();
      }
    } else if (!rest_.empty() && rest_.front() != ')') {
      do {
        const std::optional<double> argument = expression(depth + 1);
        if (!argument) return std::nullopt;
        arguments.push_back(*argument);
      } while (take(','));
    }
    if (!take(')')) return std::nullopt;
    return text ? text : applied(name, arguments);
  }

  static std::optional<double> applied(std::string_view name, const std::vector<double>& x) {
    if (x.empty()) return std::nullopt;
    const double a = x[0];
    if (x.size() == 1) {
      if (name == "Integer" || name == "Float" || name == "ToFloat") return a;
      if (name == "floor" || name == "FloorToInt") return std::floor(a);
      if (name == "ceiling" || name == "CeilToInt") return std::ceil(a);
      if (name == "TruncToInt" || name == "TruncToFloat") return std::trunc(a);
      if (name == "RoundToInt") return std::nearbyint(a);
      constexpr std::string_view kOfPython = "OpaqueUnaryFn_";  // of the module math
      if (name.starts_with(kOfPython)) return function(name.substr(kOfPython.size()), a);
    }
    double result = a;
    const auto fold = [&](auto&& f) {
      for (std::size_t i = 1; i < x.size(); ++i) result = f(result, x[i]);
      return result;
    };
    if (name == "Add") return fold([](double p, double q) { return p + q; });
    if (name == "Mul") return fold([](double p, double q) { return p * q; });
    if (name == "Max") return fold([](double p, double q) { return std::max(p, q); });
    if (name == "Min") return fold([](double p, double q) { return std::min(p, q); });
    if (x.size() != 2) return std::nullopt;
    const double b = x[1];
    if (name == "Pow" || name == "PowByNatural" || name == "FloatPow") return std::pow(a, b);
    if (b == 0) return std::nullopt;
    if (name == "Rational" || name == "FloatTrueDiv" || name == "IntTrueDiv") return a / b;
    if (name == "FloorDiv" || name == "CleanDiv") return std::floor(a / b);
    if (name == "CeilDiv") return std::ceil(a / b);
    if (name == "Mod" || name == "PythonMod") return a - b * std::floor(a / b);
    return std::nullopt;
  }

  static std::optional<double> function(std::string_view name, double x) {
    if (name == "sqrt") return std::sqrt(x);
    if (name == "exp") return std::exp(x);
    if (name == "log") return std::log(x);
    if (name == "log2") return std::log2(x);
    if (name == "cos") return std::cos(x);
    if (name == "sin") return std::sin(x);
    if (name == "tan") return std::tan(x);
    if (name == "tanh") return std::tanh(x);
    if (name == "atan") return std::atan(x);
    return std::nullopt;
  }

  std::string_view rest_;
  const std::map<std::string, std::int64_t, std::less<>>& numbers_;
};

}  // namespace

std::optional<double> Symbols::real(std::string_view expression) const {
  const std::optional<double> value = Evaluation(expression, numbers_).run();
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<std::int64_t> Symbols::value(std::string_view expression) const {
  const std::optional<double> value = real(expression);
  constexpr double kLargest = 1e15;
  if (!value || std::nearbyint(*value) != *value || std::abs(*value) > kLargest) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::optional<std::string> symbol_of(std::string_view expression) {
  constexpr std::string_view kOpen = "Symbol('";
  const auto is_name = [](std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
  };
  if (is_name(expression)) return std::string(expression);
  if (!expression.starts_with(kOpen)) return std::nullopt;
  const std::size_t end = expression.find('\'', kOpen.size());
  if (end == std::string_view::npos || expression.find('(', end) != std::string_view::npos) return std::nullopt;
  const std::string_view name = expression.substr(kOpen.size(), end - kOpen.size());
  return is_name(name) ? std::optional(std::string(name)) : std::nullopt;
}

}  // namespace cormorant::pt2
