// SPDX-License-Identifier: Apache-2.0
#include "runner/glue.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "base/diagnostic.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "runner/symbol.h"
#include "runtime/call_types.h"

namespace cormorant {
namespace {

constexpr std::uint64_t kArenaAlignment = 16;

// The file is preprocessed and assembled: text of an untrusted program must not begin a line of its own.
std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') result += '\\';
    result += byte >= 0x20 && byte != 0x7f ? std::string(1, c) : fmt::format("\\{:03o}", byte);
  }
  return result + '"';
}

std::optional<std::string> best_symbol(const std::string& name, Isa isa,
                                       const std::unordered_set<std::string_view>& defined) {
  for (int candidate = static_cast<int>(isa); candidate >= 0; --candidate) {
    std::string symbol = kernel_symbol(name, static_cast<Isa>(candidate));
    if (defined.contains(symbol)) return symbol;
  }
  return std::nullopt;
}

bool is_of_section_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

std::string arena_symbol(std::string_view owner, std::size_t index) { return fmt::format("{}_arena_{}", owner, index); }

std::string space_for(const std::vector<PlacedArena>& arenas) {
  std::string text;
  for (const PlacedArena& arena : arenas) {
    if (arena.section.empty()) continue;
    text += fmt::format("\n    .section {}, \"aw\", %nobits\n    .globl {}\n    .balign {}\n{}:\n    .space {}\n",
                        arena.section, arena.symbol, kArenaAlignment, arena.symbol, arena.bytes);
  }
  return text;
}

// Our packed operators are made for one instruction set; others have a kernel for all targets or for none.
std::string advice_on(const std::vector<std::string>& missing, const Target& target) {
  const bool is_ours =
      std::ranges::all_of(missing, [](const std::string& name) { return name.starts_with("cormorant::"); });
  return is_ours ? fmt::format("compile the model for this target (--target={})", target.name())
                 : "`cormorant operators` lists the supported operators; compiling the model itself, exported as .pt2, "
                   "avoids the others";
}

}  // namespace

std::vector<KernelChoice> choose_kernels(const std::vector<std::string>& operators, const Target& target,
                                         const std::vector<std::string>& defined_symbols,
                                         const std::vector<std::string>& of_numbers) {
  const std::unordered_set<std::string_view> defined(defined_symbols.begin(), defined_symbols.end());
  std::vector<KernelChoice> kernels;
  std::vector<std::string> missing;
  for (const std::string& name : operators) {
    // Only symbols have this suffix: a name with it in a program is not an operator.
    std::optional<std::string> symbol;
    if (is_operator_name(name) && !name.ends_with(kNumbersEnding)) {
      const bool is_numbers = std::ranges::find(of_numbers, name) != of_numbers.end();
      if (is_numbers) symbol = best_symbol(name + std::string(kNumbersEnding), target.isa, defined);
      if (!symbol) symbol = best_symbol(name, target.isa, defined);
    }
    if (symbol) {
      kernels.push_back({name, *symbol});
    } else {
      missing.push_back(name);
    }
  }
  if (!missing.empty()) {
    throw InputError({.problem = fmt::format("no kernel for {} with {} instructions: {}", target.name(),
                                             name_of(target.isa), fmt::join(missing, ", ")),
                      .advice = advice_on(missing, target)});
  }
  return kernels;
}

std::vector<PlacedArena> place_arenas(const std::vector<std::uint64_t>& arena_bytes, const Board& board,
                                      const std::vector<std::string>& names) {
  std::vector<std::uint64_t> left;
  for (const ArenaRegion& region : board.arenas) left.push_back(region.bytes);

  std::vector<PlacedArena> placed;
  for (std::size_t i = 0; i < arena_bytes.size(); ++i) {
    const std::uint64_t needed = (arena_bytes[i] + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    const auto named = [&](const ArenaRegion& region) { return i < names.size() && region.name == names[i]; };
    const auto wanted = std::ranges::find_if(board.arenas, named) - board.arenas.begin();
    auto room = left.begin() + wanted;
    if (room == left.end() || *room < needed) {
      room = std::ranges::find_if(left, [&](std::uint64_t bytes) { return bytes >= needed; });
    }
    if (room == left.end()) {
      throw InputError({.problem = fmt::format("the program plans {} bytes for memory {}, more than {} has available",
                                               arena_bytes[i], i + 1, board.name),
                        .advice = ""});
    }
    *room -= needed;
    const auto region = static_cast<std::size_t>(room - left.begin());
    placed.push_back({fmt::format(".arena.{}", board.arenas[region].name), arena_bytes[i], arena_symbol(kLinked, i)});
  }
  return placed;
}

std::vector<PlacedArena> own_arenas(const ProgramFacts& facts, const std::string& owner) {
  std::vector<PlacedArena> arenas;
  for (std::size_t i = 0; i < facts.arena_bytes.size(); ++i) {
    const std::string symbol = arena_symbol(owner, i);
    const std::string name = i < facts.arena_names.size() ? facts.arena_names[i] : "";
    if (!std::ranges::all_of(name, is_of_section_name)) {
      throw InputError(
          {.problem = fmt::format("the name of memory {} is not one of letters, digits, '_' and '-'", i + 1),
           .advice = "compile the model again, with other names in --memory"});
    }
    const std::string section = name.empty() ? fmt::format(".bss.{}", symbol) : fmt::format(".arena.{}", name);
    arenas.push_back({section, facts.arena_bytes[i], symbol});
  }
  return arenas;
}

std::vector<PlacedArena> shared_arenas(const std::vector<ProgramFacts>& models, const std::string& owner) {
  std::vector<PlacedArena> shared;
  for (const ProgramFacts& facts : models) {
    const std::vector<PlacedArena> own = own_arenas(facts, owner);
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (i == shared.size()) {
        shared.push_back(own[i]);
      } else if (shared[i].section != own[i].section) {
        throw InputError(
            {.problem = fmt::format("the models that share '{}' were compiled for different memories ({} and {})",
                                    owner, shared[i].section, own[i].section),
             .advice = "compile them with the same --memory, or give each an arena of its own"});
      }
      shared[i].bytes = std::max(shared[i].bytes, own[i].bytes);
    }
  }
  return shared;
}

void require_sharable(const ProgramFacts& facts, const std::string& model, const std::string& owner) {
  if (facts.kept.state) {
    throw InputError(
        {.problem = fmt::format("it has state, which would be lost in '{}', the memory that it shares with "
                                "other models",
                                owner),
         .advice = "give it an arena of its own, without ARENA or --arena",
         .file = model});
  }
  if (facts.kept.constants) {
    throw InputError({.problem = fmt::format("it has constants in RAM (--weights-in), which would be lost in '{}', the "
                                             "memory that it shares with other models",
                                             owner),
                      .advice = "compile it without --weights-in, or give it an arena of its own, without ARENA or "
                                "--arena",
                      .file = model});
  }
}

std::string assembly(const Glue& glue) {
  const std::string& name = glue.name;
  const std::string data = glue.model_data.empty() ? name + "_model_data" : glue.model_data;
  std::string text;
  if (glue.model_data.empty()) {
    text = fmt::format(
        "// Generated: the model, the kernels that it calls, and its memory.\n"
        "    .syntax unified\n"
        "    .section {section}, \"a\", %progbits\n"
        "    .balign 16\n"
        "{data}:\n"
        "    .incbin {file}\n"
        "{data}_end:\n",
        fmt::arg("section", glue.model_section), fmt::arg("data", data),
        fmt::arg("file", in_quotes(glue.model.string())));
  }
  text += fmt::format(
      "\n"
      "    .section .rodata.{name}_model, \"a\", %progbits\n"
      "    .balign 4\n"
      "    .globl {name}_model, {name}_arenas, {name}_arena_count\n"
      "{name}_model:\n"
      "    .word {data}, {data}_end - {data}, {name}_method\n"
      "    .word {name}_kernels, {kernels}\n"
      "{name}_kernels:\n",
      fmt::arg("name", name), fmt::arg("data", data), fmt::arg("kernels", glue.kernels.size()));
  for (const KernelChoice& kernel : glue.kernels) text += fmt::format("    .word {}\n", kernel.symbol);
  text += fmt::format("{}_arenas:\n", name);
  for (const PlacedArena& arena : glue.arenas) text += fmt::format("    .word {}, {}\n", arena.symbol, arena.bytes);
  text += fmt::format("{0}_arena_count:\n    .word {1}\n{0}_method:\n    .asciz {2}\n", name, glue.arenas.size(),
                      in_quotes(glue.method));
  // Nothing else references what the harness then calls, so other firmware does not contain it.
  if (glue.pushes_rows) text += "    .reloc 0, R_ARM_NONE, cormorant_measured_push\n";
  text += space_for(glue.arenas);
  if (!glue.state_bytes) return text;
  if (name == kLinked) {
    return text +
           fmt::format("\n    .globl cormorant_state_bytes\n    .set cormorant_state_bytes, {}\n", *glue.state_bytes);
  }
  return text + fmt::format(
                    "\n    .section .rodata.{0}_memory, \"a\", %progbits\n    .balign 4\n    .globl {0}_memory\n"
                    "{0}_memory:\n    .word {0}_state, {1}, {0}_arenas, {2}\n"
                    "\n    .section .bss.{0}_state, \"aw\", %nobits\n    .balign 8\n{0}_state:\n    .space {1}\n",
                    name, *glue.state_bytes, glue.arenas.size());
}

std::string assembly(const std::vector<PlacedArena>& arenas) {
  return "// Generated: memory that models share.\n    .syntax unified\n" + space_for(arenas);
}

}  // namespace cormorant
