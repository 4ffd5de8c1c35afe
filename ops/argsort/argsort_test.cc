// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/conformance/conformance.h"

namespace cormorant::ops {
namespace {

// Many of the elements are equal: they keep their order.
std::vector<conformance::Case> cases() {
  std::vector<conformance::Case> cases;
  for (const bool wide : {false, true}) {
    for (const bool descending : {false, true}) {
      cases.push_back(
          {descending ? "descending" : "ascending", [=](ir::Graph& g) {
             const ir::Shape shape = {2, 31, 2};
             ir::Value* x =
                 wide ? conformance::words_input(g, shape, 0.001) : conformance::int8_input(g, shape, 0.1, 3);
             const ir::TensorType indices{DType::i64, shape, {}, std::nullopt};
             ir::Value* y = g.add_node("order", "cormorant.argsort.any",
                                       {{"self", x}, {"dim", std::int64_t{1}}, {"descending", descending}}, {indices})
                                ->result();
             return g.add_node("real", "cormorant.convert.any", {{"self", y}}, {ir::float_type(shape)})->result();
           }});
    }
  }
  return cases;
}

TEST(Argsort, OfIntegersEqualsThatOfTheNumbersTheyStandFor) { conformance::expect_near_evaluation(cases(), 0); }

TEST(Argsort, EveryCpuEqualsTheReference) { conformance::expect_same_bits_everywhere(cases(), 2); }

}  // namespace
}  // namespace cormorant::ops
