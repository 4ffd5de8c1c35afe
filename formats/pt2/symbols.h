// SPDX-License-Identifier: Apache-2.0
//
// Dynamic dimensions of an export (dynamic_shapes). PyTorch writes each as an expression over symbols, in sympy's own
// notation: "Add(Mul(Integer(2), Symbol('s77', positive=True, integer=True)), Integer(-1))". Once every symbol has a
// value, so does everything that depends on it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cormorant::pt2 {

class Symbols {
 public:
  void bind(const std::string& symbol, std::int64_t value) { numbers_[symbol] = value; }
  [[nodiscard]] bool binds(const std::string& symbol) const { return numbers_.contains(symbol); }
  // None where a symbol is not bound, or the notation is not known.
  [[nodiscard]] std::optional<double> real(std::string_view expression) const;
  // The same where it is an integer.
  [[nodiscard]] std::optional<std::int64_t> value(std::string_view expression) const;

 private:
  std::map<std::string, std::int64_t, std::less<>> numbers_;
};

// The symbol that the expression is, if it is nothing but one.
[[nodiscard]] std::optional<std::string> symbol_of(std::string_view expression);

// Input shapes given by the caller, by name.
using Shapes = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

}  // namespace cormorant::pt2
