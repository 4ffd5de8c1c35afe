// SPDX-License-Identifier: Apache-2.0
#include "compiler/trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostic.h"
#include "base/output_file.h"
#include "ir/text.h"

namespace cormorant::compiler {
namespace {

std::map<std::string, std::vector<std::string>> nodes_by_name(const ir::Graph& graph) {
  std::map<std::string, std::vector<std::string>> names;
  for (const ir::Node& node : graph.nodes()) names[node.name].push_back(node.op);
  return names;
}

}  // namespace

Intermediates::Intermediates(std::filesystem::path folder, std::size_t first)
    : folder_(std::move(folder)), number_(first) {
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) {
    throw InputError(
        {"cannot create the folder: " + error.message(), "choose another folder for --intermediates", folder_});
  }
}

void Intermediates::write(const ir::Graph& graph, const std::string& stage) {
  if (folder_.empty()) return;
  std::vector<std::byte> blob;
  const std::string text = ir::print(graph, &blob);
  const std::filesystem::path base = folder_ / fmt::format("{:02}-{}.txt", number_++, stage);
  write_output(base, text);
  write_output(base.string() + ".data", blob);
}

Changes::Changes(const ir::Graph& graph) : now_(nodes_by_name(graph)) { remember_sources(graph); }

void Changes::record(const ir::Graph& graph, const Stage& stage, std::vector<Change>& changes) {
  Names after = nodes_by_name(graph);
  remember_sources(graph);
  for (const auto& [name, ops] : now_) {
    const auto at = after.find(name);
    std::vector<std::string> became = at == after.end() ? std::vector<std::string>() : at->second;
    if (became != ops) changes.push_back({name, ops.front(), sources_[name], stage.name, stage.why, became});
  }
  now_ = std::move(after);
}

void Changes::remember_sources(const ir::Graph& graph) {
  for (const ir::Node& node : graph.nodes()) sources_[node.name] = node.location.text();
}

Trace::Trace(const ir::Graph& graph, const Options& options, std::size_t written)
    : intermediates_(options.intermediates, written) {
  if (options.explain) changes_.emplace(graph);
}

void Trace::ran(const ir::Graph& graph, const Stage& stage, Facts& facts) {
  if (changes_) changes_->record(graph, stage, facts.changes);
  intermediates_.write(graph, stage.name);
}

void Trace::add_seconds(const std::string& name, double seconds, Facts& facts) {
  const auto known = std::ranges::find(facts.seconds, name, &std::pair<std::string, double>::first);
  if (known == facts.seconds.end()) {
    facts.seconds.emplace_back(name, seconds);
  } else {
    known->second += seconds;
  }
}

}  // namespace cormorant::compiler
