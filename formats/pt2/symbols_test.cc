// SPDX-License-Identifier: Apache-2.0
#include "formats/pt2/symbols.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace cormorant::pt2
