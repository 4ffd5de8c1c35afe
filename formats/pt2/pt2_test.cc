// SPDX-License-Identifier: Apache-2.0
//
// The expectations come from testdata/make.py and zoo/*.py, the Python sources of the models read here.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <string>

#include "base/diagnostic.h"
#include "formats/pt2/archive.h"
#include "formats/pt2/arguments.h"
#include "formats/pt2/parse.h"
#include "formats/pt2/source.h"

namespace cormorant::pt2 {
namespace {

using Ints = std::vector<std::int64_t>;

Program read_program(const std::string& name) {
  Archive archive = read(CORMORANT_SOURCE_DIR "/formats/pt2/testdata/" + name + ".pt2");
  EXPECT_EQ(archive.programs.size(), 1U);
  EXPECT_EQ(archive.programs.at(0).name, "model");
  return std::move(archive.programs.at(0));
}

const Node& node(const Program& program, const std::string& name) {
  for (const Node& n : program.graph.nodes) {
    if (n.name == name) return n;
  }
  throw std::runtime_error("no node " + name);
}

const Argument& argument(const Node& n, const std::string& name) {
  const Argument* found = find_argument(n, name);
  if (found == nullptr) throw std::runtime_error("no argument " + name);
  return *found;
}

template <typename T>
std::vector<T> values(const TensorData& tensor) {
  const std::vector<std::byte> bytes = contiguous(tensor);
  std::vector<T> result(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

TEST(Pt2, ChannelsLastWeightsComeOutInLogicalOrder) {
  const Program program = read_program("channels_last");
  const TensorData& weight = program.weights.at("conv.weight");
  EXPECT_EQ(weight.meta, (TensorMeta{DType::f32, {2, 3, 2, 2}, {12, 1, 6, 3}, 0}));
  EXPECT_FALSE(is_contiguous(weight.meta));
  EXPECT_TRUE(weight.is_parameter);
  std::vector<float> expected;
  for (int n = 0; n < 2; ++n) {
    for (int c = 0; c < 3; ++c) {
      for (int h = 0; h < 2; ++h) {
        for (int w = 0; w < 2; ++w) expected.push_back(static_cast<float>(12 * n + c + 6 * h + 3 * w));
      }
    }
  }
  EXPECT_EQ(values<float>(weight), expected);
  EXPECT_THROW(static_cast<void>(contiguous_view(weight)), std::logic_error);
  EXPECT_EQ(program.graph.tensors.at("x").strides, (Ints{27, 1, 9, 3}));
}

TEST(Pt2, TiedWeightsAndViewsShareTheirStorage) {
  const Program program = read_program("tied");
  const TensorData& encode = program.weights.at("encode.weight");
  const TensorData& decode = program.weights.at("decode.weight");
  EXPECT_EQ(encode.storage.data(), decode.storage.data());
  EXPECT_TRUE(is_contiguous(encode.meta));
  EXPECT_EQ(contiguous_view(encode).data(), encode.storage.data());  // no copy
  EXPECT_EQ(values<float>(decode), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  // tail = table[6:].view(3, 2).t()
  const TensorData& tail = program.weights.at("tail");
  EXPECT_EQ(tail.storage.data(), program.weights.at("whole").storage.data());
  EXPECT_EQ(tail.meta, (TensorMeta{DType::f32, {2, 3}, {1, 2}, 6}));
  EXPECT_EQ(values<float>(tail), (std::vector<float>{6, 8, 10, 7, 9, 11}));
  EXPECT_FALSE(tail.is_parameter);
}

TEST(Pt2, WeightsOutliveTheArchive) {
  TensorData weight;
  {
    const Archive archive = read(CORMORANT_SOURCE_DIR "/formats/pt2/testdata/tied.pt2");
    weight = archive.programs[0].weights.at("whole");
  }
  EXPECT_EQ(values<float>(weight)[11], 11.0F);
}

TEST(Pt2, InPlaceOperatorsKeepTheirNames) {
  const Program program = read_program("inplace");
  EXPECT_EQ(node(program, "relu_").target, "torch.ops.aten.relu_.default");
  EXPECT_EQ(get_tensor(node(program, "relu_"), "self"), "conv1d");
  const Node& hardtanh = node(program, "hardtanh_");
  EXPECT_EQ(get_float(hardtanh, "max_val"), 6.0);  // written as an integer
  EXPECT_EQ(hardtanh.arguments[1].kind, ArgumentKind::positional);
  EXPECT_EQ(output_names(hardtanh), std::vector<std::string>{"hardtanh_"});
}

TEST(Pt2, AbsentArgumentsHaveTheDefaultOfWhoAsks) {
  const Program program = read_program("inplace");
  const Node& conv = node(program, "conv1d");
  EXPECT_EQ(find_argument(conv, "stride"), nullptr);
  EXPECT_EQ(get_ints(conv, "stride", Ints{1}), Ints{1});
  EXPECT_EQ(get_int(conv, "groups", 1), 1);
  EXPECT_EQ(get_optional_tensor(conv, "bias"), "p_conv_bias");
  EXPECT_THROW(get_int(conv, "groups"), InputError);
}

TEST(Pt2, AnArgumentOfAnotherTypeIsNamed) {
  const Program program = read_program("inplace");
  try {
    get_int(node(program, "conv1d"), "weight");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostic().node, "conv1d");
    EXPECT_TRUE(error.diagnostic().source.starts_with("conv (make.py:")) << error.diagnostic().source;
    EXPECT_NE(error.diagnostic().problem.find("'weight' is not an integer"), std::string::npos);
  }
}

TEST(Pt2, BuffersSayWhetherTheyPersist) {
  const Program program = read_program("stateful");
  ASSERT_EQ(program.inputs.size(), 3U);
  const InputSpec& history = program.inputs[0];
  const InputSpec& scale = program.inputs[1];
  const InputSpec& x = program.inputs[2];
  EXPECT_EQ(history.kind, InputKind::buffer);
  EXPECT_EQ(history.name, "b_history");
  EXPECT_EQ(history.target, "history");
  EXPECT_TRUE(history.persistent);
  EXPECT_FALSE(scale.persistent);
  ASSERT_NE(initial_value(program, scale), nullptr);  // though it is not among the weights
  EXPECT_EQ(values<float>(*initial_value(program, scale)), std::vector<float>{0.5F});
  EXPECT_FALSE(program.weights.contains("scale"));
  EXPECT_EQ(x.kind, InputKind::user_input);
  EXPECT_EQ(x.name, "x");
  EXPECT_EQ(initial_value(program, x), nullptr);
  // A slice to the end is a slice to the largest integer.
  EXPECT_EQ(get_int(node(program, "slice_1"), "end"), INT64_MAX);
}

TEST(Pt2, MutationsAreOutputsOfAFunctionalExport) {
  const Program program = read_program("stateful_functional");
  ASSERT_EQ(program.outputs.size(), 2U);
  EXPECT_EQ(program.outputs[0].kind, OutputKind::buffer_mutation);
  EXPECT_EQ(program.outputs[0].name, "cat");
  EXPECT_EQ(program.outputs[0].target, "history");
  EXPECT_EQ(program.outputs[1].kind, OutputKind::user_output);
  EXPECT_EQ(program.outputs[1].name, "mul");
}

std::vector<std::string> output_keys(const std::string& specification) {
  const std::string text = R"({"module_call_graph": [{"signature": {"out_spec": )" + specification + "}}]}";
  const JsonDocument document(text, {});
  return parse_output_keys(document.root());
}

TEST(Pt2, OutputsOfADictionaryHaveItsKeys) {
  const std::string leaf = R"({\"type\": null, \"context\": null, \"children_spec\": []})";
  const std::string pair =
      R"({\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [)" + leaf + ", " + leaf + "]}";
  const std::string dictionary =
      R"({\"type\": \"builtins.dict\", \"context\": \"[\\\"logits\\\", \\\"boxes\\\"]\", \"children_spec\": [)" + leaf +
      ", " + pair + "]}";
  const auto in_quotes = [](const std::string& tree) { return "\"[1, " + tree + "]\""; };
  using Keys = std::vector<std::string>;
  EXPECT_EQ(output_keys(in_quotes(leaf)), Keys({""}));
  EXPECT_EQ(output_keys(in_quotes(pair)), Keys({"", ""}));
  EXPECT_EQ(output_keys(in_quotes(dictionary)), Keys({"logits", "boxes.0", "boxes.1"}));
  EXPECT_EQ(output_keys("\"[1, 7]\""), Keys());
  EXPECT_EQ(output_keys("\"not JSON\""), Keys());
}

TEST(Pt2, ArgumentsHaveTheirTypes) {
  const Program program = read_program("arguments");
  const Node& split = node(program, "split_with_sizes");
  EXPECT_EQ(get_ints(split, "split_sizes"), (Ints{1, 2, 3}));
  EXPECT_EQ(output_names(split), (std::vector<std::string>{"getitem", "getitem_1", "getitem_2"}));
  EXPECT_EQ(split.outputs.size(), 1U);
  const Node& max = node(program, "max_1");
  EXPECT_TRUE(get_bool(max, "keepdim"));
  EXPECT_EQ(output_names(max).size(), 2U);  // the indices too, which are unused
  EXPECT_EQ(program.graph.tensors.at(output_names(max)[1]).dtype, DType::i64);
  const auto* indices = argument(node(program, "index"), "indices").get_if<std::vector<std::optional<TensorRef>>>();
  ASSERT_NE(indices, nullptr);
  ASSERT_EQ(indices->size(), 2U);
  EXPECT_FALSE(indices->at(0).has_value());
  EXPECT_TRUE(indices->at(1).has_value());
  const Node& clamp = node(program, "clamp");
  EXPECT_EQ(get_float(clamp, "min"), -INFINITY);
  EXPECT_EQ(get_float(clamp, "max"), 6.0);
  EXPECT_EQ(get_string(node(program, "gelu"), "approximate"), "tanh");
  const Node& upsample = node(program, "upsample_nearest2d");
  EXPECT_TRUE(argument(upsample, "output_size").is_none());
  EXPECT_FALSE(get_optional_ints(upsample, "output_size").has_value());
  EXPECT_EQ(get_floats(upsample, "scale_factors"), (std::vector<double>{2.0, 3.0}));
  const Node& clone = node(program, "clone");
  EXPECT_EQ(*argument(clone, "memory_format").get_if<MemoryFormat>(), MemoryFormat::channels_last);
  EXPECT_EQ(clone.arguments.back().kind, ArgumentKind::keyword);
  EXPECT_EQ(get_optional_dtype(node(program, "to"), "dtype"), DType::i32);
  EXPECT_EQ(get_tensors(node(program, "cat"), "tensors").size(), 3U);
  const Node& check = node(program, "_assert_tensor_metadata_default");
  EXPECT_EQ(*argument(check, "device").get_if<Device>(), (Device{"cpu", std::nullopt}));
  EXPECT_EQ(*argument(check, "layout").get_if<Layout>(), Layout::strided);
  // The tensor that forward makes is a constant.
  EXPECT_EQ(program.inputs[0].kind, InputKind::tensor_constant);
  EXPECT_EQ(values<std::int64_t>(*initial_value(program, program.inputs[0])), (Ints{1, 0}));
}

TEST(Pt2, InputsMayBeNumbersAndStrings) {
  const Program program = read_program("options");
  ASSERT_EQ(program.inputs.size(), 3U);
  EXPECT_EQ(program.inputs[1].kind, InputKind::constant);
  EXPECT_EQ(program.inputs[1].name, "times");
  EXPECT_EQ(*program.inputs[1].argument.get_if<std::int64_t>(), 3);
  EXPECT_EQ(*program.inputs[2].argument.get_if<std::string>(), "fast");
  ASSERT_EQ(program.outputs.size(), 3U);
  EXPECT_EQ(*program.outputs[1].argument.get_if<std::int64_t>(), 3);
  EXPECT_TRUE(program.outputs[2].argument.is_none());
}

TEST(Pt2, BranchesAreGraphs) {
  const Program program = read_program("cond");
  const Node& cond = node(program, "cond");
  const auto* yes = cond.arguments.at(1).argument.get_if<Subgraph>();
  ASSERT_NE(yes, nullptr);
  EXPECT_EQ(yes->graph->nodes.at(0).target, "torch.ops.aten.add.Tensor");
  EXPECT_EQ(yes->graph->tensors.at("add").sizes, Ints{2});
  // The innermost frames are code that torch generated; the user's line is further out.
  EXPECT_TRUE(source_line(yes->graph->nodes[0]).starts_with("make.py:"));
}

TEST(Pt2, EveryElementTypeIsRead) {
  const Program program = read_program("integers");
  const struct {
    std::string name;
    DType dtype;
    std::string bytes;  // of 0, 1, 2
  } cases[] = {
      {"a_uint8", DType::u8, std::string("\0\1\2", 3)},
      {"a_int8", DType::i8, std::string("\0\1\2", 3)},
      {"a_int16", DType::i16, std::string("\0\0\1\0\2\0", 6)},
      {"a_int32", DType::i32, std::string("\0\0\0\0\1\0\0\0\2\0\0\0", 12)},
      {"a_int64", DType::i64, std::string("\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 24)},
      {"a_float16", DType::f16, std::string("\0\0\0\x3c\0\x40", 6)},
      {"a_bfloat16", DType::bf16, std::string("\0\0\x80\x3f\0\x40", 6)},
      {"a_float64", DType::f64, std::string("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40", 24)},
      {"a_bool", DType::boolean, std::string("\1\0\1", 3)},
  };
  for (const auto& c : cases) {
    const TensorData& tensor = program.weights.at(c.name);
    EXPECT_EQ(tensor.meta.dtype, c.dtype) << c.name;
    const std::span<const std::byte> bytes = contiguous_view(tensor);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), c.bytes) << c.name;
  }
}

TEST(Pt2, ModulesCalledTwiceHaveTheirPathTwice) {
  const Program program = read_program("twice");
  EXPECT_EQ(module_path(node(program, "linear")), "blocks.0.0");
  EXPECT_EQ(module_path(node(program, "linear_1")), "blocks.0.0");
  EXPECT_EQ(module_path(node(program, "tanh_1")), "blocks.0.1");
  EXPECT_EQ(node(program, "tanh").module_stack.front().path, "");
  EXPECT_EQ(node(program, "tanh").module_stack.back().type, "torch.nn.modules.activation.Tanh");
}

TEST(Source, TheInnermostLineOfTheUserIsFound) {
  const struct {
    std::string trace;
    std::string expected;
  } cases[] = {
      {"", ""},
      {"no trace at all", ""},
      {"File \"train.py\", line 37, in forward\n    x = f(x)", "train.py:37"},
      {"  File \"/home/ada/torch/kws.py\", line 14, in forward\n    return self.conv(x)\n"
       "  File \"/usr/lib/python3/dist-packages/torch/nn/modules/conv.py\", line 5, in forward",
       "kws.py:14"},
      {"File \"a.py\", line 1, in f\n  File \"b.py\", line 2, in g\n    h()\n    ^^^", "b.py:2"},
      {"File \"C:\\models\\net.py\", line 3, in f\n"
       "  File \"C:\\Python\\Lib\\site-packages\\torch\\nn\\x.py\", line 9, in g",
       "net.py:3"},
      {"File \"a.py\", line 1, in f\n  File \"/src/pytorch/torch/nn/functional.py\", line 2, in g", "a.py:1"},
      {"File \"a.py\", line 1, in f\n  File \"<eval_with_key>.60\", line 6, in forward", "a.py:1"},
      {"File \"site-packages/torch/nn/modules/linear.py\", line 134, in forward", ""},
      {"File \"a.py\", line", ""},
      {"File \"a.py", ""},
      {"File \"\", line 3", ""},
  };
  for (const auto& c : cases) {
    Node n;
    n.stack_trace = c.trace;
    EXPECT_EQ(source_line(n), c.expected) << c.trace;
  }
}

TEST(Source, ModuleStacksAreParsedOrLeftOut) {
  const struct {
    std::string text;
    std::string expected;
  } cases[] = {
      {"", ""},
      {"L__self__,,__main__.Net", ""},
      {"L__self__,,Net;L__self__a.b,a.b,torch.nn.Conv2d", "a.b"},
      {"k,L['self'].a.b,torch.nn.Conv2d", "a.b"},
      {"k,L['self'],Net", ""},
      {"k,a.b,Generic[int,(str,x)]", "a.b"},
      {"too,few", ""},
      {"one,too,many,parts", ""},
      {";;;", ""},
  };
  for (const auto& c : cases) {
    Node n;
    n.module_stack = parse_module_stack(c.text);
    EXPECT_EQ(module_path(n), c.expected) << c.text;
  }
}

TEST(Source, BothPartsAreShown) {
  Node n;
  EXPECT_EQ(source_of(n), "");
  n.module_stack = parse_module_stack("k,blocks.2,T");
  EXPECT_EQ(source_of(n), "blocks.2");
  n.stack_trace = "File \"kws.py\", line 14, in f";
  EXPECT_EQ(source_of(n), "blocks.2 (kws.py:14)");
  n.module_stack.clear();
  EXPECT_EQ(source_of(n), "kws.py:14");
}

TEST(Zoo, AllModelsAreRead) {
  const struct {
    std::string name;
    Ints input;
    Ints output;
  } cases[] = {{"digits", {1, 1, 28, 28}, {1, 10}},
               {"fashion", {1, 3, 32, 32}, {1, 10}},
               {"kws", {1, 1, 49, 10}, {1, 12}},
               {"vww", {1, 3, 96, 96}, {1, 2}},
               {"ad", {1, 640}, {1, 640}}};
  for (const auto& c : cases) {
    const Archive archive = read(CORMORANT_SOURCE_DIR "/zoo/" + c.name + ".pt2");
    const Program& program = archive.programs.at(0);
    EXPECT_EQ(program.graph.tensors.at(program.inputs.back().name).sizes, c.input) << c.name;
    EXPECT_EQ(program.graph.tensors.at(program.outputs.at(0).name).sizes, c.output) << c.name;
    for (const InputSpec& input : program.inputs) {
      if (input.kind == InputKind::user_input) continue;
      const TensorData* value = initial_value(program, input);
      ASSERT_NE(value, nullptr) << input.target;
      EXPECT_EQ(contiguous(*value).size(), byte_count(value->meta)) << input.target;
    }
  }
}

TEST(Zoo, NodesKnowTheirPlaceInTheUsersSource) {
  const Archive archive = read(CORMORANT_SOURCE_DIR "/zoo/kws.pt2");
  for (const Node& n : archive.programs.at(0).graph.nodes) {
    EXPECT_NE(source_line(n).find(".py:"), std::string::npos) << n.name;
    EXPECT_EQ(source_line(n).find('/'), std::string::npos) << n.name;
    EXPECT_EQ(n.target == "torch.ops.aten.conv2d.default", module_path(n).ends_with(".conv")) << n.name;
  }
}

// Transposed, repeated, and rows that overlap.
TEST(Weights, AreReadByTheirStrides) {
  const std::byte storage[] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  const auto rows = [&](Ints strides) {
    TensorData tensor;
    tensor.meta = {.dtype = DType::i8, .sizes = {2, 2}, .strides = std::move(strides), .storage_offset = 0};
    tensor.storage = storage;
    const std::vector<std::byte> read = contiguous(tensor);
    std::string text;
    for (const std::byte byte : read) text += static_cast<char>('0' + std::to_integer<int>(byte));
    return text;
  };
  EXPECT_EQ(rows({2, 1}), "1234");
  EXPECT_EQ(rows({1, 2}), "1324");
  EXPECT_EQ(rows({0, 1}), "1212");
  EXPECT_EQ(rows({1, 1}), "1223");
}

}  // namespace
}  // namespace cormorant::pt2
