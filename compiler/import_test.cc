// SPDX-License-Identifier: Apache-2.0
//
// The errors for models that cannot be imported, and that an export's own declarations are verified.
#include "compiler/import.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/diagnostic.h"
#include "compiler/ways.h"
#include "evaluate/graph.h"

namespace cormorant::compiler {
namespace {

pt2::TensorMeta meta(std::vector<std::int64_t> sizes, DType dtype = DType::f32) {
  pt2::TensorMeta made{dtype, std::move(sizes), {}, 0};
  made.strides.assign(made.sizes.size(), 1);
  return made;
}

// x -> one call -> r
pt2::Program program_of(const std::string& target, std::vector<pt2::NamedArgument> arguments,
                        const pt2::TensorMeta& x = meta({1, 4, 6, 6}), const pt2::TensorMeta& r = meta({1, 4, 6, 6})) {
  pt2::Program program;
  program.graph.tensors = {{"x", x}, {"r", r}};
  program.graph.inputs = {{pt2::TensorRef{"x"}}};
  program.inputs = {{pt2::InputKind::user_input, {pt2::TensorRef{"x"}}, "x", "", true}};
  pt2::Node node;
  node.target = "torch.ops." + target;
  node.name = "call";
  node.arguments = std::move(arguments);
  node.outputs = {{pt2::TensorRef{"r"}}};
  program.graph.nodes = {node};
  program.graph.outputs = {{pt2::TensorRef{"r"}}};
  program.outputs = {{pt2::OutputKind::user_output, {pt2::TensorRef{"r"}}, "r", ""}};
  return program;
}

std::string why(const pt2::Program& program) {
  try {
    static_cast<void>(import_program(program, "model.pt2"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

const pt2::NamedArgument kSelf = {"self", {pt2::TensorRef{"x"}}, {}};

// As text_fuzz.cc takes them: the first byte chooses the way, and whatever a text calls data is any bytes. A packed
// constant's header was once counted with before anything had compared it with the node.
TEST(Import, TextsOfTheFuzzersCorpusCompileOrAreRefused) {
  const ir::Bytes blob = ir::Bytes::own(std::vector<std::byte>(16384, std::byte{0x3c}));
  std::size_t texts = 0;
  for (const auto& entry : std::filesystem::directory_iterator(CORMORANT_SOURCE_DIR "/compiler/testdata/texts")) {
    std::ifstream stream(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    ASSERT_FALSE(text.empty()) << entry.path();
    ++texts;
    for (const Way* way : {&some_way(static_cast<unsigned char>(text[0])), &kFloatWay, &kUsualWay}) {
      try {
        ir::Graph graph = import_text(text.substr(1), "fuzz.txt", blob);
        static_cast<void>(compile(graph, options_of(*way)));
      } catch (const InputError&) {  // the expected answer to most of them
      }
    }
  }
  EXPECT_GE(texts, 4U);
}

// PyTorch leaves open how many elements a mask selects. What does not depend on the inputs is known here.
TEST(Import, ConstantMasksSelectAKnownNumber) {
  const ir::Graph graph = import_model(CORMORANT_SOURCE_DIR "/formats/pt2/testdata/selected.pt2");
  const evaluate::Tensor x({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
  const std::vector<evaluate::Tensor> got = evaluate::evaluate_graph(graph, {&x, 1});
  const std::vector<std::pair<ir::Shape, std::vector<float>>> expected = {
      {{2, 3}, {0, 2, 3, 4, 6, 7}},
      {{3}, {1, 5, 6}},
      {{6}, {0, 2, 3, 4, 6, 7}},
      {{3, 1}, {0, 2, 3}},
      {{2, 5}, {0, 2, 2, 3, 3, 4, 6, 6, 7, 7}}};
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].shape, expected[i].first) << i;
    EXPECT_EQ(std::vector<float>(got[i].values().begin(), got[i].values().end()), expected[i].second) << i;
  }
}

TEST(Import, MasksOfDataAreRefusedByModuleAndLine) {
  try {
    static_cast<void>(import_model(CORMORANT_SOURCE_DIR "/formats/pt2/testdata/selected_by_data.pt2"));
    FAIL();
  } catch (const InputError& error) {
    const std::string message = error.what();
    for (const char* part : {"selected_by_data.pt2", "node 'index'", "positive (make.py:", "depends on the model's inputs",
                             "use torch.where or masked_fill"}) {
      EXPECT_NE(message.find(part), std::string::npos) << part << " is not in: " << message;
    }
  }
}

TEST(Import, TrainingModeIsNamedBeforeItsConsequences) {
  const std::string message =
      why(program_of("aten.batch_norm.default", {{"input", {pt2::TensorRef{"x"}}, {}}, {"training", {true}, {}}}));
  EXPECT_NE(message.find("exported in training mode"), std::string::npos) << message;
  EXPECT_NE(message.find("model.eval()"), std::string::npos) << message;
}

TEST(Import, OtherFloatsAreToldWhatToExport) {
  const std::pair<DType, const char*> rows[] = {{DType::f16, "float16"}, {DType::bf16, "bfloat16"}};
  for (const auto& [dtype, name] : rows) {
    const std::string message = why(program_of("aten.relu.default", {kSelf}, meta({1, 4}, dtype), meta({1, 4}, dtype)));
    EXPECT_NE(message.find(name), std::string::npos) << message;
    EXPECT_NE(message.find("model.float()"), std::string::npos) << message;
  }
}

TEST(Import, DoublesBecomeFloats) {
  const pt2::TensorMeta doubles = meta({1, 4}, DType::f64);
  std::vector<std::string> notes;
  const ir::Graph graph =
      import_program(program_of("aten.relu.default", {kSelf}, doubles, doubles), "model.pt2", &notes);
  EXPECT_EQ(notes, std::vector<std::string>{"'r' is float64 in the model; it is computed in float32"});
  EXPECT_EQ(graph.inputs().front()->type.dtype, DType::f32);
  EXPECT_EQ(graph.outputs().front()->type.dtype, DType::f32);
}

// In place, and as decomposed programs return it.
TEST(Import, AParameterThatChangesIsRefusedWithItsModuleAndLine) {
  const std::vector<float> zeros(4);
  const pt2::TensorMeta row = meta({4});
  for (const bool in_place : {true, false}) {
    pt2::Program program =
        program_of(in_place ? "aten.add_.Tensor" : "aten.add.Tensor",
                   {{"self", {pt2::TensorRef{"p"}}, {}}, {"other", {pt2::TensorRef{"x"}}, {}}}, row, row);
    program.graph.tensors["p"] = row;
    program.graph.inputs.insert(program.graph.inputs.begin(), {pt2::TensorRef{"p"}});
    program.inputs.insert(program.inputs.begin(),
                          {pt2::InputKind::parameter, {pt2::TensorRef{"p"}}, "p", "gate.weight", true});
    program.weights["gate.weight"] = {row, true, std::as_bytes(std::span(zeros)), nullptr};
    program.graph.nodes[0].module_stack = {{"gate", "model.Gate"}};
    program.graph.nodes[0].stack_trace = "  File \"model.py\", line 12, in forward\n    self.weight.add_(x)\n";
    if (!in_place) {
      program.outputs.insert(program.outputs.begin(),
                             {pt2::OutputKind::parameter_mutation, {pt2::TensorRef{"r"}}, "r", "gate.weight"});
    }
    const std::string message = why(program);
    EXPECT_NE(message.find("gate (model.py:12)"), std::string::npos) << message;
    EXPECT_NE(message.find("changes its parameter 'gate.weight'"), std::string::npos) << message;
    EXPECT_NE(message.find("register_buffer"), std::string::npos) << message;
  }
}

// forward() changes its caller's tensor, a program does not.
TEST(Import, InputsThatForwardChangesAreTold) {
  std::vector<std::string> notes;
  ir::Graph graph = import_program(program_of("aten.relu_.default", {kSelf}), "model.pt2", &notes);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(notes[0].starts_with("forward() changes its input 'x' in place")) << notes[0];
  EXPECT_EQ(graph.inputs().size(), 1U);

  notes.clear();
  pt2::Program sum = program_of("aten.add_.Tensor", {kSelf, {"other", {pt2::TensorRef{"y"}}, {}}});
  sum.graph.tensors["y"] = meta({1, 4, 6, 6});
  sum.graph.inputs.push_back({pt2::TensorRef{"y"}});
  sum.inputs.push_back({pt2::InputKind::user_input, {pt2::TensorRef{"y"}}, "y", "", true});
  graph = import_program(sum, "model.pt2", &notes);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(notes[0].starts_with("forward() changes its input 'x' from other inputs")) << notes[0];
  ASSERT_EQ(graph.inputs().size(), 1U);
  EXPECT_EQ(graph.inputs().front()->name, "y");
  EXPECT_EQ(graph.updates().size(), 1U);

  notes.clear();
  static_cast<void>(import_program(program_of("aten.relu.default", {kSelf}), "model.pt2", &notes));
  EXPECT_TRUE(notes.empty());
}

TEST(Import, UnknownOperatorsAreToldApart) {
  const struct {
    const char* target;
    const char* problem;
    const char* advice;
  } rows[] = {
      {"aten.nonsense.default", "PyTorch's operator aten.nonsense.default is not supported", "run_decompositions()"},
      {"audio.filter.default", "audio.filter.default is not an operator of PyTorch", "with PyTorch's own operators"},
  };
  for (const auto& row : rows) {
    const std::string message = why(program_of(row.target, {kSelf}));
    EXPECT_NE(message.find(row.problem), std::string::npos) << message;
    EXPECT_NE(message.find(row.advice), std::string::npos) << message;
    EXPECT_NE(message.find("node 'call'"), std::string::npos) << message;
  }
}

TEST(Import, WhatTheExportSaysIsCompared) {
  EXPECT_EQ(why(program_of("aten.relu.default", {kSelf})), "");
  const struct {
    pt2::Program program;
    const char* says;
  } rows[] = {
      {program_of("aten.relu.default", {kSelf}, meta({1, 4, 6, 6}), meta({1, 4, 6, 7})), "declared as f32[1, 4, 6, 7]"},
      {program_of("aten.relu.default", {{"self", {pt2::None{}}, {}}}), "argument 'self'"},
      {program_of("aten.relu.default", {{"self", {std::int64_t{3}}, {}}}), "'self'"},
      {program_of("aten.mean.dim", {kSelf, {"dim", {std::string("x")}, {}}}), "argument 'dim'"},
      {program_of("aten.max_pool2d.default", {kSelf, {"kernel_size", {std::vector<std::int64_t>{1, 1, 1}}, {}}}),
       "argument 'kernel_size'"},
      {program_of("aten.repeat_interleave.self_int", {kSelf, {"repeats", {std::int64_t{1} << 40}, {}}}),
       "does not fit in 32 bits"},
      {program_of("aten.relu.default", {kSelf}, meta({65536, 65536}), meta({65536, 65536})), "below 2 GB"},
  };
  for (const auto& row : rows) {
    const std::string message = why(row.program);
    EXPECT_NE(message.find(row.says), std::string::npos) << message;
    EXPECT_NE(message.find("model.pt2"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace cormorant::compiler
