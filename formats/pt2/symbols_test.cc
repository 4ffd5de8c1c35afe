// SPDX-License-Identifier: Apache-2.0
#include "formats/pt2/symbols.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/diagnostic.h"
#include "formats/pt2/parse.h"

namespace cormorant::pt2 {
namespace {

constexpr const char* kBatch = "Symbol('s77', positive=True, integer=True)";

TEST(Symbols, ExpressionsHaveNumbersOnceTheirSymbolsDo) {
  Symbols symbols;
  EXPECT_EQ(symbols.value(kBatch), std::nullopt);
  EXPECT_EQ(symbols.value("Integer(12)"), 12);
  symbols.bind("s77", 7);
  const std::string s = kBatch;
  EXPECT_EQ(symbols.value(s), 7);
  EXPECT_EQ(symbols.value("s77"), 7);
  EXPECT_EQ(symbols.value("Add(Mul(Integer(2), " + s + "), Integer(-1))"), 13);
  EXPECT_EQ(symbols.value("FloorDiv(Add(" + s + ", Integer(-2)), Integer(2))"), 2);
  EXPECT_EQ(symbols.value("FloorDiv(Integer(-1), Integer(2))"), -1);
  EXPECT_EQ(symbols.value("Mod(" + s + ", Integer(4))"), 3);
  EXPECT_EQ(symbols.value("Pow(" + s + ", Integer(2))"), 49);
  EXPECT_EQ(symbols.value("Max(Integer(1), " + s + ", Integer(9))"), 9);
  EXPECT_EQ(symbols.value("TruncToInt(Mul(Float('1.5', precision=53), ToFloat(" + s + ")))"), 10);
  EXPECT_EQ(symbols.value("Mul(Rational(1, 7), " + s + ")"), 1);
}

TEST(Symbols, ExpressionsMayBeRealNumbers) {
  Symbols symbols;
  symbols.bind("s77", 9);
  const std::string s = kBatch;
  EXPECT_EQ(symbols.real("IntTrueDiv(" + s + ", Integer(4))"), 2.25);
  EXPECT_EQ(symbols.value("IntTrueDiv(" + s + ", Integer(4))"), std::nullopt);
  EXPECT_EQ(symbols.real("FloatTrueDiv(Float('1.0', precision=53), ToFloat(" + s + "))"), 1.0 / 9);
  EXPECT_EQ(symbols.real("OpaqueUnaryFn_sqrt(ToFloat(" + s + "))"), 3);
  EXPECT_EQ(symbols.real("FloatPow(ToFloat(" + s + "), Float('-0.5', precision=53))"), std::pow(9, -0.5));
  EXPECT_EQ(symbols.real("OpaqueUnaryFn_sqrt(Integer(-1))"), std::nullopt);
  EXPECT_EQ(symbols.real("OpaqueUnaryFn_unknown(" + s + ")"), std::nullopt);
  EXPECT_EQ(symbols.real("OpaqueUnaryFn_log(Integer(0))"), std::nullopt);
}

TEST(Symbols, WhatIsNotUnderstoodHasNone) {
  Symbols symbols;
  symbols.bind("s0", 3);
  for (const char* text : {"", "Symbol('s0'", "Symbol('s1')", "Add()", "Add(s0", "Add(s0))", "FloorDiv(s0, Integer(0))",
                           "Mul(Rational(1, 2), s0)", "Unknown(s0)", "(((((", "Symbol('s0', )x"}) {
    EXPECT_EQ(symbols.value(text), std::nullopt) << text;
  }
  EXPECT_EQ(symbols.value(std::string(100000, '(')), std::nullopt);
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "Add(";
  EXPECT_EQ(symbols.value(deep), std::nullopt);
}

TEST(Symbols, ASymbolAloneIsNamed) {
  EXPECT_EQ(symbol_of(kBatch), "s77");
  EXPECT_EQ(symbol_of("s0"), "s0");
  EXPECT_EQ(symbol_of("Mul(Integer(2), Symbol('s0'))"), std::nullopt);
  EXPECT_EQ(symbol_of(""), std::nullopt);
}

// The value of an argument as a file writes it; %n is known to be 5, others are not.
template <class T>
T argument(std::string_view text) {
  ParseContext context{.file = "m.pt2", .torch_version = "2.9", .ranges = {}};
  context.numbers = {{"n", std::int64_t{5}}, {"half", 0.5}};
  const JsonDocument document(text, {.file = "m.pt2", .entry = "model.json"});
  return std::get<T>(parse_argument(document.root(), context).value);
}

TEST(Arguments, OfEveryKindAreRead) {
  using Ints = std::vector<std::int64_t>;
  EXPECT_EQ(argument<Complex>(R"({"as_complex": {"real": 1.5, "imag": -2}})"), (Complex{1.5, -2}));
  EXPECT_EQ(argument<OperatorRef>(R"({"as_operator": "aten.add.Tensor"})").target, "aten.add.Tensor");
  const auto object = argument<CustomObject>(R"({"as_custom_obj": {"name": "o", "class_fqn": "a.B"}})");
  EXPECT_EQ(object, (CustomObject{"o", "a.B"}));
  EXPECT_EQ(argument<std::vector<Ints>>(R"({"as_int_lists": [[1, 2], [], [3]]})"),
            (std::vector<Ints>{{1, 2}, {}, {3}}));
  EXPECT_EQ(argument<std::vector<std::vector<double>>>(R"({"as_float_lists": [[0.5]]})").at(0).at(0), 0.5);
  EXPECT_EQ(argument<TensorRef>(R"({"as_optional_tensor": {"as_tensor": {"name": "x"}}})").name, "x");
  EXPECT_NO_THROW(argument<None>(R"({"as_optional_tensor": {"as_none": true}})"));
}

TEST(Arguments, WithNamesHaveTheirNumbersWhereTheyAreKnown) {
  using Mixed = std::vector<std::variant<std::int64_t, Symbol>>;
  EXPECT_EQ(argument<std::int64_t>(R"({"as_sym_int": {"as_int": 3}})"), 3);
  EXPECT_EQ(argument<std::int64_t>(R"({"as_sym_int": {"as_name": "n"}})"), 5);
  EXPECT_EQ(argument<Symbol>(R"({"as_sym_int": {"as_name": "m"}})").name, "m");
  EXPECT_EQ(argument<double>(R"({"as_sym_float": {"as_float": 0.25}})"), 0.25);
  EXPECT_EQ(argument<double>(R"({"as_sym_float": {"as_name": "n"}})"), 5.0);
  EXPECT_EQ(argument<double>(R"({"as_sym_float": {"as_name": "half"}})"), 0.5);
  EXPECT_EQ(argument<Symbol>(R"({"as_sym_int": {"as_name": "half"}})").name, "half");
  EXPECT_TRUE(argument<bool>(R"({"as_sym_bool": {"as_bool": true}})"));
  EXPECT_EQ(argument<std::vector<std::int64_t>>(R"({"as_sym_ints": [{"as_int": 2}, {"as_name": "n"}]})"),
            (std::vector<std::int64_t>{2, 5}));
  const auto mixed = argument<Mixed>(R"({"as_sym_ints": [{"as_int": 2}, {"as_name": "m"}]})");
  ASSERT_EQ(mixed.size(), 2U);
  EXPECT_EQ(std::get<Symbol>(mixed[1]).name, "m");
  EXPECT_EQ(argument<std::vector<double>>(R"({"as_sym_floats": [{"as_float": 1}]})").at(0), 1.0);
  EXPECT_EQ(argument<std::vector<bool>>(R"({"as_sym_bools": [{"as_bool": false}]})").size(), 1U);
}

TEST(Arguments, OfOtherFormsAreInputErrors) {
  for (const char* text :
       {R"({"as_sym_int": {"as_float": 3}})", R"({"as_sym_ints": [{"as_string": "x"}]})", R"({"as_sym_int": 3})",
        R"({"as_optional_tensor": {"as_int": 1}})", R"({"as_int_lists": [1]})", R"({"as_complex": {"real": 1}})",
        R"({"as_custom_obj": {}})", R"({"as_memory_format": 5})", R"({"as_layout": -1})", R"({"as_something": 1})",
        R"({"as_int": 1, "as_float": 1})", R"([])"}) {
    EXPECT_THROW(argument<None>(text), InputError) << text;
  }
}

}  // namespace
}  // namespace cormorant::pt2
