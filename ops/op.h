// SPDX-License-Identifier: Apache-2.0
//
// The table of operators: what each folder in ops/ provides to the rest of the compiler. One folder is one mathematical
// operator with all its forms; a null hook means that the operator has no such side. A new operator is a folder with a
// function that returns this struct and one line in ops/operators.cmake.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "evaluate/tensor.h"
#include "ir/graph.h"
#include "ops/host/schema.h"
#include "ops/host/signature.h"
#include "target/target.h"

struct cormorant_kernel;
namespace cormorant {
using Kernel = ::cormorant_kernel;
}  // namespace cormorant

namespace cormorant::ops {

enum class Runtime : std::uint8_t { cormorant, executorch };

// What lowering and prepacking may ask about the compilation: one plain value.
struct Config {
  Target target;
  Runtime runtime = Runtime::cormorant;
};

// ---- import -----------------------------------------------------------------------------------------------------
// The graph under construction, one exported node at a time, with its arguments matched to the schema's names and
// defaults filled in. A form whose import is null becomes the node `aten.<name>` with exactly these arguments.
class Importer {
 public:
  ir::Graph* graph = nullptr;
  const ir::Node* call = nullptr;     // the exported call: op is PyTorch's name, args complete, results not yet made
  std::vector<ir::TensorType> types;  // of the exported results, as recorded by PyTorch

  // Adds a node with the call's name and location; its results have `types` unless others are given.
  ir::Node* node(std::string op, std::vector<ir::NamedArgument> args, std::vector<ir::TensorType> result_types = {});
  [[noreturn]] void reject(std::string problem, std::string advice) const;
};

struct AtenForm {
  // PyTorch's own notation without the return: "conv2d.default(Tensor input, Tensor weight, Tensor? bias=None, ...)".
  std::string_view schema;
  // Yields the values that stand for the call's results: a normalized node's, or an input itself (identity). Null: the
  // node is adopted unchanged, as `aten.` + the name before the overload's dot.
  std::vector<ir::Value*> (*import)(Importer&) = nullptr;
};

// ---- precision ------------------------------------------------------------------------------------------------------
// What an operator computes with: bits of weights and activations. Integers are indices, masks and counters, not
// quantized numbers.
enum class Precision : std::uint8_t { w8a8, w8a16, w4a8, f32, integers };

// How operators' lists call them.
namespace precisions {
inline std::vector<Precision> w8a8() { return {Precision::w8a8}; }
inline std::vector<Precision> w8a16() { return {Precision::w8a16}; }
inline std::vector<Precision> w4a8() { return {Precision::w4a8}; }
inline std::vector<Precision> w8a8_w8a16() { return {Precision::w8a8, Precision::w8a16}; }
// For operators with constant weights.
inline std::vector<Precision> w8a8_w8a16_w4a8() { return {Precision::w8a8, Precision::w8a16, Precision::w4a8}; }
inline std::vector<Precision> f32() { return {Precision::f32}; }
inline std::vector<Precision> numbers() { return {Precision::f32, Precision::integers}; }
// Elements of whatever type, moved as they are.
inline std::vector<Precision> any() { return {Precision::w8a8, Precision::w8a16, Precision::f32}; }
// Numbers and quantized ones, of which only the order matters.
inline std::vector<Precision> ordered() {
  return {Precision::w8a8, Precision::w8a16, Precision::f32, Precision::integers};
}
}  // namespace precisions

// "8w16a", as users spell them; none for those that are not a quantization scheme.
std::string_view name_of(Precision precision);
std::optional<Precision> parse_precision(std::string_view name);

// ---- quantization -------------------------------------------------------------------------------------------------
// How a node takes part in quantization. Tensor arguments not named in `weights` are activations.
struct QuantRule {
  struct Weight {
    std::string argument;
    std::optional<std::int32_t> axis;  // per channel along this axis; none: per tensor
    bool is_bias = false;              // int32, scale = input scale · weight scale
    // Multiplies (or, as a bias, goes with what multiplies) the previous step's result instead of the input. Its
    // products are added to those of the weight named before it: with 8-bit activations both get scales such that the
    // products have one unit.
    bool times_result = false;
  };
  struct Observe {};  // the output gets its own range
  struct Share {};    // output (and all activations) share one set of parameters
  // Observe where our own operators run, which may change the parameters; Share where ExecuTorch's do, which cannot.
  struct ObserveOrShare {};
  struct Fixed {
    double scale;
    std::int32_t zero_point;
    DType dtype = DType::i8;
    std::int32_t halvings = 0;  // how often our own operators may halve the scale where only small numbers occur
    friend bool operator==(const Fixed&, const Fixed&) = default;
  };  // the range is known
  struct Reject {
    std::string reason;
  };  // stays in float, with the reason reported to the user
  std::variant<Observe, Share, ObserveOrShare, Fixed, Reject> output = Observe{};
  std::vector<Weight> weights;
  // Tensors of 16 bits with a known scale and zero point 0: these arguments, and the results from the second on.
  struct Words {
    double scale;
    std::vector<std::string> arguments;
  };
  std::optional<Words> words = {};
  // Arguments that have the parameters of the (first) result: what a recurrence begins with.
  std::vector<std::string> as_result = {};
  // Constant arguments that stay in float: lowering makes integers of them that are neither weights nor activations.
  std::vector<std::string> kept_real = {};
  // Where the output's range is known: the same in 16 bits.
  std::optional<Fixed> fixed_words = {};
  // What the node can be computed with once it is quantized; the quantizer chooses.
  std::vector<Precision> precisions = precisions::w8a8();
};

// ---- lowering -----------------------------------------------------------------------------------------------------
// Rewrites one node in place of `node`: new nodes go before it; the value returned replaces its result. If it has
// several, those of the node that computed the value replace them.
struct Rewriter {
  ir::Graph& graph;
  ir::Node& node;
  const Config& config;

  template <class S>
  ir::Node* emit(S fields, ir::TensorType result, std::string_view op) const {
    return make_node(graph, std::move(fields), {std::move(result)}, node.name, node.location, &node, op);
  }
  template <class T>
  ir::Value* constant(std::string_view suffix, ir::TensorType type, std::span<const T> data) const {
    return graph.add_constant(node.name + "_" + std::string(suffix), std::move(type), ir::Bytes::of(data));
  }
};
using Lower = ir::Value* (*)(const Rewriter&);

// What memory order an operator prefers for its 4-D tensors; the layout pass gives it to them.
enum class MemoryOrder : std::uint8_t {
  same,  // whatever its inputs have, as long as all have the same (elementwise)
  channels_last,
  contiguous,  // the order of the logical dimensions (NCHW)
};

// One instruction that a program can hold (cortex_m::, cormorant::, aten::….out): a line of the operator's list, which
// ops/load/kernel_list.h explains.
struct ListedKernel {
  std::string_view name;               // of the program
  std::optional<Signature> signature;  // none: only programs of other compilers have it
  std::vector<Precision> precisions;
  std::vector<Isa> isas;  // that have a kernel of their own; none: one source for every CPU
  const Kernel* host;     // the reference, under this name
};
std::vector<Isa> isas_of(unsigned bits);  // bit 0 is scalar, 1 dsp, 2 mve

struct Operator {
  std::string_view name;  // the folder
  // For the page of supported operators (docs/operators.md): in one line, what does not run on the target.
  std::string_view limits = {};
  MemoryOrder layout = MemoryOrder::same;
  // The same of ExecuTorch's kernel, where it repeats an operand that is smaller than the result.
  MemoryOrder executorch_repeats = MemoryOrder::same;
  // An element of the result depends on the operands' elements at its own place alone (broadcasting included).
  bool elementwise = false;

  // Import sees operands in the types that they have. Else integers become floats first if the result is float.
  bool keeps_types = false;
  // The forms are for results that are integers or booleans; another folder has the same ones for floats.
  bool for_integers = false;

  // The aten side: forms that import; the first names the canonical node(s) of this folder. Those of import.cc, where a
  // folder has one, are <op>_forms().
  std::vector<AtenForm> forms = {};
  // The nodes that the hooks below are for, with their arguments: {"aten.softmax(Tensor self, int dim)"}. The table of
  // all operators keeps the names here, and gives the arguments to find_canonical().
  std::vector<std::string> canonical = {};
  // If two folders share a canonical name (conv2d and depthwise_conv2d): whether this node is its own. Null: always.
  bool (*accepts)(const ir::Node&) = nullptr;
  // Result types of a canonical node by PyTorch's rules. Throws InputError for shapes that do not fit.
  std::vector<ir::TensorType> (*infer)(const ir::Node&) = nullptr;
  // Float semantics on the host: one result tensor per result.
  std::vector<evaluate::Tensor> (*evaluate)(const ir::Node&, const evaluate::Frame&) = nullptr;
  QuantRule (*quantize)(const ir::Node&) = nullptr;
  // The same by other canonical nodes, for runtimes that have no kernel for it: one value per result. In float.
  std::vector<ir::Value*> (*write_out)(const Rewriter&) = nullptr;
  // Whether a clamp after it can become part of it, as the arguments activation_min and activation_max (floats).
  bool fuses_activation = false;
  // A quantized canonical node -> cortex_m.* nodes with ExecuTorch's schemas.
  Lower lower = nullptr;
  // The same for a node in float: the portable operators that ExecuTorch runs (aten::….out), or cormorant.<op>.float.
  // Usually in the folder's float.cc; operators that move elements of any type give the hook above.
  Lower lower_float = nullptr;

  // The program side, from the operator's list.
  std::vector<ListedKernel> kernels = {};
  // Those of another compiler's operators that load in another way on each CPU, as they do on this one. For the size of
  // the state: none of them executes.
  std::vector<Kernel> (*loads_on)(const Target&) = nullptr;
  // cortex_m.* -> cormorant.* with constants laid out for the target. Null result: nothing better, keep the node.
  Lower prepack = nullptr;
  // The result is the argument's memory with another shape: no instruction, no bytes (view).
  bool is_alias = false;
  // The result's offset in its argument's memory, in bytes, if it is contiguous there (slice): as good as an alias.
  std::optional<std::uint64_t> (*part_offset)(const ir::Node&) = nullptr;
  // Whether the result is its arguments' memory, one after another (cat): nothing to do if they are there already.
  bool (*joins)(const ir::Node&) = nullptr;
  // Whether the result may share memory with the named argument (elementwise operators, exact size match).
  bool (*in_place)(const ir::Node&, std::string_view argument) = nullptr;
  // How many bytes before the named argument the result must at least begin, so that what the kernel writes covers only
  // what it, and the host's reference, have read for the last time. None, or the result's size: they must not overlap.
  std::optional<std::uint64_t> (*overlap)(const ir::Node&, std::string_view argument) = nullptr;
  // Whether every channel (dimension 1) of the result depends on that channel of the first argument alone, in the same
  // way for all, and a channel of zeros gives one of zeros.
  bool (*channelwise)(const ir::Node&) = nullptr;
  // MACs for reports.
  std::int64_t (*macs)(const ir::Node&) = nullptr;
  // Cycles that a prepacked node takes, estimated: to compare variants of it on the same CPU.
  std::optional<std::int64_t> (*estimate)(const ir::Node&) = nullptr;

  // Precisions that none of its own instructions has, but those which it becomes: a linear layer is a convolution.
  std::vector<Precision> by_others = {};
  // What some instruction of the operator computes with, or what it becomes: all that its rule may offer.
  [[nodiscard]] bool has(Precision precision) const;
};

// Whether a node is only a view of its first input's memory, and not an instruction of a program.
bool is_alias(const ir::Node& node);
// The value whose memory this one is with another shape.
const ir::Value* root(const ir::Value* value);

// Whether a node computes in float: its first result is.
bool is_float(const ir::Node& node);
// Whether a program's operator computes in that precision.
bool computes_in(std::string_view graph_name, Precision precision);
// Whether a program's operator computes in float alone.
bool wants_float(const ir::Node& node);

// All of them, in folder order (generated from ops/operators.cmake).
std::span<const Operator> all_operators();
// The folder a node belongs to, by its graph name, canonical or of the program side ("aten.conv2d",
// "cormorant.conv2d.mve_1x1"); null if unknown.
const Operator* find(const ir::Node& node);
const Signature* find_signature(std::string_view graph_name);
// A canonical node's arguments; null if the name is none's.
struct CanonicalSchema {
  const Operator* op;  // one of those that share the name
  std::optional<std::vector<SchemaArgument>> arguments;
};
const CanonicalSchema* find_canonical(std::string_view graph_name);
std::vector<const Kernel*> host_kernels();
// What loads a program here as the firmware for a target would. `of_numbers` are the names of operators whose kernels
// for all types it has (runtime/call_types.h).
std::vector<Kernel> kernels_loading_on(const Target& target, std::span<const std::string> of_numbers);

}  // namespace cormorant::ops
