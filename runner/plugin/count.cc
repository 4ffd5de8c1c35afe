// SPDX-License-Identifier: Apache-2.0
//
// A QEMU plugin that counts guest instructions exactly and estimates the cycles of one CPU. The firmware carries no
// instrumentation: the launcher names addresses, and the plugin writes down the counts whenever one of them is reached.
//
//   -plugin libcormorant_count.so,out=counts.txt,marker=0x1234,marker=0x1238,scope=0x2000:0x2040,cpu=cortex-m55
//
//   marker 0 1042 1530   the first marker is about to execute; 1042 instructions in 1530 cycles were executed before it
//   excursion 5317 7012  5317 instructions were executed between two of the scope's own: one call out of the scope;
//                        7012 cycles went by with them and the call
//
// The scope is one function (its address range), entered at its first address. Given the executor's loop, its
// excursions are the steps of the program, one line each. Without cpu= cycles are 0.
//
// How it stays fast and exact: a block of code is entered only at its top and left only at its bottom (unless it
// faults, which ends our runs anyway), so one addition per block counts it. Only blocks that hold an interesting
// address are counted instruction by instruction. An instruction whose condition fails counts as executed: it costs its
// cycle too. Cycles are scheduled once per block, when it is translated (cycles.h); what remains at execution is the
// transition from the previous block.
//
// QEMU 9 changed how counters are attached to code: Executed hides which of the two ways this QEMU has. Everything else
// is the same for both.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "elf/cycles.h"
#include "runner/plugin/qemu_api.h"

namespace {

using namespace cormorant::plugin;

bool has_scoreboards() { return qemu_plugin_scoreboard_new != nullptr; }

// How many instructions were executed. The guest has one CPU, number 0.
class Executed {
 public:
  void begin() {  // when QEMU has installed the plugin
    if (has_scoreboards()) per_vcpu_ = {qemu_plugin_scoreboard_new(sizeof(std::uint64_t)), 0};
  }
  [[nodiscard]] std::uint64_t count() const { return has_scoreboards() ? qemu_plugin_u64_get(per_vcpu_, 0) : plain_; }

  // The translated code itself adds. An instruction's callbacks must be registered before: they run first.
  void count_block(qemu_plugin_tb* tb, std::size_t instructions) {
    if (has_scoreboards()) {
      qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_PLUGIN_INLINE_ADD_U64, per_vcpu_, instructions);
    } else {
      qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &plain_, instructions);
    }
  }
  void count_instruction(qemu_plugin_insn* insn) {
    if (has_scoreboards()) {
      qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64, per_vcpu_, 1);
    } else {
      qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &plain_, 1);
    }
  }

 private:
  std::uint64_t plain_ = 0;
  qemu_plugin_u64 per_vcpu_ = {};
};

// A run of instructions without an interesting address but its first, and where it is.
struct Segment {
  Run run;
  std::uint64_t begin = 0, end = 0;
};

// QEMU calls back with raw pointers into this, and the guest has one CPU: one object for the life of the process.
struct Counter {
  Executed executed;
  std::uint64_t cycles = 0;
  std::vector<std::uint64_t> markers;
  std::uint64_t scope_begin = 0;
  std::uint64_t scope_end = 0;
  std::uint64_t last_in_scope = 0;  // the counts when an instruction of the scope was last reached
  std::uint64_t last_cycles_in_scope = 0;
  const Cpu* cpu = nullptr;
  const Segment* last = nullptr;
  std::uint64_t loop = 0;  // the end of the loop that the CPU remembers
  std::FILE* out = nullptr;
};
Counter counter;

void on_marker(unsigned /*vcpu*/, void* data) {
  std::fprintf(counter.out, "marker %zu %" PRIu64 " %" PRIu64 "\n", reinterpret_cast<std::size_t>(data),
               counter.executed.count(), counter.cycles);
}

void remember_scope() {
  counter.last_in_scope = counter.executed.count();
  counter.last_cycles_in_scope = counter.cycles;
}

void on_scope_entry(unsigned /*vcpu*/, void* /*data*/) { remember_scope(); }

void on_scope(unsigned /*vcpu*/, void* /*data*/) {
  const std::uint64_t between = counter.executed.count() - counter.last_in_scope - 1;
  if (between > 0) {
    std::fprintf(counter.out, "excursion %" PRIu64 " %" PRIu64 "\n", between,
                 counter.cycles - counter.last_cycles_in_scope);
  }
  remember_scope();
}

void on_segment(unsigned /*vcpu*/, void* data) {
  const auto& segment = *static_cast<const Segment*>(data);
  if (counter.last != nullptr) {
    const Segment& last = *counter.last;
    const bool was_taken = segment.begin != last.end;
    const bool is_known_loop = counter.loop == last.end;
    counter.cycles += junction(*counter.cpu, last.run, segment.run, was_taken, is_known_loop);
    if (last.run.last == Kind::loop_end && was_taken) counter.loop = last.end;
  }
  counter.cycles += segment.run.cycles;
  counter.last = &segment;
}

bool is_in_scope(std::uint64_t address) { return address >= counter.scope_begin && address < counter.scope_end; }

bool is_interesting(std::uint64_t address) {
  for (const std::uint64_t marker : counter.markers) {
    if (address == marker) return true;
  }
  return is_in_scope(address);
}

void watch(qemu_plugin_insn* insn) {
  const std::uint64_t address = qemu_plugin_insn_vaddr(insn);
  for (std::size_t i = 0; i < counter.markers.size(); ++i) {
    if (address != counter.markers[i]) continue;
    qemu_plugin_register_vcpu_insn_exec_cb(insn, on_marker, QEMU_PLUGIN_CB_NO_REGS, reinterpret_cast<void*>(i));
  }
  if (is_in_scope(address)) {
    const auto callback = address == counter.scope_begin ? on_scope_entry : on_scope;
    qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, QEMU_PLUGIN_CB_NO_REGS, nullptr);
  }
  counter.executed.count_instruction(insn);
}

Instruction decoded(const qemu_plugin_insn* insn) {
  std::uint16_t halves[2] = {};
  const std::size_t bytes = qemu_plugin_insn_size(insn) == 4 ? 4 : 2;
  if (has_scoreboards()) {
    reinterpret_cast<qemu_plugin_insn_data_3*>(qemu_plugin_insn_data)(insn, halves, bytes);
  } else {
    std::memcpy(halves, reinterpret_cast<qemu_plugin_insn_data_1*>(qemu_plugin_insn_data)(insn), bytes);
  }
  return decode(halves[0], halves[1]);
}

// A block is one segment, or is cut at its interesting addresses.
void estimate(qemu_plugin_tb* tb, std::size_t count) {
  std::vector<Instruction> instructions;
  for (std::size_t i = 0; i < count;) {
    qemu_plugin_insn* const first = qemu_plugin_tb_get_insn(tb, i);
    std::uint64_t end = qemu_plugin_insn_vaddr(first);
    auto* const segment = new Segment{{}, end, 0};  // for as long as the block may be executed, which is never reported
    instructions.clear();
    do {
      const qemu_plugin_insn* const insn = qemu_plugin_tb_get_insn(tb, i);
      instructions.push_back(decoded(insn));
      end += qemu_plugin_insn_size(insn);
      ++i;
    } while (i < count && !is_interesting(qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, i))));
    segment->run = schedule(*counter.cpu, instructions);
    segment->end = end;
    qemu_plugin_register_vcpu_insn_exec_cb(first, on_segment, QEMU_PLUGIN_CB_NO_REGS, segment);
  }
}

void on_translation(qemu_plugin_id_t /*id*/, qemu_plugin_tb* tb) {
  const std::size_t count = qemu_plugin_tb_n_insns(tb);
  bool interesting = false;
  for (std::size_t i = 0; i < count; ++i) {
    interesting = interesting || is_interesting(qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, i)));
  }
  if (interesting) {
    for (std::size_t i = 0; i < count; ++i) watch(qemu_plugin_tb_get_insn(tb, i));
  } else {
    counter.executed.count_block(tb, count);
  }
  if (counter.cpu != nullptr) estimate(tb, count);
}

void on_exit(qemu_plugin_id_t /*id*/, void* /*data*/) {
  std::fprintf(counter.out, "total %" PRIu64 " %" PRIu64 "\n", counter.executed.count(), counter.cycles);
  std::fclose(counter.out);
}

// False if the argument is unknown.
bool parse(const char* argument) {
  const std::string_view text = argument;
  char* end = nullptr;
  if (text.starts_with("out=")) {
    counter.out = std::fopen(argument + 4, "w");
    if (counter.out == nullptr) std::perror(argument + 4);
    return counter.out != nullptr;
  }
  if (text.starts_with("marker=")) {
    counter.markers.push_back(std::strtoull(argument + 7, &end, 0));
    return *end == '\0';
  }
  if (text.starts_with("cpu=")) {
    counter.cpu = find_cpu(argument + 4);
    return counter.cpu != nullptr;
  }
  if (text.starts_with("scope=")) {
    counter.scope_begin = std::strtoull(argument + 6, &end, 0);
    if (*end != ':') return false;
    counter.scope_end = std::strtoull(end + 1, &end, 0);
    return *end == '\0';
  }
  return false;
}

}  // namespace

// Computed when QEMU opens this library, before QEMU reads it.
int qemu_plugin_version = has_scoreboards() ? 3 : 1;

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* /*info*/, int argc, char** argv) {
  for (int i = 0; i < argc; ++i) {
    if (!parse(argv[i])) {
      std::fprintf(stderr, "libcormorant_count: cannot use the argument '%s'\n", argv[i]);
      return -1;
    }
  }
  if (counter.out == nullptr) {
    std::fprintf(stderr, "libcormorant_count: the argument out=FILE is missing\n");
    return -1;
  }
  counter.executed.begin();
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_atexit_cb(id, on_exit, nullptr);
  return 0;
}
