// SPDX-License-Identifier: Apache-2.0
//
// Trained networks that listen (zoo/listening.py): what they are for they still do in int8, and every board has the
// host's bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/process.h"
#include "target/parse.h"
#include "tests/command.h"
#include "tests/sequences.h"

namespace cormorant::tests {
namespace {

struct Network {
  const char* name;
  Arguments options;
  double sqnr;  // of PyTorch's outputs
};

class Listening : public testing::Test {
 protected:
  ProgramFile compile(const Network& network, const char* target) {
    Arguments arguments = {"compile",     zoo(file(network, ".pt2")),
                           "--calibrate", zoo(file(network, "_calibration.npz")),
                           "--strict",    "--json",
                           "--no-link",   "--target",
                           target,        "-o",
                           "model.pte"};
    arguments.insert(arguments.end(), network.options.begin(), network.options.end());
    const Ran ran = cormorant(directory_.path(), arguments);
    EXPECT_EQ(ran.status, 0) << ran.command << "\n" << ran.err;
    json_ = nlohmann::json::parse(ran.out);
    return read_program((directory_.path() / "model.pte").string());
  }
  static std::string file(const Network& network, const char* rest) {
    return "listening/" + std::string(network.name) + rest;
  }
  static npy::Array test_array(const Network& network, const char* name) {
    const npy::DataSet data = npy::read_data_set(zoo(file(network, "_test.npz")));
    return *npy::find(data.arrays, name);
  }

  // What the program gives for every sequence on the host; boards give the same for the first of them.
  std::vector<float> run(const Network& network) {
    constexpr std::int64_t kOnBoards = 2;
    std::vector<float> outputs;
    for (const char* board : {"cortex-m55", "cortex-m4", "cortex-m0"}) {
      const ProgramFile program = compile(network, board);
      const bool is_first = outputs.empty();
      const Expected data = expected_of(program, zoo(file(network, "_test.npz")), is_first ? 1 << 20 : kOnBoards);
      ExecuteOn where;
      where.steps = data.steps;
      const Execution host = execute(program, data.inputs, where);
      if (is_first) {
        outputs = outputs_of(program, host);
        const double db = sqnr(outputs, data.outputs, data.inputs.size());
        EXPECT_GT(db, network.sqnr);
        RecordProperty("sqnr", std::to_string(db));
      }
      where.target = parse_target(board);
      const std::vector<Arrays> first(data.inputs.begin(),
                                      data.inputs.begin() + static_cast<std::ptrdiff_t>(kOnBoards * data.steps));
      const Execution there = execute(program, first, where);
      for (std::size_t k = 0; k < there.outputs.size(); ++k) {
        EXPECT_EQ(host.outputs[k].at(0).data, there.outputs[k].at(0).data) << board << ", step " << k;
      }
    }
    return outputs;
  }

  TemporaryDirectory directory_;
  nlohmann::json json_;
};

// One frame of 20 ms per execution, of a network over 32 of them.
TEST_F(Listening, TheSpotterNamesSounds) {
  const Network network{"spotter", {"--stream=2:1"}, 30};
  const std::vector<float> scores = run(network);
  EXPECT_LT(json_.at("macs").get<double>() * 16, json_.at("window_macs").get<double>());
  const npy::Array labels = test_array(network, "labels");
  constexpr std::size_t kNames = 5;
  const auto count = static_cast<std::size_t>(labels.shape.at(0));
  const std::size_t steps = scores.size() / count / kNames;
  std::size_t right = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto* last = scores.data() + ((i + 1) * steps - 1) * kNames;
    const auto name = std::max_element(last, last + kNames) - last;
    right += name == reinterpret_cast<const std::int64_t*>(labels.data.data())[i] ? 1 : 0;
  }
  EXPECT_GE(right * 100, count * 96);  // float: all
}

// The gains of 32 bands are at most half as far from the right ones as without a network.
TEST_F(Listening, TheDenoiserTellsVoiceFromNoise) {
  const Network network{"denoiser", {"--sequence"}, 27};
  const std::vector<float> gains = run(network);
  const npy::Array wanted = test_array(network, "gains");
  const auto* right = reinterpret_cast<const float*>(wanted.data.data());
  double off = 0, without = 0;
  for (std::size_t i = 0; i < gains.size(); ++i) {
    off += (gains[i] - right[i]) * (gains[i] - right[i]);
    without += (1 - right[i]) * (1 - right[i]);
  }
  EXPECT_LT(off * 4, without);
}

// Every record with an odd beat scores higher than all without.
TEST_F(Listening, TheDetectorFindsOddHeartbeats) {
  const Network network{"anomaly", {"--sequence"}, 25};
  const std::vector<float> scores = run(network);
  const npy::Array odd = test_array(network, "odd");
  const auto count = static_cast<std::size_t>(odd.shape.at(0));
  const std::size_t steps = scores.size() / count;
  float worst_sound = 0, least_odd = 1e9F;
  for (std::size_t i = 0; i < count; ++i) {
    const auto* begin = scores.data() + i * steps;
    const float worst = *std::max_element(begin + 16, begin + steps);
    if (reinterpret_cast<const std::int64_t*>(odd.data.data())[i] != 0) {
      least_odd = std::min(least_odd, worst);
    } else {
      worst_sound = std::max(worst_sound, worst);
    }
  }
  EXPECT_GT(least_odd, worst_sound);
}

}  // namespace
}  // namespace cormorant::tests
