// SPDX-License-Identifier: Apache-2.0
#include "ir/verify.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "ir/text.h"

namespace cormorant::ir {
namespace {

constexpr const char* kSound = R"(graph g
input %x : f32[1,4]
const %w : i8[2,4] quant(axis 0, [0.5, 0.25], [0, 0]) = [1, 2, 3, 4, 5, 6, 7, 8]
scratch %s : u8[8]
node "a" "" ""
  %a : f32[1,2] = aten.linear(input=%x, weight=%w, bias=none)
node "b" "" ""
  %b : f32[1,2] = aten.clamp(self=%a, room=%s)
output %b
)";

// Each mutation breaks one rule; the verifier must name it.
TEST(Verify, NamesWhatIsBroken) {
  struct Case {
    const char* problem;
    void (*break_it)(Graph&);
  };
  const Case cases[] = {
      {"before it is defined", [](Graph& g) { g.move_before(&g.nodes().back(), &g.nodes().front()); }},
      {"scales, expected",
       [](Graph& g) {
         QuantParams& q = *g.nodes().front().tensor("weight")->type.quant;
         q.scales = {1.0};
         q.zero_points = {0};
       }},
      {"differ in number", [](Graph& g) { g.nodes().front().tensor("weight")->type.quant->zero_points = {0}; }},
      {"not positive", [](Graph& g) { g.nodes().front().tensor("weight")->type.quant->scales[1] = 0; }},
      {"zero point out of range",
       [](Graph& g) { g.nodes().front().tensor("weight")->type.quant->zero_points[0] = 200; }},
      {"bytes of data", [](Graph& g) { g.nodes().front().tensor("weight")->data = Bytes::own({}); }},
      {"impossible dim order", [](Graph& g) { g.inputs()[0]->type.dim_order = {0, 0}; }},
      {"shares scratch", [](Graph& g) { g.nodes().front().set("room", g.nodes().back().tensor("room")); }},
      {"never defined", [](Graph& g) { g.add_output(g.add_scratch("t", 4)); }},
      {"two values are named", [](Graph& g) { g.inputs()[0]->name = "w"; }},
  };
  EXPECT_NO_THROW(verify(parse(kSound, "t"), "sound"));
  for (const Case& c : cases) {
    Graph graph = parse(kSound, "t");
    c.break_it(graph);
    try {
      verify(graph, "mutation");
      ADD_FAILURE() << c.problem;
    } catch (const std::logic_error& error) {
      EXPECT_NE(std::string(error.what()).find(c.problem), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("after stage 'mutation'"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace cormorant::ir
