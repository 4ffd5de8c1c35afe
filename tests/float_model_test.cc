// SPDX-License-Identifier: Apache-2.0
//
// One model in float, in int8 and half in float: each computes on boards without and with an FPU the bits that it
// computes on the host, and what stays in float is reported.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "formats/npy/data_set.h"
#include "program/program_io.h"
#include "runner/process.h"
#include "target/parse.h"
#include "tests/command.h"
#include "tests/known_state.h"

namespace cormorant::tests {
namespace {

// Float layers at both ends and in the middle, so that every kind of transition occurs.
const char* const kFloatLayers = "stem,blocks.3,classifier";

class FloatModel : public testing::Test {
 protected:
  void SetUp() override { few_samples(directory_.path(), "digits"); }

  Ran compile(const Arguments& more, const std::string& target = "cortex-m55") {
    Arguments arguments = {"compile", zoo("digits.pt2"), "--target", target, "--json", "-o", "model.pte"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    Ran ran = cormorant(directory_.path(), arguments);
    EXPECT_EQ(ran.status, 0) << ran.command << "\n" << ran.err;
    return ran;
  }

  // The host's outputs, which the board's must equal.
  std::vector<float> run(const std::string& target) {
    const ProgramFile program = read_program((directory_.path() / "model.pte").string());
    std::vector<Arrays> samples = sample_arrays(program, npy::read_data_set(zoo("digits_expected.npz")));
    samples.resize(2);
    const Execution host = execute(program, samples, {});
    ExecuteOn board;
    board.target = parse_target(target);
    const Execution there = execute(program, samples, board);
    expect_known_state(program, board, there);
    std::vector<float> all;
    for (std::size_t s = 0; s < samples.size(); ++s) {
      EXPECT_EQ(host.outputs[s].at(0).data, there.outputs[s].at(0).data) << target << ", sample " << s;
      const std::vector<float> values = real_values(host.outputs[s].at(0), program.outputs.at(0));
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  TemporaryDirectory directory_;
};

TEST_F(FloatModel, HasTheHostsBitsOnBoardsInFloatInInt8AndInBoth) {
  const Arguments ways[] = {
      {}, {"--calibrate", "digits_few.npz"}, {"--calibrate", "digits_few.npz", "--float-layers", kFloatLayers}};
  for (const char* target : {"cortex-m0", "cortex-m55"}) {
    std::vector<std::vector<float>> outputs;
    for (const Arguments& way : ways) {
      compile(way, target);
      outputs.push_back(run(target));
    }
    // Probabilities: int8 and half of it are near float, and neither is float itself.
    for (std::size_t w = 1; w < outputs.size(); ++w) {
      double largest = 0;
      for (std::size_t i = 0; i < outputs[0].size(); ++i) {
        largest = std::max(largest, std::abs(static_cast<double>(outputs[w][i]) - static_cast<double>(outputs[0][i])));
      }
      EXPECT_GT(largest, 0);
      EXPECT_LT(largest, 0.1);
    }
  }
}

TEST_F(FloatModel, InFloatItComputesWhatPyTorchDoes) {
  compile({});
  const ProgramFile program = read_program((directory_.path() / "model.pte").string());
  const npy::DataSet data = npy::read_data_set(zoo("digits_expected.npz"));
  const std::vector<Arrays> samples = sample_arrays(program, data);
  const npy::Array* expected = npy::find(data.arrays, "y");
  ASSERT_NE(expected, nullptr);
  const auto* wanted = reinterpret_cast<const float*>(expected->data.data());
  for (const Arrays& outputs : execute(program, samples, {}).outputs) {
    for (const float got : real_values(outputs.at(0), program.outputs.at(0))) EXPECT_NEAR(got, *wanted++, 1e-5);
  }
}

TEST_F(FloatModel, RegionsMeetInOneConversionPerEdge) {
  const auto report = compile({"--calibrate", "digits_few.npz", "--float-layers", kFloatLayers}).json();
  // Stem to blocks, block 3 to block 4, classifier to softmax; block 2 to block 3, pooling to classifier, to the
  // output.
  EXPECT_EQ(report["operators"]["cortex_m::quantize_per_tensor.out"], 3);
  EXPECT_EQ(report["operators"]["cortex_m::dequantize_per_tensor.out"], 3);
  EXPECT_EQ(report["operators"]["aten::convolution.out"], 2);
  EXPECT_EQ(report["operators"]["aten::addmm.out"], 1);
}

TEST_F(FloatModel, WhatStaysInFloatIsToldWithPlaceAndReason) {
  const Ran ran = compile({"--calibrate", "digits_few.npz", "--float-layers", "classifier"});
  const auto left = ran.json()["float_operators"];
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0]["operator"], "aten.linear");
  EXPECT_TRUE(has(left[0]["source"], "classifier ("));
  EXPECT_TRUE(has(left[0]["reason"], "as requested for layer classifier"));
  EXPECT_TRUE(has(ran.err, "float: linear (aten.linear) at classifier ("));
  const Ran strict = cormorant(directory_.path(), {"compile", zoo("digits.pt2"), "--calibrate", "digits_few.npz",
                                                   "--float-layers", "classifier", "--strict", "-o", "x.pte"});
  EXPECT_EQ(strict.status, 1);
  EXPECT_TRUE(has(strict.err, "aten.linear"));
}

// Indices and booleans are no floats, but what they are computed from may be.
TEST_F(FloatModel, OrderAndComparisonsAreComputedWithIntegersOrTold) {
  const std::string two_layers =
      "graph forward\ninput %x : f32[1,2]\nconst %v : f32[2,2] = [0.5, 1.0, -1.0, 0.25]\n"
      "const %w : f32[2,2] = [0.25, 1.0, 1.0, -0.5]\nconst %t : f32[] = [0.25]\n"
      "node \"a\" \"\" \"\"\n  %a : f32[1,2] = aten.linear(input=%x, weight=%v, bias=none)\n"
      "node \"b\" \"\" \"\"\n  %b : f32[1,2] = aten.linear(input=%a, weight=%w, bias=none)\n";
  const struct {
    const char* node;
    const char* left;  // in float
  } rows[] = {
      {"%y : i64[1,2] = cormorant.argsort.any(self=%b, dim=1, descending=true)", ""},
      {"%y : i64[1] = aten.argmax(self=%b, dim=1, keepdim=false)", ""},
      {"%y : bool[1,2] = aten.gt.Tensor_out(self=%b, other=%t)", ""},
      {"%y : bool[1,2] = aten.gt.Tensor_out(self=%b, other=%a)", "aten.gt.Tensor_out"},
      {"%y : i64[1,2] = cormorant.convert.any(self=%b)", "cormorant.convert.any"},
  };
  for (const auto& row : rows) {
    write_text(directory_.path() / "m.txt", two_layers + "node \"y\" \"\" \"\"\n  " + row.node + "\noutput %y\n");
    for (const char* scheme : {"--scheme=8w8a", "--scheme=8w16a"}) {
      const Ran ran =
          cormorant(directory_.path(), {"compile", "m.txt", "-q", scheme, "--strict", "-o", "m.pte", "--no-link"});
      EXPECT_EQ(ran.status, row.left == std::string_view() ? 0 : 1) << row.node << "\n" << ran.err;
      EXPECT_TRUE(has(ran.err, row.left)) << row.node;
    }
  }
}

TEST_F(FloatModel, ALayerThatBecamePartOfAnotherIsToldToo) {
  const Ran ran = compile({"--calibrate", "digits_few.npz", "--float-layers", "stem.bn"});
  EXPECT_TRUE(has(ran.err, "nothing of stem.bn is left")) << ran.err;
}

}  // namespace
}  // namespace cormorant::tests
