// SPDX-License-Identifier: Apache-2.0
//
// The firmware of the board fuzzer: all kernels of a core, and programs from programs.bin, one after another. Memory
// protection permits a program to be read, its arena and the stack to be written, the state to be written by load
// alone; anything else is a fault, which ends the run. Between an arena and forbidden memory are less than 16 bytes
// after it and kCanary bytes before it: those are checked.
//
// A record of programs.bin: u32 bytes of the program, u32 arenas, u32 bytes of three arenas, u32 1 if the first arena
// is to be appended to arenas.bin afterwards, the program, padded to 16 bytes. A record of results.bin: u16 error of
// the load; 1: something was written outside an arena.
#include "cormorant/cormorant.hpp"
#include "runner/firmware/linked.h"
#include "runner/firmware/semihosting.h"

namespace cormorant {
namespace {

using semihosting::ExitCode;
using semihosting::File;
using semihosting::Mode;

// Eight slots, of which three are used and have a forbidden one on both sides.
constexpr std::uint32_t kSlot = 1U << 18;
constexpr std::uint32_t kBlock = 8 * kSlot;
enum Slot : std::uint32_t { kProgram = 1, kArena = 3, kState = 5 };
constexpr std::uint32_t kCanary = 512;
constexpr std::uint32_t kArenas = 3;
constexpr std::byte kUnused{0xC3};
constexpr std::uint16_t kWroteBeside = 1;
constexpr std::byte kPoison{0xA5};

// NOLINTNEXTLINE(hicpp-no-assembler): a section without contents
asm(".section .arena.sram, \"aw\", %nobits\n"
    ".balign 2097152\n"
    ".global cormorant_fuzz_block\n"
    "cormorant_fuzz_block:\n"
    ".space 2097152\n"
    ".text\n");
extern "C" std::byte cormorant_fuzz_block[];
static_assert(kBlock == 2097152);

std::byte* slot(Slot which) { return cormorant_fuzz_block + which * kSlot; }
std::uint32_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

struct Mpu {
  std::uint32_t type, control, region_number, base, rest;
};
volatile Mpu& mpu() { return *reinterpret_cast<volatile Mpu*>(0xE000ED90); }

enum class Access : std::uint8_t { none, read, write };

#if __ARM_ARCH >= 8

// Regions do not overlap; what is in none is forbidden.
void set_region(std::uint32_t number, std::uint32_t base, std::uint32_t bytes, Access access) {
  constexpr std::uint32_t kReadOnly = 0b10 << 1;
  constexpr std::uint32_t kEnable = 1;
  mpu().region_number = number;
  mpu().rest = 0;
  mpu().base = base | (access == Access::read ? kReadOnly : 0);
  mpu().rest = (base + bytes - 32) | (access == Access::none ? 0 : kEnable);
}

void set_memory() {
  *reinterpret_cast<volatile std::uint32_t*>(0xE000EDC0) = 0x44;  // normal memory, not cached
  set_region(0, address(__program_start), address(__program_end) - address(__program_start), Access::read);
  // Stack, data, and what is left for state, which is not used.
  set_region(1, address(__stack_limit), address(__state_end) / 32 * 32 - address(__stack_limit), Access::write);
}

#else

// A power of two, aligned to its size; a higher number wins.
void set_region(std::uint32_t number, std::uint32_t base, std::uint32_t bytes, Access access) {
  constexpr std::uint32_t kEnable = 1, kNormalMemory = 1 << 17;
  std::uint32_t log2 = 0;
  while ((std::uint32_t{1} << log2) < bytes) ++log2;
  const std::uint32_t permission = access == Access::none ? 0U : access == Access::read ? 0b101U << 24 : 0b001U << 24;
  mpu().region_number = number;
  mpu().rest = 0;
  mpu().base = base;
  mpu().rest = permission | kNormalMemory | (log2 - 1) << 1 | kEnable;
}

void set_memory() {
  constexpr std::uint32_t kRam = 4U << 20;  // all of it, less the block's part
  set_region(0, address(__program_start), address(__program_end) - address(__program_start), Access::read);
  set_region(1, address(__stack_limit) / kRam * kRam, kRam, Access::write);
  set_region(2, address(cormorant_fuzz_block), kBlock, Access::none);
}

#endif

enum class Phase : std::uint8_t { prepare, load, execute, push };

// Changing a slot's access costs a few stores.
void enter(Phase phase) {
  mpu().control = 0;
  set_region(3, address(slot(kProgram)), kSlot, phase == Phase::prepare ? Access::write : Access::read);
  set_region(4, address(slot(kArena)), kSlot, Access::write);
  // Plans are written only by load, unless rows are pushed: then one of them counts. What kernels share while they
  // execute is at the state's end.
  set_region(5, address(slot(kState)), kSlot / 2, phase == Phase::execute ? Access::read : Access::write);
  set_region(6, address(slot(kState)) + kSlot / 2, kSlot / 2, Access::write);
  mpu().control = 1;
  asm volatile("dsb\n\tisb" ::: "memory");
}

// Not by memset, which the kernels under test may call: filling 32 KB per program is faster in words.
void fill(std::byte* to, std::uint32_t bytes, std::byte value) {
  const std::uint32_t word = static_cast<std::uint32_t>(value) * 0x01010101U;
  for (; bytes != 0 && (address(to) & 3) != 0; --bytes) *static_cast<volatile std::byte*>(to++) = value;
  for (; bytes >= 4; bytes -= 4, to += 4) *reinterpret_cast<volatile std::uint32_t*>(to) = word;
  for (; bytes != 0; --bytes) *static_cast<volatile std::byte*>(to++) = value;
}

bool is_untouched(const std::byte* from, const std::byte* end) {
  for (; from < end; ++from) {
    if (*from != kUnused) return false;
  }
  return true;
}

struct Record {
  std::uint32_t bytes, arenas, arena_bytes[kArenas], dump;
};

// The arenas end where the slot ends, the first one last; the bytes between them and before them.
struct Places {
  Region arenas[kArenas];

  explicit Places(const Record& record) {
    std::byte* end = slot(kArena) + kSlot;
    for (std::uint32_t i = 0; i < kArenas; ++i) {
      std::byte* const begin = end - (record.arena_bytes[i] + 15) / 16 * 16;
      arenas[i] = {begin, record.arena_bytes[i]};
      end = begin - (i == 0 ? 0 : kCanary);
    }
  }
  template <class F>
  bool all_gaps(F f) const {
    bool all = true;
    const std::byte* end = slot(kArena) + kSlot;
    for (const Region& arena : arenas) {
      const auto* begin = static_cast<const std::byte*>(arena.data);
      all = f(begin + arena.bytes, end) && all;
      end = begin;
    }
    return f(end - kCanary, end) && all;
  }
};

std::uint32_t next_random = 1;

[[gnu::noinline]] std::uint16_t run(const Record& record, const Places& places) {
  places.all_gaps([](const std::byte* from, const std::byte* end) {
    fill(const_cast<std::byte*>(from), static_cast<std::uint32_t>(end - from), kUnused);
    return true;
  });
  for (const Region& arena : places.arenas) fill(static_cast<std::byte*>(arena.data), arena.bytes, kPoison);
  enter(Phase::load);
  Program program;
  Model model = cormorant_linked_model;  // its kernels
  model.data = slot(kProgram);
  model.bytes = record.bytes;
  const Error error = program.load(model, {{slot(kState), kSlot}, places.arenas, record.arenas});
  if (error == Error::ok) {
    const std::size_t rows = program.missing_rows();
    enter(rows == 0 ? Phase::execute : Phase::push);
    for (std::size_t i = 0; i < program.input_count(); ++i) {
      for (std::uint8_t& byte : program.input(i).as<std::uint8_t>()) {
        byte = static_cast<std::uint8_t>((next_random = next_random * 1103515245 + 12345) >> 16);
      }
    }
    // All rows, from the input's memory: they are the same.
    const auto run_once = [&] {
      for (std::size_t row = 0; row < rows; ++row) (void)program.push_rows(program.input(0).data(), 1);
      if (rows == 0) program.execute();
    };
    run_once();
    if (record.dump == 0) run_once();
    if (record.dump == 0) program.reset();
  }
  const bool untouched = places.all_gaps(is_untouched);
  enter(Phase::prepare);
  return untouched ? static_cast<std::uint16_t>(error) : kWroteBeside;
}

}  // namespace
}  // namespace cormorant

int main() {
  using namespace cormorant;
  set_memory();
  enter(Phase::prepare);
  File programs("programs.bin", Mode::read);
  File results("results.bin", Mode::write);
  if (!programs.is_open() || !results.is_open()) semihosting::exit(ExitCode::io_failed);
  Record record;
  while (programs.read(&record, sizeof record)) {
    if (record.bytes > kSlot || record.arenas > kArenas) break;
    if (!programs.read(slot(kProgram), (record.bytes + 15) / 16 * 16)) break;
    const Places places(record);
    const std::uint16_t result = run(record, places);
    if (!results.write(&result, sizeof result)) semihosting::exit(ExitCode::io_failed);
    if (record.dump == 0) continue;
    File arenas("arenas.bin", Mode::append);
    if (!arenas.write(places.arenas[0].data, places.arenas[0].bytes)) semihosting::exit(ExitCode::io_failed);
  }
  semihosting::exit(ExitCode::done);
}
