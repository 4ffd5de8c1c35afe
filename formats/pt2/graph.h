// SPDX-License-Identifier: Apache-2.0
//
// A model as torch.export wrote it, in typed structs: operators still have PyTorch's names, arguments PyTorch's types.
// Nothing is interpreted here; that is for each operator's importer. Equivalent forms are unified, so that importers
// see fewer cases:
//   - as_optional_tensor is None or a TensorRef, like an argument that was as_none or as_tensor;
//   - as_sym_int(s), as_sym_float(s), as_sym_bool(s) that hold plain numbers are plain numbers.
// Shapes are numbers: a file with dynamic shapes is refused when it is read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/dtype.h"

namespace cormorant::pt2 {

struct TensorMeta {
  DType dtype = DType::f32;
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  // in elements, one per size
  std::int64_t storage_offset = 0;    // in elements

  friend bool operator==(const TensorMeta&, const TensorMeta&) = default;
};

struct None {
  friend bool operator==(const None&, const None&) = default;
};

// The name of a value: a graph input or an output of an earlier node.
struct TensorRef {
  std::string name;
  friend bool operator==(const TensorRef&, const TensorRef&) = default;
};

// A number that is known only at run time.
struct Symbol {
  std::string name;
  friend bool operator==(const Symbol&, const Symbol&) = default;
};

struct ScalarType {
  int code = 0;                // of torch's serialized form (7 is float32): not the numbers of DType
  std::optional<DType> dtype;  // absent for types that base/dtype.h lacks, such as complex numbers
  friend bool operator==(const ScalarType&, const ScalarType&) = default;
};

// The numbers are those of torch's serialized form.
enum class MemoryFormat : std::uint8_t {
  unknown = 0,
  contiguous = 1,
  channels_last = 2,
  channels_last_3d = 3,
  preserve = 4,
};
enum class Layout : std::uint8_t {
  unknown = 0,
  sparse_coo = 1,
  sparse_csr = 2,
  sparse_csc = 3,
  sparse_bsr = 4,
  sparse_bsc = 5,
  mkldnn = 6,
  strided = 7,
};

struct Device {
  std::string type;
  std::optional<std::int64_t> index;
  friend bool operator==(const Device&, const Device&) = default;
};

struct CustomObject {
  std::string name;
  std::string class_name;
  friend bool operator==(const CustomObject&, const CustomObject&) = default;
};

struct OperatorRef {
  std::string target;
  friend bool operator==(const OperatorRef&, const OperatorRef&) = default;
};

struct Complex {
  double real = 0;
  double imag = 0;
  friend bool operator==(const Complex&, const Complex&) = default;
};

struct Graph;

// A branch or a loop's body: an argument of higher-order operators such as cond.
struct Subgraph {
  std::string name;
  std::shared_ptr<const Graph> graph;
  friend bool operator==(const Subgraph&, const Subgraph&) = default;
};

struct Argument;
using ArgumentMap = std::shared_ptr<const std::vector<std::pair<std::string, Argument>>>;

struct Argument {
  using Value = std::variant<None, TensorRef, std::vector<TensorRef>, std::vector<std::optional<TensorRef>>,
                             std::vector<std::vector<TensorRef>>,                                                 //
                             bool, std::vector<bool>, std::int64_t, std::vector<std::int64_t>,                    //
                             std::vector<std::vector<std::int64_t>>,                                              //
                             double, std::vector<double>, std::vector<std::vector<double>>, Complex,              //
                             std::string, std::vector<std::string>,                                               //
                             ScalarType, MemoryFormat, Layout, Device,                                            //
                             Symbol, std::vector<std::variant<std::int64_t, Symbol>>,                             //
                             std::vector<std::variant<double, Symbol>>, std::vector<std::variant<bool, Symbol>>,  //
                             Subgraph, CustomObject, OperatorRef, ArgumentMap>;
  Value value;

  template <typename T>
  [[nodiscard]] const T* get_if() const {
    return std::get_if<T>(&value);
  }
  [[nodiscard]] bool is_none() const { return std::holds_alternative<None>(value); }
};

enum class ArgumentKind : std::uint8_t { unknown = 0, positional = 1, keyword = 2 };

struct NamedArgument {
  std::string name;  // from the operator's schema; empty for higher-order operators
  Argument argument;
  ArgumentKind kind = ArgumentKind::unknown;
};

// One step into the user's modules.
struct ModuleFrame {
  std::string path;  // "blocks.2.conv"; empty for the model itself
  std::string type;  // "torch.nn.modules.conv.Conv2d"
};

struct Node {
  std::string target;  // "torch.ops.aten.conv2d.default"
  std::string name;
  std::vector<NamedArgument> arguments;   // those that equal the operator's default may be absent
  std::vector<Argument> outputs;          // TensorRef each, or one list of them for operators such as split
  std::string stack_trace;                // Python's text, innermost frame last
  std::vector<ModuleFrame> module_stack;  // innermost last
};

struct Graph {
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<Node> nodes;                                 // every value is defined before it is used
  std::map<std::string, TensorMeta, std::less<>> tensors;  // of every tensor that the graph mentions
};

// The names of a node's output tensors in order, those in lists included. Unused ones have names as well.
std::vector<std::string> output_names(const Node& node);

}  // namespace cormorant::pt2
