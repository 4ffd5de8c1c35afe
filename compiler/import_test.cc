// SPDX-License-Identifier: Apache-2.0
//
// The errors for models that cannot be imported, and that an export's own declarations are verified.
#include "compiler/import.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "base/diagnostic.h"
#include "compiler/ways.h"
#include "evaluate/graph.h"
#include "formats/pte/writer.h"
#include "tests/fuzz/editable_program.h"

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
  const std::vector<std::pair<ir::Shape, std::vector<float>>> expected = {{{2, 3}, {0, 2, 3, 4, 6, 7}},
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

TEST(Import, SumsOfIntegersAreOneInstruction) {
  for (const char* target : {"aten.add.Tensor", "aten.sub.Tensor", "aten.rsub.Tensor"}) {
    const ir::Graph graph = import_program(
        program_of(target, {kSelf, {"other", {pt2::TensorRef{"x"}}, {}}}, meta({2}, DType::i64), meta({2}, DType::i64)),
        "model.pt2");
    EXPECT_EQ(graph.nodes().size(), 1U) << target;
  }
}

TEST(Import, MasksOfDataAreRefusedByModuleAndLine) {
  try {
    static_cast<void>(import_model(CORMORANT_SOURCE_DIR "/formats/pt2/testdata/selected_by_data.pt2"));
    FAIL();
  } catch (const InputError& error) {
    const std::string message = error.what();
    for (const char* part : {"selected_by_data.pt2", "node 'index'",
                             "positive (make.py:", "depends on the model's inputs", "use torch.where or masked_fill"}) {
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
      {"torchao.choose_qparams_affine.default", "quantized anew for every input", "--calibrate"},
      {"quantized_decomposed.quantize_per_token.default", "quantized anew for every input", "--calibrate"},
      {"aten._int_mm.default", "torchao's kernels for servers", "--calibrate"},
      {"aten.fake_quantize_per_tensor_affine.default", "prepared for quantization, but not converted", "convert_pt2e"},
  };
  for (const auto& row : rows) {
    const std::string message = why(program_of(row.target, {kSelf}));
    EXPECT_NE(message.find(row.problem), std::string::npos) << message;
    EXPECT_NE(message.find(row.advice), std::string::npos) << message;
    EXPECT_NE(message.find("node 'call'"), std::string::npos) << message;
  }
}

// ---- quantization, as torchao spells it
// ------------------------------------------------------------------------------

template <class T>
void add_constant(pt2::Program& program, const std::string& name, std::vector<std::int64_t> sizes, DType dtype,
                  const std::vector<T>& values) {
  pt2::TensorMeta type = meta(sizes, dtype);
  for (std::size_t d = sizes.size(); d-- > 1;) type.strides[d - 1] = type.strides[d] * sizes[d];
  program.graph.tensors[name] = type;
  program.graph.inputs.insert(program.graph.inputs.begin(), {pt2::TensorRef{name}});
  program.inputs.insert(program.inputs.begin(), {pt2::InputKind::buffer, {pt2::TensorRef{name}}, name, name, true});
  program.weights[name] = {type, true, std::as_bytes(std::span(values)), nullptr};
}

struct Block {
  std::vector<std::int64_t> size, scales;  // elements of a block, and the shape of the scales
};

// x · dequantize(w), with int4 weights in int8.
struct Affine {
  std::vector<std::int8_t> weights = {-8, 7, 0, 1, 2, 3, -1, -2};
  std::vector<float> scales;
  std::vector<std::int8_t> zeros;
  pt2::Program program;

  Affine(const Block& block, std::vector<float> with) : scales(std::move(with)), zeros(scales.size(), 0) {
    program =
        program_of("aten.linear.default", {{"input", {pt2::TensorRef{"x"}}, {}}, {"weight", {pt2::TensorRef{"d"}}, {}}},
                   meta({1, 4}), meta({1, 2}));
    add_constant(program, "w", {2, 4}, DType::i8, weights);
    add_constant(program, "s", block.scales, DType::f32, scales);
    add_constant(program, "z", block.scales, DType::i8, zeros);
    program.graph.tensors["d"] = meta({2, 4});
    pt2::Node node;
    node.target = "torch.ops.torchao.dequantize_affine.default";
    node.name = "d";
    node.arguments = {{"input", {pt2::TensorRef{"w"}}, {}},
                      {"block_size", {block.size}, {}},
                      {"scale", {pt2::TensorRef{"s"}}, {}},
                      {"zero_point", {pt2::TensorRef{"z"}}, {}},
                      {"input_dtype", {pt2::ScalarType{2, DType::i8}}, {}},
                      {"quant_min", {std::int64_t{-8}}, {}},
                      {"quant_max", {std::int64_t{7}}, {}}};
    node.outputs = {{pt2::TensorRef{"d"}}};
    program.graph.nodes.insert(program.graph.nodes.begin(), node);
  }
};

const ir::Value& weight_of(const ir::Graph& graph) {
  const ir::Value* weight = graph.nodes().back().tensor("weight");
  return weight->producer == nullptr ? *weight : *weight->producer->tensor("input");
}

TEST(Import, BlocksOfWeightsBecomeChannelsWhereTheyAre) {
  Affine rows({{1, 4}, {2, 1}}, {0.5F, 0.25F});
  ir::Graph graph = import_program(rows.program, "model.pt2");
  const ir::QuantParams channels = {DType::i8, -8, 7, 0, {0.5, 0.25}, {0, 0}};
  EXPECT_EQ(weight_of(graph).type.quant, channels);
  EXPECT_EQ(weight_of(graph).data.as<std::int8_t>()[0], -8);

  Affine equal({{1, 2}, {2, 2}}, {0.5F, 0.5F, 0.25F, 0.25F});  // groups, of which those of a row are alike
  graph = import_program(equal.program, "model.pt2");
  EXPECT_EQ(weight_of(graph).type.quant, channels);

  Affine whole({{2, 4}, {1}}, {0.5F});
  graph = import_program(whole.program, "model.pt2");
  EXPECT_EQ(weight_of(graph).type.quant, (ir::QuantParams{DType::i8, -8, 7, {}, {0.5}, {0}}));

  // Kernels have no scale per group: what the integers stand for is left.
  Affine groups({{1, 2}, {2, 2}}, {0.5F, 0.25F, 1, 2});
  graph = import_program(groups.program, "model.pt2");
  EXPECT_EQ(weight_of(graph).type, ir::float_type({2, 4}));
  const auto real = weight_of(graph).data.as<float>();
  EXPECT_EQ(std::vector<float>(real.begin(), real.end()), (std::vector<float>{-4, 3.5F, 0, 0.25F, 2, 3, -2, -4}));
}

TEST(Import, BlocksThatDoNotFitAreRefused) {
  for (const Block& block : {Block{{1, 3}, {2, 1}}, Block{{1, 0}, {2, 1}}, Block{{1}, {2, 1}}, Block{{2, 4}, {2, 1}}}) {
    const std::string message = why(Affine(block, {0.5F, 0.25F}).program);
    EXPECT_NE(message.find("the number of scales does not match the channels"), std::string::npos) << message;
  }
  const std::string message = why(Affine({{1, 4}, {2, 1}}, {0.5F, 0}).program);
  EXPECT_NE(message.find("a scale that is not positive"), std::string::npos) << message;
  Affine narrow({{1, 4}, {2, 1}}, {0.5F, 0.25F});
  narrow.program.graph.nodes.front().arguments.back().argument = {std::int64_t{200}};
  EXPECT_NE(why(narrow.program).find("a range that the type does not have"), std::string::npos);
  Affine outside({{1, 4}, {2, 1}}, {0.5F, 0.25F});
  outside.zeros[1] = 9;
  EXPECT_NE(why(outside.program).find("a zero point outside of the range"), std::string::npos);
}

// An activation: its scale is a constant of one element, or the kernels cannot have it.
TEST(Import, ActivationsHaveOneScale) {
  const std::vector<float> scales = {0.5F, 0.25F};
  const auto quantized = [&](std::vector<std::int64_t> block, std::int64_t count) {
    pt2::Program program = program_of("torchao.quantize_affine.default",
                                      {{"input", {pt2::TensorRef{"x"}}, {}},
                                       {"block_size", {std::move(block)}, {}},
                                       {"scale", {pt2::TensorRef{"s"}}, {}},
                                       {"zero_point", {pt2::None{}}, {}},
                                       {"output_dtype", {pt2::ScalarType{2, DType::i8}}, {}}},
                                      meta({2, 4}), meta({2, 4}, DType::i8));
    add_constant(program, "s", {count}, DType::f32, scales);
    return program;
  };
  const ir::Graph graph = import_program(quantized({2, 4}, 1), "model.pt2");
  EXPECT_EQ(graph.nodes().front().op, "quantized_decomposed.quantize_per_tensor");
  EXPECT_EQ(graph.outputs().front()->type.quant, (ir::QuantParams{DType::i8, -128, 127, {}, {0.5}, {0}}));
  const std::string message = why(quantized({1, 4}, 2));
  EXPECT_NE(message.find("quantize activations per tensor"), std::string::npos) << message;
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

// A program of one call, whose tensors are where the row says; the first is read before anything has written it.
struct Kept {
  const char* op;
  std::vector<std::uint32_t> offsets;  // of tensors of 16 numbers, the result last
  std::int64_t memory;
  const char* says;  // "": it compiles
  std::int32_t elements = 16;
};

std::string why(const Kept& row) {
  pte::Program program;
  pte::Plan plan;
  std::vector<std::int32_t> tensors;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < row.offsets.size(); ++i, end += 128) {
    tensors.push_back(
        plan.add(pte::Tensor{.dtype = DType::f32, .sizes = {16}, .dim_order = {0}, .place = pte::Place{1, end}}));
  }
  plan.outputs = {tensors.back()};
  plan.memory_sizes.push_back(static_cast<std::int64_t>(end));
  const std::string name = row.op;
  if (name == "aten::add") tensors.insert(tensors.end() - 1, plan.intern(1.0));
  tensors.push_back(tensors.back());
  plan.calls.push_back({plan.intern_operator(name, "out"), tensors});
  program.plans.push_back(std::move(plan));
  // What our writer would refuse.
  std::optional<fuzz::EditableProgram> changed = fuzz::EditableProgram::read(pte::write(program));
  for (std::size_t i = 0; i < row.offsets.size(); ++i) {
    fuzz::schema::TensorT& tensor = *changed.value().tensors().at(i);
    tensor.sizes = {row.elements};
    tensor.allocation_info->memory_offset_low = row.offsets[i];
  }
  changed->plan().non_const_buffer_sizes.at(1) = row.memory;
  try {
    ir::Graph graph = import_pte(changed->write(), "program.pte");
    static_cast<void>(compile(graph, options_of(kFloatWay)));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// A program may keep tensors that are not in its file, so what they need is bounded; and its places are anybody's.
TEST(Import, WhatAProgramKeepsLiesInMemoryOfItsOwn) {
  const std::int32_t large = 1 << 28;
  const Kept rows[] = {
      {"aten::abs", {0, 64}, 128, ""},
      {"aten::add", {0, 64, 128}, 192, ""},
      {"aten::add", {0, 0, 128}, 192, ""},  // twice the same
      {"aten::add", {0, 32, 128}, 192, "shares memory with other tensors"},
      {"aten::add", {32, 0, 128}, 192, "shares memory with other tensors"},
      {"aten::abs", {0, 32}, 128, "shares memory with other tensors"},
      {"aten::abs", {64, 128}, 128, "leads outside its bounds"},
      {"aten::abs", {0xFFFFFFC0, 0}, 128, "leads outside its bounds"},
      {"aten::abs", {0, 64}, -1, "plans -1 bytes of memory 1"},
      {"aten::abs", {0, 1 << 30}, std::int64_t{1} << 31, "more than 1 GiB in all", large},
  };
  for (const Kept& row : rows) {
    const std::string message = why(row);
    EXPECT_NE(message.find(row.says), std::string::npos) << message;
    EXPECT_EQ(message.empty(), *row.says == '\0') << message;
  }
}

}  // namespace
}  // namespace cormorant::compiler
