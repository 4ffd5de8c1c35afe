// SPDX-License-Identifier: Apache-2.0
//
// ./dev demo: a digit recognizer is compiled for a Cortex-M55, reads ten test images on the emulated board, and each is
// drawn beside what it read.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "base/diagnostic.h"
#include "compiler/compile.h"
#include "compiler/import.h"
#include "compiler/samples.h"
#include "formats/npy/data_set.h"
#include "program/files.h"
#include "program/program_io.h"

namespace cormorant::cli {
namespace {

constexpr int kImages = 10;
constexpr int kPerRow = 5;
constexpr int kSide = 28;

// Two pixels per character: the upper and the lower half.
std::string line_of(std::span<const float> image, int row) {
  std::string text;
  for (int column = 0; column < kSide; column += 1) {
    const auto at = [&](int y) {
      return image[static_cast<std::size_t>(y) * kSide + static_cast<std::size_t>(column)] > 0.35F;
    };
    const bool upper = at(row);
    const bool lower = at(row + 1);
    text += upper ? (lower ? "█" : "▀") : (lower ? "▄" : " ");
  }
  return text;
}

struct Reading {
  std::vector<float> image;
  std::size_t read = 0;
  std::int64_t written = 0;
  float confidence = 0;
};

void draw(std::span<const Reading> readings) {
  for (int row = 2; row < kSide - 2; row += 2) {
    for (const Reading& reading : readings) fmt::print("{}", line_of(reading.image, row));
    fmt::print("\n");
  }
  for (const Reading& reading : readings) {
    const std::string text = fmt::format("read {}, written {}, {:.1f} %", reading.read, reading.written,
                                         static_cast<double>(reading.confidence) * 100);
    fmt::print("{:^28}", text);
  }
  fmt::print("\n\n");
}

void run(const std::string& zoo) {
  const auto start = std::chrono::steady_clock::now();
  const std::string model = zoo + "/digits.pt2";
  ir::Graph graph = compiler::import_model(model);
  compiler::Options options;
  options.quantize = true;
  options.calibration = compiler::read_samples(zoo + "/digits_calibration.npz", graph);
  const compiler::Compiled compiled = compiler::compile(graph, options);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("compiled {} for cortex-m55, ISA mve, in {:.2f} s ({} calibration images)\n\n", model, took.count(),
             options.calibration.count);

  const npy::DataSet test = npy::read_data_set(zoo + "/digits_test.npz");
  const npy::Array& images = *npy::find(test.arrays, "x");
  const auto labels = compiler::to_float(npy::find(test.arrays, "y")->dtype, npy::find(test.arrays, "y")->data);
  std::vector<Arrays> samples;
  std::vector<Reading> readings(kImages);
  for (std::size_t i = 0; i < kImages; ++i) {
    const auto bytes = npy::sample(images, static_cast<std::int64_t>(i));
    samples.push_back({{images.dtype, {1, 1, kSide, kSide}, {bytes.begin(), bytes.end()}}});
    readings[i].image = compiler::to_float(images.dtype, bytes);
    readings[i].written = static_cast<std::int64_t>(labels[i]);
  }
  ExecuteOn board;
  board.target = options.config.target;
  const ProgramFile program = program_from(compiled.program, "digits.pte");
  const Execution execution = execute(program, samples, board);
  int right = 0;
  for (std::size_t i = 0; i < kImages; ++i) {
    const std::vector<float> scores = real_values(execution.outputs[i].at(0), program.outputs[0]);
    readings[i].read = static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
    readings[i].confidence = scores[readings[i].read];
    right += static_cast<std::int64_t>(readings[i].read) == readings[i].written ? 1 : 0;
  }
  for (int row = 0; row < kImages; row += kPerRow)
    draw(std::span(readings).subspan(static_cast<std::size_t>(row), kPerRow));

  if (!execution.board) throw std::logic_error("the board gave no figures");
  const RunResult& figures = *execution.board;
  fmt::print("{} of {} read correctly on an emulated Cortex-M55 (QEMU, mps3-an547)\n", right, kImages);
  fmt::print("  RAM           {:>9} bytes: arena {}, state {}, stack {}\n",
             grouped(figures.arena_bytes + figures.state_bytes + figures.stack_bytes), grouped(figures.arena_bytes),
             grouped(figures.state_bytes), grouped(figures.stack_bytes));
  fmt::print("  flash         {:>9} bytes: code {}, model {}\n", grouped(figures.code_bytes + figures.model_bytes),
             grouped(figures.code_bytes), grouped(figures.model_bytes));
  fmt::print("  instructions  {:>9} per image, {} to load\n", grouped(figures.execute_instructions),
             grouped(figures.load_instructions));
}

}  // namespace
}  // namespace cormorant::cli

int main(int argc, char** argv) {
  try {
    cormorant::cli::run(argc > 1 ? argv[1] : "zoo");
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
