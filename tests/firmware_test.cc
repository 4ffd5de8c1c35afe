// SPDX-License-Identifier: Apache-2.0
//
// What `compile` reports about a program's firmware is what `run` measures, and if it cannot be known, it says
// so.
#include <gtest/gtest.h>

#include "formats/npy/data_set.h"
#include "formats/npy/npy.h"
#include "runner/process.h"
#include "tests/command.h"

namespace cormorant::tests {
namespace {

class Firmware : public testing::Test {
 protected:
  Ran compile(const Arguments& more, const Environment& environment = {}) {
    Arguments arguments = {"compile",
                           std::string(CORMORANT_SOURCE_DIR) + "/docs/tutorial/wave.pt2",
                           "--quantize",
                           "--io=int8",
                           "--target=cortex-m55",
                           "-o",
                           "wave.pte"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return cormorant(directory_.path(), arguments, environment);
  }
  Ran run(const Arguments& more) {
    Arguments arguments = {"run", "wave.pte", "--target=cortex-m55"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return cormorant(directory_.path(), arguments);
  }

  TemporaryDirectory directory_;
};

TEST_F(Firmware, IsWhatRunFinds) {
  for (const char* const compiler : {"--compiler=gcc", "--compiler=clang"}) {
    const nlohmann::json told = compile({"--link", "--json", compiler}).json()["firmware"];
    const nlohmann::json found = run({"--json", compiler}).json();
    EXPECT_EQ(told["code"], found["flash"]["code"]);
    EXPECT_EQ(told["state"], found["ram"]["state"]);
    EXPECT_EQ(told["code_parts"], found["code_parts"]);
    EXPECT_EQ(told["stack_bound"], found["stack_bound"]);
    EXPECT_LE(found["ram"]["stack"], told["stack_bound"]["bytes"]);
    EXPECT_EQ(told["stack_bound"]["exception_frame"], 108);  // with the registers of the FPU, and aligned

    std::uint64_t sum = 0;
    for (const auto& [part, bytes] : told["code_parts"].items()) sum += bytes.get<std::uint64_t>();
    EXPECT_EQ(sum, told["code"]);
    for (const char* const part : {"runtime", "conv2d", "linear", "start-up", "operator table"}) {
      EXPECT_GT(told["code_parts"].value(part, 0), 0) << part;
    }
    EXPECT_EQ(told["code_parts"].count("depthwise_conv2d"), 0U);
    std::uint64_t depth = 0;
    for (const nlohmann::json& frame : told["stack_bound"]["path"]) depth += frame["bytes"].get<std::uint64_t>();
    EXPECT_EQ(depth, told["stack_bound"]["bytes"]);
  }
}

TEST_F(Firmware, EndsWhatCompilePrints) {
  const Ran ran = compile({"--link"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  std::size_t at = 0;
  for (const char* const line : {"\n  model ", "\n  arena ", "\n  state ", "\n  stack ", "\n  code ", "\n    runtime ",
                                 "\n  flash ", "\n  RAM ", "\n  written to "}) {
    at = ran.out.find(line, at);
    ASSERT_NE(at, std::string::npos) << line << "\n" << ran.out;
  }
  EXPECT_TRUE(has(run({"--profile"}).out, "the stack's deepest point"));
}

// Nothing that compile tells needs an emulated board; state does not even need archives.
TEST_F(Firmware, IsKnownWithoutAnEmulator) {
  const nlohmann::json usual = compile({"--link", "--json"}).json()["firmware"];
  const std::filesystem::path fake = directory_.path() / "bin" / "qemu-system-arm";
  std::filesystem::create_directory(fake.parent_path());
  write_text(fake, "#!/bin/sh\ntouch " + (directory_.path() / "started").string() + "\nexit 1\n");
  std::filesystem::permissions(fake, std::filesystem::perms::owner_all);
  const Environment without = {"PATH=" + fake.parent_path().string() + ":" + std::getenv("PATH")};
  EXPECT_EQ(compile({"--link", "--json", "--budget=ram=64K"}, without).json()["firmware"], usual);
  EXPECT_FALSE(std::filesystem::exists(directory_.path() / "started"));
  const nlohmann::json unlinked = compile({"--no-link", "--json"}, without).json()["firmware"];
  EXPECT_EQ(unlinked["state"], usual["state"]);
  EXPECT_TRUE(unlinked["code"].is_null());
}

TEST_F(Firmware, IsUnknownWithoutArchives) {
  const Environment nowhere = {"CORMORANT_TARGET_DIR=/nonexistent"};
  const Ran ran = compile({"--link"}, nowhere);
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_TRUE(has(ran.out, "unknown: /nonexistent/gcc/m55/link.txt is not built"));
  const nlohmann::json told = compile({"--link", "--json"}, nowhere).json()["firmware"];
  EXPECT_TRUE(told["code"].is_null() && told["stack_bound"].is_null()) << told;
  EXPECT_EQ(compile({"--measure"}, nowhere).status, 1);  // requested, so it is an error
}

TEST_F(Firmware, CountsForTheBudget) {
  const Ran ran = compile({"--budget=flash=1K"});
  EXPECT_EQ(ran.status, 1);
  EXPECT_TRUE(has(ran.err, "code of runtime"));
  EXPECT_TRUE(has(compile({"--budget=ram=1K"}).err, "stack"));
}

// With state and stack known, layers are computed by rows where the budget is a byte too small, and not before.
TEST_F(Firmware, DecidesWhetherABudgetTakesRows) {
  write_text(directory_.path() / "convolutions.txt", convolutions());
  const auto compile_for = [&](const Arguments& more) {
    Arguments arguments = {"compile", "convolutions.txt", "-q", "--io=int8", "--link", "--json", "-o", "rows.pte"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Ran ran = cormorant(directory_.path(), arguments);
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.json();
  };
  const auto ram_of = [](const nlohmann::json& json) {
    return json["arena_bytes"]["arena"].get<int>() + json["firmware"]["state"].get<int>() +
           json["firmware"]["stack_bound"]["bytes"].get<int>();
  };
  const int layers = ram_of(compile_for({}));
  EXPECT_FALSE(compile_for({"--budget=ram=" + std::to_string(layers)}).contains("rows"));
  const nlohmann::json rows = compile_for({"--budget=ram=" + std::to_string(layers - 1)});
  EXPECT_GT(rows["rows"]["groups"], 0);
  EXPECT_LT(ram_of(rows), layers);
}

// The smallest has 8 KB of RAM. What it computes there is what the host computes.
TEST_F(Firmware, RunsOnBoardsThatPeopleOwn) {
  const std::pair<const char*, const char*> boards[] = {
      {"cortex-m0", "microbit"}, {"cortex-m3", "stm32vldiscovery"}, {"cortex-m4", "netduinoplus2"}};
  const std::string tutorial = std::string(CORMORANT_SOURCE_DIR) + "/docs/tutorial/";
  const auto output_of = [&](Arguments arguments) {
    arguments.insert(arguments.begin(), {"run", "wave.pte", "--input", tutorial + "wave.npy"});
    const Ran ran = cormorant(directory_.path(), arguments);
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.out.substr(std::min(ran.out.find("output 0"), ran.out.size()));
  };
  for (const auto& [cpu, board] : boards) {
    const std::string target = std::string("--target=") + cpu;
    const Ran compiled = cormorant(directory_.path(), {"compile", tutorial + "wave.pt2", "--quantize", "--io=int8",
                                                       "--no-link", target, "-o", "wave.pte"});
    ASSERT_EQ(compiled.status, 0) << compiled.err;
    EXPECT_EQ(output_of({target, std::string("--board=") + board}), output_of({"--target=host"})) << board;
  }
  EXPECT_TRUE(has(run({"--board=microbit"}).err, "microbit has a Cortex-M0, not a cortex-m55"));
  EXPECT_TRUE(has(run({"--board=arduino"}).err, "boards are mps3-an547"));
}

// Real networks, by rows: a recognizer of digits in 8 KB of RAM, keyword spotting in 16.
TEST_F(Firmware, RunsNetworksOnSmallBoards) {
  struct Case {
    const char *model, *target, *board;
  };
  for (const Case& c : {Case{"digits", "--target=cortex-m3", "--board=stm32vldiscovery"},
                        Case{"kws", "--target=cortex-m0", "--board=microbit"}}) {
    const std::string samples = few_samples(directory_.path(), c.model);
    const Ran compiled =
        cormorant(directory_.path(), {"compile", zoo(std::string(c.model) + ".pt2"), "--calibrate", samples,
                                      "--io=int8", "--optimize=ram", "--no-link", c.target, "-o", "net.pte"});
    ASSERT_EQ(compiled.status, 0) << compiled.err;
    npy::Array input = npy::read_data_set(samples).arrays.at(0).second;
    input.data.resize(input.data.size() / static_cast<std::size_t>(input.shape.at(0)));
    input.shape[0] = 1;
    npy::write_npy(directory_.path() / "x.npy", input);
    const auto output_of = [&](Arguments where) {
      where.insert(where.begin(), {"run", "net.pte", "--input", "x.npy", "--output", "y.npy"});
      const Ran ran = cormorant(directory_.path(), where);
      EXPECT_EQ(ran.status, 0) << ran.err;
      return read_text(directory_.path() / "y.npy");
    };
    EXPECT_EQ(output_of({c.target, c.board}), output_of({"--target=host"})) << c.board;
  }
}

}  // namespace
}  // namespace cormorant::tests
