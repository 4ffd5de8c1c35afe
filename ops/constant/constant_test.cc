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
  EXPECT_EQ(imported("aten.logspace.default", {{"start", 0.0}, {"end", 2.0}, {"base", 2.0}}, ir::float_type({3})),
            (std::vector<float>{1, 2, 4}));
  EXPECT_EQ(imported("aten.empty_like.default", {}, ir::float_type({2})), (std::vector<float>{0, 0}));
}

TEST(Constant, IndicesOfTrianglesAreRowsThenColumns) {
  const auto indices = [](const char* target, std::int64_t rows, std::int64_t columns, std::int64_t offset,
                          std::int64_t count) {
    return imported(target, {{"row", rows}, {"col", columns}, {"offset", offset}}, ir::float_type({2, count}));
  };
  EXPECT_EQ(indices("aten.tril_indices.default", 3, 2, 0, 5), (std::vector<float>{0, 1, 1, 2, 2, 0, 0, 1, 0, 1}));
  EXPECT_EQ(indices("aten.triu_indices.default", 2, 3, 1, 3), (std::vector<float>{0, 0, 1, 1, 2, 2}));
}

// PyTorch 2.15's windows.
TEST(Constant, WindowsArePeriodicUnlessTheCallSaysOtherwise) {
  const struct {
    const char* target;
    std::vector<ir::NamedArgument> args;
    std::vector<float> expected;
  } rows[] = {
      {"aten.hann_window.default", {}, {0, 0.5, 1, 0.5}},
      {"aten.hann_window.periodic", {{"periodic", false}}, {0, 1, 0}},
      {"aten.hamming_window.default", {}, {0.08F, 1}},
      {"aten.hamming_window.periodic_alpha_beta", {{"periodic", true}, {"alpha", 0.5}, {"beta", 0.25}}, {0.25, 0.75}},
      {"aten.blackman_window.default", {}, {0, 1}},
      {"aten.bartlett_window.default", {}, {0, 0.5, 1, 0.5}},
      {"aten.kaiser_window.beta", {{"periodic", false}, {"beta", 0.0}}, {1, 1, 1}},
      {"aten.kaiser_window.default", {}, {5.2773e-05F, 1}},
      {"aten.kaiser_window.default", {}, {1}},
  };
  for (const auto& row : rows) {
    const auto size = static_cast<std::int64_t>(row.expected.size());
    const std::vector<float> got = imported(row.target, row.args, ir::float_type({size}));
    ASSERT_EQ(got.size(), row.expected.size()) << row.target;
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], row.expected[i], 1e-7) << row.target << i;
  }
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
