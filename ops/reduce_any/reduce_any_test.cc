// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/conformance/conformance.h"

namespace cormorant::ops {
namespace {

using conformance::Case;

// Of many elements that are equal, the first.
std::vector<Case> places_of_extremes() {
  std::vector<Case> cases;
  for (const char* const op : {"aten.argmax", "aten.argmin"}) {
    for (const bool wide : {false, true}) {
      for (const std::int64_t dim : {0, 1, 2}) {
        cases.push_back(
            {op + std::string(wide ? " of words" : " of int8") + " along " + std::to_string(dim), [=](ir::Graph& g) {
               const ir::Shape shape = {3, 17, 5};
               ir::Shape reduced = shape;
               reduced[static_cast<std::size_t>(dim)] = 1;
               ir::Value* x =
                   wide ? conformance::words_input(g, shape, 0.001) : conformance::int8_input(g, shape, 0.1, 3);
               ir::Value* y = g.add_node("place", op, {{"self", x}, {"dim", dim}, {"keepdim", true}},
                                         {{DType::i64, reduced, {}, std::nullopt}})
                                  ->result();
               return g.add_node("real", "cormorant.convert.any", {{"self", y}}, {ir::float_type(reduced)})->result();
             }});
      }
    }
  }
  return cases;
}

TEST(ArgMax, OfIntegersEqualsThatOfTheNumbersTheyStandFor) {
  conformance::expect_near_evaluation(places_of_extremes(), 0);
}

TEST(ArgMax, EveryCpuEqualsTheReference) { conformance::expect_same_bits_everywhere(places_of_extremes(), 2); }

}  // namespace
}  // namespace cormorant::ops
