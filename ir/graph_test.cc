// SPDX-License-Identifier: Apache-2.0
#include "ir/graph.h"

#include <gtest/gtest.h>

namespace cormorant::ir {
namespace {

TEST(Graph, GivesEveryValueItsOwnName) {
  Graph graph;
  EXPECT_EQ(graph.add_input("x", float_type({1}))->name, "x");
  EXPECT_EQ(graph.add_input("x", float_type({1}))->name, "x_1");
  EXPECT_EQ(graph.add_input("x", float_type({1}))->name, "x_2");
}

TEST(Graph, ReplacesUsesInNodesListsAndOutputs) {
  Graph graph;
  Value* a = graph.add_input("a", float_type({1}));
  Value* b = graph.add_input("b", float_type({1}));
  Node* cat = graph.add_node("cat", "aten.cat", {{"tensors", std::vector<Value*>{a, b}}}, {float_type({2})});
  graph.add_output(a);
  graph.replace_uses(a, b);
  EXPECT_EQ(cat->tensors("tensors"), (std::vector<Value*>{b, b}));
  EXPECT_EQ(graph.outputs().front(), b);
}

TEST(Graph, ErasesWhatNothingUses) {
  Graph graph;
  Value* x = graph.add_input("x", float_type({1}));
  Value* dead_constant = graph.add_constant("c", float_type({1}), Bytes::own(std::vector<std::byte>(4)));
  Node* live = graph.add_node("live", "aten.clamp", {{"self", x}}, {float_type({1})});
  graph.add_node("dead", "aten.add", {{"self", x}, {"other", dead_constant}}, {float_type({1})});
  graph.add_output(live->result());
  graph.erase_unused();
  EXPECT_EQ(graph.nodes().size(), 1U);
  EXPECT_EQ(graph.values().size(), 2U);
  EXPECT_EQ(graph.add_input("c", float_type({1}))->name, "c");
}

TEST(Graph, KeepsWhatAStateBecomesAsLongAsAnOutputDependsOnTheState) {
  const auto left = [](bool is_read) {
    Graph graph;
    Value* x = graph.add_input("x", float_type({1}));
    Value* state = graph.add_state("h", float_type({1}), Bytes::own(std::vector<std::byte>(4)));
    Node* next = graph.add_node("next", "aten.add", {{"self", x}, {"other", x}}, {float_type({1})});
    Node* read = graph.add_node("read", "aten.add", {{"self", x}, {"other", state}}, {float_type({1})});
    graph.add_update(state, next->result());
    graph.add_output(is_read ? read->result() : x);
    graph.erase_unused();
    EXPECT_EQ(graph.updates().size(), graph.states().size());
    return graph.nodes().size();
  };
  EXPECT_EQ(left(true), 2U);
  EXPECT_EQ(left(false), 0U);
}

TEST(Graph, RefusesToEraseANodeThatIsUsed) {
  Graph graph;
  Value* x = graph.add_input("x", float_type({1}));
  Node* node = graph.add_node("n", "aten.clamp", {{"self", x}}, {float_type({1})});
  graph.add_output(node->result());
  EXPECT_THROW(graph.erase(node), std::logic_error);
}

TEST(Graph, OnlyUserIsNullForOutputsAndSharedValues) {
  Graph graph;
  Value* x = graph.add_input("x", float_type({1}));
  Node* one = graph.add_node("one", "aten.clamp", {{"self", x}}, {float_type({1})});
  EXPECT_EQ(graph.only_user(x), one);
  graph.add_output(x);
  EXPECT_EQ(graph.only_user(x), nullptr);
}

}  // namespace
}  // namespace cormorant::ir
