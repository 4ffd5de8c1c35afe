// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "ops/host/schema.h"
#include "ops/op.h"

namespace cormorant::ops {

Operator batch_norm_operator();

namespace {

ir::Value* per_channel(ir::Graph& graph, const char* name, const std::vector<float>& values) {
  return graph.add_constant(name, ir::float_type({static_cast<std::int64_t>(values.size())}),
                            ir::Bytes::of(std::span<const float>(values)));
}

// Imports the first form whose name starts so, in front of constants for two channels.
ir::Value* import_as(ir::Graph& graph, std::string_view name, bool training) {
  ir::Node call;
  call.name = "call";
  call.args = {{"input", graph.add_input("x", ir::float_type({1, 2, 2}))},
               {"weight", per_channel(graph, "weight", {2.0F, 0.5F})},
               {"bias", per_channel(graph, "bias", {1.0F, -1.0F})},
               {"running_mean", per_channel(graph, "mean", {3.0F, 0.0F})},
               {"running_var", per_channel(graph, "variance", {4.0F, 0.25F})},
               {"training", training},
               {"momentum", 0.1},
               {"eps", 0.0},
               {"cudnn_enabled", false}};
  for (const AtenForm& form : batch_norm_operator().forms) {
    if (!form.schema.starts_with(name)) continue;
    Importer importer{&graph, &call, std::vector<ir::TensorType>(3, ir::float_type({1, 2, 2}))};
    importer.types.resize(name == "batch_norm" ? 1 : 3);
    return form.import(importer).front();
  }
  return nullptr;
}

TEST(BatchNorm, NormalizesEachChannelByItsStatistics) {
  for (const char* name : {"batch_norm", "_native_batch_norm_legit_no_training", "native_batch_norm",
                           "_native_batch_norm_legit.default", "_batch_norm_no_update"}) {
    ir::Graph graph;
    graph.add_output(import_as(graph, name, false));
    const evaluate::Tensor input({1, 2, 2}, {3, 5, 1, 2});
    const auto result = evaluate::evaluate_graph(graph, {&input, 1});
    // 2 · (x − 3) / 2 + 1 and 0.5 · x / 0.5 − 1
    EXPECT_EQ(std::vector<float>(result[0].values().begin(), result[0].values().end()),
              std::vector<float>({1, 3, 0, 1}))
        << name;
  }
}

TEST(BatchNorm, TrainingModeIsRejected) {
  ir::Graph graph;
  EXPECT_THROW(import_as(graph, "_native_batch_norm_legit.default", true), InputError);
  EXPECT_THROW(import_as(graph, "_native_batch_norm_legit.no_stats", true), InputError);
  EXPECT_THROW(import_as(graph, "batch_norm", true), InputError);
  EXPECT_THROW(import_as(graph, "native_batch_norm", true), InputError);
}

TEST(BatchNorm, StatisticsOfAnotherChannelCountAreRejected) {
  ir::Graph graph;
  ir::Node* node = import_as(graph, "batch_norm", false)->producer;
  node->set("bias", per_channel(graph, "short", {1.0F}));
  EXPECT_THROW(batch_norm_operator().infer(*node), InputError);
}

}  // namespace
}  // namespace cormorant::ops
