// SPDX-License-Identifier: Apache-2.0
#include "elf/cycles.h"

#include <algorithm>
#include <array>

namespace cormorant::plugin {
namespace {

// docs/cycles.md names the source of each line.
constexpr Cpu kM0 = {.name = "cortex-m0",
                     .load = 2,
                     .store = 2,
                     .branch = 2,
                     .call = 3,
                     .branch_register = 2,
                     .load_branch = 3,
                     .system = 4};
constexpr Cpu kM0Plus = {.name = "cortex-m0plus",
                         .load = 2,
                         .store = 2,
                         .branch = 1,
                         .call = 2,
                         .branch_register = 1,
                         .load_branch = 2,
                         .system = 3};
constexpr Cpu kM3 = {.name = "cortex-m3",
                     .multiply_add = 2,
                     .long_multiply = 4,
                     .long_multiply_add = 5,
                     .load = 2,
                     .overlaps = true,
                     .branch = 2,
                     .call = 2,
                     .branch_register = 2,
                     .load_branch = 2};
constexpr Cpu kM4 = {.name = "cortex-m4",
                     .load = 2,
                     .overlaps = true,
                     .branch = 2,
                     .call = 2,
                     .branch_register = 2,
                     .load_branch = 2,
                     .float_multiply_add = 3,
                     .float_load = 2,
                     .float_multiply_add_result = 4};
constexpr Cpu kM7 = {.name = "cortex-m7",
                     .pairing = Pairing::general,
                     .multiply_result = 2,
                     .subword_result = 2,
                     .address_early = 1,
                     .words_per_cycle = 2,
                     .system = 3,
                     .float_divide = 16,
                     .float_result = 3,
                     .float_multiply_add_result = 6};
constexpr Cpu kM55 = {.name = "cortex-m55",
                      .pairing = Pairing::narrow,
                      .multiply_result = 2,
                      .load_result = 2,
                      .subword_result = 2,
                      .words_per_cycle = 2,
                      .branch = 2,
                      .call = 2,
                      .branch_register = 2,
                      .load_branch = 2,
                      .float_divide = 16};
constexpr Cpu kM85 = {.name = "cortex-m85",
                      .pairing = Pairing::general,
                      .multiply_result = 2,
                      .subword_result = 2,
                      .address_early = 1,
                      .words_per_cycle = 2,
                      .system = 3,
                      .float_multiply_add_result = 5};

constexpr Cpu like(Cpu cpu, std::string_view name) {
  cpu.name = name;
  return cpu;
}
constexpr Cpu m23() {
  Cpu cpu = like(kM0Plus, "cortex-m23");
  cpu.divide = 17;
  return cpu;
}

constexpr std::array<Cpu, 11> kTable = {
    kM0,  kM0Plus, m23(), kM3, kM4, like(kM4, "cortex-m33"), like(kM4, "cortex-m35p"), kM7, like(kM55, "cortex-m52"),
    kM55, kM85};

// MVE, the same on all CPUs that have it: two cycles in a unit, of which the next instruction overlaps one if it is
// for another unit.
constexpr unsigned kBeats = 2, kSlowResult = 3, kProductResult = 2, kVectorAddressEarly = 4;

Unit unit_of(const Instruction& i) {
  switch (i.kind) {
    case Kind::vector_simple:
    case Kind::vector_slow:
      return Unit::integer;
    case Kind::vector_multiply:
    case Kind::vector_move:
      return Unit::multiply;
    case Kind::vector_load:
    case Kind::vector_store:
    case Kind::vector_gather:
    case Kind::vector_scatter:
      return Unit::memory;
    default:
      return Unit::none;
  }
}

bool is_access(Kind kind) {
  return kind == Kind::load || kind == Kind::store || kind == Kind::float_load || kind == Kind::float_store;
}
bool is_list(Kind kind) {
  return kind == Kind::load_double || kind == Kind::load_multiple || kind == Kind::store_double ||
         kind == Kind::store_multiple || kind == Kind::load_branch || kind == Kind::float_load_multiple ||
         kind == Kind::float_store_multiple;
}
bool is_product(Kind kind) { return kind >= Kind::multiply && kind <= Kind::long_multiply_add; }
bool is_flow(Kind kind) { return kind >= Kind::branch && kind <= Kind::loop_end; }
bool is_float(Kind kind) { return kind >= Kind::float_simple && kind <= Kind::float_move; }

// Cycles until the next instruction can be issued.
unsigned cost_of(const Cpu& cpu, const Instruction& i) {
  switch (i.kind) {
    case Kind::multiply:
      return cpu.multiply;
    case Kind::multiply_add:
      return cpu.multiply_add;
    case Kind::long_multiply:
      return cpu.long_multiply;
    case Kind::long_multiply_add:
      return cpu.long_multiply_add;
    case Kind::divide:
      return cpu.divide;
    case Kind::load:
      return cpu.load;
    case Kind::store:
      // Where a store is buffered, a register offset still takes the cycle in which its third operand is read.
      return cpu.store + (cpu.overlaps && i.is_register_offset ? 1U : 0U);
    case Kind::system:
      return cpu.system;
    case Kind::table_branch:
      return 2;
    case Kind::loop_end:
      return 0;
    case Kind::float_multiply_add:
      return cpu.float_multiply_add;
    case Kind::float_divide:
      return cpu.float_divide;
    case Kind::float_load:
    case Kind::float_store:
      return cpu.float_load;
    case Kind::vector_gather:
    case Kind::vector_scatter:
      return i.count;  // lane by lane
    default:
      return is_list(i.kind) ? 1U + (i.count + cpu.words_per_cycle - 1U) / cpu.words_per_cycle : 1;
  }
}

unsigned result_of(const Cpu& cpu, const Instruction& i) {
  switch (i.kind) {
    case Kind::load:
      return i.is_subword ? cpu.subword_result : cpu.load_result;
    case Kind::vector_slow:
      return kSlowResult;
    case Kind::vector_multiply:
      return kProductResult;
    case Kind::float_multiply_add:
      return std::max(cpu.float_multiply_add_result, cpu.float_multiply_add);
    default:
      if (is_product(i.kind)) return cpu.multiply_result;
      return is_float(i.kind) ? cpu.float_result : 1;
  }
}

// In one cycle; that they do not depend on each other is checked elsewhere.
bool can_pair(const Cpu& cpu, const Instruction& first, const Instruction& second) {
  if (cpu.pairing == Pairing::none || is_flow(first.kind)) return false;
  if (cpu.pairing == Pairing::narrow) {
    if (first.is_wide || second.is_wide || is_list(first.kind) || is_list(second.kind)) return false;
    return first.is_light || second.is_light || second.kind == Kind::branch || second.kind == Kind::branch_conditional;
  }
  const auto is_alone = [](const Instruction& i) {
    return is_list(i.kind) || i.kind == Kind::divide || i.kind == Kind::system || i.kind == Kind::float_divide ||
           i.kind == Kind::table_branch || i.kind == Kind::vector_gather || i.kind == Kind::vector_scatter;
  };
  if (is_alone(first) || is_alone(second)) return false;
  if (is_vector(first.kind) && is_vector(second.kind)) return false;
  if (is_product(first.kind) && is_product(second.kind)) return false;
  if (is_store(first.kind) && is_store(second.kind)) return false;
  if (is_float(first.kind) && is_float(second.kind)) return false;
  if (first.uses_shifter && second.uses_shifter) return false;
  return !second.is_dsp;  // the first of a pair, if any
}

class Scoreboard {
 public:
  explicit Scoreboard(const Cpu& cpu) : cpu_(cpu) {}

  void issue(const Instruction& i) {
    const bool pairs =
        has_previous_ && !is_paired_ && can_pair(cpu_, previous_, i) && wait(i, previous_at_) == previous_at_;
    // A load's second cycle is hidden behind another access, unless that one's address is what was loaded.
    const bool hides = is_access(i.kind) && (i.addresses & previous_.writes) == 0;
    place(i, pairs ? previous_at_ : wait(i, next_ + (hidden_cycle_ && !hides ? 1 : 0)), pairs);
  }

  [[nodiscard]] Run finish(std::span<const Instruction> instructions) const {
    Run run;
    if (instructions.empty()) return run;
    const Instruction& first = instructions.front();
    run.cycles = next_;
    run.first_reads = first.reads | first.addresses;
    run.first_unit = unit_of(first);
    run.first_is_access = is_access(first.kind);
    run.last = instructions.back().kind;
    run.exit.hidden_cycle = hidden_cycle_;
    for (unsigned r = 0; r < kRegisters; ++r) {
      if (ready_[r] <= next_) continue;
      run.exit.late |= 1U << r;
      run.exit.late_by = std::max(run.exit.late_by, static_cast<std::uint8_t>(ready_[r] - next_));
    }
    for (std::size_t u = 0; u < kUnits; ++u) {
      if (free_[u] > next_) run.exit.busy[u] = static_cast<std::uint8_t>(free_[u] - next_);
    }
    return run;
  }

 private:
  static constexpr unsigned kRegisters = 24;

  // The first cycle, not before `from`, in which operands and unit are there.
  [[nodiscard]] unsigned wait(const Instruction& i, unsigned from) const {
    unsigned at = from;
    for (unsigned r = 0; r < kRegisters; ++r) {
      const Registers bit = 1U << r;
      if (ready_[r] == 0) continue;
      if ((i.reads & bit) != 0) {
        const bool is_late = (i.accumulator & bit) != 0 && cpu_.multiply_result > 1;
        const bool is_early = i.uses_shifter && cpu_.address_early > 0;
        at = std::max(at, ready_[r] + (is_early ? 1U : 0U) - (is_late ? 1U : 0U));
      }
      if ((i.addresses & bit) != 0) {
        at = std::max(at, ready_[r] + (r >= 16 ? kVectorAddressEarly : cpu_.address_early));
      }
    }
    return std::max(at, free_[static_cast<std::size_t>(unit_of(i))]);
  }

  void place(const Instruction& i, unsigned at, bool pairs) {
    unsigned cost = cost_of(cpu_, i);
    hidden_cycle_ = false;
    if (cpu_.overlaps && (i.kind == Kind::load || i.kind == Kind::float_load || i.kind == Kind::float_store)) {
      --cost;  // its second cycle is the next instruction's, unless that hides it
      hidden_cycle_ = true;
    }
    next_ = std::max(next_, at + cost);
    for (unsigned r = 0; r < kRegisters; ++r) {
      if ((i.writes >> r & 1U) != 0) ready_[r] = at + std::max(cost, result_of(cpu_, i));
    }
    const auto unit = static_cast<std::size_t>(unit_of(i));
    if (unit != 0) free_[unit] = at + std::max(cost, kBeats);
    previous_ = i;
    previous_at_ = at;
    has_previous_ = cost == 1;
    is_paired_ = pairs;
  }

  const Cpu& cpu_;
  unsigned next_ = 0;
  unsigned ready_[kRegisters] = {};
  unsigned free_[kUnits] = {};
  bool hidden_cycle_ = false;
  bool has_previous_ = false, is_paired_ = false;
  unsigned previous_at_ = 0;
  Instruction previous_;
};

}  // namespace

const Cpu* find_cpu(std::string_view name) {
  const auto* const found =
      std::find_if(kTable.begin(), kTable.end(), [&](const Cpu& cpu) { return cpu.name == name; });
  return found == kTable.end() ? nullptr : found;
}

Run schedule(const Cpu& cpu, std::span<const Instruction> instructions) {
  Scoreboard scoreboard(cpu);
  for (const Instruction& instruction : instructions) scoreboard.issue(instruction);
  return scoreboard.finish(instructions);
}

std::uint32_t junction(const Cpu& cpu, const Run& before, const Run& after, bool was_taken, bool is_known_loop) {
  unsigned refill = 0;
  switch (before.last) {
    case Kind::branch:
    case Kind::branch_conditional:
    case Kind::loop_start:
      refill = cpu.branch;
      break;
    case Kind::call:
      refill = cpu.call;
      break;
    case Kind::branch_register:
      refill = cpu.branch_register;
      break;
    case Kind::load_branch:
    case Kind::table_branch:
      refill = cpu.load_branch;
      break;
    case Kind::loop_end:
      refill = is_known_loop ? 0 : 1U + cpu.branch;
      break;
    default:
      break;
  }
  if (!was_taken) refill = before.last == Kind::loop_end ? 1 : 0;  // any branch may be in an IT block
  unsigned wait = before.exit.busy[static_cast<std::size_t>(after.first_unit)];
  if ((after.first_reads & before.exit.late) != 0) wait = std::max<unsigned>(wait, before.exit.late_by);
  if (before.exit.hidden_cycle && !after.first_is_access) ++wait;
  return std::max(refill, wait);
}

}  // namespace cormorant::plugin
