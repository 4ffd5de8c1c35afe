// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verify.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

std::string narrowed(const std::string& text) {
  ir::Graph graph = ir::parse(text, "test");
  narrow_integers(graph);
  ir::verify(graph, "narrow_integers");
  return ir::print(graph);
}

std::string node(const std::string& name, const std::string& rest) {
  return "node \"" + name + "\" \"\" \"\"\n  %" + name + " : " + rest + "\n";
}

const std::string kHead = "graph g\ninput %x : f32[2,200]\n";
const std::string kFirst = "= aten.slice(self=%sorted, dim=1, start=0, end=3, step=1)";
const std::string kSort = "= cormorant.argsort.any(self=%x, dim=1, descending=true)";
const std::string kValues = node("values", "f32[2,3] = aten.gather(self=%x, dim=1, index=%first, sparse_grad=false)");

// topk: the indices of all elements need 4 bytes each, and only those that are returned become int64 again.
TEST(NarrowIntegers, ConvertsOnlyWhatIsReturned) {
  EXPECT_EQ(narrowed(kHead + node("sorted", "i64[2,200] " + kSort) + node("first", "i64[2,3] " + kFirst) + kValues +
                     "output %values\noutput %first\n"),
            kHead + node("sorted", "i32[2,200] " + kSort) + node("first", "i32[2,3] " + kFirst) + kValues +
                node("first_int64", "i64[2,3] = cormorant.convert.any(self=%first)") +
                "output %values\noutput %first_int64\n");
  // Without it, there is nothing to convert.
  EXPECT_EQ(narrowed(kHead + node("sorted", "i64[2,200] " + kSort) + node("first", "i64[2,3] " + kFirst) + kValues +
                     "output %values\n"),
            kHead + node("sorted", "i32[2,200] " + kSort) + node("first", "i32[2,3] " + kFirst) + kValues +
                "output %values\n");
}

TEST(NarrowIntegers, LeavesWhatAnInstructionWouldNotPayFor) {
  const std::string returned = kHead + node("sorted", "i64[2,200] " + kSort) + "output %sorted\n";
  EXPECT_EQ(narrowed(returned), returned);
  const std::string small = "graph g\ninput %x : f32[2,10]\n" + node("sorted", "i64[2,10] " + kSort) +
                            node("first", "i64[2,3] " + kFirst) + "output %first\n";
  EXPECT_EQ(narrowed(small), small);
  const std::string most = kHead + node("a", "i64[2] = aten.argmax(self=%x, dim=1, keepdim=false)") + "output %a\n";
  EXPECT_EQ(narrowed(most), most);
}

// In 16 bits, or in 32 if those do not hold them; what is also a number, or is returned, stays.
TEST(NarrowIntegers, ConstantsThatAreIndicesTakeLessFlash) {
  const std::string head = "graph g\ninput %x : f32[70000]\n";
  const std::string select = node("y", "f32[2] = aten.index_select(self=%x, dim=0, index=%i)");
  const auto places = [](const std::string& type, const std::string& numbers) {
    return "const %i : " + type + "[2] = " + numbers + "\n";
  };
  EXPECT_EQ(narrowed(head + places("i64", "[7, 32767]") + select + "output %y\n"),
            head + places("i16", "[7, 32767]") + select + "output %y\n");
  EXPECT_EQ(narrowed(head + places("i64", "[7, 32768]") + select + "output %y\n"),
            head + places("i32", "[7, 32768]") + select + "output %y\n");
  const std::string scatter = "input %s : f32[2]\n" + places("i64", "[1, 0]") +
                              node("y", "f32[70000] = aten.scatter_add(self=%x, dim=0, index=%i, src=%s)");
  EXPECT_NE(narrowed(head + scatter + "output %y\n").find("%i : i16[2]"), std::string::npos);
  const std::string computed = places("i64", "[7, 0]") + select +
                               node("z", "i64[2] = cormorant.mul.any(self=%i, other=%i)") + "output %y\noutput %z\n";
  EXPECT_EQ(narrowed(head + computed), head + computed);
  const std::string moved = "graph g\ninput %j : i64[2]\n" + places("i64", "[5, 6]") +
                            node("y", "i64[2] = aten.index_select(self=%i, dim=0, index=%j)") + "output %y\n";
  EXPECT_EQ(narrowed(moved), moved);
}

// Nothing bounds a product, nor what a user passes in; and a value that one of them reads keeps its type, with all that
// it is moved from.
TEST(NarrowIntegers, NeedsAProofForEveryReader) {
  const std::string product = kHead + node("sorted", "i64[2,200] " + kSort) + node("first", "i64[2,3] " + kFirst) +
                              node("square", "i64[2,3] = cormorant.mul.any(self=%first, other=%first)") + kValues +
                              "output %values\noutput %square\n";
  EXPECT_EQ(narrowed(product), product);
  const std::string input = "graph g\ninput %x : f32[2,200]\ninput %i : i64[2,3]\n" +
                            node("first", "i64[2,3] = aten.view(self=%i, size=[2, 3])") + kValues + "output %values\n";
  EXPECT_EQ(narrowed(input), input);
  const std::string mixed =
      "graph g\ninput %x : f32[2,200]\ninput %i : i64[2,1]\n" + node("sorted", "i64[2,200] " + kSort) +
      node("first", "i64[2,201] = aten.cat(tensors={%i, %sorted}, dim=1)") +
      node("values", "f32[2,201] = aten.gather(self=%x, dim=1, index=%first, sparse_grad=false)") + "output %values\n";
  EXPECT_EQ(narrowed(mixed), mixed);
}

}  // namespace
}  // namespace cormorant::passes
