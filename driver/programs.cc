// SPDX-License-Identifier: Apache-2.0
#include "driver/programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/diagnostic.h"
#include "driver/compile_error.h"
#include "quantizer/copy.h"

namespace cormorant::driver {
namespace {

// All RAM. State and stack are estimated if they are unknown, or make no difference: more than `ram` is too much
// anyway.
std::int64_t ram_of(const compiler::Compiled& compiled, std::int64_t ram, const BesidesArena& besides) {
  constexpr std::int64_t kPerOperator = 40;
  const std::int64_t arena = compiler::arena_bytes(compiled.facts);
  const std::int64_t estimate = kTypicalStack + kPerOperator * static_cast<std::int64_t>(compiled.facts.steps.size());
  return arena + (arena < ram ? besides(compiled).value_or(estimate) : estimate);
}

// Where the program exceeds its budget of memory: the one with least extra work that does not, of those that compute
// rows; the smallest, if all do. What a program needs is estimated before it is compiled, so it may take several.
void keep_within(std::int64_t ram, double recompute, const Quantized& model, const BesidesArena& besides,
                 Candidate& chosen) {
  constexpr int kMostAttempts = 4;
  std::int64_t needed = ram_of(chosen.compiled, ram, besides);
  std::int64_t limit = compiler::arena_bytes(chosen.compiled.facts) - (needed - ram);
  compiler::Options options = chosen.options;
  const bool feed = options.rows && options.rows->feed;
  for (int attempt = 0; needed > ram && attempt < kMostAttempts; ++attempt) {
    options.rows =
        compiler::RowsOptions{.bytes = std::max<std::int64_t>(limit, 0), .feed = feed, .recompute = recompute};
    Candidate other = model.compile(options);
    const std::int64_t others = ram_of(other.compiled, ram, besides);
    const std::int64_t bytes = other.compiled.facts.rows ? other.compiled.facts.rows->bytes : 0;
    if (others < needed) {
      chosen = std::move(other);
      needed = others;
    }
    if (bytes > limit) return;  // there is no smaller one
    limit = bytes - (others - ram);
  }
}

// Computing rows has its own price in memory: small networks may need less without it.
void keep_within_layers(const Quantized& model, Candidate& chosen) {
  compiler::Options options = chosen.options;
  options.rows.reset();
  Candidate layers = model.compile(std::move(options));
  const compiler::Facts& rows = chosen.compiled.facts;
  const std::int64_t saved = compiler::arena_bytes(layers.compiled.facts) - compiler::arena_bytes(rows);
  if (saved < 0 || (saved == 0 && rows.rows && rows.rows->groups != 0)) chosen = std::move(layers);
}

std::string why_no_rows(const compiler::Facts& facts, bool is_wide) {
  return fmt::format(
      "--optimize=ram has no effect: only convolutions, pooling and elementwise layers of images with 8-bit "
      "activations can be computed by rows; this model{}",
      facts.decisions.empty() ? "'s layers are computed in float"
      : is_wide               ? "'s layers have 16-bit activations (--scheme=8w16a)"
                              : " has none");
}

}  // namespace

Candidate Quantized::compile(compiler::Options options) const {
  const std::filesystem::path folder = std::exchange(options.intermediates, {});
  ir::Graph copy = quantizer::copy_of(graph);
  Candidate candidate{std::move(options)};
  candidate.compiled = compiler::Compilation(copy, candidate.options, facts).finish();
  candidate.options.intermediates = folder;
  return candidate;
}

void Quantized::write_stages(const compiler::Options& options) const {
  if (options.intermediates.empty()) return;
  ir::Graph copy = quantizer::copy_of(graph);
  compiler::Compilation(copy, options, facts).finish();
}

Programs compile_programs(ir::Graph& graph, const compiler::Options& options, const std::optional<std::uint64_t>& ram,
                          const BesidesArena& besides, double recompute, const std::string& model) {
  compiler::Compilation compilation(graph, options);
  Programs programs{.chosen = {options}, .balanced = {}, .quantized = {}};
  try {
    compilation.quantize();
    const bool has_goal = options.config.target.optimize != Optimize::balanced;
    const bool may_do_without_rows = options.rows && !options.rows->bytes && !options.rows->feed;
    const bool may_compute_rows = ram && options.config.runtime == ops::Runtime::cormorant &&
                                  !options.config.target.is_any() && options.memory.size() <= 1;
    if (has_goal || may_do_without_rows || may_compute_rows)
      programs.quantized.emplace(quantizer::copy_of(graph), compilation.facts());
    if (has_goal) {
      compiler::Options balanced = options;
      balanced.config.target.optimize = Optimize::balanced;
      programs.balanced = programs.quantized->compile(std::move(balanced));
    }
    Candidate& chosen = programs.chosen;
    chosen.compiled = compilation.finish();
    const std::vector<std::byte> first = chosen.compiled.program;
    if (may_do_without_rows && chosen.compiled.facts.rows && programs.quantized) {
      const compiler::RowsFacts rows = *chosen.compiled.facts.rows;
      keep_within_layers(*programs.quantized, chosen);
      const bool is_wide = options.scheme == ops::Precision::w8a16;  // conversions remain that could be
      if (rows.groups == 0 && (rows.able == 0 || is_wide))
        chosen.compiled.facts.warnings.push_back(why_no_rows(chosen.compiled.facts, is_wide));
    }
    if (may_compute_rows && programs.quantized)
      keep_within(static_cast<std::int64_t>(*ram), recompute, *programs.quantized, besides, chosen);
    if (programs.quantized && chosen.compiled.program != first) programs.quantized->write_stages(chosen.options);
    return programs;
  } catch (const InputError& error) {
    Diagnostic diagnostic = error.diagnostic();
    if (diagnostic.file.empty()) diagnostic.file = model;
    const bool is_finished = !programs.chosen.compiled.program.empty();  // and has the facts
    throw CompileError(std::move(diagnostic),
                       warnings_of(is_finished ? programs.chosen.compiled.facts : compilation.facts()));
  }
}

}  // namespace cormorant::driver
