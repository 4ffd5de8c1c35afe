// SPDX-License-Identifier: Apache-2.0
//
// What is recorded while a compilation runs: the graph as text after each stage, what became of every node, seconds.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"

namespace cormorant::compiler {

// The folder given by --intermediates; empty: none.
class Intermediates {
 public:
  Intermediates(std::filesystem::path folder, std::size_t first);
  void write(const ir::Graph& graph, const std::string& stage);

 private:
  std::filesystem::path folder_;
  std::size_t number_;
};

// Nodes keep their names through the stages, so a stage's effect on a node is the difference under its name before and
// after.
class Changes {
 public:
  explicit Changes(const ir::Graph& graph);

  void record(const ir::Graph& graph, const Stage& stage, std::vector<Change>& changes);

 private:
  void remember_sources(const ir::Graph& graph);
  using Names = std::map<std::string, std::vector<std::string>>;
  Names now_;
  std::map<std::string, std::string> sources_;
};

class Trace {
 public:
  // `written`: how many intermediates there are already, of the stages before.
  Trace(const ir::Graph& graph, const Options& options, std::size_t written = 0);

  void imported(const ir::Graph& graph) { intermediates_.write(graph, "import"); }
  void ran(const ir::Graph& graph, const Stage& stage, Facts& facts);

  // Runs a piece of work under this name, and adds up its time, since a stage may run twice.
  template <class Work>
  static void timed(const std::string& name, Facts& facts, const Work& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    add_seconds(name, took.count(), facts);
  }

 private:
  static void add_seconds(const std::string& name, double seconds, Facts& facts);
  Intermediates intermediates_;
  std::optional<Changes> changes_;  // with --explain
};

}  // namespace cormorant::compiler
