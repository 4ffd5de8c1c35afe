// SPDX-License-Identifier: Apache-2.0
#include "runner/glue.h"

#include <algorithm>
#include <unordered_set>

#include "base/diagnostic.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "runner/symbol.h"

namespace cormorant {
namespace {

constexpr std::uint64_t kArenaAlignment = 16;

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::optional<std::string> best_symbol(const std::string& name, Isa isa,
                                       const std::unordered_set<std::string>& defined) {
  for (int candidate = static_cast<int>(isa); candidate >= 0; --candidate) {
    std::string symbol = kernel_symbol(name, static_cast<Isa>(candidate));
    if (defined.contains(symbol)) return symbol;
  }
  return std::nullopt;
}

}  // namespace

std::vector<KernelChoice> choose_kernels(const std::vector<std::string>& operators, const Target& target,
                                         const std::vector<std::string>& defined_symbols) {
  const std::unordered_set<std::string> defined(defined_symbols.begin(), defined_symbols.end());
  std::vector<KernelChoice> kernels;
  std::vector<std::string> missing;
  for (const std::string& name : operators) {
    const auto symbol = is_operator_name(name) ? best_symbol(name, target.isa, defined) : std::nullopt;
    if (symbol) {
      kernels.push_back({name, *symbol});
    } else {
      missing.push_back(name);
    }
  }
  if (!missing.empty()) {
    throw InputError({.problem = fmt::format("no kernel for {} with {} instructions: {}", target.name(),
                                             name_of(target.isa), fmt::join(missing, ", ")),
                      .advice = fmt::format("Compile the model for this target (--target={})", target.name())});
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
      throw InputError({.problem = fmt::format("the program plans {} bytes for memory {}, more than {} has left",
                                               arena_bytes[i], i + 1, board.name),
                        .advice = ""});
    }
    *room -= needed;
    placed.push_back({board.arenas[static_cast<std::size_t>(room - left.begin())].name, arena_bytes[i]});
  }
  return placed;
}

std::string assembly(const Glue& glue) {
  std::string text = fmt::format(
      "// Generated: the model, the kernels that it calls, and its memory.\n"
      "    .syntax unified\n"
      "    .section .model, \"a\", %progbits\n"
      "    .balign 16\n"
      "    .globl cormorant_model, cormorant_model_end\n"
      "cormorant_model:\n"
      "    .incbin {}\n"
      "cormorant_model_end:\n"
      "\n"
      "    .section .rodata.cormorant_generated, \"a\", %progbits\n"
      "    .balign 4\n"
      "    .globl cormorant_operators, cormorant_operator_count, cormorant_arenas, cormorant_arena_count\n"
      "    .globl cormorant_method\n"
      "cormorant_operators:\n",
      in_quotes(glue.model.string()));
  for (const KernelChoice& kernel : glue.kernels) text += fmt::format("    .word {}\n", kernel.symbol);
  text += fmt::format("cormorant_operator_count:\n    .word {}\ncormorant_arenas:\n", glue.kernels.size());
  for (std::size_t i = 0; i < glue.arenas.size(); ++i) {
    text += fmt::format("    .word arena_{}, {}\n", i, glue.arenas[i].bytes);
  }
  text += fmt::format("cormorant_arena_count:\n    .word {}\ncormorant_method:\n    .asciz {}\n", glue.arenas.size(),
                      in_quotes(glue.method));
  for (std::size_t i = 0; i < glue.arenas.size(); ++i) {
    text += fmt::format("\n    .section .arena.{}, \"aw\", %nobits\n    .balign {}\narena_{}:\n    .space {}\n",
                        glue.arenas[i].region, kArenaAlignment, i, glue.arenas[i].bytes);
  }
  if (glue.state_bytes) {
    text += fmt::format("\n    .globl cormorant_state_bytes\n    .set cormorant_state_bytes, {}\n", *glue.state_bytes);
  }
  return text;
}

}  // namespace cormorant
