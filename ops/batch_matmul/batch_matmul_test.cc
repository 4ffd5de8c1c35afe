// SPDX-License-Identifier: Apache-2.0
#include "ops/batch_matmul/batch_matmul.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "ops/op.h"
#include "runtime/host.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

Operator batch_matmul_operator();
Operator linear_operator();

namespace {

using conformance::Case;

struct Shapes {
  ir::Shape self, mat2, out;
  bool transposed = false;
  double self_scale = 0.05, mat2_scale = 0.03, out_scale = 0.08;
  std::int32_t self_zero = 5, mat2_zero = -9, out_zero = 3;
  double scale = 1.0;
  bool constant = false;  // the right side
};

std::string text(const ir::Shape& shape) {
  std::string t;
  for (const std::int64_t n : shape) t += (t.empty() ? "" : "x") + std::to_string(n);
  return t;
}

Case case_of(const Shapes& s) {
  return {text(s.self) + " · " + text(s.mat2) + (s.transposed ? " transposed" : ""), [s](ir::Graph& g) {
            ir::Value* self = conformance::int8_input(g, s.self, s.self_scale, s.self_zero);
            ir::Value* mat2;
            if (s.constant) {
              std::mt19937 random(7);
              mat2 = conformance::int8_weights(g, s.mat2, 0, random);
              mat2->type.quant = ir::per_tensor_i8(s.mat2_scale, 0);
            } else {
              mat2 = conformance::int8_input(g, s.mat2, s.mat2_scale, s.mat2_zero);
            }
            return conformance::add_quantized(
                g, "aten.bmm", {{"self", self}, {"mat2", mat2}, {"transposed", s.transposed}, {"scale", s.scale}},
                s.out, s.out_scale, s.out_zero);
          }};
}

Case plain(std::int64_t batches, std::int64_t rows, std::int64_t inner, std::int64_t columns, bool transposed) {
  return case_of({.self = {batches, rows, inner},
                  .mat2 = transposed ? ir::Shape{batches, columns, inner} : ir::Shape{batches, inner, columns},
                  .out = {batches, rows, columns},
                  .transposed = transposed,
                  .out_scale = 0.02 * std::sqrt(static_cast<double>(inner))});
}

std::vector<Case> cases() {
  std::vector<Case> all;
  // Upstream's tests.
  all.push_back(plain(1, 2, 3, 4, false));
  all.push_back(plain(2, 4, 4, 4, false));
  all.push_back(plain(8, 3, 5, 2, false));
  all.push_back(plain(1, 8, 16, 8, false));
  all.push_back(plain(2, 16, 1, 16, false));
  all.push_back(plain(2, 1, 16, 1, false));
  all.push_back(case_of({.self = {1, 2, 3}, .mat2 = {1, 3, 4}, .out = {1, 2, 4}, .constant = true}));
  all.push_back(case_of({.self = {1, 4, 16, 8}, .mat2 = {1, 4, 8, 16}, .out = {1, 4, 16, 16}}));
  all.push_back(case_of({.self = {1, 4, 8}, .mat2 = {2, 8, 4}, .out = {2, 4, 4}}));
  // Every remainder of rows, inner dimension and columns.
  for (const std::int64_t rows : {1, 2, 4, 5, 7}) {
    for (const bool transposed : {false, true}) all.push_back(plain(2, rows, 17, 5, transposed));
  }
  for (const std::int64_t inner : {1, 3, 7, 15, 16, 33, 65, 129}) {
    for (const bool transposed : {false, true}) all.push_back(plain(1, 5, inner, 6, transposed));
  }
  for (const std::int64_t columns : {1, 3, 4, 7, 17}) {
    for (const bool transposed : {false, true}) all.push_back(plain(1, 3, 20, columns, transposed));
  }
  // Row sums that need several 16-bit pieces.
  all.push_back(plain(1, 4, 300, 3, true));
  all.push_back(plain(1, 4, 700, 2, false));
  // Attention: 65 tokens, 16 per head.
  all.push_back(case_of(
      {.self = {1, 2, 17, 16}, .mat2 = {1, 2, 17, 16}, .out = {1, 2, 17, 17}, .transposed = true, .scale = 0.25}));
  all.push_back(case_of({.self = {2, 17, 17},
                         .mat2 = {2, 17, 16},
                         .out = {2, 17, 16},
                         .self_scale = 1.0 / 256,
                         .out_scale = 0.02,
                         .self_zero = -128}));
  // Repeated operands.
  all.push_back(case_of({.self = {2, 3, 4, 8}, .mat2 = {8, 5}, .out = {2, 3, 4, 5}}));
  all.push_back(case_of({.self = {4, 8}, .mat2 = {3, 5, 8}, .out = {3, 4, 5}, .transposed = true}));
  all.push_back(case_of({.self = {2, 4, 8}, .mat2 = {1, 8, 5}, .out = {2, 4, 5}, .constant = true}));
  // Extremes of the parameters.
  for (const std::int32_t zero : {-128, 0, 127}) {
    for (const std::int32_t other : {-128, 0, 127}) {
      all.push_back(case_of({.self = {1, 4, 19},
                             .mat2 = {1, 19, 5},
                             .out = {1, 4, 5},
                             .out_scale = 0.4,
                             .self_zero = zero,
                             .mat2_zero = other,
                             .out_zero = zero}));
    }
  }
  all.push_back(case_of({.self = {1, 4, 19}, .mat2 = {1, 19, 5}, .out = {1, 4, 5}, .out_scale = 0.0007}));
  all.push_back(case_of({.self = {1, 4, 19}, .mat2 = {1, 19, 5}, .out = {1, 4, 5}, .out_scale = 5000}));
  all.push_back(case_of({.self = {1, 4, 19}, .mat2 = {1, 19, 5}, .out = {1, 4, 5}, .out_scale = 1e12}));
  return all;
}

TEST(BatchMatmul, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(BatchMatmul, IsWithinOneStepOfTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 1.0); }

// With 16-bit activations; a constant keeps int8.
Case words_case(const Shapes& s) {
  return {"words " + text(s.self) + " · " + text(s.mat2) + (s.transposed ? " transposed" : ""), [s](ir::Graph& g) {
            ir::Value* self = conformance::words_input(g, s.self, s.self_scale);
            std::mt19937 random(7);
            ir::Value* mat2 = s.constant ? conformance::int8_weights(g, s.mat2, 0, random)
                                         : conformance::words_input(g, s.mat2, s.mat2_scale);
            if (s.constant) mat2->type.quant = ir::per_tensor_i8(s.mat2_scale, 0);
            return conformance::add_words(
                g, "aten.bmm", {{"self", self}, {"mat2", mat2}, {"transposed", s.transposed}, {"scale", s.scale}},
                s.out, s.out_scale);
          }};
}

std::vector<Case> words_cases() {
  std::vector<Case> all;
  const auto add = [&](std::int64_t batches, std::int64_t rows, std::int64_t inner, std::int64_t columns) {
    for (const bool transposed : {false, true}) {
      all.push_back(
          words_case({.self = {batches, rows, inner},
                      .mat2 = transposed ? ir::Shape{batches, columns, inner} : ir::Shape{batches, inner, columns},
                      .out = {batches, rows, columns},
                      .transposed = transposed,
                      .self_scale = 0.0005,
                      .mat2_scale = 0.0003,
                      .out_scale = 0.004 * std::sqrt(static_cast<double>(inner))}));
    }
  };
  for (const std::int64_t rows : {1, 2, 3}) add(2, rows, 17, 5);
  for (const std::int64_t inner : {1, 2, 3, 7, 8, 9, 129}) add(1, 3, inner, 2);
  for (const std::int64_t columns : {1, 4, 7}) add(1, 2, 20, columns);
  all.push_back(words_case({.self = {4, 8},
                            .mat2 = {3, 5, 8},
                            .out = {3, 4, 5},
                            .transposed = true,
                            .self_scale = 0.0005,
                            .mat2_scale = 0.0003,
                            .out_scale = 0.01}));
  all.push_back(words_case({.self = {2, 4, 8},
                            .mat2 = {1, 8, 5},
                            .out = {2, 4, 5},
                            .self_scale = 0.0005,
                            .out_scale = 0.1,
                            .scale = 0.25,
                            .constant = true}));
  // A scale that saturates nearly everything, and one that leaves nothing.
  for (const double scale : {1e-6, 1e6}) {
    all.push_back(words_case({.self = {1, 2, 9}, .mat2 = {1, 9, 3}, .out = {1, 2, 3}, .out_scale = scale}));
  }
  return all;
}

TEST(BatchMatmulWords, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(words_cases()); }

// Half a step is rounding, another half the multiplier's 15 bits; floats add a little.
TEST(BatchMatmulWords, IsWithinAStepOfTheFloatSemantics) {
  conformance::expect_near_float_semantics(words_cases(), 1.01);
}

TEST(BatchMatmulWords, LoadRejectsWhatDoesNotFit) {
  struct Hostile {
    const char* what;
    ir::Shape lhs = {2, 3, 4}, rhs = {2, 5, 4}, out = {2, 3, 5};
    std::int64_t multiplier = 0x4000, shift = 20;
    DType dtype = DType::i16;
  };
  std::vector<Hostile> table(14);
  table[0] = {.what = "nothing"};
  table[1] = {.what = "other inner sizes", .rhs = {2, 5, 6}};
  table[2] = {.what = "a result of other rows", .out = {2, 4, 5}};
  table[3] = {.what = "a result of other columns", .out = {2, 3, 4}};
  table[4] = {.what = "a result of other products", .out = {1, 3, 5}};
  table[5] = {.what = "fewer right sides than products", .rhs = {1, 5, 4}};
  table[6] = {.what = "a matrix alone", .lhs = {3, 4}};
  table[7] = {.what = "no products", .lhs = {0, 3, 4}, .rhs = {0, 5, 4}, .out = {0, 3, 5}};
  table[8] = {.what = "more products than a sum can have", .lhs = {2, 3, 1 << 20}, .rhs = {2, 5, 1 << 20}};
  table[9] = {.what = "a factor of more than 15 bits", .multiplier = 0x8000};
  table[10] = {.what = "a negative factor", .multiplier = -1};
  table[11] = {.what = "no shift", .shift = 0};
  table[12] = {.what = "a shift out of 64 bits", .shift = 63};
  table[13] = {.what = "bytes", .dtype = DType::i8};
  for (const Hostile& t : table) {
    ir::Graph graph;
    const auto type = [](const ir::Shape& shape, DType dtype) {
      return ir::TensorType{.dtype = dtype, .shape = shape, .dim_order = {}, .quant = {}};
    };
    graph.add_output(graph
                         .add_node("product", "cormorant.batch_matmul.words",
                                   {{"lhs", graph.add_input("lhs", type(t.lhs, DType::i16))},
                                    {"rhs_transposed", graph.add_input("rhs", type(t.rhs, t.dtype))},
                                    {"multiplier", t.multiplier},
                                    {"shift", t.shift}},
                                   {type(t.out, DType::i16)})
                         ->result());
    EXPECT_EQ(conformance::loads(graph), std::string_view(t.what) == "nothing") << t.what;
  }
}

TEST(BatchMatmul, RandomShapes) {
  std::mt19937 random(11);
  const auto pick = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  std::vector<Case> all;
  for (int i = 0; i < 16; ++i) all.push_back(plain(pick(1, 3), pick(1, 12), pick(1, 70), pick(1, 20), i % 2 == 0));
  std::vector<conformance::Where> places = conformance::everywhere();
  std::erase_if(places, [](const conformance::Where& place) { return place.compiler != "gcc"; });
  conformance::expect_same_bits_everywhere(all, 2, places);
}

TEST(BatchMatmul, LowersAsUpstreamDoes) {
  using Count = std::vector<std::pair<std::string, int>>;
  const auto sorted = [](const Case& c) {
    Count counts = conformance::lowered_operators(c);
    std::ranges::sort(counts);
    return counts;
  };
  EXPECT_EQ(sorted(plain(1, 2, 3, 4, false)),
            (Count{{"cortex_m.quantized_batch_matmul", 1}, {"cortex_m.transpose", 1}}));
  EXPECT_EQ(sorted(plain(1, 2, 3, 4, true)), (Count{{"cortex_m.quantized_batch_matmul", 1}}));
  EXPECT_EQ(sorted(case_of({.self = {1, 2, 3}, .mat2 = {1, 3, 4}, .out = {1, 2, 4}, .constant = true})),
            (Count{{"cortex_m.quantized_batch_matmul", 1}}));
}

// ---- import ---------------------------------------------------------------------------------------------------------

using conformance::import_call;

ir::Value* constant(ir::Graph& graph, ir::Shape shape, std::vector<float> data) {
  return graph.add_constant("c", ir::float_type(std::move(shape)), ir::Bytes::of(std::span<const float>(data)));
}

// 1, 2, 3 … in every element.
evaluate::Tensor counting(const ir::Shape& shape) {
  std::int64_t n = 1;
  for (const std::int64_t size : shape) n *= size;
  std::vector<float> data(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i + 1);
  return {shape, std::move(data)};
}

std::vector<float> evaluated(ir::Graph& graph, ir::Value* result) {
  graph.add_output(result);
  std::vector<evaluate::Tensor> inputs;
  for (const ir::Value* input : graph.inputs()) inputs.push_back(counting(input->type.shape));
  const auto results = evaluate::evaluate_graph(graph, inputs);
  return {results[0].values().begin(), results[0].values().end()};
}

TEST(ProductImport, AProductWithAConstantMatrixIsALinearLayer) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::float_type({1, 3}));
  ir::Value* right = constant(graph, {3, 2}, {1, 2, 3, 4, 5, 6});
  ir::Value* bias = constant(graph, {2}, {7, 8});
  struct {
    const char* target;
    std::vector<ir::NamedArgument> args;
    ir::Value* bias;
  } table[] = {{"aten.mm.default", {{"self", x}, {"mat2", right}}, nullptr},
               {"aten.matmul.default", {{"self", x}, {"other", right}}, nullptr},
               {"aten.linalg_matmul.default", {{"self", x}, {"other", right}}, nullptr},
               {"aten.addmm.default", {{"self", bias}, {"mat1", x}, {"mat2", right}}, bias},
               {"aten.addmm.default", {{"self", bias}, {"mat1", x}, {"mat2", right}, {"beta", 0.0}}, nullptr}};
  for (const auto& t : table) {
    const ir::Node* node = import_call(graph, t.target, t.args, {1, 2}).front()->producer;
    EXPECT_EQ(node->op, "aten.linear") << t.target;
    EXPECT_EQ(node->tensor("input"), x);
    EXPECT_EQ(node->tensor("bias"), t.bias);
    const ir::Value* weight = node->tensor("weight");
    EXPECT_EQ(weight->type.shape, ir::Shape({2, 3}));
    const auto data = weight->data.as<float>();
    EXPECT_EQ(std::vector<float>(data.begin(), data.end()), std::vector<float>({1, 3, 5, 2, 4, 6}));
  }
}

TEST(ProductImport, ATransposedWeightIsUsedAsItWasBefore) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::float_type({1, 3}));
  ir::Value* weight = constant(graph, {2, 3}, {1, 2, 3, 4, 5, 6});
  ir::Value* turned = graph
                          .add_node("t", "aten.permute", {{"self", weight}, {"dims", std::vector<std::int64_t>{1, 0}}},
                                    {ir::float_type({3, 2})})
                          ->result();
  const auto result = import_call(graph, "aten.mm.default", {{"self", x}, {"mat2", turned}}, {1, 2});
  EXPECT_EQ(result.front()->producer->tensor("weight"), weight);
}

TEST(ProductImport, EverySpellingComputesItsProduct) {
  struct {
    const char* target;
    ir::Shape a, b, out;
    const char* names[2];
    std::vector<float> expected;
  } table[] = {
      {"aten.bmm.default", {1, 2, 2}, {1, 2, 2}, {1, 2, 2}, {"self", "mat2"}, {7, 10, 15, 22}},
      {"aten.mm.default", {2, 2}, {2, 1}, {2, 1}, {"self", "mat2"}, {5, 11}},
      {"aten.mv.default", {2, 2}, {2}, {2}, {"self", "vec"}, {5, 11}},
      {"aten.dot.default", {3}, {3}, {}, {"self", "tensor"}, {14}},
      {"aten.matmul.default", {3}, {3}, {}, {"self", "other"}, {14}},
      {"aten.matmul.default", {2}, {2, 2}, {2}, {"self", "other"}, {7, 10}},
      {"aten.matmul.default", {2, 2, 2}, {2}, {2, 2}, {"self", "other"}, {5, 11, 17, 23}},
      {"aten.matmul.default", {2, 1, 2}, {2, 2}, {2, 1, 2}, {"self", "other"}, {7, 10, 15, 22}},
      {"aten.matmul.default", {2, 2}, {2, 2, 1}, {2, 2, 1}, {"self", "other"}, {5, 11, 11, 25}},
      {"aten.matmul.default", {1, 2, 1, 2}, {1, 2, 2, 1}, {1, 2, 1, 1}, {"self", "other"}, {5, 25}},
      {"aten.matmul.default", {2, 1, 1, 1}, {1, 2, 1, 1}, {2, 2, 1, 1}, {"self", "other"}, {1, 2, 2, 4}},
      {"aten.linear.default", {2, 2}, {1, 2}, {2, 1}, {"input", "weight"}, {5, 11}},
      {"aten.linear.default", {2}, {2, 2}, {2}, {"input", "weight"}, {5, 11}},
  };
  for (const auto& t : table) {
    ir::Graph graph;
    ir::Value* a = graph.add_input("a", ir::float_type(t.a));
    ir::Value* b = graph.add_input("b", ir::float_type(t.b));
    const auto result = import_call(graph, t.target, {{t.names[0], a}, {t.names[1], b}}, t.out);
    EXPECT_EQ(result.front()->type.shape, t.out) << t.target;
    EXPECT_EQ(evaluated(graph, result.front()), t.expected) << t.target;
  }
}

TEST(ProductImport, SumsAreAddedWithTheirFactors) {
  for (const char* target : {"aten.baddbmm.default", "aten.baddbmm_.default"}) {
    ir::Graph graph;
    ir::Value* self = graph.add_input("self", ir::float_type({1, 1, 2}));
    ir::Value* a = graph.add_input("a", ir::float_type({1, 1, 2}));
    ir::Value* b = graph.add_input("b", ir::float_type({1, 2, 2}));
    const auto result = import_call(
        graph, target, {{"self", self}, {"batch1", a}, {"batch2", b}, {"alpha", 2.0}, {"beta", 3.0}}, {1, 1, 2});
    EXPECT_EQ(evaluated(graph, result.front()), std::vector<float>({17, 26})) << target;  // 2 · (7, 10) + 3 · (1, 2)
  }
}

TEST(ProductImport, ATranspositionBeforeTheRightSideBecomesPartOfTheProduct) {
  ir::Graph graph;
  ir::Value* a = graph.add_input("a", ir::float_type({1, 2, 3}));
  ir::Value* b = graph.add_input("b", ir::float_type({1, 4, 3}));
  ir::Value* turned = graph
                          .add_node("t", "aten.permute", {{"self", b}, {"dims", std::vector<std::int64_t>{0, 2, 1}}},
                                    {ir::float_type({1, 3, 4})})
                          ->result();
  const auto result = import_call(graph, "aten.bmm.default", {{"self", a}, {"mat2", turned}}, {1, 2, 4});
  EXPECT_EQ(result.front()->producer->tensor("mat2"), b);
  EXPECT_TRUE(result.front()->producer->boolean("transposed"));
}

TEST(ProductImport, EinsumOfTwoOperands) {
  struct {
    const char* equation;
    ir::Shape a, b, out;
    std::vector<float> expected;
  } table[] = {{"bqd,bkd->bqk", {1, 2, 2}, {1, 2, 2}, {1, 2, 2}, {5, 11, 11, 25}},
               {"bij, bjk -> bik", {1, 2, 2}, {1, 2, 2}, {1, 2, 2}, {7, 10, 15, 22}},
               {"ij,jk->ki", {2, 2}, {2, 2}, {2, 2}, {7, 15, 10, 22}},
               {"nij,nj->ni", {1, 2, 2}, {1, 2}, {1, 2}, {5, 11}}};
  for (const auto& t : table) {
    ir::Graph graph;
    ir::Value* a = graph.add_input("a", ir::float_type(t.a));
    ir::Value* b = graph.add_input("b", ir::float_type(t.b));
    const auto result =
        import_call(graph, "aten.einsum.default",
                    {{"equation", std::string(t.equation)}, {"tensors", std::vector<ir::Value*>{a, b}}}, t.out);
    EXPECT_EQ(result.front()->type.shape, t.out) << t.equation;
    EXPECT_EQ(evaluated(graph, result.front()), t.expected) << t.equation;
  }
}

// Attention by its definition, in double.
std::vector<float> attention(const evaluate::Tensor& q, const evaluate::Tensor& k, const evaluate::Tensor& v,
                             double scale, bool causal) {
  const auto rows = static_cast<std::size_t>(q.shape[1]);
  const auto columns = static_cast<std::size_t>(k.shape[1]);
  const auto width = static_cast<std::size_t>(q.shape[2]);
  std::vector<float> out;
  for (std::size_t r = 0; r < rows; ++r) {
    std::vector<double> share(columns);
    double sum = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      double score = 0;
      for (std::size_t i = 0; i < width; ++i) score += double{q.values()[r * width + i]} * k.values()[c * width + i];
      share[c] = causal && c > r ? 0 : std::exp(score * scale);
      sum += share[c];
    }
    for (std::size_t i = 0; i < width; ++i) {
      double value = 0;
      for (std::size_t c = 0; c < columns; ++c) value += share[c] / sum * v.values()[c * width + i];
      out.push_back(static_cast<float>(value));
    }
  }
  return out;
}

TEST(ProductImport, AttentionIsTwoProductsAndASoftmax) {
  const ir::Shape shape = {1, 3, 2};
  for (const char* target :
       {"aten.scaled_dot_product_attention.default", "aten._scaled_dot_product_flash_attention_for_cpu.default",
        "aten._scaled_dot_product_attention_math.default"}) {
    for (const bool causal : {false, true}) {
      ir::Graph graph;
      ir::Value* q = graph.add_input("q", ir::float_type(shape));
      ir::Value* k = graph.add_input("k", ir::float_type(shape));
      ir::Value* v = graph.add_input("v", ir::float_type(shape));
      std::vector<ir::NamedArgument> args = {{"query", q}, {"key", k}, {"value", v}, {"is_causal", causal}};
      if (causal) args.push_back({"scale", 0.01});
      const auto result = import_call(graph, target, args, shape);
      const std::vector<float> got = evaluated(graph, result.front());
      const evaluate::Tensor x = counting(shape);
      const std::vector<float> expected = attention(x, x, x, causal ? 0.01 : 1 / std::sqrt(2.0), causal);
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-4) << target << causal;
    }
  }
}

TEST(ProductImport, MasksBecomeNumbersToAdd) {
  ir::Graph graph;
  ir::Value* x = graph.add_input("x", ir::float_type({1, 2, 2}));
  ir::Value* infinite = constant(graph, {2, 2}, {0, -INFINITY, -3, -1e30F});
  const std::vector<std::uint8_t> keep = {1, 0, 1, 1};
  ir::Value* truth =
      graph.add_constant("keep", {.dtype = DType::boolean, .shape = {2, 2}, .dim_order = {}, .quant = {}},
                         ir::Bytes::of(std::span<const std::uint8_t>(keep)));
  const auto mask_of = [&](ir::Value* mask) {
    const auto result = import_call(graph, "aten.scaled_dot_product_attention.default",
                                    {{"query", x}, {"key", x}, {"value", x}, {"attn_mask", mask}}, {1, 2, 2});
    const ir::Node* softmax = result.front()->producer->tensor("self")->producer;
    const auto data = softmax->tensor("self")->producer->tensor("other")->data.as<float>();
    return std::vector<float>(data.begin(), data.end());
  };
  constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(mask_of(infinite), std::vector<float>({0, kMinusInfinity, -3, -1e30F}));
  EXPECT_EQ(mask_of(truth), std::vector<float>({0, kMinusInfinity, 0, 0}));
  EXPECT_THROW(import_call(graph, "aten.scaled_dot_product_attention.default",
                           {{"query", x}, {"key", x}, {"value", x}, {"dropout_p", 0.1}}, {1, 2, 2}),
               InputError);
}

// As in PyTorch: a softmax of nothing but minus infinity is no number.
TEST(ProductImport, ARowThatIsMaskedWholeGivesZeros) {
  const std::vector<float> unseen = {-INFINITY, -INFINITY, 0, -1};
  const std::vector<std::uint8_t> keep = {0, 0, 1, 1};
  for (const bool is_truth : {true, false}) {
    for (const bool is_constant : {true, false}) {
      SCOPED_TRACE(std::string(is_truth ? "truth" : "numbers") + (is_constant ? ", constant" : ", computed"));
      ir::Graph graph;
      ir::Value* x = graph.add_input("x", ir::float_type({1, 2, 2}));
      const ir::TensorType type{
          .dtype = is_truth ? DType::boolean : DType::f32, .shape = {2, 2}, .dim_order = {}, .quant = {}};
      ir::Value* mask = nullptr;
      if (!is_constant) {
        mask = graph.add_input("mask", type);
      } else {
        mask = graph.add_constant("mask", type,
                                  is_truth ? ir::Bytes::of(std::span<const std::uint8_t>(keep))
                                           : ir::Bytes::of(std::span<const float>(unseen)));
      }
      graph.add_output(import_call(graph, "aten.scaled_dot_product_attention.default",
                                   {{"query", x}, {"key", x}, {"value", x}, {"attn_mask", mask}}, {1, 2, 2})
                           .front());
      std::vector<evaluate::Tensor> inputs = {evaluate::Tensor({1, 2, 2}, {1, 2, 3, 4})};
      if (!is_constant) {
        inputs.emplace_back(ir::Shape{2, 2}, is_truth ? std::vector<float>{0, 0, 1, 1} : unseen);
      }
      const evaluate::Tensor got = evaluate::evaluate_graph(graph, inputs)[0];
      EXPECT_EQ(got.values()[0], 0);
      EXPECT_EQ(got.values()[1], 0);
      EXPECT_GT(got.values()[2], 1);  // between the values, 1 and 3
      EXPECT_LT(got.values()[2], 3);
    }
  }
}

TEST(ProductImport, HeadsOfTheQueryShareKeysAndValues) {
  ir::Graph graph;
  ir::Value* query = graph.add_input("q", ir::float_type({1, 4, 2, 2}));
  ir::Value* key = graph.add_input("k", ir::float_type({1, 2, 3, 2}));
  const auto result = import_call(graph, "aten.scaled_dot_product_attention.default",
                                  {{"query", query}, {"key", key}, {"value", key}, {"enable_gqa", true}}, {1, 4, 2, 2});
  const ir::Node* repeated = result.front()->producer->tensor("mat2")->producer;
  EXPECT_EQ(repeated->op, "aten.repeat_interleave");
  EXPECT_EQ(repeated->integers("repeats"), (std::vector<std::int64_t>{1, 2, 1, 1}));
}

TEST(BatchMatmulQuantize, MixedRepetitionIsRejectedWithAReason) {
  ir::Graph graph;
  const auto is_rejected = [&](const ir::Shape& a, const ir::Shape& b, const ir::Shape& out) {
    ir::Node* node = graph.add_node("bmm", "aten.bmm",
                                    {{"self", graph.add_input("a", ir::float_type(a))},
                                     {"mat2", graph.add_input("b", ir::float_type(b))},
                                     {"transposed", false},
                                     {"scale", 1.0}},
                                    {ir::float_type(out)});
    return std::holds_alternative<QuantRule::Reject>(batch_matmul_operator().quantize(*node).output);
  };
  EXPECT_TRUE(is_rejected({2, 1, 3, 4}, {1, 2, 4, 5}, {2, 2, 3, 5}));
  EXPECT_TRUE(is_rejected({2, 3, 3, 4}, {1, 3, 4, 5}, {2, 3, 3, 5}));
  EXPECT_FALSE(is_rejected({2, 3, 3, 4}, {1, 1, 4, 5}, {2, 3, 3, 5}));
  EXPECT_FALSE(is_rejected({3, 4}, {2, 3, 4, 5}, {2, 3, 3, 5}));
  EXPECT_TRUE(is_rejected({1, 3, 16385}, {1, 16385, 5}, {1, 3, 5}));
  EXPECT_FALSE(is_rejected({1, 3, 16384}, {1, 16384, 5}, {1, 3, 5}));
}

// ---- programs of other compilers, damaged programs ------------------------------------------------------------------

struct Call {
  ir::Shape lhs = {2, 4, 3}, rhs = {2, 5, 3}, out = {2, 4, 5};
  std::int64_t lhs_offset = 1, rhs_offset = 2, output_offset = 3, multiplier = 1 << 30, shift = -2, scratch = -1;
};

void load(const Call& c, bool packed) {
  ir::Graph graph;
  const auto i8 = [](const ir::Shape& shape) { return ir::quantized_type(shape, ir::per_tensor_i8(1.0, 0)); };
  ir::Value* lhs = graph.add_input("l", i8(c.lhs));
  ir::Value* rhs = graph.add_input("r", i8(c.rhs));
  const std::uint32_t needed = batch_matmul::scratch_bytes(batch_matmul::kScalar, {4, 3, 5});
  ir::Value* scratch = graph.add_scratch("scratch", c.scratch >= 0 ? c.scratch : packed ? needed : 0);
  if (packed) {
    graph.add_output(graph
                         .add_node("bmm", "cormorant.batch_matmul.scalar",
                                   {{"lhs", lhs},
                                    {"lhs_offset", c.lhs_offset},
                                    {"rhs", rhs},
                                    {"rhs_offset", c.rhs_offset},
                                    {"rhs_is_transposed", true},
                                    {"output_offset", c.output_offset},
                                    {"multiplier", c.multiplier},
                                    {"shift", c.shift},
                                    {"scratch", scratch}},
                                   {i8(c.out)})
                         ->result());
  } else {
    graph.add_output(graph
                         .add_node("bmm", "cortex_m.quantized_batch_matmul",
                                   {{"lhs", lhs},
                                    {"lhs_zero_point", c.lhs_offset},
                                    {"rhs_transposed", rhs},
                                    {"rhs_zero_point", c.rhs_offset},
                                    {"output_zero_point", c.output_offset},
                                    {"output_multiplier", c.multiplier},
                                    {"output_shift", c.shift},
                                    {"scratch", scratch}},
                                   {i8(c.out)})
                         ->result());
  }
  HostProgram program(conformance::program_of(graph), host_kernels());
}

TEST(BatchMatmulLoad, RejectsWhatDoesNotFit) {
  for (const bool packed : {false, true}) {
    EXPECT_NO_THROW(load({}, packed));
    EXPECT_THROW(load({.lhs = {2, 4, 4}}, packed), InputError);
    EXPECT_THROW(load({.lhs = {3, 4, 3}}, packed), InputError);
    EXPECT_THROW(load({.rhs = {1, 5, 3}}, packed), InputError);
    EXPECT_THROW(load({.rhs = {10, 3}}, packed), InputError);
    EXPECT_THROW(load({.out = {2, 5, 4}}, packed), InputError);
    EXPECT_THROW(load({.out = {2, 4, 6}}, packed), InputError);
    EXPECT_THROW(load({.lhs_offset = 129}, packed), InputError);
    EXPECT_THROW(load({.rhs_offset = -128}, packed), InputError);
    EXPECT_THROW(load({.output_offset = 128}, packed), InputError);
    EXPECT_THROW(load({.multiplier = -1}, packed), InputError);
    EXPECT_THROW(load({.shift = -32}, packed), InputError);
    EXPECT_THROW(load({.shift = 32}, packed), InputError);
  }
  EXPECT_THROW(load({.scratch = 8}, true), InputError);
}

}  // namespace
}  // namespace cormorant::ops
