// SPDX-License-Identifier: Apache-2.0
#include "elf/stack_bound.h"

#include <algorithm>

#include "fmt/format.h"
#include "ops/rows/rows.h"

namespace cormorant {
namespace {

// Functions that call through pointers: outside the kernels only the runtime, whose targets are the whole table.
struct Scope;
struct Depth {
  std::uint32_t bytes = 0;  // from the function's entry on
  std::uint32_t own = 0;    // of it the function's own, up to the call that leads deepest
  std::optional<std::uint32_t> next;
  const Scope* next_scope = nullptr;
};
struct Scope {
  const std::set<std::uint32_t>* known = nullptr;            // inside a kernel
  std::vector<std::pair<std::uint32_t, Scope*>> table = {};  // outside: entry and scope of each kernel
  std::map<std::uint32_t, Depth> depths = {};                // of functions, as far as they are known
};

class Bound {
 public:
  explicit Bound(CallGraph& graph) : graph_(graph) {}

  const Depth& depth(std::uint32_t entry, Scope& scope) {
    if (const auto known = scope.depths.find(entry); known != scope.depths.end()) return known->second;
    const FunctionCode& function = graph_.function(entry);
    if (std::ranges::find(active_, entry) != active_.end()) {
      throw StackError(fmt::format("{} calls itself, directly or through others: the stack has no bound (by way of {})",
                                   short_name(function.name), names_of(active_)));
    }
    active_.push_back(entry);
    Depth result{.bytes = function.frame, .own = function.frame, .next = {}, .next_scope = nullptr};
    const auto consider = [&](const CallSite& site, std::uint32_t callee, Scope& its_scope) {
      const std::uint32_t total = site.depth + depth(callee, its_scope).bytes;
      if (total < result.bytes || (total == result.bytes && result.next)) return;
      result = {.bytes = total, .own = site.depth, .next = callee, .next_scope = &its_scope};
    };
    for (const CallSite& site : function.calls) {
      if (site.callee) {
        consider(site, *site.callee, scope);
      } else {
        consider_pointer(function, site, scope, consider);
      }
    }
    active_.pop_back();
    return scope.depths.emplace(entry, result).first->second;
  }

 private:
  [[nodiscard]] std::string names_of(const std::vector<std::uint32_t>& entries) {
    std::string names;
    for (const std::uint32_t entry : entries) {
      names += (names.empty() ? "" : ", ") + short_name(graph_.function(entry).name);
    }
    return names;
  }
  template <class Consider>
  void consider_pointer(const FunctionCode& function, const CallSite& site, Scope& scope, const Consider& consider) {
    for (const auto& [entry, its_scope] : scope.table) consider(site, entry, *its_scope);
    const auto callable =
        scope.known != nullptr ? callable_from(graph_, function, *scope.known) : std::vector<std::uint32_t>();
    for (const std::uint32_t callee : callable) consider(site, callee, scope);
    if (scope.table.empty() && callable.empty()) {
      throw StackError(fmt::format("{}+0x{:x} calls through a pointer with unknown targets", short_name(function.name),
                                   site.address - function.entry));
    }
  }

  CallGraph& graph_;
  std::vector<std::uint32_t> active_;
};

// How deep the stack is when `target` is entered, and whose frames are there.
std::optional<std::vector<StackFrame>> way_to(CallGraph& graph, std::uint32_t from, std::uint32_t target,
                                              std::set<std::uint32_t>& seen) {
  if (from == target) return std::vector<StackFrame>();
  if (!seen.insert(from).second) return std::nullopt;
  const FunctionCode& function = graph.function(from);
  std::optional<std::vector<StackFrame>> deepest;
  std::uint32_t most = 0;
  for (const CallSite& site : function.calls) {
    if (!site.callee) continue;
    auto way = way_to(graph, *site.callee, target, seen);
    if (!way) continue;
    way->insert(way->begin(), {short_name(function.name), site.depth});
    std::uint32_t bytes = 0;
    for (const StackFrame& frame : *way) bytes += frame.bytes;
    if (deepest && bytes <= most) continue;
    most = bytes;
    deepest = std::move(way);
  }
  return deepest;
}

std::uint32_t entry_of(const Elf& elf, const char* name) {
  const ElfSymbol* const symbol = elf.find(name);
  if (symbol == nullptr) throw StackError(fmt::format("the firmware has no {}", name));
  return symbol->address;
}

}  // namespace

StackBound bound_stack(CallGraph& graph, const std::vector<KernelCode>& kernels) {
  Bound bound(graph);
  StackBound result;
  for (const bool is_load : {true, false}) {
    std::vector<Scope> scopes(kernels.size());
    Scope runtime;
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      const Reach& reach = is_load ? kernels[i].load : kernels[i].execute;
      scopes[i].known = &reach.known;
      runtime.table.emplace_back(reach.entry, &scopes[i]);
    }
    // Groups of rows execute other kernels, none of which is a group.
    const auto is_group = [](const KernelCode& kernel) { return ops::rows::is_group(kernel.name); };
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (is_load || !is_group(kernels[i])) continue;
      for (std::size_t k = 0; k < kernels.size(); ++k) {
        if (!is_group(kernels[k])) scopes[i].table.emplace_back(kernels[k].execute.entry, &scopes[k]);
      }
    }
    const bool is_by_rows = graph.elf().find("cormorant_inference_push") != nullptr;
    const std::uint32_t entry = entry_of(graph.elf(), is_load      ? "cormorant_inference_load"
                                                      : is_by_rows ? "cormorant_inference_push"
                                                                   : "cormorant_inference_execute");
    const Depth& depth = bound.depth(entry, runtime);
    (is_load ? result.load : result.execute) = depth.bytes;

    std::set<std::uint32_t> seen;
    std::vector<StackFrame> path =
        way_to(graph, entry_of(graph.elf(), "cormorant_board_reset"), entry, seen).value_or(std::vector<StackFrame>());
    std::uint32_t bytes = depth.bytes;
    for (const StackFrame& frame : path) bytes += frame.bytes;
    if (bytes <= result.bytes) continue;
    result.bytes = bytes;
    std::uint32_t function = entry;
    for (const Scope* scope = &runtime;;) {
      const Depth& here = scope->depths.at(function);
      path.push_back({short_name(graph.function(function).name), here.own});
      if (!here.next) break;
      function = *here.next;
      scope = here.next_scope;
    }
    result.path = std::move(path);
  }
  return result;
}

std::uint32_t exception_frame_bytes(const Cpu& cpu) {
  constexpr std::uint32_t kAlignment = 4, kCore = 32, kWithFloat = 104;
  return (cpu.has_fpu ? kWithFloat : kCore) + kAlignment;
}

}  // namespace cormorant
