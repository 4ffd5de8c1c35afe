// SPDX-License-Identifier: Apache-2.0
#include "elf/call_graph.h"

#include <algorithm>
#include <array>
#include <deque>

#include "elf/thumb.h"
#include "fmt/format.h"

namespace cormorant {
namespace {

constexpr std::size_t kSp = 13, kLr = 14, kPc = 15;

// What is known of a register. A stack address is relative to the stack pointer at the function's entry; the number of
// "one of" is that of a set of functions (FunctionWalk::sets_).
struct Value {
  enum class Kind : std::uint8_t { unknown, constant, one_of, stack, popped } kind = Kind::unknown;
  std::int32_t number = 0;

  bool operator==(const Value&) const = default;
};
using Registers = std::array<Value, 16>;

Value constant(std::uint32_t word) { return {Value::Kind::constant, static_cast<std::int32_t>(word)}; }
std::uint32_t word_of(Value value) { return static_cast<std::uint32_t>(value.number); }

Value sum(Value a, Value b, bool subtract) {
  using Kind = Value::Kind;
  const std::uint32_t result = subtract ? word_of(a) - word_of(b) : word_of(a) + word_of(b);
  if (a.kind == Kind::constant && b.kind == Kind::constant) return constant(result);
  if (a.kind == Kind::stack && b.kind == Kind::constant) return {Kind::stack, static_cast<std::int32_t>(result)};
  if (a.kind == Kind::constant && b.kind == Kind::stack && !subtract) {
    return {Kind::stack, static_cast<std::int32_t>(result)};
  }
  return {};
}

// A stack address rounded down. The stack pointer at entry is a multiple of 8, so that the worst of those counts.
Value aligned(Value value, std::uint32_t mask) {
  if (value.kind == Value::Kind::constant) return constant(word_of(value) & ~mask);
  if (value.kind != Value::Kind::stack || (mask & (mask + 1)) != 0) return {};
  std::uint32_t worst = 0;
  for (std::uint32_t entry = 0; entry <= mask; entry += 8) worst = std::max(worst, (entry + word_of(value)) & mask);
  return {Value::Kind::stack, value.number - static_cast<std::int32_t>(worst)};
}

bool is_wide(std::uint16_t first) { return first >> 11U >= 0x1d; }

// gcc's ARMv6-M code calls these before a table of distances, and comes back at one of them.
bool jumps_by_table(std::string_view name) { return name.starts_with("__gnu_thumb1_case_"); }

}  // namespace

// One function, from its entry.
class FunctionWalk {
 public:
  FunctionWalk(const CallGraph& graph, std::uint32_t entry) : graph_(graph) {
    const ElfSymbol* const symbol = graph.starting_at(entry);
    result_.entry = entry;
    result_.name = symbol != nullptr ? symbol->name : fmt::format("0x{:x}", entry);
    end_ = graph.end_of(entry);
  }

  FunctionCode walk() {
    Registers registers;
    registers[kSp] = {Value::Kind::stack, 0};
    registers[kLr] = {Value::Kind::popped, 0};
    go_to(result_.entry, registers);
    drain();
    // What a table leads to: all that nothing else has led to.
    for (std::uint32_t at = result_.entry; at < end_;) {
      const std::uint32_t filling = graph_.is_code(at) ? nop_bytes(at) : 2;
      if (filling != 0 || visited_.contains(at)) {
        at += visited_.contains(at) ? visited_.at(at).bytes : filling;
        continue;
      }
      if (!at_table_) break;
      go_to(at, *at_table_);
      drain();
    }
    return std::move(result_);
  }

  // After walk().
  [[nodiscard]] std::map<std::uint32_t, StackAt> stack() const {
    std::map<std::uint32_t, StackAt> result;
    for (const auto& [at, visited] : visited_) {
      const Registers& r = visited.registers;
      result[at] = {depth(r, at), r[kLr].kind != Value::Kind::popped};
    }
    return result;
  }

 private:
  struct Visited {
    Registers registers;
    std::uint32_t bytes;
  };

  [[noreturn]] void fail(std::uint32_t at, std::string_view why) const {
    throw StackError(fmt::format("{}+0x{:x}: {}", result_.name, at - result_.entry, why));
  }

  std::uint32_t depth(const Registers& registers, std::uint32_t at) const {
    if (registers[kSp].kind != Value::Kind::stack) fail(at, "the stack pointer is set to an unknown value");
    if (registers[kSp].number > 0) fail(at, "the stack pointer is above where the function found it");
    return static_cast<std::uint32_t>(-registers[kSp].number);
  }

  void go_to(std::uint32_t at, const Registers& registers) {
    const auto known = visited_.find(at);
    if (known == visited_.end()) {
      visited_.emplace(at, Visited{registers, 2});
    } else {
      if (known->second.registers[kSp] != registers[kSp]) fail(at, "the stack depth varies here");
      const Registers both = joined(known->second.registers, registers);
      if (both == known->second.registers) return;
      known->second.registers = both;
    }
    waiting_.push_back(at);
  }

  void drain() {
    while (!waiting_.empty()) {
      const std::uint32_t at = waiting_.front();
      waiting_.pop_front();
      step(at);
    }
  }

  void call(std::uint32_t at, std::uint32_t from_depth, std::optional<std::uint32_t> callee) {
    for (const CallSite& known : result_.calls) {
      if (known.address == at && known.callee == callee) return;
    }
    result_.calls.push_back({at, from_depth, callee});
  }

  // A branch to a function's entry is a call; one into the middle of a function is part of this one.
  void continue_at(std::uint32_t at, std::uint32_t target, const Registers& registers) {
    if (target != result_.entry && graph_.starting_at(target) != nullptr) {
      call(at, depth(registers, at), target);
    } else {
      go_to(target, registers);
    }
  }

  void jump_by_table(std::uint32_t at, const Registers& registers) {
    if (at_table_ && (*at_table_)[kSp] != registers[kSp]) fail(at, "two tables jump with stacks of different depth");
    at_table_ = at_table_ ? joined(*at_table_, registers) : registers;
  }

  // Size of a filler before aligned data: NOP, MOV r8, r8, NOP.W; 0 for anything else.
  std::uint32_t nop_bytes(std::uint32_t at) const {
    const std::uint16_t first = graph_.halfword(at);
    if (first == 0xbf00 || first == 0x46c0) return 2;
    return first == 0xf3af && graph_.halfword(at + 2) == 0x8000 ? 4 : 0;
  }

  ThumbInstruction decode(std::uint32_t at) const {
    const std::uint16_t first = graph_.halfword(at);
    return decode_thumb(at, first, is_wide(first) ? graph_.halfword(at + 2) : 0);
  }

  void step(std::uint32_t at) {
    const ThumbInstruction i = decode(at);
    Visited& here = visited_.at(at);
    here.bytes = i.bytes;
    const Registers before = here.registers;
    if (i.conditional != 0) {
      fork(at, i, before, false);
      fork(at, i, before, true);
    } else if (const auto after = execute(at, i, before)) {
      continue_at(at, at + i.bytes, *after);
    }
  }

  // The instructions after an IT, once as if its condition held and once as if not.
  void fork(std::uint32_t it_at, const ThumbInstruction& it, Registers registers, bool otherwise) {
    std::uint32_t at = it_at + it.bytes;
    for (std::uint32_t n = 0; n < it.conditional; ++n) {
      const ThumbInstruction i = decode(at);
      visited_.try_emplace(at, Visited{registers, i.bytes});
      if (((it.otherwise >> n & 1U) != 0) == otherwise) {
        const auto after = execute(at, i, registers);
        if (!after) return;
        registers = *after;
      }
      at += i.bytes;
    }
    continue_at(it_at, at, registers);
  }

  // Registers for the next instruction; nothing if control does not reach it.
  std::optional<Registers> execute(std::uint32_t at, const ThumbInstruction& i, const Registers& before) {
    Registers after = before;
    apply(at, i, after);
    result_.frame = std::max(result_.frame, depth(after, at));
    if (!follow(at, i, before, after)) return std::nullopt;
    if (!graph_.is_code(at + i.bytes)) fail(at, "control runs into data");
    return after;
  }

  void apply(std::uint32_t at, const ThumbInstruction& i, Registers& registers) {
    const Value rn = registers[i.rn], rm = registers[i.rm], sp = registers[kSp];
    const bool is_call = i.flow == Flow::call || i.flow == Flow::call_register;
    const std::uint32_t changed = is_call ? 0x500fU : i.written;  // a call may leave anything in r0 to r3, r12 and lr
    for (std::size_t r = 0; r < registers.size(); ++r) {
      if ((changed >> r & 1U) != 0) registers[r] = {};
      if ((i.popped >> r & 1U) != 0) registers[r] = {Value::Kind::popped, 0};
    }
    registers[kSp] = i.effect != Effect::none && i.rd == kSp
                         ? Value{}
                         : sum(sp, constant(0U - static_cast<std::uint32_t>(i.pushed)), false);
    if (i.effect == Effect::none || i.rd == kPc) return;
    Value& rd = registers[i.rd];
    rd = {};
    const auto value = static_cast<std::uint32_t>(i.value);
    switch (i.effect) {
      case Effect::constant:
        rd = constant(value);
        break;
      case Effect::constant_top:
        if (rn.kind == Value::Kind::constant) rd = constant((word_of(rn) & 0xffffU) | value << 16);
        result_.constants.insert(word_of(rd));
        break;
      case Effect::literal:
        if (const auto word = graph_.elf().word(i.target); word) {
          rd = constant(*word);
          result_.constants.insert(*word);
        }
        break;
      case Effect::add:
        rd = i.value == 0 ? rn : sum(rn, constant(value), false);
        break;
      case Effect::add_registers:
        rd = sum(rn, rm, false);
        break;
      case Effect::subtract_registers:
        rd = sum(rn, rm, true);
        break;
      case Effect::negate:
        rd = sum(constant(0), rn, true);
        break;
      case Effect::shift_left:
        if (rn.kind == Value::Kind::constant) rd = constant(word_of(rn) << value);
        break;
      case Effect::select:
        rd = joined(rn, rm);
        break;
      case Effect::align:
        rd = aligned(rn, value);
        break;
      case Effect::none:
        break;
    }
    if (i.rd == kSp) static_cast<void>(depth(registers, at));
  }

  // Notes where an instruction leads; whether the next one is among that.
  bool follow(std::uint32_t at, const ThumbInstruction& i, const Registers& before, const Registers& after) {
    const std::uint32_t next = at + i.bytes;
    switch (i.flow) {
      case Flow::next:
        return true;
      case Flow::branch_conditional:
        continue_at(at, i.target, after);
        return true;
      case Flow::branch:
        continue_at(at, i.target, after);
        return false;
      case Flow::call: {
        const ElfSymbol* const callee = graph_.starting_at(i.target);
        if (callee == nullptr) {  // a part of this function, which leaves it or comes back
          go_to(i.target, after);
          return is_followed(next);  // not past a jump that was too far for B
        }
        call(at, depth(before, at), i.target);
        if (!jumps_by_table(callee->name)) return is_followed(next);
        jump_by_table(at, after);
        return false;
      }
      case Flow::call_register:
        call_value(at, before[i.rm], before);
        return is_followed(next);
      case Flow::jump_register:
        if (before[i.rm].kind == Value::Kind::popped) return false;  // a return
        if (before[i.rm].kind == Value::Kind::unknown && i.effect != Effect::none) {
          jump_by_table(at, before);  // MOV pc
        } else {
          call_value(at, before[i.rm], before);
        }
        return false;
      case Flow::jump_table:
        jump_by_table(at, before);
        return false;
      case Flow::function_return:
      case Flow::stop:
        return false;
    }
    return false;
  }

  // A call that is not followed by code of ours does not return.
  [[nodiscard]] bool is_followed(std::uint32_t next) const {
    while (graph_.is_code(next) && nop_bytes(next) != 0) next += nop_bytes(next);
    return graph_.is_code(next) && next != end_ && graph_.starting_at(next) == nullptr;
  }

  void call_value(std::uint32_t at, Value target, const Registers& registers) {
    const std::set<std::uint32_t> functions = functions_in(target);
    for (const std::uint32_t entry : functions) call(at, depth(registers, at), entry & ~1U);
    if (functions.empty()) call(at, depth(registers, at), std::nullopt);
  }

  // The functions that a value is one of, as far as known.
  [[nodiscard]] std::set<std::uint32_t> functions_in(Value value) const {
    if (value.kind == Value::Kind::one_of) return sets_[static_cast<std::size_t>(value.number)];
    const std::uint32_t word = word_of(value);
    if (value.kind != Value::Kind::constant || (word & 1U) == 0 || graph_.starting_at(word & ~1U) == nullptr) return {};
    return {word};
  }

  // What is known of a register on two paths to the same instruction. A function may be either of both.
  Value joined(Value a, Value b) {
    if (a == b) return a;
    std::set<std::uint32_t> both = functions_in(a);
    const std::set<std::uint32_t> others = functions_in(b);
    if (both.empty() || others.empty()) return {};
    both.insert(others.begin(), others.end());
    const auto known = std::ranges::find(sets_, both);
    const auto index = known - sets_.begin();
    if (known == sets_.end()) sets_.push_back(both);
    return {Value::Kind::one_of, static_cast<std::int32_t>(index)};
  }
  Registers joined(const Registers& a, const Registers& b) {
    Registers result;
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = joined(a[i], b[i]);
    return result;
  }

  const CallGraph& graph_;
  FunctionCode result_;
  std::uint32_t end_ = 0;
  std::map<std::uint32_t, Visited> visited_;
  std::deque<std::uint32_t> waiting_;
  std::optional<Registers> at_table_;          // where a jump by a table was made
  std::vector<std::set<std::uint32_t>> sets_;  // of functions that a register may hold
};

CallGraph::CallGraph(const Elf& elf) : elf_(elf) {
  for (const ElfSymbol& symbol : elf.symbols) {
    if (symbol.section >= elf.sections.size() || !elf.sections[symbol.section].is_allocated) continue;
    if (symbol.is_function && !symbol.name.empty()) {
      const ElfSymbol*& known = starts_[symbol.address];
      if (known == nullptr || known->size < symbol.size) known = &symbol;
    }
    if (symbol.name.starts_with("$t")) code_from_[symbol.address] = true;
    if (symbol.name.starts_with("$d")) code_from_.try_emplace(symbol.address, false);
  }
}

std::map<std::uint32_t, StackAt> CallGraph::stack_in(std::uint32_t entry) const {
  FunctionWalk walk(*this, entry);
  static_cast<void>(walk.walk());
  return walk.stack();
}

const FunctionCode& CallGraph::function(std::uint32_t entry) {
  const auto known = functions_.find(entry);
  if (known != functions_.end()) return known->second;
  return functions_.emplace(entry, FunctionWalk(*this, entry).walk()).first->second;
}

const ElfSymbol* CallGraph::starting_at(std::uint32_t address) const {
  const auto found = starts_.find(address);
  return found == starts_.end() ? nullptr : found->second;
}

std::uint32_t CallGraph::end_of(std::uint32_t entry) const {
  const ElfSymbol* const symbol = starting_at(entry);
  if (symbol != nullptr && symbol->size > 0) return symbol->address + symbol->size;
  const auto next = starts_.upper_bound(entry);  // assembly need not say its size
  return next == starts_.end() ? entry : next->first;
}

bool CallGraph::is_code(std::uint32_t address) const {
  auto mark = code_from_.upper_bound(address);
  return mark != code_from_.begin() && (--mark)->second;
}

std::uint16_t CallGraph::halfword(std::uint32_t address) const {
  const auto value = elf_.halfword(address);
  if (!value) throw StackError(fmt::format("0x{:x}: control goes to where the firmware has no code", address));
  return *value;
}

}  // namespace cormorant
