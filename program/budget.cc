// SPDX-License-Identifier: Apache-2.0
#include "program/budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostic.h"
#include "planner/memory.h"
#include "program/files.h"

namespace cormorant {
namespace {

using Sizes = std::vector<std::pair<std::string, std::uint64_t>>;

Diagnostic excess(std::string_view what, std::uint64_t limit, std::uint64_t needed, Sizes parts) {
  constexpr std::size_t kNamed = 5;
  std::ranges::sort(parts, [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  if (parts.size() > kNamed) parts.resize(kNamed);
  std::string list;
  for (const auto& [name, bytes] : parts)
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", name, grouped(bytes));
  return {.problem = fmt::format("the budget for {} is {} bytes, but {} are needed: {} too many. The largest: {}", what,
                                 grouped(limit), grouped(needed), grouped(needed - limit), list),
          .advice = "raise --budget, or make the largest part smaller"};
}

std::uint64_t unsigned_of(std::int64_t bytes) { return static_cast<std::uint64_t>(bytes); }

}  // namespace

Budget parse_budget(std::string_view text) {
  Budget budget;
  for (const planner::Region& part : planner::parse_memory(text, "--budget")) {
    if (part.name == "ram") {
      budget.ram = part.size;
    } else if (part.name == "flash") {
      budget.flash = part.size;
    } else {
      throw UsageError(fmt::format(
          "--budget accepts ram and flash, not '{}'\n  for example --budget=ram=64K,flash=256K", part.name));
    }
  }
  return budget;
}

Needs needs_of(const compiler::Compiled& compiled, const Firmware& firmware) {
  Needs needs{unsigned_of(compiler::arena_bytes(compiled.facts)), compiled.program.size()};
  needs.ram += firmware.state_bytes.value_or(0);
  if (firmware.facts) {
    needs.ram += stack_needed(*firmware.facts);
    needs.flash += firmware.facts->code_bytes;
  }
  return needs;
}

std::optional<Diagnostic> over_budget(const Budget& budget, const compiler::Compiled& compiled,
                                      const Firmware& firmware) {
  const compiler::Facts& facts = compiled.facts;
  const auto [ram, flash] = needs_of(compiled, firmware);
  Sizes in_ram, in_flash;
  for (const emit::RegionFacts& region : facts.regions) {
    for (const auto& [name, bytes] : region.at_peak) in_ram.emplace_back(name, unsigned_of(bytes));
  }
  for (const auto& [name, bytes] : facts.constants) in_flash.emplace_back(name, unsigned_of(bytes));
  if (firmware.state_bytes) in_ram.emplace_back("state", *firmware.state_bytes);
  if (const std::optional<RunResult>& linked = firmware.facts) {
    in_ram.emplace_back("stack", stack_needed(*linked));
    for (const CodePart& part : linked->code_parts) in_flash.emplace_back("code of " + part.name, part.bytes);
    if (linked->code_parts.empty()) in_flash.emplace_back("code", linked->code_bytes);
  }
  if (budget.ram && ram > *budget.ram) return excess("RAM", *budget.ram, ram, std::move(in_ram));
  if (budget.flash && flash > *budget.flash) return excess("flash", *budget.flash, flash, std::move(in_flash));
  return std::nullopt;
}

}  // namespace cormorant
