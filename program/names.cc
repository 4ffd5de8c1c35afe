// SPDX-License-Identifier: Apache-2.0
#include "program/names.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/output_file.h"
#include "program/files.h"
#include "program/json_text.h"

namespace cormorant {
namespace {

// FNV-1a, 64 bits: distinguishes programs from successive compilations; no attacker is assumed.
std::string digest(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  return fmt::format("{:016x}", hash);
}

void warn_of_foreign(const std::string& path) {
  fmt::print(stderr, "warning: {} was not written by cormorant compile and is ignored\n", path);
}

// Null if there is no such file, or it is not this program's.
nlohmann::ordered_json read_file_for(const std::string& program, std::span<const std::byte> bytes) {
  const std::string path = names_file(program);
  if (!std::filesystem::exists(path)) return {};
  const std::vector<std::byte> text = read_file(path);
  nlohmann::ordered_json json =
      nlohmann::ordered_json::parse(reinterpret_cast<const char*>(text.data()),
                                    reinterpret_cast<const char*>(text.data() + text.size()), nullptr, false);
  if (!json.is_object() || !json.contains("program")) {
    warn_of_foreign(path);
    return {};
  }
  if (json["program"] != digest(bytes)) {
    fmt::print(stderr, "warning: {} was written for another program and is ignored\n", path);
    return {};
  }
  return json;
}

// The part of one method.
nlohmann::ordered_json read_part(const std::string& program, std::span<const std::byte> bytes,
                                 const std::string& method) {
  nlohmann::ordered_json json = read_file_for(program, bytes);
  if (json.is_null() || !json.contains("methods")) return json;
  const nlohmann::ordered_json& methods = json["methods"];
  return methods.is_object() && methods.contains(method) ? methods[method] : nlohmann::ordered_json();
}

nlohmann::ordered_json steps_json(const StepNames& names) {
  nlohmann::ordered_json steps = nlohmann::json::array();
  for (const emit::Step& step : names) steps.push_back({{"node", step.node}, {"source", step.source}});
  return steps;
}

}  // namespace

std::string names_file(const std::string& program) { return program + ".names.json"; }

void write_names(const std::string& program, std::span<const std::byte> bytes, const StepNames& names,
                 const nlohmann::ordered_json& explanation) {
  nlohmann::ordered_json json;
  json["program"] = digest(bytes);
  json["steps"] = steps_json(names);
  json["explanation"] = explanation;
  const std::string text = json_text(json, 1) + "\n";
  write_output(names_file(program), text);
}

void write_names(const std::string& program, std::span<const std::byte> bytes,
                 const std::vector<MethodNames>& methods) {
  nlohmann::ordered_json json;
  json["program"] = digest(bytes);
  for (const MethodNames& method : methods) {
    json["methods"][method.method] = {{"steps", steps_json(method.steps)}, {"explanation", method.explanation}};
  }
  write_output(names_file(program), json_text(json, 1) + "\n");
}

std::optional<StepNames> read_names(const std::string& program, std::span<const std::byte> bytes,
                                    const std::string& method) {
  const nlohmann::ordered_json json = read_part(program, bytes, method);
  if (json.is_null()) return std::nullopt;
  StepNames names;
  try {
    for (const auto& step : json.at("steps")) {
      names.push_back({step.at("node").get<std::string>(), step.at("source").get<std::string>()});
    }
  } catch (const nlohmann::json::exception&) {
    warn_of_foreign(names_file(program));
    return std::nullopt;
  }
  return names;
}

nlohmann::ordered_json read_explanation(const std::string& program, std::span<const std::byte> bytes,
                                        const std::string& method) {
  const nlohmann::ordered_json json = read_part(program, bytes, method);
  return json.is_null() || !json.contains("explanation") ? nlohmann::ordered_json() : json["explanation"];
}

}  // namespace cormorant
