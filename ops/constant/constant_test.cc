// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/diagnostic.h"
#include "ops/host/schema.h"
#include "ops/op.h"

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
  EXPECT_EQ(imported("aten.scalar_tensor.default", {{"s", std::int64_t{7}}}, ir::float_type({})),
            std::vector<float>{7});
  EXPECT_EQ(imported("aten.arange.start_step", {{"start", 1.0}, {"end", 3.0}, {"step", 0.5}}, ir::float_type({4})),
            (std::vector<float>{1, 1.5, 2, 2.5}));
}

TEST(Constant, HasTheTypeThatTheExportSays) {
  ir::Graph graph;
  ir::Node call;
  call.args = {{"end", std::int64_t{3}}};
  Importer importer{&graph, &call, {{DType::i64, {3}, {}, {}}}};
  for (const AtenForm& form : constant_operator().forms) {
    if (parse_schema(form.schema).target() != "aten.arange.default") continue;
    const ir::Value* value = form.import(importer).front();
    const auto data = value->data.as<std::int64_t>();
    EXPECT_EQ(value->type.dtype, DType::i64);
    EXPECT_EQ(std::vector<std::int64_t>(data.begin(), data.end()), (std::vector<std::int64_t>{0, 1, 2}));
  }
}

}  // namespace
}  // namespace cormorant::ops
