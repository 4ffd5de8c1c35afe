// SPDX-License-Identifier: Apache-2.0
//
// The pipeline is lists that its caller may change. What then goes wrong is reported by the stage that notices, and no
// node that is not an operator of programs gets into one.
#include <gtest/gtest.h>

#include <algorithm>

#include "compiler/compile.h"
#include "compiler/import.h"
#include "program/program_io.h"
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
  compiler::Stages stages = compiler::default_stages(options);

  void leave_out_for_target(const std::string& name) {
    const auto is_it = [&](const compiler::Stage& stage) { return stage.name == name; };
    ASSERT_EQ(std::erase_if(stages.for_target, is_it), 1U) << "no stage " << name;
  }
  compiler::Compiled run() {
    compiler::Compilation compilation(graph, options, stages);
    compilation.quantize();
    return compilation.finish();
  }

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
  const compiler::Stages& stages = pipeline.stages;
  for (const auto* segment : {&stages.in_float, &stages.quantize, &stages.for_target}) {
    EXPECT_FALSE(segment->empty());
    for (const compiler::Stage& stage : *segment) {
      EXPECT_FALSE(stage.name.empty());
      EXPECT_FALSE(stage.why.empty()) << stage.name;
    }
  }
}

TEST(Pipeline, WithoutPrepackGivesExecuTorchsOperatorsAndTheSameBits) {
  Pipeline with;
  Pipeline without;
  without.leave_out_for_target("prepack");
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
  pipeline.stages.quantize.push_back(
      {"count", "a caller's own look at the graph", [&](ir::Graph& graph, compiler::Context&) {
         for (const ir::Node& node : graph.nodes()) quantized += node.result()->type.is_quantized() ? 1 : 0;
       }});
  const compiler::Compiled compiled = pipeline.run();
  EXPECT_GE(quantized, 12);  // nine convolutions, pool, linear, softmax
  EXPECT_TRUE(std::ranges::any_of(compiled.facts.seconds, [](const auto& entry) { return entry.first == "count"; }));
}

TEST(Pipeline, NamesTheStageThatBreaksTheGraph) {
  Pipeline pipeline;
  pipeline.stages.quantize.push_back(
      {"vandal", "breaks what a stage must not break",
       [](ir::Graph& graph, compiler::Context&) { graph.outputs()[0]->type.shape = {-1}; }});
  EXPECT_TRUE(has(pipeline.complaint(), "vandal"));
}

TEST(Pipeline, NamesAQuantizedDecomposedNodeThatWasNotLowered) {
  Pipeline checked;
  checked.leave_out_for_target("lower");
  EXPECT_TRUE(has(checked.complaint(), "quantized_decomposed.quantize_per_tensor"));
  Pipeline unchecked;
  unchecked.leave_out_for_target("lower");
  unchecked.leave_out_for_target("check");
  unchecked.leave_out_for_target("prepack");
  EXPECT_TRUE(has(unchecked.complaint(), "quantized_decomposed.quantize_per_tensor"));
}

}  // namespace
}  // namespace cormorant::tests
