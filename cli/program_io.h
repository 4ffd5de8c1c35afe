// SPDX-License-Identifier: Apache-2.0
//
// A program as its user sees it: arrays in PyTorch's logical shape go in and come out, whatever layout and type the
// program has at its border, on the host or on an emulated board.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/npy/npy.h"
#include "runner/launcher.h"

namespace cormorant {

struct BorderTensor {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;       // logical
  std::vector<std::uint8_t> dim_order;   // memory
  std::optional<double> scale;           // of integers at the border, where the program tells
  std::int32_t zero_point = 0;
};

struct ProgramFile {
  std::string file;  // for diagnostics
  std::vector<std::byte> bytes;
  std::vector<BorderTensor> inputs, outputs;
};

ProgramFile read_program(const std::string& path);
ProgramFile program_from(std::vector<std::byte> bytes, std::string file);

// Arrays of the logical shape (a missing batch axis of 1 is fine). A float array for an int8 input is quantized with the
// input's own scale; any other difference of type is an InputError.
std::vector<std::byte> to_border(const npy::Array& array, const BorderTensor& tensor, const std::string& what);
npy::Array from_border(std::span<const std::byte> bytes, const BorderTensor& tensor);
// Integers as the real numbers they stand for; floats as they are.
std::vector<float> real_values(const npy::Array& array, const BorderTensor& tensor);

using Arrays = std::vector<npy::Array>;

struct Execution {
  std::vector<Arrays> outputs;     // per sample
  std::optional<RunResult> board;  // figures; none for the host
};

struct ExecuteOn {
  std::optional<Target> target;  // none: this process, with the reference kernels
  Compiler compiler = Compiler::gcc;
  bool profile = false;
  std::chrono::milliseconds time_limit{60'000};
  std::filesystem::path keep_elf;
};

// Inputs that a sample leaves away are zero.
Execution execute(const ProgramFile& program, const std::vector<Arrays>& samples, const ExecuteOn& where);

}  // namespace cormorant
