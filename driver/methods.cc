// SPDX-License-Identifier: Apache-2.0
#include "driver/methods.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "base/diagnostic.h"
#include "driver/compile_error.h"
#include "formats/pte/methods.h"
#include "program/files.h"
#include "program/program_io.h"
#include "runner/program_facts.h"
#include "runtime/host.h"

namespace cormorant::driver {
namespace {

// The method's name as a part of a file's: the model may have called it anything.
std::string in_path(std::string method) {
  for (char& letter : method) {
    const bool is_plain = letter == '_' || letter == '-' || std::isalnum(static_cast<unsigned char>(letter)) != 0;
    if (!is_plain) letter = '_';
  }
  return method;
}

CompileResult compile_one(const std::string& method, const CompileFlags& flags, const CompileInputs& inputs) {
  CompileFlags own = flags;
  own.method = method;
  own.measure = false;
  own.link = flags.link && flags.optimize == "size";  // whose choice depends on code; else all are linked together
  if (!flags.intermediates.empty())
    own.intermediates = (std::filesystem::path(flags.intermediates) / in_path(method)).string();
  CompileInputs of_one = inputs;
  of_one.advises = false;
  if (!inputs.of_methods.empty()) {
    const auto data = inputs.of_methods.find(method);
    if (data == inputs.of_methods.end()) {
      throw InputError({fmt::format("method {}: there is no calibration data for it", method),
                        "give data for every method, or compile those that have some one by one (--method)"});
    }
    of_one.calibration = data->second;
  }
  try {
    CompileResult result = compile_model(own, of_one);
    if (result.excess) throw CompileError(*result.excess, warnings_of(result.compiled.facts));
    return result;
  } catch (const InputError& error) {
    Diagnostic diagnostic = error.diagnostic();
    diagnostic.problem = fmt::format("method {}: {}", method, diagnostic.problem);
    throw CompileError(std::move(diagnostic), warnings_before({}, error));
  }
}

void require_budget(const std::optional<Budget>& budget, const CompiledMethods& compiled, const std::string& model) {
  if (!budget) return;
  const MethodTotals totals = totals_of(compiled);
  const std::uint64_t ram = totals.arena + totals.state + totals.stack, flash = compiled.program.size() + totals.code;
  const auto check = [&](const char* what, const std::optional<std::uint64_t>& limit, std::uint64_t needed,
                         const std::string& parts) {
    if (!limit || needed <= *limit) return;
    throw InputError({.problem = fmt::format("the budget for {} is {} bytes, but all methods together need {}: {}",
                                             what, grouped(*limit), grouped(needed), parts),
                      .advice = "raise --budget, or compile fewer methods (--method)",
                      .file = model});
  };
  check(
      "RAM", budget->ram, ram,
      fmt::format("arena {}, state {}, stack {}", grouped(totals.arena), grouped(totals.state), grouped(totals.stack)));
  check("flash", budget->flash, flash,
        fmt::format("model {}, code {}", grouped(compiled.program.size()), grouped(totals.code)));
}

// What methods keep between executions is in nobody else's way, so the regions may need more than any of them alone.
void find_arenas(CompiledMethods& compiled, const std::string& model) {
  for (const std::string& name : compiled.names) {
    const std::vector<std::uint64_t> sizes = read_facts(compiled.program, name).arena_bytes;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const auto& regions = compiled.methods.front().compiled.facts.regions;
      if (i == compiled.arenas.size()) {
        compiled.arenas.emplace_back(i < regions.size() ? regions[i].name : std::to_string(i), 0);
      }
      compiled.arenas[i].second = std::max(compiled.arenas[i].second, sizes[i]);
    }
  }
  const std::vector<planner::Region>& memory = compiled.methods.front().options.memory;
  for (std::size_t i = 0; i < compiled.arenas.size() && i < memory.size(); ++i) {
    const auto& [name, bytes] = compiled.arenas[i];
    if (bytes <= memory[i].size) continue;
    throw InputError({.problem = fmt::format("all methods together need {} bytes in {}, which has {}", grouped(bytes),
                                             name, grouped(memory[i].size)),
                      .advice = "what methods keep between executions is there at the same time: give the region more "
                                "room, or compile them one by one (--method)",
                      .file = model});
  }
}

nlohmann::ordered_json figures_of(const CompiledMethods& compiled) {
  const MethodTotals totals = totals_of(compiled);
  nlohmann::ordered_json json;
  json["target"] = compiled.methods.front().figures["target"];
  json["isa"] = compiled.methods.front().figures["isa"];
  json["model_bytes"] = compiled.program.size();
  json["arena_bytes"] = nlohmann::ordered_json::object();
  for (const auto& [name, bytes] : compiled.arenas) json["arena_bytes"][name] = bytes;
  for (const char* const key : {"code", "state", "stack"}) json[key] = nullptr;
  if (totals.knows_state) json["state"] = totals.state;
  if (totals.is_linked) {
    json["code"] = totals.code;
    json["stack"] = totals.stack;
  }
  for (std::size_t i = 0; i < compiled.names.size(); ++i) {
    json["methods"][compiled.names[i]] = compiled.methods[i].figures;
  }
  return json;
}

void compile_all(const CompileFlags& flags, const CompileInputs& inputs, CompiledMethods& compiled) {
  const std::vector<std::string>& names = compiled.names;
  std::vector<AlignedBytes> files;
  std::vector<pte::NamedProgram> programs;
  for (const std::string& name : names) {
    compiled.methods.push_back(compile_one(name, flags, inputs));
    files.emplace_back(std::span<const std::byte>(compiled.methods.back().compiled.program));
    programs.push_back({name, files.back().span()});
  }
  compiled.program = pte::join_methods(programs);
  const std::string& model = compiled.methods.front().model;
  require_loadable(compiled.program, model, false);
  find_arenas(compiled, model);
  for (std::size_t i = 0; i < names.size(); ++i) {
    CompileResult& method = compiled.methods[i];
    const ops::Config& config = method.options.config;
    FirmwareRequest request = request_of(flags, config);
    request.cycles = !flags.report.empty();
    method.firmware = link_for(compiled.program, config.target, request, names[i]);
    method.figures["firmware"] = firmware_json(method.firmware, config.target);
  }
  require_budget(compiled.methods.front().budget, compiled, model);
  compiled.figures = figures_of(compiled);
}

}  // namespace

std::string report_of(const std::string& file, const std::string& method) {
  const std::filesystem::path path(file);
  return (path.parent_path() / (path.stem().string() + "." + in_path(method) + path.extension().string())).string();
}

MethodTotals totals_of(const CompiledMethods& compiled) {
  MethodTotals totals;
  for (const auto& [name, bytes] : compiled.arenas) totals.arena += bytes;
  for (const CompileResult& method : compiled.methods) {
    const std::optional<RunResult>& facts = method.firmware.facts;
    totals.knows_state = totals.knows_state && method.firmware.state_bytes;
    totals.state += method.firmware.state_bytes.value_or(0);
    totals.is_linked = totals.is_linked && facts;
    if (!facts) continue;
    totals.stack = std::max(totals.stack, stack_needed(*facts));
    totals.code = std::max(totals.code, facts->code_bytes);
  }
  return totals;
}

CompiledMethods compile_methods(const CompileFlags& flags, const CompileInputs& inputs,
                                const std::vector<std::string>& names) {
  CompiledMethods compiled{.names = names, .methods = {}, .program = {}, .arenas = {}, .figures = {}};
  try {
    compile_all(flags, inputs, compiled);
  } catch (const InputError& error) {
    Warnings warnings;
    for (const CompileResult& method : compiled.methods) warnings.append(warnings_of(method.compiled.facts));
    throw CompileError(error.diagnostic(), warnings_before(std::move(warnings), error));
  }
  return compiled;
}

}  // namespace cormorant::driver
