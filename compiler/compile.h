// SPDX-License-Identifier: Apache-2.0
//
// From a graph to a program: the pipeline as data (stages that a caller may change), its options, and the facts it
// records on the way for reports. Nothing here prints.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/progress.h"
#include "compiler/compare.h"
#include "compiler/rows.h"
#include "emit/emit.h"
#include "evaluate/tensor.h"
#include "ir/graph.h"
#include "ops/op.h"
#include "passes/passes.h"
#include "planner/memory.h"
#include "quantizer/layers.h"
#include "quantizer/quantize.h"

namespace cormorant::compiler {

enum class Io : std::uint8_t { as_model, int8, uint8, int16 };

struct Compiled;

// Bits per layer are chosen by the compiler: see quantizer/bits.h.
struct BitsOptions {
  std::optional<double> min_db;
  std::optional<std::uint64_t> flash, ram;
  // What firmware needs for a program: flash including its code, if that is known.
  std::function<quantizer::Footprint(const Compiled&)> footprint;
};

struct Options {
  ops::Config config;
  bool uneven_padding = false;  // ExecuTorch's convolutions take four paddings, as after its release 1.5.1
  bool quantize = false;
  Io io = Io::as_model;
  std::optional<passes::StreamOptions> stream;   // of a network over a window, one that takes what is new
  std::optional<RowsOptions> rows;               // compute row by row where that saves memory
  bool strict = false;                           // an operator left in float is an error
  std::vector<quantizer::LayerSettings> layers;  // exceptions from quantization, by module path
  quantizer::Samples calibration;                // none: seeded random inputs stand in, with a warning
  std::vector<planner::Region> memory;           // in order of preference; empty: one of unlimited size
  std::optional<std::uint32_t> constants_in;     // index of a region to which constants are copied at load
  std::filesystem::path intermediates;           // a folder for the graph as text after every stage; empty: none
  std::size_t threads = 0;                       // 0: as many as the machine has
  memory::Reuse reuse = memory::Reuse::all;
  bool explain = false;     // record what became of every node
  bool curve = false;       // record what memory would cost in time, if some of it were computed row by row
  std::size_t compare = 0;  // calibration samples over which quantized tensors are compared with their float form
  ops::Precision scheme = ops::Precision::w8a8;  // of quantization, where operators have it
  std::optional<BitsOptions> bits;               // instead of one scheme for all
  quantizer::Observer observer = quantizer::Observer::automatic;
  bool equalize = true;        // outlier channels,
  bool round_weights = true;   // by their layer's sums, and
  bool correct_biases = true;  // means that quantization shifts: see quantizer/options.h
  Progress progress;
};

struct FloatOperator {
  std::string node, op, source, reason;
};

// A node that a stage replaced by others or removed.
struct Change {
  std::string node, op, source;
  std::string stage, why;
  std::vector<std::string> became;  // operators under the node's name after the stage; none: part of others, or dead
};

// What the stages recorded.
struct Facts {
  std::map<std::string, int> operators;  // by the program's names
  std::vector<emit::Step> steps;         // where each instruction of the program comes from
  std::vector<FloatOperator> float_operators;
  std::vector<std::pair<std::string, DType>> counters;  // buffers of integers, which stay what they are
  std::vector<std::string> warnings;
  std::size_t real_weights = 0;                     // that arrived as integers, of a model with float activations
  std::size_t dropped_channels = 0;                 // that were the same for every input
  std::optional<std::int64_t> window_macs;          // of a streamed network, before streaming
  std::optional<passes::WholeWindow> whole_window;  // of a streamed network, what computes all of it each time
  std::vector<double> causal_db;  // of a causal stream, against the window's: per output, with calibration data
  std::optional<RowsFacts> rows;  // where some of it may be computed row by row
  std::int64_t macs = 0;
  std::map<std::string, std::int64_t> node_macs;  // of nodes that have any, before lowering
  std::int64_t constant_bytes = 0;
  std::int64_t scratch_bytes = 0;                               // the largest of any operator
  std::int64_t buffer_bytes = 0;                                // of state, which persists between executions
  std::vector<emit::RegionFacts> regions;                       // memory for tensors, in order of preference
  std::vector<std::pair<std::string, std::int64_t>> constants;  // and their bytes, the largest first
  std::vector<std::pair<std::string, double>> seconds;          // per stage
  std::vector<quantizer::Decision> decisions;                   // of quantization, one per node
  std::vector<quantizer::EqualizedLayer> equalized;
  std::optional<quantizer::BitsReport> bits;            // with options.bits
  std::optional<Comparison> comparison;                 // with options.compare
  std::vector<Change> changes;                          // with options.explain
  std::vector<std::vector<std::int64_t>> outputs_from;  // as emit::Step::from, of every output
};

constexpr std::size_t kStreamed = 8;  // samples that a causal stream is compared by, each of two windows

struct Context {
  const Options& options;
  Facts& facts;
};

// Bytes of all regions.
std::int64_t arena_bytes(const Facts& facts);

// One step of the pipeline. `why` is one line for readers of --intermediates or the code.
struct Stage {
  std::string name, why;
  std::function<void(ir::Graph&, Context&)> run;
  bool applies = true;  // to this compilation; default_stages() leaves out the others
};

// The pipeline in its segments. The results of the first two are the same for every CPU and every goal of optimization.
struct Stages {
  std::vector<Stage> in_float;    // PyTorch's graph becomes one that is worth quantizing
  std::vector<Stage> quantize;    // every tensor that can be becomes int8
  std::vector<Stage> for_target;  // every node becomes an instruction or an alias
};
Stages default_stages(const Options& options);

struct Compiled {
  std::vector<std::byte> program;  // the .pte
  Facts facts;
};

// Imported graph → stages in float → quantize → stages for the target → plan memory → emit, with the graph verified
// after each stage. In two halves, for callers that compile a quantized graph several times: for other CPUs or another
// goal.
class Compilation {
 public:
  // Both outlive it.
  Compilation(ir::Graph& graph, const Options& options, Stages stages);
  Compilation(ir::Graph& graph, const Options& options) : Compilation(graph, options, default_stages(options)) {}
  // Of a graph that is quantized already, with the facts of the compilation that did that: what is left is finish().
  Compilation(ir::Graph& quantized, const Options& options, Facts facts);
  ~Compilation();

  void quantize();
  [[nodiscard]] const Facts& facts() const { return facts_; }
  Compiled finish();

 private:
  void check_import();
  void run(const std::vector<Stage>& stages);
  void check_strictness() const;
  memory::MemoryMap plan_memory();
  Compiled emit(const memory::MemoryMap& memory);

  ir::Graph& graph_;
  const Options& options_;
  Stages stages_;
  Facts facts_;
  std::unique_ptr<class Trace> trace_;
};

// Both.
Compiled compile(ir::Graph& graph, const Options& options);

// Quantizes the graph as compile() would and compares every layer with its float form over `data`. Throws InputError
// for a model that is already quantized: there is no float form to compare with.
struct Accuracy {
  quantizer::LayerReport report;
  std::vector<quantizer::EqualizedLayer> equalized;
  std::vector<std::string> warnings;
};
Accuracy compare_layers(ir::Graph& graph, const Options& options, const quantizer::Samples& data);

}  // namespace cormorant::compiler
