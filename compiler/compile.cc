// SPDX-License-Identifier: Apache-2.0
#include "compiler/compile.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>

#include "base/diagnostic.h"
#include "emit/emit.h"
#include "ir/text.h"
#include "ir/verify.h"
#include "passes/passes.h"

namespace cormorant::compiler {
namespace {

void quantize(ir::Graph& graph, Context& context) {
  quantizer::QuantizeOptions options;
  options.int8_io = context.options.io == Io::int8;
  // ExecuTorch's linear reads one multiplier only, and `any` runs its kernels.
  const ops::Config& config = context.options.config;
  if (config.runtime == ops::Runtime::executorch || config.target.is_any())
    options.per_tensor_weights = {"aten.linear"};
  options.threads = context.options.threads;
  options.progress = context.options.progress;
  quantizer::QuantizeReport report = quantizer::quantize(graph, context.options.calibration, options);
  for (const auto& left : report.float_nodes) {
    context.facts.float_operators.push_back({left.node, left.op, left.source, left.reason});
  }
  for (std::string& warning : report.warnings) context.facts.warnings.push_back(std::move(warning));
}

void count_macs(const ir::Graph& graph, Facts& facts) {
  for (const ir::Node& node : graph.nodes()) {
    const ops::Operator* op = ops::find(node);
    if (op == nullptr || op->macs == nullptr || ops::find_signature(node.op) != nullptr) continue;  // of aten nodes
    facts.macs += op->macs(node);
  }
}

}  // namespace

std::vector<Stage> default_stages(const Options& options) {
  const ops::Config config = options.config;
  std::vector<Stage> stages = {
      // From here the graph is PyTorch's, in float.
      {"fold_batch_norm", "a batch norm costs nothing as part of the weights",
       [](ir::Graph& g, Context&) { passes::fold_batch_norm(g); }},
      {"fuse_activations", "the clamped range is the one to quantize",
       [](ir::Graph& g, Context&) { passes::fuse_activations(g); }},
  };
  if (options.quantize) {
    stages.push_back(
        {"quantize", "ranges from calibration; weights, biases and activations become integers", quantize});
  }
  // From here every tensor that can be is int8.
  stages.insert(stages.end(), {
                                  {"lower", "the operators that Cortex-M kernels implement, with ExecuTorch's schemas",
                                   [config](ir::Graph& g, Context& c) {
                                     count_macs(g, c.facts);
                                     passes::lower(g, config);
                                   }},
                                  {"layout", "channels-last inside, a transpose only at the border",
                                   [](ir::Graph& g, Context&) { passes::decide_layout(g); }},
                                  {"check", "everything left is an operator that a program can hold",
                                   [config](ir::Graph& g, Context&) { passes::require_program_operators(g, config); }},
                                  {"prepack", "constants laid out for this target's inner loops",
                                   [config](ir::Graph& g, Context&) { passes::prepack(g, config); }},
                                  {"clean_up", "what nothing uses goes, what exists twice is kept once",
                                   [](ir::Graph& g, Context&) { passes::clean_up(g); }},
                              });
  // From here every node is an instruction (or an alias), and only addresses are missing.
  return stages;
}

namespace {

class Intermediates {
 public:
  explicit Intermediates(const std::filesystem::path& folder) : folder_(folder) {
    if (!folder_.empty()) std::filesystem::create_directories(folder_);
  }
  void write(const ir::Graph& graph, const std::string& stage) {
    if (folder_.empty()) return;
    std::vector<std::byte> blob;
    const std::string text = ir::print(graph, &blob);
    const std::filesystem::path base = folder_ / fmt::format("{:02}-{}.txt", number_++, stage);
    save(base, std::as_bytes(std::span(text)));
    save(base.string() + ".data", blob);
  }

 private:
  static void save(const std::filesystem::path& path, std::span<const std::byte> bytes) {
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    if (!file.flush())
      throw InputError({"cannot write the file", "is the folder writable, the disk full?", path.string()});
  }
  std::filesystem::path folder_;
  int number_ = 0;
};

}  // namespace

Compiled compile(ir::Graph& graph, const Options& options, const std::vector<Stage>& stages) {
  Compiled compiled;
  Context context{options, compiled.facts};
  Intermediates intermediates(options.intermediates);
  const auto timed = [&](const std::string& name, const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    compiled.facts.seconds.emplace_back(name, took.count());
  };

  ir::verify(graph, "import");
  intermediates.write(graph, "import");
  for (const Stage& stage : stages) {
    timed(stage.name, [&] { stage.run(graph, context); });
    ir::verify(graph, stage.name);
    intermediates.write(graph, stage.name);
  }
  if (options.strict && !compiled.facts.float_operators.empty()) {
    const FloatOperator& first = compiled.facts.float_operators.front();
    throw InputError({fmt::format("{} operators stay in float, the first being {}: {}",
                                  compiled.facts.float_operators.size(), first.op, first.reason),
                      "leave --strict away to accept float operators",
                      {},
                      first.node,
                      first.source});
  }
  timed("emit", [&] {
    emit::Emitted emitted = emit::emit(graph, options.config, options.memory);
    compiled.program = std::move(emitted.program);
    compiled.facts.operators = std::move(emitted.operators);
    compiled.facts.steps = std::move(emitted.steps);
    compiled.facts.constant_bytes = emitted.constant_bytes;
    compiled.facts.scratch_bytes = emitted.scratch_bytes;
    compiled.facts.arena_bytes = std::move(emitted.arena_bytes);
    compiled.facts.arena_lower_bound = emitted.arena_lower_bound;
    compiled.facts.peak_node = std::move(emitted.peak_node);
  });
  return compiled;
}

}  // namespace cormorant::compiler
