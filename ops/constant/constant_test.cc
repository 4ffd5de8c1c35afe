// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/diagnostic.h"
#include "ops/op.h"
#include "ops/schema.h"

namespace cormorant::ops {

Operator constant_operator();

namespace {

std::vector<float> imported(const std::string& target, std::vector<ir::NamedArgument> args,
                            const ir::TensorType& type) {
  ir::Graph graph;
  ir::Node call;
  call.name = "made";
  call.args = std::move(args);
  Importer importer{&graph, &call, {type}};
  for (const AtenForm& form : constant_operator().forms) {
    if (parse_schema(form.schema).target() != target) continue;
    const ir::Value* value = form.import(importer).front();
    EXPECT_EQ(value->kind, ir::ValueKind::constant);
    const auto data = value->data.as<float>();
    return {data.begin(), data.end()};
  }
  ADD_FAILURE() << "no form " << target;
  return {};
}

TEST(Constant, HasTheValuesThatPyTorchGivesIt) {
  EXPECT_EQ(imported("aten.zeros.default", {}, ir::float_type({2})), (std::vector<float>{0, 0}));
  EXPECT_EQ(imported("aten.ones_like.default", {}, ir::float_type({1, 2})), (std::vector<float>{1, 1}));
  EXPECT_EQ(imported("aten.full.default", {{"fill_value", -2.5}}, ir::float_type({3})),
            (std::vector<float>{-2.5, -2.5, -2.5}));
  EXPECT_EQ(imported("aten.scalar_tensor.default", {{"s", std::int64_t{7}}}, ir::float_type({})),
            std::vector<float>{7});
  EXPECT_EQ(imported("aten.arange.start_step", {{"start", 1.0}, {"end", 3.0}, {"step", 0.5}}, ir::float_type({4})),
            (std::vector<float>{1, 1.5, 2, 2.5}));
}

TEST(Constant, OfIntegersIsRefused) {
  ir::TensorType type = ir::float_type({2});
  type.dtype = DType::i64;
  EXPECT_THROW(imported("aten.zeros.default", {}, type), InputError);
}

}  // namespace
}  // namespace cormorant::ops
