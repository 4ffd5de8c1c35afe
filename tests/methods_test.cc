// SPDX-License-Identifier: Apache-2.0
//
// Several methods in one file (formats/pt2/testdata/methods.pt2, with PyTorch's results in methods.npz): one program
// with all of them, or with one, on the host and in firmware that has all of them in one arena.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>

#include "formats/npy/data_set.h"
#include "program/files.h"
#include "program/program_io.h"
#include "runner/emulator.h"
#include "runner/process.h"
#include "runner/toolchain.h"
#include "target/parse.h"
#include "tests/command.h"

namespace cormorant::tests {
namespace {

const std::string kModel = CORMORANT_SOURCE_DIR "/formats/pt2/testdata/methods.pt2";
const std::string kData = CORMORANT_SOURCE_DIR "/formats/pt2/testdata/methods.npz";
const char* const kMethods[] = {"encode", "decode", "follow"};

class Methods : public testing::Test {
 protected:
  Ran compile(const Arguments& more, const std::string& output = "codec.pte") {
    Arguments arguments = {"compile", kModel, "--target=cortex-m55", "--no-link", "-o", output};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return cormorant(path(), arguments);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return directory_.path(); }
  // Of every output, against PyTorch's.
  double rmse(const std::string& program, const Arguments& more) {
    Arguments arguments = {"evaluate", program, "--data", kData, "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = cormorant(path(), arguments);
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.status == 0 ? ran.json()["outputs"][0]["rmse"].get<double>() : 1;
  }

 private:
  TemporaryDirectory directory_;
};

TEST_F(Methods, OfOneFileAreOneProgram) {
  const Ran ran = compile({"--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const nlohmann::json told = ran.json();
  ASSERT_EQ(told["methods"].size(), 3U);
  std::size_t alone = 0;
  for (const char* const method : kMethods) {
    EXPECT_LT(rmse("codec.pte", {"--method", method}), 1e-6) << method;
    EXPECT_LT(rmse(kModel, {"--method", method}), 1e-6) << method;  // the float model itself
    alone += told["methods"][method]["model_bytes"].get<std::size_t>();
  }
  // Both layers are in two methods, and in the program once: 2 · 64 floats and their biases less.
  EXPECT_LE(told["model_bytes"].get<std::size_t>() + 2 * 64 * 4, alone);

  // Without firmware, what each method's state takes in it.
  std::uint64_t state = 0;
  for (const char* const method : kMethods) {
    const Ran there = cormorant(path(), {"run", "codec.pte", "--method", method, "--json"});
    ASSERT_EQ(there.status, 0) << there.err;
    EXPECT_EQ(told["methods"][method]["firmware"]["state"], there.json()["ram"]["state"]) << method;
    state += there.json()["ram"]["state"].get<std::uint64_t>();
  }
  EXPECT_EQ(told["state"], state);

  const nlohmann::json inside = cormorant(path(), {"inspect", "codec.pte", "--json"}).json();
  ASSERT_EQ(inside["methods"].size(), 3U);
  EXPECT_EQ(inside["methods"][1]["name"], "decode");
  EXPECT_EQ(inside["methods"][1]["inputs"][0]["name"], "code");
  EXPECT_EQ(inside["methods"][2]["states"].size(), 1U);
  const nlohmann::json only = cormorant(path(), {"inspect", "codec.pte", "--json", "--method", "follow"}).json();
  ASSERT_EQ(only["methods"].size(), 1U);
  EXPECT_EQ(only["methods"][0], inside["methods"][2]);
  const Ran explained = cormorant(path(), {"inspect", "codec.pte", "--explain", "--method", "encode"});
  EXPECT_TRUE(has(explained.out, "make.py")) << explained.err;  // the names of its own steps
}

TEST_F(Methods, AreQuantizedByTheirOwnData) {
  const Ran ran = compile({"--calibrate", kData, "--io=int8", "--json", "--strict"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  for (const char* const method : kMethods) {
    EXPECT_LT(rmse("codec.pte", {"--method", method, "--float", kModel}), 0.02) << method;
    EXPECT_EQ(ran.json()["methods"][method]["calibration"]["samples"], 32) << method;
  }
  // Data for some of them only.
  npy::NamedArrays arrays;
  for (auto& [name, array] : npy::read_npz(kData)) {
    if (!name.starts_with("decode.")) arrays.emplace_back(name, std::move(array));
  }
  npy::write_npz((path() / "some.npz").string(), arrays);
  const Ran refused = compile({"--calibrate", "some.npz"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(has(refused.err, "method decode: it contains no arrays for method 'decode'"));
  EXPECT_TRUE(has(refused.err, "name them decode.INPUT"));
}

TEST_F(Methods, CanBeCompiledOneByOne) {
  ASSERT_EQ(compile({"--method", "follow"}, "follow.pte").status, 0);
  EXPECT_EQ(cormorant(path(), {"inspect", "follow.pte", "--json"}).json()["methods"][0]["name"], "forward");
  EXPECT_LT(rmse("follow.pte", {"--method", "follow", "--float", kModel}), 1e-6);
  // A program with several methods is a model, too.
  ASSERT_EQ(compile({}).status, 0);
  const Ran again = cormorant(path(), {"compile", "codec.pte", "--target=cortex-m4", "--no-link", "-o", "again.pte"});
  ASSERT_EQ(again.status, 0) << again.err;
  for (const char* const method : kMethods) EXPECT_LT(rmse("again.pte", {"--method", method}), 1e-6) << method;
}

TEST_F(Methods, OfExecuTorchsFilesRunAndCompile) {
  const std::string theirs = CORMORANT_SOURCE_DIR "/tests/executorch/methods.pte";
  const Ran ran = cormorant(path(), {"compile", theirs, "--target=cortex-m4", "--no-link", "-o", "ours.pte", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  for (const char* const method : kMethods) {
    EXPECT_LT(rmse(theirs, {"--method", method}), 1e-6) << method;
    EXPECT_LT(rmse("ours.pte", {"--method", method}), 1e-6) << method;
  }
  EXPECT_LT(rmse(theirs, {"--method", "encode", "--target=cortex-m4"}), 1e-6);
}

TEST_F(Methods, ThatAreNotThereAreNamed) {
  ASSERT_EQ(compile({}).status, 0);
  const Ran none = cormorant(path(), {"run", "codec.pte", "--target=host"});
  EXPECT_EQ(none.status, 1);
  EXPECT_TRUE(has(none.err, "codec.pte: it has 3 methods: encode, decode, follow\n  choose one with --method"));
  const Ran wrong = cormorant(path(), {"run", "codec.pte", "--target=host", "--method", "encoder"});
  EXPECT_EQ(wrong.status, 1);
  EXPECT_TRUE(has(wrong.err, "there is no method 'encoder'; did you mean 'encode'?"));
  const Ran absent = compile({"--method", "train"});
  EXPECT_EQ(absent.status, 1);
  EXPECT_TRUE(has(absent.err, "there is no method 'train'\n  the methods are encode, decode, follow"));
  const Ran budget = compile({"--budget=ram=100"});
  EXPECT_EQ(budget.status, 1);
  EXPECT_TRUE(has(budget.err, "the budget for RAM is 100 bytes"));
}

TEST_F(Methods, HaveAReportEach) {
  ASSERT_EQ(compile({"--report", "pages/codec.html"}).status, 0);
  for (const char* const method : kMethods) {
    const std::string page = read_text(path() / fmt::format("pages/codec.{}.html", method));
    EXPECT_TRUE(has(page, fmt::format("methods.pt2, method {}", method))) << method;
  }
  EXPECT_FALSE(std::filesystem::exists(path() / "pages/codec.html"));
  // What would be overwritten is named before anything is.
  const Ran same = compile({"--report", "codec.html"}, "codec.decode.html");
  EXPECT_EQ(same.status, 2);
  EXPECT_TRUE(has(same.err, "--report")) << same.err;
}

TEST_F(Methods, AreBundledWithTheirTests) {
  ASSERT_EQ(compile({"--bundle", kData}).status, 0);
  for (const char* const method : kMethods) {
    const Ran ran = cormorant(path(), {"run", "codec.bpte", "--target=host", "--method", method});
    EXPECT_EQ(ran.status, 0) << ran.err;
    EXPECT_TRUE(has(ran.out, "Test_result: PASS")) << method << ran.out;
  }
  // As many cases as each method has samples.
  const nlohmann::json inspected = cormorant(path(), {"inspect", "codec.bpte", "--method", "decode", "--json"}).json();
  EXPECT_EQ(inspected["tested_method"], "decode");
  std::size_t samples = 0;
  npy::NamedArrays arrays = npy::read_npz(kData);
  for (const auto& [name, array] : arrays) {
    if (name.starts_with("decode.")) samples = static_cast<std::size_t>(array.shape[0]);
  }
  EXPECT_EQ(inspected["test_cases"], samples);
  // The outputs that are expected are the method's own: others fail.
  for (auto& [name, array] : arrays) {
    if (name == "decode.y") array.data.assign(array.data.size(), std::byte(0x41));  // 12.08
  }
  npy::write_npz((path() / "wrong.npz").string(), arrays);
  ASSERT_EQ(compile({"--bundle", "wrong.npz"}).status, 0);
  EXPECT_EQ(cormorant(path(), {"run", "codec.bpte", "--target=host", "--method", "encode"}).status, 0);
  EXPECT_EQ(cormorant(path(), {"run", "codec.bpte", "--target=host", "--method", "decode"}).status, 1);
  ASSERT_EQ(compile({"--bundleio"}).status, 0);
  EXPECT_EQ(cormorant(path(), {"run", "codec.bpte", "--target=host", "--method", "follow"}).status, 0);
}

TEST_F(Methods, AreWarnedOfBeforeAnErrorOfTheLast) {
  npy::NamedArrays arrays;
  for (auto& [name, array] : npy::read_npz(kData)) {
    if (name.starts_with("encode.")) arrays.emplace_back(name, std::move(array));
  }
  for (auto& [name, array] : arrays) {  // one sample is few
    array.data.resize(array.data.size() / static_cast<std::size_t>(array.shape[0]));
    array.shape[0] = 1;
  }
  npy::write_npz((path() / "few.npz").string(), arrays);
  const Ran refused = compile({"--calibrate", "few.npz"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_TRUE(has(refused.err, "method decode: it contains no arrays"));
  EXPECT_TRUE(has(refused.err, "warning: only 1 calibration sample")) << refused.err;
  // What all of them need together is only known at the end.
  const nlohmann::json whole = compile({"--quantize", "--json"}).json();
  auto needed = whole["state"].get<std::size_t>();
  for (const nlohmann::json& bytes : whole["arena_bytes"]) needed += bytes.get<std::size_t>();
  const Ran budget = compile({"--quantize", fmt::format("--budget=ram={}", needed - 1)});
  EXPECT_EQ(budget.status, 1);
  EXPECT_TRUE(has(budget.err, "all methods together need"));
  EXPECT_TRUE(has(budget.err, "warning: no calibration data")) << budget.err;
}

std::vector<float> samples(int sample) {  // as the firmware makes them
  std::vector<float> values;
  for (int i = 0; i < 16; ++i) values.push_back(static_cast<float>((i * 7 + 3 * sample) % 11) * 0.25F - 1.0F);
  return values;
}

npy::Array array_of(const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {DType::f32, {1, static_cast<std::int64_t>(values.size())}, {bytes.begin(), bytes.end()}};
}

std::string line(const std::string& method, const npy::Array& output) {
  std::string text = method;
  for (const float value : compiler::to_float(output.dtype, output.data)) {
    text += fmt::format(" 0x{:08x}", std::bit_cast<std::uint32_t>(value));
  }
  return text;
}

// State survives what other methods compute in the same arena, and every method has the host's bits.
TEST_F(Methods, ShareOneArenaInFirmware) {
  ASSERT_EQ(compile({}).status, 0);
  const std::string program = (path() / "codec.pte").string();
  const Target target = parse_target("cortex-m55");
  const std::filesystem::path archives = archive_directory(*target.cpu, Compiler::gcc);
  const ProcessResult glue = run_process(
      {std::filesystem::path(binary()).parent_path() / "cormorant-glue", program, "--name=codec", "--target=cortex-m55",
       "--kernels=" + (archives / "libkernels.a").string(), "--header=codec.h", "-o", "codec.S"},
      path(), std::chrono::minutes(5));
  ASSERT_TRUE(glue.succeeded()) << glue.output;
  const std::filesystem::path elf = path() / "codec.elf";
  link_firmware(archives, target.cpu->board,
                {"-std=c++20", "-Os", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-Wall", "-Werror",
                 "-I" CORMORANT_SOURCE_DIR, "-I" CORMORANT_SOURCE_DIR "/include", "-I" + path().string(),
                 CORMORANT_SOURCE_DIR "/tests/testdata/methods.cc", (path() / "codec.S").string()},
                elf);
  const EmulationResult board =
      emulate({.elf = elf, .board = find_board(target.cpu->board), .directory = path(), .count = {}}, read_elf(elf));
  ASSERT_EQ(board.status, 0);

  const ProgramFile encode = read_program(program, "encode"), decode = read_program(program, "decode"),
                    follow = read_program(program, "follow");
  std::vector<Arrays> steps;
  for (int sample = 0; sample < 3; ++sample) steps.push_back({array_of(samples(sample))});
  std::vector<Arrays> longer = steps;
  longer.push_back({array_of(samples(3))});
  const std::vector<Arrays> followed = execute(follow, longer, {.target = {}, .steps = 4, .keep_elf = {}}).outputs;
  std::vector<std::string> expected;
  for (int sample = 0; sample < 3; ++sample) {
    const Arrays code = execute(encode, {steps[static_cast<std::size_t>(sample)]}, {}).outputs[0];
    expected.push_back(line("follow", followed[static_cast<std::size_t>(sample)][0]));
    expected.push_back(line("decode", execute(decode, {code}, {}).outputs[0][0]));
  }
  expected.push_back(expected[0]);
  expected.push_back(line("follow", followed[3][0]));
  ASSERT_EQ(board.console.size(), 1 + expected.size());
  EXPECT_TRUE(has(board.console[0], "ram "));
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(board.console[1 + i], expected[i]) << i;
  EXPECT_NE(expected[0], expected[2]);

  // The same through the command, whose firmware has one of them.
  npy::write_npy((path() / "x.npy").string(), array_of(samples(1)));
  const Ran ran = cormorant(path(), {"run", "codec.pte", "--method", "encode", "--input", "x.npy", "--output", "y.npy",
                                     "--profile", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(npy::read_npy((path() / "y.npy").string()).data, execute(encode, {steps[1]}, {}).outputs[0][0].data);
  EXPECT_TRUE(has(ran.json()["operators"][0]["source"].get<std::string>(), "make.py"));
}

// Only one file's methods are laid out for a common arena.
TEST_F(Methods, WithStateShareNoArenaWithOtherModels) {
  ASSERT_EQ(compile({}).status, 0);
  const std::filesystem::path archives = archive_directory(*parse_target("cortex-m55").cpu, Compiler::gcc);
  const auto glue = [&](Arguments arguments) {
    arguments.insert(arguments.begin(), std::filesystem::path(binary()).parent_path() / "cormorant-glue");
    arguments.insert(arguments.end(), {"--arena=shared", "-o", "codec.S"});
    return run_process(arguments, path(), std::chrono::minutes(5));
  };
  const Arguments own = {"codec.pte", "--name=codec", "--target=cortex-m55",
                         "--kernels=" + (archives / "libkernels.a").string()};
  for (const Arguments& arguments : {own, Arguments{"codec.pte", "codec.pte", "--arena-alone"}}) {
    const ProcessResult refused = glue(arguments);
    EXPECT_EQ(refused.status, 1);
    EXPECT_TRUE(has(refused.output, "codec.pte: it has state, which would be lost in 'shared'")) << refused.output;
  }
  Arguments stateless = own;
  stateless.emplace_back("--method=encode");
  EXPECT_TRUE(glue(stateless).succeeded());
}

}  // namespace
}  // namespace cormorant::tests
