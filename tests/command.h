// SPDX-License-Identifier: Apache-2.0
//
// The command line as a user sees it: a process with arguments, an exit status, and two streams. It is the program of
// this build, with sanitizers where the tests have them; the environment variable CORMORANT_BINARY names another.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cormorant::tests {

struct Ran {
  std::string command;  // for messages
  int status = 0;       // of a program that was killed: 128 + signal, 124 at the time limit
  std::string out, err;
  double seconds = 0;

  // Standard output as the one JSON object that it must be.
  [[nodiscard]] nlohmann::json json() const;
};

using Arguments = std::vector<std::string>;
using Environment = std::vector<std::string>;  // "NAME=value"

// In `directory`, which also takes the two streams.
Ran cormorant(const std::filesystem::path& directory, const Arguments& arguments, const Environment& environment = {});

// The program itself, for tests that start it in another way.
std::string binary();

// Where the zoo's files are; the environment variable CORMORANT_ZOO_DIR points to another one.
std::string zoo(const std::string& file);
// The first eight calibration samples of a model in the zoo, as a file in `directory`: enough where a test is not about
// accuracy, and calibrating with all of them takes five times as long.
std::string few_samples(const std::filesystem::path& directory, const std::string& model);
// A graph as text that needs 17 KB of memory layer by layer and half of that by rows: three convolutions and a mean.
std::string convolutions();
std::string read_text(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& text);

// For EXPECT_TRUE(has(text, "part")) << text, with a message that shows both.
testing::AssertionResult has(const std::string& text, const std::string& part);

}  // namespace cormorant::tests
