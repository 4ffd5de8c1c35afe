// SPDX-License-Identifier: Apache-2.0
//
// The pipeline is a list that its caller may change. What then goes wrong is told by the stage that notices, and no
// node that is not an operator of programs gets into one.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/program_io.h"
#include "compiler/compile.h"
#include "compiler/import.h"
#include "tests/command.h"

namespace cormorant::tests {
namespace {

// The names and the sizes of the zoo's smallest network are enough here; ranges do not matter.
struct Pipeline {
  ir::Graph graph = compiler::import_model(zoo("kws.pt2"));
  compiler::Options options = [] {
    compiler::Options o;
    o.quantize = true;
    return o;
  }();
  std::vector<compiler::Stage> stages = compiler::default_stages(options);

  void leave_out(const std::string& name) {
    const auto count = std::erase_if(stages, [&](const compiler::Stage& stage) { return stage.name == name; });
    ASSERT_EQ(count, 1U) << "no stage " << name;
  }
  void add_behind(const std::string& name, compiler::Stage stage) {
    const auto found = std::ranges::find(stages, name, &compiler::Stage::name);
    ASSERT_NE(found, stages.end());
    stages.insert(found + 1, std::move(stage));
  }
  compiler::Compiled run() { return compiler::compile(graph, options, stages); }

  // What it threw; empty if nothing.
  std::string complaint() {
    try {
      run();
    } catch (const std::exception& error) {
      return error.what();
    }
    return {};
  }
};

std::vector<Arrays> outputs_of(const std::vector<std::byte>& program) {
  const npy::DataSet data = npy::read_data_set(zoo("kws_expected.npz"));
  const ProgramFile file = program_from(program, "kws.pte");
  std::vector<Arrays> samples = sample_arrays(file, data);
  samples.resize(1);
  return execute(file, samples, {}).outputs;
}

TEST(Pipeline, EveryStageSaysWhy) {
  const Pipeline pipeline;
  for (const compiler::Stage& stage : pipeline.stages) {
    EXPECT_FALSE(stage.name.empty());
    EXPECT_FALSE(stage.why.empty()) << stage.name;
  }
}

TEST(Pipeline, WithoutPrepackGivesExecuTorchsOperatorsAndTheSameBits) {
  Pipeline with;
  Pipeline without;
  without.leave_out("prepack");
  // ExecuTorch's linear has one scale for all channels; the stage that quantizes asks the options for that.
  for (Pipeline* pipeline : {&with, &without}) pipeline->options.config.runtime = ops::Runtime::executorch;
  const compiler::Compiled packed = with.run();
  const compiler::Compiled plain = without.run();
  const auto ours = [](const auto& entry) { return entry.first.starts_with("cormorant::"); };
  EXPECT_TRUE(std::ranges::any_of(packed.facts.operators, ours));
  EXPECT_TRUE(std::ranges::none_of(plain.facts.operators, ours));
  EXPECT_EQ(outputs_of(packed.program), outputs_of(plain.program));
}

TEST(Pipeline, RunsAStageThatTheCallerAdds) {
  Pipeline pipeline;
  int quantized = 0;
  pipeline.add_behind("quantize",
                      {"count", "a caller's own look at the graph", [&](ir::Graph& graph, compiler::Context&) {
                         for (const ir::Node& node : graph.nodes())
                           quantized += node.result()->type.is_quantized() ? 1 : 0;
                       }});
  const compiler::Compiled compiled = pipeline.run();
  EXPECT_GE(quantized, 12);  // nine convolutions, pool, linear, softmax
  EXPECT_TRUE(std::ranges::any_of(compiled.facts.seconds, [](const auto& entry) { return entry.first == "count"; }));
}

TEST(Pipeline, NamesTheStageThatBreaksTheGraph) {
  Pipeline pipeline;
  pipeline.add_behind("quantize",
                      {"vandal", "breaks what a stage must not break",
                       [](ir::Graph& graph, compiler::Context&) { graph.outputs()[0]->type.shape = {-1}; }});
  EXPECT_TRUE(has(pipeline.complaint(), "vandal"));
}

TEST(Pipeline, NamesAQuantizedDecomposedNodeThatWasNotLowered) {
  Pipeline checked;
  checked.leave_out("lower");
  EXPECT_TRUE(has(checked.complaint(), "quantized_decomposed.quantize_per_tensor"));
  Pipeline unchecked;
  unchecked.leave_out("lower");
  unchecked.leave_out("check");
  unchecked.leave_out("prepack");
  EXPECT_TRUE(has(unchecked.complaint(), "quantized_decomposed.quantize_per_tensor"));
}

}  // namespace
}  // namespace cormorant::tests
