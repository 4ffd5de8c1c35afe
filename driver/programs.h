// SPDX-License-Identifier: Apache-2.0
//
// A model is quantized once; of the result several programs may be compiled, of which the one that serves the user's
// goal and budget is taken.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "compiler/compile.h"

namespace cormorant::driver {

// A program, and the options that it was compiled with: those of the command line, or others that serve its goal
// better.
struct Candidate {
  compiler::Options options;
  compiler::Compiled compiled = {};
};

// A model after quantization, of which several programs are compiled.
struct Quantized {
  ir::Graph graph;
  compiler::Facts facts;

  // The stages' graphs are written for the program that is taken.
  [[nodiscard]] Candidate compile(compiler::Options options) const;
  // Where another program has written them before.
  void write_stages(const compiler::Options& options) const;
};

struct Programs {
  Candidate chosen;
  std::optional<Candidate> balanced;   // beside another goal
  std::optional<Quantized> quantized;  // where another program may be taken
};

// What load and execute of most programs take, where it is not known.
inline constexpr std::int64_t kTypicalStack = 1032;

// Bytes of state and stack, if they are known.
using BesidesArena = std::function<std::optional<std::int64_t>(const compiler::Compiled&)>;

// With a budget of `ram`, rows are computed where layer by layer exceeds it. Errors are CompileErrors
// and name the file `model`.
Programs compile_programs(ir::Graph& graph, const compiler::Options& options, const std::optional<std::uint64_t>& ram,
                          const BesidesArena& besides, double recompute, const std::string& model);

}  // namespace cormorant::driver
