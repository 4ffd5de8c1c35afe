// SPDX-License-Identifier: Apache-2.0
//
// A program as its user sees it: arrays in PyTorch's logical shape go in and come out, whatever layout and type the
// program's inputs and outputs have, on the host or on an emulated board.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "compiler/samples.h"
#include "formats/npy/data_set.h"
#include "formats/npy/npy.h"
#include "ir/graph.h"
#include "ops/op.h"
#include "runner/launcher.h"

namespace cormorant {

struct ProgramTensor {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;      // logical
  std::vector<std::uint8_t> dim_order;  // memory
  std::optional<double> scale;          // of integers, if the program records it
  std::int32_t zero_point = 0;
  std::string name = {};  // an argument's, or a key of the dictionary that the model returns; may be empty

  [[nodiscard]] std::size_t element_count() const;
};

struct ProgramFile {
  std::string file;  // for diagnostics
  std::vector<std::byte> bytes;
  std::string method = "forward";  // the one that inputs and outputs belong to, and that is executed
  std::vector<ProgramTensor> inputs = {}, outputs = {};
  bool has_state = false;          // contents carry over from one sample to the next
  std::uint64_t buffer_bytes = 0;  // of them, that cormorant_save copies
  std::string cpu = {}, isa = {};  // that it was compiled for; empty: any
  bool by_rows = false;            // its image arrives by rows (cormorant_push_rows); here it is whole
};

// A .pte, or the program in a .bpte. Throws InputError, also for a file that must be compiled first, and, if
// `plain`, for one with delegates or data in other files. A program with several methods needs a name, unless one of
// them is "forward".
ProgramFile read_program(const std::string& path, const std::string& method = {});
ProgramFile program_from(std::vector<std::byte> bytes, std::string file, bool plain = true,
                         const std::string& method = {});

// Whether a graph is the text of a later stage: with quantized tensors, or operators of programs.
bool is_of_later_stage(const ir::Graph& graph);

// Throws InputError if a graph that is to be quantized has an operator of programs, which cannot be.
void require_operators_to_quantize(const ir::Graph& graph, const std::string& file);

// Operators of programs have their arguments checked by the runtime alone: each such node is loaded as a program of its
// own, before it is used. Throws InputError that names it.
void check_program_operators(const ir::Graph& graph, const ops::Config& config, const std::string& file);

// Loads every method of the program as a board would, with the reference kernels. A refusal is the text's fault if that
// is of a later stage, and ours otherwise.
void require_loadable(std::span<const std::byte> program, const std::string& model, bool of_later_stage);

// Arrays of the logical shape (a missing batch axis of 1 is fine). A float array for an int8 input is quantized with
// the input's own scale; any other difference of type is an InputError.
std::vector<std::byte> to_io(const npy::Array& array, const ProgramTensor& tensor, const std::string& what);
npy::Array from_io(std::span<const std::byte> bytes, const ProgramTensor& tensor);
// Integers as the real numbers they stand for; floats as they are.
std::vector<float> real_values(const npy::Array& array, const ProgramTensor& tensor);

using Arrays = std::vector<npy::Array>;

// The program's inputs of every sample: arrays by the inputs' names, x for a single input, else in their order except
// for y, y0, y1, … and "labels", which are labels or expected outputs. For sequences every step is a sample.
std::vector<Arrays> sample_arrays(const ProgramFile& program, const npy::DataSet& data,
                                  compiler::Axes axes = compiler::Axes::samples);

// The names of the arrays that these are, one per input.
std::vector<std::string> input_arrays(const ProgramFile& program, const npy::DataSet& data);

// A sequence [steps, …] as one array per step, and back. The rest of the shape is the tensor's whole shape.
std::vector<npy::Array> steps_of(const npy::Array& sequence, const ProgramTensor& tensor, const std::string& what);
npy::Array sequence_of(std::span<const npy::Array> steps);

struct Execution {
  std::vector<Arrays> outputs;     // per sample
  std::optional<RunResult> board;  // figures; none for the host
};

struct ExecuteOn {
  std::optional<Target> target;  // none: this process, with the reference kernels
  std::size_t steps = 1;         // samples that a program with state executes one after another before it is reset
  std::string board = {};        // empty: the one that the target is emulated with
  Compiler compiler = Compiler::gcc;
  bool profile = false;
  bool estimate_cycles = false;
  bool account = false;  // code by part, and the stack's bound
  std::chrono::milliseconds time_limit{60'000};
  std::filesystem::path keep_elf;
  Progress progress = {};  // on the host; a board tells nothing until it has run all samples
};

// Inputs that a sample leaves out are zero. On a board all samples run in one boot, on the host on all cores.
Execution execute(const ProgramFile& program, const std::vector<Arrays>& samples, const ExecuteOn& where);

}  // namespace cormorant
