// SPDX-License-Identifier: Apache-2.0
#include "elf/operator_table.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>

#include "fmt/format.h"

namespace cormorant {
namespace {

std::string demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  std::string name = status == 0 ? text.get() : symbol;
  return name.substr(0, name.find(" [clone"));
}

// The bracket that closes the one at `open`, or that the one at `close` closes.
std::size_t closing(std::string_view text, std::size_t open) {
  int level = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '(') ++level;
    if (text[i] == ')' && --level == 0) return i;
  }
  return std::string_view::npos;
}
std::size_t opening(std::string_view text, std::size_t close) {
  int level = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (text[i] == ')') ++level;
    if (text[i] == '(' && --level == 0) return i;
  }
  return std::string_view::npos;
}

// The parameters of the pointers (or references) to functions that a function's signature names.
std::vector<std::string> pointer_types(const std::string& name) {
  std::vector<std::string> types;
  for (const std::string_view mark : {"(*)(", "(&)("}) {
    for (std::size_t at = name.find(mark); at != std::string::npos; at = name.find(mark, at + 1)) {
      const std::size_t open = at + mark.size() - 1, close = closing(name, open);
      if (close != std::string::npos) types.push_back(name.substr(open, close - open + 1));
    }
  }
  return types;
}

// "(…)" at the end; empty for a name of C or assembly.
std::string parameters(const std::string& name) {
  const std::size_t close = name.rfind(')');
  const std::size_t open = close == std::string::npos ? close : opening(name, close);
  return open == std::string::npos ? "" : name.substr(open, close - open + 1);
}

std::string text_at(const Elf& elf, std::uint32_t address) {
  std::string text;
  for (;; ++address) {
    const auto half = elf.halfword(address & ~1U);
    const char c = half ? static_cast<char>(*half >> (8 * (address & 1U))) : '\0';
    if (c == '\0') return text;
    text += c;
  }
}

// Whether plain calls lead from a function to an inference; `known` gathers the answers.
bool leads_to_inference(CallGraph& graph, std::uint32_t entry, std::map<std::uint32_t, bool>& known) {
  const auto [at, is_new] = known.try_emplace(entry, false);
  if (!is_new) return at->second;
  const FunctionCode& function = graph.function(entry);
  bool leads = function.name.starts_with("cormorant_inference_");
  for (const CallSite& site : function.calls) {
    if (site.callee) leads = leads_to_inference(graph, *site.callee, known) || leads;
  }
  known[entry] = leads;
  return leads;
}

// Functions that execute kernels, from the reset on.
std::set<std::uint32_t> above_kernels(CallGraph& graph) {
  std::set<std::uint32_t> found;
  const ElfSymbol* const reset = graph.elf().find("cormorant_board_reset");
  if (reset == nullptr) return found;
  std::map<std::uint32_t, bool> known;
  leads_to_inference(graph, reset->address & ~1U, known);
  for (const auto& [entry, leads] : known) {
    if (leads) found.insert(entry);
  }
  return found;
}

// The function whose address a word may be. A number can equal an address by coincidence, easily where code begins at
// 0. At least what executes kernels is not called by them.
std::optional<std::uint32_t> function_at(const CallGraph& graph, const std::set<std::uint32_t>& above,
                                         std::uint32_t word) {
  const std::uint32_t entry = word & ~1U;
  if (entry == word || graph.starting_at(entry) == nullptr || above.contains(entry)) return std::nullopt;
  return entry;
}

void extend(CallGraph& graph, const std::set<std::uint32_t>& above, Reach& reach) {
  std::vector<std::uint32_t> waiting = {reach.entry};
  const auto add = [&](std::uint32_t entry) {
    if (reach.functions.insert(entry).second) waiting.push_back(entry);
  };
  reach.functions.insert(reach.entry);
  for (const std::uint32_t entry : reach.known) add(entry);
  while (!waiting.empty()) {
    const FunctionCode& function = graph.function(waiting.back());
    waiting.pop_back();
    for (const CallSite& site : function.calls) {
      if (site.callee) add(*site.callee);
    }
    for (const std::uint32_t constant : function.constants) {
      const auto callee = function_at(graph, above, constant);
      if (!callee) continue;
      reach.known.insert(*callee);
      add(*callee);
    }
  }
}

// Pointers to functions in read-only data other than the table's kernels: their readers are unknown.
std::set<std::uint32_t> pointers_in_data(const CallGraph& graph, const std::set<std::uint32_t>& above,
                                         const std::vector<KernelCode>& kernels) {
  std::set<std::uint32_t> found;
  for (const ElfSection& section : graph.elf().sections) {
    if (section.name != ".rodata" && section.name != ".data") continue;
    for (std::uint32_t at = section.address; at + 4 <= section.address + section.size; at += 4) {
      constexpr std::uint32_t kKernelBytes = 12;
      const bool is_kernel = std::ranges::any_of(
          kernels, [&](const KernelCode& k) { return at >= k.address && at - k.address < kKernelBytes; });
      const auto callee = function_at(graph, above, *graph.elf().word(at));
      if (!is_kernel && callee) found.insert(*callee);
    }
  }
  return found;
}

}  // namespace

std::vector<KernelCode> read_operator_table(CallGraph& graph) {
  const Elf& elf = graph.elf();
  const ElfSymbol* const model = elf.find("cormorant_linked_model");
  std::vector<KernelCode> kernels;
  if (model == nullptr) return kernels;
  // cormorant_model: data, bytes, method, kernels, kernel_count
  const std::uint32_t table = elf.word(model->address + 12).value_or(0);
  for (std::uint32_t i = 0; i < elf.word(model->address + 16).value_or(0); ++i) {
    const auto kernel = elf.word(table + 4 * i);
    if (!kernel || !elf.word(*kernel + 8)) throw StackError("the operator table points to no kernel");
    kernels.push_back({.name = text_at(elf, *elf.word(*kernel)), .address = *kernel, .load = {}, .execute = {}});
  }
  const std::set<std::uint32_t> above = above_kernels(graph);
  const std::set<std::uint32_t> in_data = pointers_in_data(graph, above, kernels);
  for (KernelCode& kernel : kernels) {
    kernel.load.entry = *elf.word(kernel.address + 4) & ~1U;
    kernel.load.known = in_data;
    extend(graph, above, kernel.load);
    kernel.execute.entry = *elf.word(kernel.address + 8) & ~1U;
    kernel.execute.known = kernel.load.known;
    extend(graph, above, kernel.execute);
  }
  return kernels;
}

std::vector<std::uint32_t> callable_from(CallGraph& graph, const FunctionCode& caller,
                                         const std::set<std::uint32_t>& known) {
  const std::vector<std::string> types = pointer_types(demangled(caller.name));
  std::vector<std::uint32_t> callable;
  for (const std::uint32_t entry : known) {
    const std::string type = parameters(demangled(graph.function(entry).name));
    if (types.empty() || type.empty() || std::ranges::find(types, type) != types.end()) callable.push_back(entry);
  }
  return callable;
}

std::string short_name(const std::string& symbol) {
  std::string name = demangled(symbol);
  const std::string arguments = parameters(name);
  if (!arguments.empty()) name.resize(name.rfind(arguments));
  std::string plain;  // without what is in angle brackets
  int level = 0;
  for (const char c : name) {
    if (c == '<') ++level;
    if (level == 0) plain += c;
    if (c == '>') --level;
  }
  for (const std::string_view noise : {"(anonymous namespace)::", "cormorant::", "ops::"}) {
    for (std::size_t at = plain.find(noise); at != std::string::npos; at = plain.find(noise)) {
      plain.erase(at, noise.size());
    }
  }
  return plain.substr(plain.rfind(' ') + 1);  // templates begin with their result's type
}

}  // namespace cormorant
