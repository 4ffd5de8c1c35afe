// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "base/diagnostic.h"
#include "emit/emit.h"
#include "ops/op.h"
#include "ops/softmax/arithmetic.h"
#include "ops/softmax/reference.h"
#include "runtime/host.h"
#include "tests/conformance/conformance.h"

namespace cormorant::ops {

Operator softmax_operator();

namespace {

using conformance::Case;

Case softmax_case(const ir::Shape& shape, double scale) {
  return {"over " + std::to_string(shape.back()), [=](ir::Graph& g) {
            ir::Value* x = conformance::int8_input(g, shape, scale, 13);
            return conformance::add_quantized(g, "aten.softmax",
                                              {{"self", x}, {"dim", static_cast<std::int64_t>(shape.size()) - 1}},
                                              shape, softmax::kOutputScale, softmax::kOutputZeroPoint);
          }};
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::int64_t size : {1, 2, 3, 4, 5, 10, 12, 15, 16, 17, 35}) all.push_back(softmax_case({1, size}, 0.1));
  for (const double scale : {1e-9, 1e-4, 0.01, 0.5, 3.0, 20.0, 100.0}) all.push_back(softmax_case({1, 21}, scale));
  all.push_back(softmax_case({3, 7}, 0.05));
  all.push_back(softmax_case({2, 3, 5}, 0.05));
  all.push_back(softmax_case({2, 2, 3, 5}, 0.05));
  all.push_back(softmax_case({9}, 0.05));
  all.push_back(softmax_case({1, 1000}, 0.1));
  return all;
}

TEST(Softmax, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(Softmax, IsWithinOneStepOfTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 1.0); }

TEST(SoftmaxArithmetic, TheExponentialIsRightTo21Bits) {
  for (std::int64_t value = -(std::int64_t{31} << 26); value <= 0; value += 104729) {
    const double exact = std::exp(std::ldexp(static_cast<double>(value), -26));
    const double got =
        std::ldexp(softmax::exp_of_negative<doubling_high_multiply>(static_cast<std::int32_t>(value)), -31);
    ASSERT_NEAR(got, exact, std::ldexp(1.0, -21)) << value;
  }
}

TEST(SoftmaxArithmetic, TheReciprocalIsRightTo26Bits) {
  for (std::int64_t x = 0; x < std::int64_t{1} << 31; x += 104729) {
    const double exact = 1 / (1 + std::ldexp(static_cast<double>(x), -31));
    const double got =
        std::ldexp(softmax::reciprocal_of_one_plus<doubling_high_multiply>(static_cast<std::int32_t>(x)), -31);
    ASSERT_NEAR(got, exact, std::ldexp(1.0, -26)) << x;
  }
}

// More than 512 values near the largest: each one's share is less than half a step.
TEST(Softmax, SharesBelowHalfAStepAreZero) {
  std::vector<std::int8_t> in(softmax::kMaxRow, 5);
  std::vector<std::int8_t> out(in.size());
  softmax::reference({in.data(), out.data(), 1, static_cast<std::uint32_t>(in.size()), 1 << 30, -256, 20});
  EXPECT_EQ(out, std::vector<std::int8_t>(in.size(), -128));
}

TEST(SoftmaxQuantize, OnlyTheLastDimensionAndOnlyShortRows) {
  ir::Graph graph;
  const auto is_rejected = [&](const ir::Shape& shape, std::int64_t dim) {
    ir::Value* x = graph.add_input("x", ir::float_type(shape));
    ir::Node* node = graph.add_node("softmax", "aten.softmax", {{"self", x}, {"dim", dim}}, {x->type});
    return std::holds_alternative<QuantRule::Reject>(softmax_operator().quantize(*node).output);
  };
  EXPECT_FALSE(is_rejected({2, 10}, 1));
  EXPECT_TRUE(is_rejected({2, 10}, 0));
  EXPECT_TRUE(is_rejected({1, 2, 3, 4}, 1));
  EXPECT_FALSE(is_rejected({1, 4095}, 1));
  EXPECT_TRUE(is_rejected({1, 4096}, 1));
}

TEST(SoftmaxLoad, RejectsWhatItCannotCompute) {
  struct {
    const char* what;
    ir::Shape shape, out;
    std::int64_t dim, zero_point, multiplier, shift, diff_min;
  } table[] = {{"another dimension", {2, 3}, {2, 3}, 0, -128, 1 << 30, 20, -100},
               {"a dimension that is not there", {2, 3}, {2, 3}, 2, -128, 1 << 30, 20, -100},
               {"another result", {2, 3}, {3, 2}, 1, -128, 1 << 30, 20, -100},
               {"another zero point", {2, 3}, {2, 3}, 1, 0, 1 << 30, 20, -100},
               {"a negative multiplier", {2, 3}, {2, 3}, 1, -128, -1, 20, -100},
               {"a negative shift", {2, 3}, {2, 3}, 1, -128, 1 << 30, -1, -100},
               {"a shift too far", {2, 3}, {2, 3}, 1, -128, 1 << 30, 32, -100},
               {"a positive difference", {2, 3}, {2, 3}, 1, -128, 1 << 30, 20, 1},
               {"a long row", {1, 4096}, {1, 4096}, 1, -128, 1 << 30, 20, -100}};
  for (const auto& t : table) {
    ir::Graph graph;
    const auto i8 = [](const ir::Shape& shape) { return ir::quantized_type(shape, ir::per_tensor_i8(1.0, 0)); };
    graph.add_output(graph
                         .add_node("softmax", "cortex_m.softmax",
                                   {{"input", graph.add_input("x", i8(t.shape))},
                                    {"dim", t.dim},
                                    {"input_zero_point", std::int64_t{0}},
                                    {"output_zero_point", t.zero_point},
                                    {"input_multiplier", t.multiplier},
                                    {"input_shift", t.shift},
                                    {"diff_min", t.diff_min}},
                                   {i8(t.out)})
                         ->result());
    EXPECT_THROW(HostProgram(emit::emit(graph, {}, {}).program, host_kernels()), InputError) << t.what;
  }
}

}  // namespace
}  // namespace cormorant::ops
