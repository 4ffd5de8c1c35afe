// SPDX-License-Identifier: Apache-2.0
#include "program/firmware_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostic.h"
#include "formats/pte/method_names.h"
#include "program/budget.h"
#include "program/files.h"
#include "runner/state.h"

namespace cormorant {

namespace {

// What a method needs, with the kernels of all: its own first, which are then found at once.
ProgramFacts facts_of(const RunRequest& run) {
  ProgramFacts facts = read_facts(run.program, run.method);
  const auto add = [](std::vector<std::string>& to, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (std::ranges::find(to, name) == to.end()) to.push_back(name);
    }
  };
  for (const std::string& method : pte::method_names(run.program)) {
    if (method == run.method) continue;
    const ProgramFacts others = read_facts(run.program, method);
    add(facts.operators, others.operators);
    add(facts.of_numbers, others.of_numbers);
  }
  return facts;
}

}  // namespace

Firmware link_for(const std::vector<std::byte>& program, const Target& target, const FirmwareRequest& request,
                  const std::string& method) {
  Firmware firmware{.facts = {}, .state_bytes = {}, .why_unknown = {}, .compiler = request.compiler};
  if (target.is_any()) {
    if (request.execute) throw UsageError("--measure needs a CPU\n  name one with --target");
    firmware.why_unknown = "it depends on the CPU";
  } else if (!request.ours && !request.execute) {
    firmware.why_unknown = "not linked";
  }
  if (!firmware.why_unknown.empty()) return firmware;
  RunRequest run;
  run.program = program;
  run.method = method;
  run.target = target;
  run.compiler = request.compiler;
  run.account = true;
  run.until = request.execute ? RunRequest::Until::executed : RunRequest::Until::linked;
  run.profile = request.execute;
  run.estimate_cycles = request.execute && request.cycles;
  run.time_limit = std::chrono::minutes(10);
  try {
    const ProgramFacts facts = facts_of(run);
    firmware.state_bytes = state_bytes(program, facts, method, target) + kProgramBytes;
    if (request.link || request.execute) {
      firmware.facts = run_on_board(run, facts);
      firmware.state_bytes = firmware.facts->state_bytes;
    } else {
      firmware.why_unknown = "not linked";
    }
  } catch (const InputError& error) {
    if (request.execute) throw;
    firmware.why_unknown = error.diagnostic().problem;
  }
  return firmware;
}

namespace {

void print_unknown(const char* what, const std::string& why) {
  fmt::print("  {:<11} {:>11}: {}\n", what, "unknown", why);
}

void print_stack(const RunResult& facts, const Target& target) {
  if (!facts.stack_bound) return print_unknown("stack", facts.why_unbounded);
  const StackBound& bound = *facts.stack_bound;
  fmt::print("  stack       {:>11} bytes at most: load {}, execute {}, plus main(); an interrupt adds {}\n",
             grouped(bound.bytes), grouped(bound.load), grouped(bound.execute),
             grouped(exception_frame_bytes(*target.cpu)));
}

}  // namespace

void print_firmware(const Firmware& firmware, const compiler::Compiled& compiled, const Target& target) {
  if (firmware.state_bytes) {
    fmt::print("  state       {:>11} bytes\n", grouped(*firmware.state_bytes));
  } else {
    print_unknown("state", firmware.why_unknown);
  }
  if (!firmware.facts) {
    for (const char* const what : {"stack", "code"}) print_unknown(what, firmware.why_unknown);
    return;
  }
  const RunResult& facts = *firmware.facts;
  print_stack(facts, target);
  fmt::print("  code        {:>11} bytes, compiled by {}\n", grouped(facts.code_bytes), name_of(firmware.compiler));
  for (const CodePart& part : facts.code_parts) fmt::print("    {:<22} {:>10}\n", part.name, grouped(part.bytes));
  const Needs needs = needs_of(compiled, firmware);
  fmt::print("  flash       {:>11} bytes: code and model\n", grouped(needs.flash));
  fmt::print("  RAM         {:>11} bytes: arena, state and stack\n", grouped(needs.ram));
}

nlohmann::ordered_json stack_json(const StackBound& bound, const Target& target) {
  nlohmann::ordered_json json = {{"bytes", bound.bytes},
                                 {"load", bound.load},
                                 {"execute", bound.execute},
                                 {"exception_frame", exception_frame_bytes(*target.cpu)}};
  json["path"] = nlohmann::json::array();
  for (const StackFrame& frame : bound.path) {
    json["path"].push_back({{"function", frame.function}, {"bytes", frame.bytes}});
  }
  return json;
}

nlohmann::ordered_json code_parts_json(const RunResult& facts) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const CodePart& part : facts.code_parts) json[part.name] = part.bytes;
  return json;
}

// Null means unknown.
nlohmann::ordered_json firmware_json(const Firmware& firmware, const Target& target) {
  nlohmann::ordered_json json;
  json["compiler"] = name_of(firmware.compiler);
  for (const char* const key : {"code", "code_parts", "state", "stack_bound"}) json[key] = nullptr;
  if (firmware.state_bytes) json["state"] = *firmware.state_bytes;
  if (!firmware.facts) {
    json["unknown"] = firmware.why_unknown;
    return json;
  }
  const RunResult& facts = *firmware.facts;
  json["code"] = facts.code_bytes;
  json["code_parts"] = code_parts_json(facts);
  if (facts.stack_bound) {
    json["stack_bound"] = stack_json(*facts.stack_bound, target);
  } else {
    json["unknown"] = facts.why_unbounded;
  }
  return json;
}

void print_stack_path(const StackBound& bound) {
  fmt::print("  the stack's deepest point, {} bytes\n", grouped(bound.bytes));
  for (const StackFrame& frame : bound.path) fmt::print("  {:>14}  {}\n", grouped(frame.bytes), frame.function);
}

}  // namespace cormorant
