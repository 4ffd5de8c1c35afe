// SPDX-License-Identifier: Apache-2.0
#include "tests/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "formats/npy/data_set.h"
#include "runner/process.h"

namespace cormorant::tests {
namespace {

std::filesystem::path from_environment(const char* variable, const char* otherwise) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

}  // namespace

nlohmann::json Ran::json() const {
  nlohmann::json parsed = nlohmann::json::parse(out, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(parsed.is_object()) << command << "\nis not one JSON object:\n" << out << err;
  return parsed.is_object() ? parsed : nlohmann::json::object();
}

Ran cormorant(const std::filesystem::path& directory, const Arguments& arguments, const Environment& environment) {
  // Memory the program leaves to its end is not a leak, and the unit tests check for leaks; every process would check
  // again.
  const std::string sanitizer = from_environment("ASAN_OPTIONS", "").string();
  std::vector<std::string> command = {"env", fmt::format("ASAN_OPTIONS={}:detect_leaks=0", sanitizer)};
  command.insert(command.end(), environment.begin(), environment.end());
  // The shell keeps the streams apart and then becomes the program.
  command.insert(command.end(), {"sh", "-c", R"(exec "$0" "$@" >stdout.txt 2>stderr.txt)", binary()});
  command.insert(command.end(), arguments.begin(), arguments.end());
  // Most tests are about the program, and linking firmware for its figures would take each of them half a second.
  constexpr std::string_view kAboutFirmware[] = {"--link", "--measure", "--budget"};
  const bool is_about_firmware = std::ranges::any_of(arguments, [&](const std::string& argument) {
    return std::ranges::any_of(kAboutFirmware, [&](std::string_view option) { return argument.starts_with(option); });
  });
  if (!arguments.empty() && arguments[0] == "compile" && !is_about_firmware) command.emplace_back("--no-link");

  Ran ran{fmt::format("cormorant {}", fmt::join(arguments, " ")), 0, {}, {}, 0};
  const auto start = std::chrono::steady_clock::now();
  const ProcessResult result = run_process(command, directory, std::chrono::minutes(4));
  ran.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  constexpr int kTimedOut = 124;
  constexpr int kSignal = 128;
  ran.status = result.timed_out ? kTimedOut : result.signal != 0 ? kSignal + result.signal : result.status;
  ran.out = read_text(directory / "stdout.txt");
  ran.err = read_text(directory / "stderr.txt");
  return ran;
}

std::string binary() { return from_environment("CORMORANT_BINARY", CORMORANT_OWN_BINARY).string(); }

std::string zoo(const std::string& file) {
  return (from_environment("CORMORANT_ZOO_DIR", CORMORANT_SOURCE_DIR "/zoo") / file).string();
}

std::string few_samples(const std::filesystem::path& directory, const std::string& model) {
  constexpr std::size_t kSamples = 8;
  npy::Array few = npy::read_data_set(zoo(model + "_calibration.npz")).arrays.at(0).second;
  few.data.resize(few.data.size() / static_cast<std::size_t>(few.shape.at(0)) * kSamples);
  few.shape[0] = kSamples;
  std::string path = directory / (model + "_few.npz");
  npy::write_npz(path, {{"x", few}});
  return path;
}

std::string convolutions() {
  std::string text = "graph forward\ninput %x0 : f32[1,4,32,32]\n";
  const int channels[] = {4, 8, 8, 4};
  for (int i = 0; i < 3; ++i) {
    std::string weights;
    for (int w = 0; w < channels[i] * channels[i + 1] * 9; ++w)
      weights += fmt::format("{}{}", w == 0 ? "" : ", ", (w * 37 % 61 - 30) * 0.01);
    text += fmt::format("const %w{} : f32[{},{},3,3] = [{}]\n", i, channels[i + 1], channels[i], weights);
  }
  for (int i = 0; i < 3; ++i) {
    text += fmt::format(
        "node \"conv{0}\" \"layers.{0}\" \"net.py:{0}\"\n  %x{1} : f32[1,{2},32,32] = aten.conv2d(input=%x{0}, "
        "weight=%w{0}, bias=none, stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=1)\n",
        i, i + 1, channels[i + 1]);
  }
  return text +
         "node \"mean\" \"pool\" \"net.py:3\"\n  %y : f32[1,4,1,1] = aten.avg_pool2d(self=%x3, kernel_size=[32, 32], "
         "stride=[32, 32], padding=[0, 0], ceil_mode=false, count_include_pad=true, divisor_override=none)\n"
         "output %y\n";
}

std::string read_text(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

testing::AssertionResult has(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no '" << part << "' in:\n" << text;
}

}  // namespace cormorant::tests
