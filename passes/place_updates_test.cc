// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verify.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

std::string placed(const std::string& text) {
  ir::Graph graph = ir::parse(text, "test");
  place_updates(graph);
  ir::verify(graph, "place_updates");
  std::string printed = ir::print(graph);
  return printed.substr(printed.find("node"));
}

constexpr const char* kHead = R"(graph g
input %x : f32[4]
state %a : f32[4] = [0.0, 0.0, 0.0, 0.0]
state %b : f32[4] = [0.0, 0.0, 0.0, 0.0]
)";

std::string sum(const std::string& name, const std::string& self, const std::string& other) {
  return "node \"" + name + "\" \"\" \"\"\n  %" + name + " : f32[4] = aten.add(self=%" + self + ", other=%" + other +
         ", alpha=1.0)\n";
}

std::string copy(const std::string& name, const std::string& from) {
  return "node \"" + name + "\" \"\" \"\"\n  %" + name + " : f32[4] = aten.clone(self=%" + from +
         ", memory_format=none)\n";
}

TEST(PlaceUpdates, MakesTheNewContentsWhereTheOldOnesAreReadLast) {
  const std::string same = sum("y", "x", "a") + "update %a = %y\noutput %y\n";
  EXPECT_EQ(placed(kHead + same), same);
}

TEST(PlaceUpdates, CopiesWhereTheOldContentsAreReadLater) {
  EXPECT_EQ(placed(kHead + sum("y", "x", "x") + sum("z", "y", "a") + "update %a = %y\noutput %z\n"),
            sum("y", "x", "x") + sum("z", "y", "a") + copy("y_kept", "y") + "update %a = %y_kept\noutput %z\n");
}

TEST(PlaceUpdates, CopiesAnInputAndAStateThatAnotherBecomesFirst) {
  EXPECT_EQ(placed(kHead + sum("y", "a", "b") + "update %a = %x\nupdate %b = %a\noutput %y\n"),
            sum("y", "a", "b") + copy("a_kept", "a") + copy("x_kept", "x") +
                "update %a = %x_kept\nupdate %b = %a_kept\noutput %y\n");
}

TEST(PlaceUpdates, TakesOneOfTwoThatExchangeTheirContentsAside) {
  EXPECT_EQ(placed(kHead + sum("y", "a", "b") + "update %a = %b\nupdate %b = %a\noutput %y\n"),
            sum("y", "a", "b") + copy("b_kept", "b") + copy("a_kept", "a") + copy("b_kept_kept", "b_kept") +
                "update %a = %b_kept_kept\nupdate %b = %a_kept\noutput %y\n");
}

TEST(PlaceUpdates, GivesOneValueToTwoStatesByOneCopy) {
  EXPECT_EQ(placed(kHead + sum("y", "a", "b") + sum("z", "y", "x") + "update %a = %z\nupdate %b = %z\noutput %y\n"),
            sum("y", "a", "b") + sum("z", "y", "x") + copy("z_kept", "z") +
                "update %a = %z\nupdate %b = %z_kept\noutput %y\n");
}

TEST(PlaceUpdates, CopiesWhatAStateHeldIfThatIsAnOutput) {
  EXPECT_EQ(placed(kHead + sum("y", "x", "a") + "update %a = %y\noutput %a\n"),
            sum("y", "x", "a") + copy("a_kept", "a") + copy("y_kept", "y") + "update %a = %y_kept\noutput %a_kept\n");
}

}  // namespace
}  // namespace cormorant::passes
