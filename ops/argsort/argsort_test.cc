// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/argsort/kernel.h"
#include "ops/host/evaluate_planned.h"
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

// Without a program: what load refuses, and what its loop will reach.
TEST(Argsort, PlansFromItsArgumentsAlone) {
  const ir::Shape shape = {2, 31, 3};
  TypedTensor from(DType::f32, shape), to(DType::i32, shape), shorter(DType::i32, {2, 31, 2});
  argsort::Argsort<TargetWorld> args;
  from.show(args.self);
  to.show(args.out);
  const PlanFunction<argsort::Argsort, argsort::Plan> plan_of = argsort::plan_argsort;
  for (std::int32_t dim = -3; dim < 3; ++dim) {
    args.dim = dim;
    argsort::Plan plan{};
    ASSERT_EQ(plan_of(args, plan), Error::ok) << dim;
    EXPECT_EQ(plan.shape.size, shape[static_cast<std::size_t>((dim + 3) % 3)]) << dim;
    EXPECT_EQ(plan.shape.outer * plan.shape.size * plan.shape.inner, args.out.bytes() / sizeof(std::int32_t)) << dim;
    EXPECT_EQ(plan.out, args.out.data);
  }
  argsort::Plan plan{};
  args.dim = 3;
  EXPECT_EQ(plan_of(args, plan), Error::bad_shape);
  args.dim = 0;
  shorter.show(args.out);
  EXPECT_EQ(plan_of(args, plan), Error::bad_shape);
  from.show(args.out);  // floats are no indices
  EXPECT_EQ(plan_of(args, plan), Error::unsupported);
  EXPECT_EQ(plan.out, nullptr);  // nothing is written of a plan that is refused
}

TEST(Argsort, OfIntegersEqualsThatOfTheNumbersTheyStandFor) { conformance::expect_near_evaluation(cases(), 0); }

TEST(Argsort, EveryCpuEqualsTheReference) { conformance::expect_same_bits_everywhere(cases(), 2); }

}  // namespace
}  // namespace cormorant::ops
