// SPDX-License-Identifier: Apache-2.0
//
// The messages for files that cannot be compiled. Each case changes one thing in a good archive.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>

#include "base/diagnostic.h"
#include "formats/pt2/archive.h"
#include "formats/pt2/zip.h"
#include "formats/pt2/zip_builder.h"

namespace cormorant::pt2 {
namespace {

const std::string kTestData = CORMORANT_SOURCE_DIR "/formats/pt2/testdata/";

std::string bytes_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

Diagnostic diagnostic_of(const std::string& bytes) {
  const SharedBytes shared = share(bytes);
  try {
    static_cast<void>(parse(shared.bytes, shared.owner, "m.pt2"));
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostic().file, "m.pt2");
    EXPECT_FALSE(error.diagnostic().advice.empty());
    return error.diagnostic();
  }
  return {};
}

// An archive's entries without the top folder, which can be changed and written again.
struct Entries {
  std::map<std::string, std::string> content;

  explicit Entries(const std::string& fixture) {
    Zip zip(map_file(kTestData + fixture + ".pt2"), fixture, true);
    for (const std::string& name : zip.names()) {
      content[name.substr(name.find('/') + 1)] = std::string(zip.read(name).text());
    }
  }

  void replace(const std::string& entry, const std::string& from, const std::string& to) {
    std::string& text = content.at(entry);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << " is not in " << entry;
    text.replace(at, from.size(), to);
  }

  [[nodiscard]] std::string file() const {
    std::vector<ZipItem> items;
    items.reserve(content.size());
    for (const auto& [name, text] : content) items.push_back({.name = "top/" + name, .content = text});
    return build_zip(items);
  }
};

const std::string kModel = "models/model.json";
const std::string kWeights = "data/weights/model_weights_config.json";

TEST(Diagnostics, UnchangedEntriesAreRead) { EXPECT_EQ(diagnostic_of(Entries("inplace").file()).problem, ""); }

// Its only dynamic dimension is the batch, of 2 to 8.
TEST(Diagnostics, AnOpenBatchIsOneUnlessTheCallerSaysAnother) {
  const SharedBytes shared = share(bytes_of(kTestData + "dynamic.pt2"));
  const auto read_as = [&](const Shapes& shapes) {
    return parse(shared.bytes, shared.owner, "m.pt2", {.shapes = shapes}).programs.front();
  };
  const Program alone = read_as({});
  std::vector<std::int64_t> shape = alone.graph.tensors.at("input").sizes;
  EXPECT_EQ(shape.at(0), 1);
  ASSERT_EQ(alone.notes.size(), 1U);
  EXPECT_NE(alone.notes.front().find("batch"), std::string::npos);
  shape[0] = 5;
  const Program given = read_as({{"input", shape}});
  EXPECT_EQ(given.graph.tensors.at("input").sizes, shape);
  EXPECT_TRUE(given.notes.empty());
  const auto size_with = [&](const Shapes& shapes, const Shapes& defaults) {
    const ParseOptions options = {.shapes = shapes, .defaults = defaults};
    return parse(shared.bytes, shared.owner, "m.pt2", options).programs.front().graph.tensors.at("input").sizes.at(0);
  };
  EXPECT_EQ(size_with({}, {{"input", {6, 2}}}), 6);
  EXPECT_EQ(size_with({{"input", shape}}, {{"input", {6, 2}}}), 5);
  for (const Shapes& unfit : {Shapes{{"other", {6, 2}}}, {{"input", {6}}}, {{"input", {9, 2}}}}) {
    EXPECT_EQ(size_with({}, unfit), 1);
  }
  EXPECT_THROW(read_as({{"other", shape}}), InputError);
  EXPECT_THROW(read_as({{"input", {5}}}), InputError);
}

// The number that a node of that operator has as its argument.
double number_of(const Program& program, std::string_view target, std::string_view name) {
  for (const Node& node : program.graph.nodes) {
    if (node.target != target) continue;
    for (const NamedArgument& argument : node.arguments) {
      const double* number = argument.argument.get_if<double>();
      if (argument.name == name && number != nullptr) return *number;
    }
  }
  return std::nan("");
}

TEST(Diagnostics, RealNumbersFollowFromGivenSizes) {
  const SharedBytes shared = share(bytes_of(kTestData + "sizes.pt2"));
  const Program program = parse(shared.bytes, shared.owner, "m.pt2", {.shapes = {{"x", {2, 9}}}}).programs.front();
  EXPECT_EQ(program.graph.tensors.at("x").sizes, (std::vector<std::int64_t>{2, 9}));
  EXPECT_EQ(number_of(program, "torch.ops.aten.div.Tensor", "other"), 3);
  EXPECT_EQ(number_of(program, "torch.ops.aten.add.Tensor", "other"), 2.25);
  EXPECT_EQ(program.graph.tensors.at("y").sizes, (std::vector<std::int64_t>{1, 2}));  // an open batch
  ASSERT_EQ(program.notes.size(), 1U);
}

TEST(Diagnostics, BatchesOfSeveralInputsAreOneEach) {
  Entries entries("sizes");
  std::string& model = entries.content[kModel];
  // The length of the first input is 5 instead of open.
  const std::size_t meta = model.find("\"x\": {\"dtype\"");
  ASSERT_NE(meta, std::string::npos);
  const std::size_t batch = model.find("Symbol('", meta);
  const std::size_t length = model.find("Symbol('", batch + 1);
  const std::string symbol = model.substr(length, model.find(')', length) + 1 - length);
  for (std::size_t at = model.find(symbol); at != std::string::npos; at = model.find(symbol, at)) {
    model.replace(at, symbol.size(), "Integer(5)");
  }
  const SharedBytes shared = share(entries.file());
  const Program program = parse(shared.bytes, shared.owner, "m.pt2").programs.front();
  EXPECT_EQ(program.graph.tensors.at("x").sizes, (std::vector<std::int64_t>{1, 5}));
  EXPECT_EQ(program.graph.tensors.at("y").sizes, (std::vector<std::int64_t>{1, 2}));
  ASSERT_EQ(program.notes.size(), 1U);
  EXPECT_NE(program.notes.front().find("batch sizes are"), std::string::npos) << program.notes.front();
}

TEST(Diagnostics, AShapeIsWithinTheExportsBounds) {
  const SharedBytes shared = share(bytes_of(kTestData + "dynamic.pt2"));
  for (const std::int64_t batch : {0, 1, 2, 8, 9}) {
    std::string problem;
    try {
      static_cast<void>(parse(shared.bytes, shared.owner, "m.pt2", {.shapes = {{"input", {batch, 2}}}}));
    } catch (const InputError& error) {
      problem = error.diagnostic().problem;
    }
    const bool is_within = batch >= 1 && batch <= 8;  // 2 is what exports begin at if nobody says so
    EXPECT_EQ(problem, is_within ? ""
                                 : "dimension 0 of the input 'input' cannot be " + std::to_string(batch) +
                                       ": the model was exported for at least 2, at most 8");
  }
}

TEST(Diagnostics, OnlyTheProducersOfDynamicValuesAreBlamed) {
  Entries entries("inplace");
  std::string& model = entries.content[kModel];
  const std::size_t meta = model.find("\"relu_\": {\"dtype\"");
  ASSERT_NE(meta, std::string::npos);
  const std::size_t size = model.find("{\"as_int\": 1}", meta);
  model.replace(size, 13, R"({"as_expr": {"expr_str": "2*u0", "hint": null}})");
  const Diagnostic diagnostic = diagnostic_of(entries.file());
  EXPECT_EQ(diagnostic.node, "relu_");
  EXPECT_TRUE(diagnostic.source.starts_with("act (make.py:")) << diagnostic.source;
  EXPECT_NE(diagnostic.problem.find("its size 0 is 2*u0"), std::string::npos) << diagnostic.problem;
}

TEST(Diagnostics, ChangedEntriesAreNamed) {
  const struct {
    std::string fixture;
    std::string entry, from, to;
    std::string part;  // of the problem
    const char* node = "";
  } cases[] = {
      {"inplace", "archive_format", "pt2", "pt3", "format is 'pt3'"},
      {"inplace", "archive_version", "0", "7", "version 7"},
      {"inplace", "byteorder", "little", "big", "byte order 'big'"},
      {"inplace", kModel, "\"major\": 8", "\"major\": 7", "version 7 of torch's serialization schema"},
      {"inplace", kModel, "\"major\": 8", "\"major\": 9", "only 8 is supported"},
      {"inplace", kModel, "{", "", "is not JSON"},
      {"inplace", kModel, "{", "[", "is not JSON"},
      {"inplace", kModel, "\"graph_module\"", "\"graph_modules\"", "\"graph_module\" is missing"},
      {"inplace", kModel, "\"as_int\": 6", "\"as_quaternion\": 6", "argument 'as_quaternion' is unknown", "hardtanh_"},
      {"inplace", kModel, "\"as_int\": 6", "\"as_int\": 6.5", "an integer was expected", "hardtanh_"},
      {"inplace", kModel, "\"as_int\": 6", "\"as_int\": 99999999999999999999", "is not JSON"},
      {"inplace", kModel, "\"as_int\": 6", "\"as_int\": 9223372036854775808", "an integer was expected", "hardtanh_"},
      {"inplace", kModel, "\"as_int\": 6", "\"as_int\": 6, \"as_none\": true", "one member was expected", "hardtanh_"},
      {"inplace", kModel, "\"target\": \"torch.ops.aten.relu_.default\"", "\"target\": 5", "a string was expected"},
      {"inplace", kModel, "{\"as_tensor\": {\"name\": \"conv1d\"}}, \"kind\"",
       "{\"as_tensor\": {\"name\": \"ghost\"}}, \"kind\"", "'ghost' is used before it is defined", "relu_"},
      {"inplace", kModel, "\"outputs\": [{\"as_tensor\": {\"name\": \"conv1d\"}}]",
       "\"outputs\": [{\"as_tensor\": {\"name\": \"x\"}}]", "'x' is defined twice", "conv1d"},
      {"inplace", kModel, "\"conv1d\": {\"dtype\"", "\"conv2d\": {\"dtype\"", "'conv1d' has no description", "conv1d"},
      {"inplace", kModel, "\"conv1d\": {\"dtype\": 7", "\"conv1d\": {\"dtype\": 10", "element type complex64",
       "conv1d"},
      {"inplace", kModel, "\"conv1d\": {\"dtype\": 7", "\"conv1d\": {\"dtype\": 77", "element type is unknown",
       "conv1d"},
      {"inplace", kModel, "\"layout\": 7", "\"layout\": 2", "is sparse"},
      {"inplace", kModel, "\"sizes\": [{\"as_int\": 2}", "\"sizes\": [{\"as_int\": -2}", "size is negative"},
      {"inplace", kModel, "\"sizes\": [{\"as_int\": 2}", "\"sizes\": [{\"as_int\": 9223372036854775807}",
       "larger than any memory"},
      {"inplace", kModel, "\"sizes\": [{\"as_int\": 2}", "\"sizes\": [{\"as_int\": 1}, {\"as_int\": 2}",
       "do not have the same length"},
      {"inplace", kModel, "\"storage_offset\": {\"as_int\": 0}", "\"storage_offset\": {\"as_int\": -1}",
       "offset is negative"},
      {"inplace", kModel, "{\"parameter\": {", "{\"perimeter\": {\"x\": 1}}, {\"parameter\": {", "\"arg\" is missing"},
      {"inplace", kModel, "{\"parameter\": {", "{\"perimeter\": {", "input 'perimeter' is unknown"},
      {"inplace", kModel, "{\"user_output\": {", "{\"user_outpost\": {", "output 'user_outpost' is unknown"},
      {"inplace", kModel, "\"input_specs\": [{",
       "\"input_specs\": [{\"user_input\": {\"arg\": {\"as_none\": true}}}, {",
       "the graph has 3 inputs, but its signature has 4"},
      {"inplace", kModel, "\"parameter_name\": \"conv.weight\"", "\"parameter_name\": \"conv.lost\"",
       "it is missing from the archive", "conv.lost"},
      {"inplace", kModel, "\"arg\": {\"name\": \"p_conv_weight\"}", "\"arg\": {\"name\": \"p_conv_bias\"}",
       "differs from the signature's", "p_conv_bias"},
      {"stateful_functional", kModel, "\"buffer_name\": \"history\"}}, {\"user_output\"",
       "\"buffer_name\": \"mystery\"}}, {\"user_output\"", "replaces 'mystery', which is not an input", "cat"},
      {"inplace", kWeights, "weight_0", "weight_9", "no entry top/data/weights/weight_9", "conv.weight"},
      {"inplace", kWeights, "\"use_pickle\": false", "\"use_pickle\": true", "stored as a pickle", "conv.weight"},
      {"inplace", kWeights, "\"use_pickle\": false", "\"use_pickle\": null", "\"use_pickle\" is missing"},
      {"inplace", kWeights, "\"dtype\": 7", "\"dtype\": 8", "need 48 bytes, but its data has 24", "conv.weight"},
      {"inplace", kWeights, "\"dtype\": 7", "\"dtype\": 4", "a different type or shape", "conv.weight"},
      {"inplace", kWeights, "\"storage_offset\": {\"as_int\": 0}", "\"storage_offset\": {\"as_int\": 1}",
       "need 28 bytes, but its data has 24", "conv.weight"},
      {"inplace", kWeights, "\"strides\": [{\"as_int\": 3}", "\"strides\": [{\"as_int\": 4611686018427387904}",
       "larger than any memory"},
      {"inplace", kWeights, "\"sizes\": [{\"as_int\": 2}, {\"as_int\": 1}, {\"as_int\": 3}]",
       "\"sizes\": [{\"as_int\": 2}, {\"as_int\": 9999999}, {\"as_int\": 3}]", "expands 24 bytes of data",
       "conv.weight"},
      {"inplace", kWeights, "\"strides\": [{\"as_int\": 3}, {\"as_int\": 3}, {\"as_int\": 1}]",
       "\"strides\": [{\"as_int\": 3}, {\"as_int\": 0}, {\"as_int\": 1}]",
       ""},  // the stride of a size 1 does not matter
  };
  for (const auto& c : cases) {
    Entries entries(c.fixture);
    entries.replace(c.entry, c.from, c.to);
    // Repeated data needs a stride of zero as well.
    if (c.part.starts_with("expands")) {
      entries.replace(c.entry, R"({"as_int": 3}, {"as_int": 3}, {"as_int": 1})",
                      R"({"as_int": 3}, {"as_int": 0}, {"as_int": 1})");
    }
    const Diagnostic diagnostic = diagnostic_of(entries.file());
    EXPECT_NE(diagnostic.problem.find(c.part), std::string::npos)
        << c.to << "\nexpected: " << c.part << "\n     got: " << diagnostic.problem;
    EXPECT_EQ(diagnostic.problem.empty(), c.part.empty()) << diagnostic.problem;
    EXPECT_TRUE(*c.node == '\0' || diagnostic.node == c.node) << c.part << ": " << diagnostic.node;
  }
}

// Views that are not contiguous are copied, each by itself.
TEST(Diagnostics, ManyCopiesOfOneStorageAreRefused) {
  Entries entries("inplace");
  const std::string& config = entries.content[kWeights];
  const std::size_t begin = config.find("\"conv.weight\"");
  std::string view = config.substr(begin, config.find("}}", begin) + 2 - begin);  // and its name
  const auto replace = [&](const std::string& from, const std::string& to) {
    ASSERT_NE(view.find(from), std::string::npos) << from << " in " << view;
    view.replace(view.find(from), from.size(), to);
  };
  replace(R"({"as_int": 2}, {"as_int": 1}, {"as_int": 3})", R"({"as_int": 2}, {"as_int": 1048576}, {"as_int": 2})");
  replace(R"({"as_int": 3}, {"as_int": 3}, {"as_int": 1})", R"({"as_int": 1}, {"as_int": 2}, {"as_int": 2097152})");
  entries.content["data/weights/weight_0"].resize(std::size_t{16} << 20);
  std::string all;
  for (int i = 0; i < 6; ++i) {
    std::string other = view;
    all += other.replace(0, std::string("\"conv.weight\"").size(), "\"view" + std::to_string(i) + "\"") + ", ";
  }
  entries.content[kWeights].insert(begin, all);
  EXPECT_EQ(diagnostic_of(entries.file()).problem,
            "it is one of so many copies of 16777216 bytes of data that these expand to more than 64 MiB");
}

TEST(Diagnostics, MissingAndAddedEntriesAreNamed) {
  const struct {
    std::string part;
    std::function<void(std::map<std::string, std::string>&)> change;
  } cases[] = {
      {"no exported program", [](auto& entries) { entries.erase(kModel); }},
      {"the weights are missing", [](auto& entries) { entries.erase(kWeights); }},
      {"its data is missing", [](auto& entries) { entries.erase("data/weights/weight_1"); }},
      {"its data is empty", [](auto& entries) { entries["data/weights/weight_1"].clear(); }},
      {"its data has 7", [](auto& entries) { entries["data/weights/weight_1"].resize(7); }},
      {"weights are a pickle", [](auto& entries) { entries["data/weights/model.pt"] = "PK"; }},
      {"is not JSON", [](auto& entries) { entries[kModel].clear(); }},
      {"is not JSON", [](auto& entries) { entries[kModel] = "\xff"; }},
      {"nested too deeply", [](auto& entries) { entries[kModel] = std::string(5000, '[') + std::string(5000, ']'); }},
      {"an object was expected", [](auto& entries) { entries[kModel] = "[]"; }},
      {"an object was expected", [](auto& entries) { entries[kWeights] = "7"; }},
      {"\"config\" is missing", [](auto& entries) { entries[kWeights] = "{}"; }},
      {"", [](auto& entries) { entries.erase("byteorder"); }},
      {"", [](auto& entries) { entries.erase("data/sample_inputs/model.pt"); }},
      {"", [](auto& entries) { entries.erase("data/constants/model_constants_config.json"); }},
      {"", [](auto& entries) { entries["extra/readme.txt"] = "hello"; }},
  };
  for (const auto& c : cases) {
    Entries entries("inplace");
    c.change(entries.content);
    const std::string problem = diagnostic_of(entries.file()).problem;
    EXPECT_NE(problem.find(c.part), std::string::npos) << "expected: " << c.part << "\n     got: " << problem;
    EXPECT_EQ(problem.empty(), c.part.empty()) << problem;
  }
}

// A hostile nesting of arguments within the JSON parser's depth must not exhaust the stack.
TEST(Diagnostics, DeepArgumentsAreReadOrRefused) {
  Entries entries("inplace");
  std::string deep;
  for (int i = 0; i < 480; ++i) deep += "\"as_string_to_argument\": {\"a\": {";
  deep += "\"as_int\": 6";
  deep.append(480 * 2, '}');
  entries.replace(kModel, "\"as_int\": 6", deep);
  EXPECT_EQ(diagnostic_of(entries.file()).problem, "");
}

TEST(Diagnostics, OtherZipsAreRecognized) {
  const auto zip = [](const std::string& name) { return build_zip({{.name = name, .content = "x"}}); };
  const struct {
    std::string bytes;
    std::string part;
  } cases[] = {
      {bytes_of(kTestData + "torch_save.pt"), "archive of torch.save"},
      {build_zip({{.name = "m/data.pkl", .content = "x"}, {.name = "m/constants.pkl", .content = "x"}}), "TorchScript"},
      {zip("serialized_exported_program.json"), "before PyTorch 2.8"},
      {zip("x.npy"), "NumPy"},
      {zip("holiday.jpg"), "another kind"},
      {zip("a/b/archive_format"), "another kind"},
      {build_zip({}), "another kind"},
      {bytes_of(kTestData + "inplace.pt2").substr(0, 5000), "truncated"},
  };
  for (const auto& c : cases) {
    const std::string problem = diagnostic_of(c.bytes).problem;
    EXPECT_NE(problem.find(c.part), std::string::npos) << "expected: " << c.part << "\n     got: " << problem;
  }
}

TEST(Diagnostics, OtherFilesAreRecognized) {
  const auto at4 = [](const std::string& id) { return std::string("\x1c\0\0\0", 4) + id + "more"; };
  const struct {
    std::string bytes;
    std::string part;
  } cases[] = {
      {"", "empty"},
      {bytes_of(kTestData + "legacy_torch_save.pt"), "a pickle, such as torch.save"},
      {"\x80\x04\x95", "a pickle"},
      {at4("ET12"), "ExecuTorch program"},
      {at4("BP08"), "bundled ExecuTorch program"},
      {at4("TFL3"), "TensorFlow Lite"},
      {"\x93NUMPY", "NumPy array"},
      {"\x89HDF\r\n", "HDF5"},
      {std::string("\x40\0\0\0\0\0\0\0{\"a\":1}", 15), "safetensors"},
      {"\x08\x08\x12\x07pytorch", "ONNX"},
      {"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"},
      {"<!DOCTYPE html>", "web page"},
      {"{\"a\": 1}", "a JSON file"},
      {"import torch\n", "a text file"},
      {"\x01\x02\x03\x04", "something unknown"},
  };
  for (const auto& c : cases) {
    const std::string problem = diagnostic_of(c.bytes).problem;
    EXPECT_NE(problem.find(c.part), std::string::npos) << "expected: " << c.part << "\n     got: " << problem;
  }
}

}  // namespace
}  // namespace cormorant::pt2
