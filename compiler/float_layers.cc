// SPDX-License-Identifier: Apache-2.0
#include "compiler/float_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/diagnostic.h"

namespace cormorant::compiler {
namespace {

// Every module that a node lies in: "blocks.2.conv" is in "blocks.2" and in "blocks" too.
std::set<std::string> modules_of(const ir::Graph& graph) {
  std::set<std::string> modules;
  for (const ir::Node& node : graph.nodes()) {
    std::string path = node.location.module;
    while (!path.empty()) {
      modules.insert(path);
      const std::size_t dot = path.rfind('.');
      path.resize(dot == std::string::npos ? 0 : dot);
    }
  }
  return modules;
}

// How many letters have to be added, left away or changed.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j + 1] + 1, row[j] + 1, changed});
    }
  }
  return row.back();
}

}  // namespace

void check_float_layers(const ir::Graph& graph, const std::vector<std::string>& layers) {
  if (layers.empty()) return;
  const std::set<std::string> modules = modules_of(graph);
  for (const std::string& layer : layers) {
    if (modules.contains(layer)) continue;
    constexpr std::size_t kShown = 5;
    std::vector<std::string> near(modules.begin(), modules.end());
    std::ranges::sort(near, {}, [&](const std::string& name) { return std::pair(distance(name, layer), name); });
    near.resize(std::min(near.size(), kShown));
    throw InputError({.problem = fmt::format("the model has no layer {}", layer),
                      .advice = near.empty() ? "it names no modules at all"
                                             : fmt::format("the nearest names are: {}", fmt::join(near, ", "))});
  }
}

}  // namespace cormorant::compiler
