// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verify.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

std::string folded(const std::string& text) {
  ir::Graph graph = ir::parse(text, "test");
  fold_selections(graph);
  ir::verify(graph, "fold_selections");
  return ir::print(graph);
}

std::string select(const std::string& type, std::size_t count, const std::string& indices, int dim) {
  return fmt::format(
      "graph g\ninput %x : f32[2,6]\nconst %i : i64[{}] = [{}]\nnode \"y\" \"\" \"\"\n  %y : f32{} = "
      "aten.index_select(self=%x, dim={}, index=%i)\n",
      count, indices, type, dim);
}

std::string slice(const std::string& type, int dim, int start, int end, int step) {
  return fmt::format(
      "graph g\ninput %x : f32[2,6]\nnode \"y\" \"\" \"\"\n  %y_1 : f32{} = aten.slice(self=%x, dim={}, start={}, "
      "end={}, "
      "step={})\noutput %y_1\n",
      type, dim, start, end, step);
}

TEST(FoldSelections, OfARangeIsASlice) {
  EXPECT_EQ(folded(select("[2,3]", 3, "2, 3, 4", 1) + "output %y\n"), slice("[2,3]", 1, 2, 5, 1));
  EXPECT_EQ(folded(select("[2,3]", 3, "1, 3, 5", 1) + "output %y\n"), slice("[2,3]", 1, 1, 6, 2));
  EXPECT_EQ(folded(select("[1,6]", 1, "1", 0) + "output %y\n"), slice("[1,6]", 0, 1, 2, 1));
}

TEST(FoldSelections, OfAnythingElseStays) {
  for (const auto& [count, indices] : std::initializer_list<std::pair<std::size_t, const char*>>{
           {3, "0, 1, 3"}, {3, "2, 1, 0"}, {3, "1, 1, 1"}, {3, "4, 5, 6"}, {3, "-1, 0, 1"}}) {
    const std::string same = select("[2,3]", count, indices, 1) + "output %y\n";
    EXPECT_EQ(folded(same), same) << indices;
  }
}

// Indices that are the same in every row; rows beyond them are not read.
TEST(FoldSelections, GatherByTheSameIndicesEverywhereIsOne) {
  const auto gather = [](const char* indices) {
    return fmt::format(
        "graph g\ninput %x : f32[3,6]\nconst %i : i64[2,3] = [{}]\nnode \"y\" \"\" \"\"\n"
        "  %y : f32[2,3] = aten.gather(self=%x, dim=1, index=%i, sparse_grad=false)\noutput %y\n",
        indices);
  };
  const std::string slices = folded(gather("1, 2, 3, 1, 2, 3"));
  EXPECT_NE(slices.find("aten.slice(self=%x, dim=0, start=0, end=2, step=1)"), std::string::npos) << slices;
  EXPECT_NE(slices.find("dim=1, start=1, end=4, step=1)"), std::string::npos) << slices;
  EXPECT_EQ(slices.find("gather"), std::string::npos) << slices;
  const std::string selection = folded(gather("1, 5, 3, 1, 5, 3"));
  EXPECT_NE(selection.find("aten.index_select("), std::string::npos) << selection;
  EXPECT_NE(selection.find(": i64[3] = [1, 5, 3]"), std::string::npos) << selection;
  for (const char* other : {"1, 2, 3, 1, 2, 4", "1, 2, 3, 2, 3, 1", "1, 2, 6, 1, 2, 6"}) {
    EXPECT_EQ(folded(gather(other)), gather(other));
  }
}

// x is permuted, so the columns of the weight are: both give the same products.
TEST(FoldSelections, OfAllInAnotherOrderMovesTheWeights) {
  const std::string layer =
      "node \"z\" \"\" \"\"\n  %z : f32[2,2] = aten.linear(input=%y, weight=%w, bias=none)\noutput %z\n";
  const std::string weight =
      "const %w : f32[2,6] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]\n";
  std::string model = select("[2,6]", 6, "3, 0, 5, 1, 4, 2", 1);
  model.insert(model.find("node"), weight);
  EXPECT_EQ(
      folded(model + layer),
      "graph g\ninput %x : f32[2,6]\nconst %w_permuted : f32[2,6] = [1.0, 3.0, 5.0, 0.0, 4.0, 2.0, 11.0, 13.0, 15.0, "
      "10.0, 14.0, 12.0]\nnode \"z\" \"\" \"\"\n  %z : f32[2,2] = aten.linear(input=%x, weight=%w_permuted, "
      "bias=none)\noutput %z\n");
  // Along another dimension, or read by something else too, it stays.
  EXPECT_EQ(folded(model + layer + "output %y\n"), model + layer + "output %y\n");
}

}  // namespace
}  // namespace cormorant::passes
