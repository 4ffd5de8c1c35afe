// SPDX-License-Identifier: Apache-2.0
#include "compiler/layer_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <numeric>
#include <set>
#include <sstream>
#include <utility>

#include "base/diagnostic.h"

namespace cormorant::compiler {
namespace {

using quantizer::LayerSettings;

std::string all_words() {
  return fmt::format(
      "float, int8, 8w8a, 8w16a, 4w8a, observer={}, range=MIN..MAX, no-equalize, no-weight-rounding, "
      "no-bias-correction",
      fmt::join(quantizer::kObserverNames, "|"));
}

std::optional<double> number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::pair<double, double> parse_range(std::string_view text, const std::string& where) {
  const std::size_t dots = text.find("..");
  std::optional<double> low, high;
  if (dots != std::string_view::npos) {
    low = number(text.substr(0, dots));
    high = number(text.substr(dots + 2));
  }
  if (!low || !high || !(*low < *high)) {
    throw InputError({fmt::format("'{}' is not a range", text),
                      "give the smallest and the largest value to represent: range=-4..4", where});
  }
  return {*low, *high};
}

void parse_setting(std::string_view word, LayerSettings& settings) {
  constexpr std::string_view kObserver = "observer=", kRange = "range=";
  if (word == "float" || word == "int8") {
    settings.keep_float = word == "float";
  } else if (const auto precision = ops::parse_precision(word)) {
    settings.keep_float = false;
    settings.precision = precision;
  } else if (word == "no-equalize") {
    settings.equalize = false;
  } else if (word == "no-weight-rounding") {
    settings.round_weights = false;
  } else if (word == "no-bias-correction") {
    settings.correct_bias = false;
  } else if (word.starts_with(kRange)) {
    settings.range = parse_range(word.substr(kRange.size()), settings.where);
  } else if (word.starts_with(kObserver) && quantizer::parse_observer(word.substr(kObserver.size()))) {
    settings.observer = quantizer::parse_observer(word.substr(kObserver.size()));
  } else {
    throw InputError({fmt::format("'{}' is not a layer setting", word), fmt::format("settings are {}", all_words()),
                      settings.where});
  }
}

// What cannot hold at once: another format, observer or range. (int8 only says that a layer is not in float.)
bool contradict(const LayerSettings& a, const LayerSettings& b) {
  const auto differ = [](const auto& one, const auto& other) { return one && other && *one != *other; };
  return differ(a.keep_float, b.keep_float) || differ(a.precision, b.precision) || differ(a.observer, b.observer) ||
         differ(a.range, b.range) || (a.range && b.observer) || (a.observer && b.range);
}

// Two lines may be about the same layer, a pattern and an exception from it: the later one counts. Lines with the same
// path are a mistake.
void require_no_contradiction(const std::vector<LayerSettings>& all, const LayerSettings& later) {
  for (const LayerSettings& earlier : all) {
    if (earlier.path != later.path || !contradict(earlier, later)) continue;
    throw InputError({fmt::format("this contradicts {}, which also sets {}", earlier.where, later.path),
                      "remove one of the two lines", later.where});
  }
}

// Every module that a node is in: "blocks.2.conv" is in "blocks.2" and in "blocks" too.
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

// How many letters must be added, removed or changed.
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

std::vector<LayerSettings> parse_layer_settings(std::string_view text, const std::string& file) {
  std::vector<LayerSettings> all;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    LayerSettings settings;
    settings.where = fmt::format("{}:{}", file, number);
    if (!(words >> settings.path)) continue;
    std::string word;
    bool any = false;
    for (; words >> word; any = true) {
      LayerSettings one;
      one.where = settings.where;
      parse_setting(word, one);
      if (contradict(settings, one)) {
        throw InputError({fmt::format("'{}' contradicts a setting before it", word),
                          fmt::format("give {} only one of the two", settings.path), settings.where});
      }
      parse_setting(word, settings);
    }
    if (!any) {
      throw InputError({fmt::format("no setting is given for {}", settings.path),
                        fmt::format("add one or more settings after it: {}", all_words()), settings.where});
    }
    require_no_contradiction(all, settings);
    all.push_back(std::move(settings));
  }
  return all;
}

std::vector<LayerSettings> read_layer_settings(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (!in)
    throw InputError({"cannot read the file", "--layer-settings names a file with one line per module path", file});
  return parse_layer_settings(text, file);
}

void check_layer_settings(const ir::Graph& graph, const std::vector<LayerSettings>& layers) {
  if (layers.empty()) return;
  const std::set<std::string> modules = modules_of(graph);
  for (const LayerSettings& layer : layers) {
    if (std::ranges::any_of(modules, [&](const std::string& module) { return layer.covers(module); })) continue;
    constexpr std::size_t kShown = 5;
    std::vector<std::string> near(modules.begin(), modules.end());
    std::ranges::sort(near, {}, [&](const std::string& name) { return std::pair(distance(name, layer.path), name); });
    near.resize(std::min(near.size(), kShown));
    // An option is not a file: the caller then fills in the model's name.
    const bool in_file = !layer.where.starts_with("--");
    throw InputError({.problem = fmt::format("the model has no layer {}", layer.path),
                      .advice = near.empty() ? "it has no named modules"
                                             : fmt::format("the closest names are: {}", fmt::join(near, ", ")),
                      .file = in_file ? layer.where : std::string()});
  }
}

}  // namespace cormorant::compiler
