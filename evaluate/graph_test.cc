// SPDX-License-Identifier: Apache-2.0
#include "evaluate/graph.h"

#include <gtest/gtest.h>

#include "base/diagnostic.h"
#include "ir/text.h"

namespace cormorant::evaluate {
namespace {

std::vector<float> list(const Tensor& tensor) { return {tensor.values().begin(), tensor.values().end()}; }

TEST(EvaluateGraph, ComputesEveryOutputFromInputsAndConstants) {
  const ir::Graph graph = ir::parse(R"(graph g
input %x : f32[2]
input %y : f32[2]
const %c : f32[2] = [10.0, 20.0]
node "n1" "" ""
  %a : f32[2] = toy.sum(a=%x, b=%c)
node "n2" "" ""
  %b : f32[2] = toy.double(input=%a)
node "n3" "" ""
  %d : f32[2] = toy.sum(a=%b, b=%y)
output %d
output %a
output %x
)",
                                    "test");
  const std::vector<Tensor> inputs = {Tensor({2}, {1, 2}), Tensor({2}, {0.5F, 0.25F})};
  const std::vector<Tensor> outputs = evaluate_graph(graph, inputs);
  ASSERT_EQ(outputs.size(), 3U);
  EXPECT_EQ(list(outputs[0]), (std::vector<float>{22.5F, 44.25F}));
  EXPECT_EQ(list(outputs[1]), (std::vector<float>{11, 22}));
  EXPECT_EQ(list(outputs[2]), (std::vector<float>{1, 2}));
}

TEST(EvaluateGraph, ShowsInputsAndResultsInOrder) {
  const ir::Graph graph = ir::parse(R"(graph g
input %x : f32[1]
node "n1" "" ""
  %a : f32[1] = toy.double(input=%x)
node "n2" "" ""
  %b : f32[1] = toy.double(input=%a)
output %b
)",
                                    "test");
  std::vector<std::pair<std::string, float>> seen;
  const std::vector<Tensor> inputs = {Tensor({1}, {3})};
  (void)evaluate_graph(graph, inputs, [&](const ir::Value& value, const Tensor& tensor) {
    seen.emplace_back(value.name, tensor.values()[0]);
  });
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, float>>{{"x", 3}, {"a", 6}, {"b", 12}}));
}

TEST(EvaluateGraph, LetsGoOfATensorAfterItsLastUse) {
  const ir::Graph graph = ir::parse(R"(graph g
input %x : f32[1]
node "n1" "" ""
  %a : f32[1] = toy.double(input=%x)
node "unread" "" ""
  %u : f32[1] = toy.double(input=%a)
node "n2" "" ""
  %b : f32[1] = toy.double(input=%a)
node "n3" "" ""
  %c : f32[1] = toy.double(input=%b)
output %c
)",
                                    "test");
  std::map<std::string, std::weak_ptr<const std::vector<float>>> alive;
  std::map<std::string, std::string> alive_at;
  (void)evaluate_graph(graph, std::vector<Tensor>{Tensor({1}, {3})}, [&](const ir::Value& value, const Tensor& tensor) {
    alive[value.name] = tensor.data;
    for (const auto& [name, data] : alive) {
      if (!data.expired()) alive_at[value.name] += name;
    }
  });
  EXPECT_EQ(alive_at["u"], "aux");  // x belongs to the caller
  EXPECT_EQ(alive_at["b"], "abx");
  EXPECT_EQ(alive_at["c"], "bcx");
}

TEST(EvaluateGraph, QuantizedTensorsAreTheRealNumbersTheyStandFor) {
  const ir::Graph graph = ir::parse(R"(graph g
input %x : f32[5]
const %c : i8[5] quant([0.5], [0]) = [1, 1, 1, 1, -1]
node "q" "" ""
  %q : i8[5] quant([0.5], [-126]) = quantized_decomposed.quantize_per_tensor(input=%x, scale=0.5, zero_point=-126, quant_min=-128, quant_max=127, dtype=dtype.i8)
node "s" "" ""
  %s : i8[5] quant([2.0], [0]) = toy.sum(a=%q, b=%c)
output %q
output %s
)",
                                    "test");
  const std::vector<Tensor> outputs =
      evaluate_graph(graph, std::vector<Tensor>{Tensor({5}, {-7, 0.25F, 0.24F, 1.6F, 500})});
  EXPECT_EQ(list(outputs[0]), (std::vector<float>{-1, 0.5F, 0, 1.5F, 126.5F}));
  EXPECT_EQ(list(outputs[1]), (std::vector<float>{0, 2, 0, 2, 126}));
}

TEST(EvaluateGraph, AnOperatorWithoutFloatSemanticsIsNamed) {
  for (const char* op : {"toy.opaque", "toy.nowhere"}) {
    const ir::Graph graph =
        ir::parse(std::string("graph g\ninput %x : f32[1]\nnode \"odd\" \"blocks.2\" \"net.py:14\"\n  %a : f32[1] = ") +
                      op + "(input=%x)\noutput %a\n",
                  "test");
    try {
      const Evaluator evaluator(graph);
      ADD_FAILURE() << op;
    } catch (const InputError& error) {
      const std::string text = error.what();
      for (const char* part : {op, "'odd'", "blocks.2", "net.py:14"})
        EXPECT_NE(text.find(part), std::string::npos) << text;
      EXPECT_FALSE(error.diagnostic().advice.empty());
    }
  }
}

}  // namespace
}  // namespace cormorant::evaluate
