// SPDX-License-Identifier: Apache-2.0
#include "formats/pt2/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace cormorant::pt2 {
namespace {

// Splits at `separator`, but not inside brackets: "Foo[a,b]" is one part of a list separated by commas.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (text[i] == separator && depth == 0) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  parts.push_back(text.substr(begin));
  return parts;
}

bool is_library(std::string_view path) {
  if (path.starts_with('<')) return true;  // <frozen importlib>, <eval_with_key>.7
  // A user's folder may well be called torch; its own packages distinguish PyTorch's folder from that.
  constexpr std::array kParts = {"site-packages/", "dist-packages/", "torch/nn/",      "torch/fx/",        "torch/_",
                                 "torch/export/",  "torch/ao/",      "torch/utils/",   "torch/functional", "torchao/",
                                 "/lib/python",    "torch/jit/",     "torch/overrides"};
  std::string normal(path);
  std::replace(normal.begin(), normal.end(), '\\', '/');
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
    const std::size_t at = normal.find(part);
    return at != std::string::npos && (at == 0 || part.front() == '/' || normal[at - 1] == '/');
  });
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  return text;
}

// `File "dir/kws.py", line 14, in forward` -> kws.py:14; empty for other lines and for library code.
std::string user_frame(std::string_view line) {
  constexpr std::string_view kFile = "File \"";
  constexpr std::string_view kLine = "\", line ";
  line = trim(line);
  if (!line.starts_with(kFile)) return "";
  const std::size_t end = line.rfind(kLine);
  if (end == std::string_view::npos || end < kFile.size()) return "";
  const std::string_view path = line.substr(kFile.size(), end - kFile.size());
  std::string_view number = line.substr(end + kLine.size());
  const auto digits = std::find_if_not(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; });
  number = number.substr(0, static_cast<std::size_t>(digits - number.begin()));
  if (path.empty() || number.empty() || is_library(path)) return "";
  const std::size_t slash = path.find_last_of("/\\");
  return fmt::format("{}:{}", slash == std::string_view::npos ? path : path.substr(slash + 1), number);
}

}  // namespace

std::vector<ModuleFrame> parse_module_stack(std::string_view text) {
  std::vector<ModuleFrame> frames;
  if (text.empty()) return frames;
  for (const std::string_view item : split(text, ';')) {
    const std::vector<std::string_view> parts = split(item, ',');
    if (parts.size() != 3) continue;  // only names for people depend on it: better none than a refused model
    std::string_view path = parts[1];
    for (const std::string_view root : {"L['self'].", "L['self']"}) {  // strict export writes the root out
      if (path.starts_with(root)) path.remove_prefix(root.size());
    }
    frames.push_back({.path = std::string(path), .type = std::string(parts[2])});
  }
  return frames;
}

std::string module_path(const Node& node) { return node.module_stack.empty() ? "" : node.module_stack.back().path; }

std::string source_line(const Node& node) {
  std::string innermost;
  std::string_view rest = node.stack_trace;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (std::string frame = user_frame(rest.substr(0, end)); !frame.empty()) innermost = std::move(frame);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return innermost;
}

std::string source_of(const Node& node) {
  const std::string path = module_path(node);
  const std::string line = source_line(node);
  if (path.empty() || line.empty()) return path + line;
  return fmt::format("{} ({})", path, line);
}

Diagnostic diagnose(const Node& node, std::string problem, std::string advice) {
  return {.problem = std::move(problem), .advice = std::move(advice), .node = node.name, .source = source_of(node)};
}

}  // namespace cormorant::pt2
