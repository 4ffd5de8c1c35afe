// SPDX-License-Identifier: Apache-2.0
#include "cli/names.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/files.h"

namespace cormorant::cli {
namespace {

// FNV-1a, 64 bits: tells programs apart that somebody compiled one after the other, and nobody attacks it.
std::string digest(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

}  // namespace

std::string names_file(const std::string& program) { return program + ".names.json"; }

void write_names(const std::string& program, std::span<const std::byte> bytes, const StepNames& names) {
  nlohmann::ordered_json json;
  json["program"] = digest(bytes);
  json["steps"] = nlohmann::json::array();
  for (const emit::Step& step : names) json["steps"].push_back({{"node", step.node}, {"source", step.source}});
  const std::string text = json.dump(1) + "\n";
  write_file(names_file(program), std::as_bytes(std::span(text)));
}

std::optional<StepNames> read_names(const std::string& program, std::span<const std::byte> bytes) {
  const std::string path = names_file(program);
  if (!std::filesystem::exists(path)) return std::nullopt;
  const std::vector<std::byte> text = read_file(path);
  const auto json = nlohmann::json::parse(reinterpret_cast<const char*>(text.data()),
                                          reinterpret_cast<const char*>(text.data() + text.size()), nullptr, false);
  StepNames names;
  try {
    if (json.at("program").get<std::string>() != digest(bytes)) {
      fmt::print(stderr, "warning: {} was written for another program and is ignored\n", path);
      return std::nullopt;
    }
    for (const auto& step : json.at("steps")) {
      names.push_back({step.at("node").get<std::string>(), step.at("source").get<std::string>()});
    }
  } catch (const nlohmann::json::exception&) {
    fmt::print(stderr, "warning: {} is not what cormorant compile writes and is ignored\n", path);
    return std::nullopt;
  }
  return names;
}

}  // namespace cormorant::cli
