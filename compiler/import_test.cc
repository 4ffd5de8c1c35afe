// SPDX-License-Identifier: Apache-2.0
//
// The errors for models that cannot be imported, and that an export's own declarations are verified.
#include "compiler/import.h"

#include <gtest/gtest.h>

#include "base/diagnostic.h"

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
  const ir::Graph graph = import_program(program_of("aten.relu.default", {kSelf}, doubles, doubles), "model.pt2");
  EXPECT_EQ(graph.inputs().front()->type.dtype, DType::f32);
  EXPECT_EQ(graph.outputs().front()->type.dtype, DType::f32);
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
