// SPDX-License-Identifier: Apache-2.0
//
// Reads a .pt2 file, which is what torch.export.save writes since PyTorch 2.9: a zip with the graph as JSON and every
// weight as raw bytes. (PyTorch 2.8 wrote the weights as one pickle and earlier versions all of it; pickles are
// programs and are never run here.)
//
// Weights are not read but mapped: a TensorData points into the file and keeps the mapping alive. As with any mapped
// file, it must not change while it is mapped.
//
// Whatever the bytes are, the result is an Archive that is consistent in itself or an InputError that names the file,
// and the node where there is one:
//   - every tensor a node mentions is defined before and has a TensorMeta; no name is defined twice
//   - graph inputs and outputs agree with the signature
//   - every parameter, buffer and constant has its data, of the type and sizes the graph expects, inside its storage
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/pt2/graph.h"
#include "formats/pt2/symbols.h"

namespace cormorant::pt2 {

// A weight or constant. Several may share one storage (tied weights, views): compare storage.data().
struct TensorData {
  TensorMeta meta;
  bool is_parameter = false;
  std::span<const std::byte> storage;  // little-endian; NOT aligned for the element type: copy, do not cast
  std::shared_ptr<const void> owner;   // keeps the storage alive
};

enum class InputKind : std::uint8_t { user_input, parameter, buffer, tensor_constant, custom_object, token, constant };

struct InputSpec {
  InputKind kind = InputKind::user_input;
  Argument argument;       // as in Graph::inputs: a TensorRef except for custom objects, tokens, constants
  std::string name;        // the name within the graph, "p_conv_weight"
  std::string target;      // the name within the model, "conv.weight"; empty for user inputs
  bool persistent = true;  // buffers only: part of the state dict?
};

enum class OutputKind : std::uint8_t {
  user_output,
  loss,
  buffer_mutation,
  parameter_mutation,
  user_input_mutation,
  gradient_to_parameter,
  gradient_to_user_input,
  token,
};

// Mutations appear here only if the model was exported with run_decompositions(); otherwise the graph holds in-place
// operators (copy_, add_) whose first argument is a buffer's input.
struct OutputSpec {
  OutputKind kind = OutputKind::user_output;
  Argument argument;     // as in Graph::outputs; None and numbers occur as user outputs
  std::string name;      // the value's name within the graph, if it is a tensor
  std::string target;    // the buffer, parameter or user input that it replaces
  std::string key = {};  // in the dictionary that the model returns, "boxes.0" in a tuple in it; empty outside any
};

using TensorDataMap = std::map<std::string, TensorData, std::less<>>;

struct Program {
  std::string name;  // torch.export.save calls it "model"
  Graph graph;
  std::vector<InputSpec> inputs;    // in the order of graph.inputs
  std::vector<OutputSpec> outputs;  // in the order of graph.outputs
  TensorDataMap weights;            // by the name within the model: parameters and persistent buffers
  TensorDataMap constants;          // likewise: other buffers and tensors made in forward
  std::string torch_version;
  std::vector<std::string> notes;  // what was decided while reading, for the user to know
};

struct Archive {
  std::string file;
  std::vector<Program> programs;  // one, unless torch.export.pt2_archive's package_pt2 bundled several
};

// How many elements a node selects where the export leaves that open, because it depends on other elements (a mask's).
// `before` are the nodes up to that one, whose tensor arguments are the outputs. None: that is not known.
using CountSelected = std::function<std::optional<std::int64_t>(const Program& before, const Node& node)>;

struct ParseOptions {
  Shapes shapes = {};            // of inputs whose dimensions are symbols
  Shapes defaults = {};          // the same, for symbols that are still open; what does not fit is passed over
  CountSelected count = {};      // none: such a size is an error
  std::string only = {};         // the program of this name; empty: all
  bool verify_checksums = true;  // off for fuzzing, which would never get past one
};

Archive read(const std::string& path, ParseOptions options = {});

// The names of its programs, in the order of the archive.
std::vector<std::string> read_names(const std::string& path);

// The same from memory, which `owner` keeps alive. `file` stands for the file in diagnostics.
Archive parse(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const std::string& file,
              ParseOptions options = {});

// The initial value of a parameter, buffer or tensor constant; nullptr for the other kinds.
const TensorData* initial_value(const Program& program, const InputSpec& input);

// The number of bytes that the tensor has when it is dense.
std::size_t byte_count(const TensorMeta& meta);

// Is it dense and in C order? Then its bytes can be taken where they are.
bool is_contiguous(const TensorMeta& meta);
std::span<const std::byte> contiguous_view(const TensorData& tensor);  // only if is_contiguous(tensor.meta)

// The elements dense and in C order, whatever the strides.
std::vector<std::byte> contiguous(const TensorData& tensor);

}  // namespace cormorant::pt2
