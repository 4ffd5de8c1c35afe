// SPDX-License-Identifier: Apache-2.0
//
// Unusual uses of the runtime by firmware: wrong memory, loading again after a failure, two programs side by side,
// execution in an interrupt while another program is being loaded, memory that held something else before.
// tests/device_test.cc compiles it for a board and adds four programs; it prints a line for each thing that works as
// specified.
#include <initializer_list>

#include "cormorant/cormorant.hpp"
#include "runner/firmware/linked.h"
#include "runner/firmware/semihosting.h"

namespace cormorant {
namespace {

using semihosting::File;
using semihosting::Mode;
using semihosting::print_line;

constexpr std::size_t kLargest = 8192;

struct Loaded {
  alignas(16) std::byte file[kLargest];
  alignas(16) std::byte arena[kLargest];
  alignas(16) std::byte state[4096];
  Region arenas[1];
  std::uint32_t bytes, arena_bytes;
  Program program;
  std::uint32_t expected;  // of what it computes

  bool read(const char* name) {
    File stream(name, Mode::read);
    if (!stream.is_open() || stream.size() > kLargest) return false;
    bytes = stream.size() - 4;  // the arena's size precedes the program
    return stream.read(&arena_bytes, 4) && arena_bytes <= kLargest && stream.read(file, bytes);
  }
  Error load_into(Region arena_memory, Region state_memory) {
    arenas[0] = arena_memory;
    Model model = cormorant_linked_model;  // its kernels
    model.data = file;
    model.bytes = bytes;
    return program.load(model, {state_memory, arenas, 1});
  }
  Error load() { return load_into({arena, arena_bytes}, {state, sizeof state}); }

  void fill(std::uint32_t next = 7) const {
    for (std::size_t i = 0; i < program.input_count(); ++i) {
      for (std::uint8_t& byte : program.input(i).as<std::uint8_t>()) {
        byte = static_cast<std::uint8_t>((next = next * 1103515245 + 12345) >> 16);
      }
    }
  }
  std::uint32_t result() const {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < program.output_count(); ++i) {
      for (const std::uint8_t byte : program.output(i).as<std::uint8_t>()) sum = sum * 31 + byte;
    }
    return sum;
  }
  std::uint32_t compute(std::uint32_t what = 7) const {
    fill(what);
    program.execute();
    return result();
  }
};

constinit Loaded first{}, second{};
constinit Loaded foreign{};  // with mutable buffers, some of which have no initial value in the file
constinit Loaded stream{};   // with a ring of 17 entries

void say(const char* what, bool is_so) { print_line(is_so ? "ok " : "failed ", what); }

void check_memory() {
  Loaded& m = first;
  say("an arena at a multiple of 8",
      m.load_into({m.arena + 8, m.arena_bytes}, {m.state, sizeof m.state}) == Error::misaligned);
  say("an arena that is a byte short",
      m.load_into({m.arena, m.arena_bytes - 1}, {m.state, sizeof m.state}) == Error::arena_too_small);
  say("a load after failed ones", m.load() == Error::ok && m.compute() == m.expected);
  const std::size_t used = m.program.state_used();
  say("state that is a byte short",
      m.load_into({m.arena, m.arena_bytes}, {m.state, used - 1}) == Error::state_too_small);
  // Its steps are overwritten: what was loaded before is gone, and executing what is left does nothing.
  m.program.execute();
  say("an empty program after a failed load", m.program.step_count() == 0 && m.program.input_count() == 0);
  say("state as large as it was used", m.load_into({m.arena, m.arena_bytes}, {m.state, used}) == Error::ok);
  say("state at an odd address",
      m.load_into({m.arena, m.arena_bytes}, {m.state + 1, sizeof m.state - 1}) == Error::ok &&
          m.compute() == m.expected);
}

void check_side_by_side() {
  first.load();
  second.load();
  first.fill();
  second.fill();
  const Program& a = first.program;
  const Program& b = second.program;
  for (std::size_t i = 0; i < a.step_count() || i < b.step_count(); ++i) {
    if (i < a.step_count()) a.execute_step(i);
    if (i < b.step_count()) b.execute_step(i);
  }
  say("two programs step by step", first.result() == first.expected && second.result() == second.expected);
}

volatile bool is_loading;
volatile std::uint32_t interrupts_in_load, wrong_in_interrupt;

extern "C" void on_tick() {
  if (second.compute() != second.expected) wrong_in_interrupt = wrong_in_interrupt + 1;
  if (is_loading) interrupts_in_load = interrupts_in_load + 1;
}

alignas(1024) void (*vectors[16])();

void start_ticks() {
  auto* const table = reinterpret_cast<volatile std::uint32_t*>(0xE000ED08);
  for (std::uint32_t i = 0; i < 16; ++i) vectors[i] = reinterpret_cast<void (**)()>(*table)[i];
  vectors[15] = on_tick;
  *table = reinterpret_cast<std::uintptr_t>(vectors);
  auto* const timer = reinterpret_cast<volatile std::uint32_t*>(0xE000E010);
  timer[1] = 9973;
  timer[2] = 0;
  timer[0] = 7;
}

void check_interrupts() {
  constexpr std::uint32_t kEnough = 20;
  second.load();
  start_ticks();
  bool all = true;
  while (interrupts_in_load < kEnough) {
    is_loading = true;
    const Error error = first.load();
    is_loading = false;
    all = all && error == Error::ok && first.compute() == first.expected;
  }
  *reinterpret_cast<volatile std::uint32_t*>(0xE000E010) = 0;
  say("execution in an interrupt while another program is loaded", all && wrong_in_interrupt == 0);
}

void check_buffers() {
  const auto run = [] {  // the second execution sees what the first one left
    foreign.compute();
    return foreign.compute();
  };
  std::uint32_t results[2];
  for (const std::uint8_t contents : {0, 0xa5}) {
    for (std::byte& byte : foreign.arena) byte = static_cast<std::byte>(contents);
    const bool is_loaded = foreign.load() == Error::ok;
    results[contents == 0 ? 0 : 1] = is_loaded ? run() : contents;
  }
  say("buffers without initial values begin with zeros", results[0] == results[1]);
  foreign.program.reset();
  say("and do so again after a reset", run() == results[0]);
}

constexpr std::uint32_t kSteps = 24;  // more than the ring has entries

// What step k of one of two streams gives.
std::uint32_t step_of(std::uint32_t which, std::uint32_t k) { return stream.compute(1000 * which + k); }

std::uint32_t alone(std::uint32_t which) {
  std::uint32_t sum = 0;
  stream.program.reset();
  for (std::uint32_t k = 0; k < kSteps; ++k) sum = sum * 31 + step_of(which, k);
  return sum;
}

// Both in turns; each continues from what was saved of it, unless they share everything.
void in_turns(bool apart, std::uint32_t (&sums)[2]) {
  static std::byte saved[2][2048];
  const Program& program = stream.program;
  program.reset();
  for (std::byte(&of)[2048] : saved) program.save(of);
  for (std::uint32_t k = 0; k < kSteps; ++k) {
    for (std::uint32_t which = 0; which < 2; ++which) {
      if (apart) program.restore(saved[which]);
      sums[which] = sums[which] * 31 + step_of(which, k);
      program.save(saved[which]);
    }
  }
}

void check_streams() {
  const bool is_loaded = stream.load() == Error::ok && stream.program.buffer_bytes() <= 2048;
  say("a program with a ring", is_loaded);
  if (!is_loaded) return;
  const std::uint32_t wanted[2] = {alone(0), alone(1)};
  say("a stream from its beginning after a reset", alone(0) == wanted[0] && wanted[0] != wanted[1]);
  std::uint32_t apart[2] = {}, mixed[2] = {};
  in_turns(true, apart);
  in_turns(false, mixed);
  say("two streams through one program", apart[0] == wanted[0] && apart[1] == wanted[1]);
  say("which disturb each other if nothing is restored", mixed[0] != wanted[0] && mixed[1] != wanted[1]);
}

}  // namespace
}  // namespace cormorant

int main() {
  using namespace cormorant;
  if (!first.read("first.bin") || !second.read("second.bin") || !foreign.read("foreign.bin") ||
      !stream.read("stream.bin")) {
    semihosting::exit(semihosting::ExitCode::io_failed);
  }
  for (Loaded* model : {&first, &second}) {
    if (model->load() != Error::ok) semihosting::exit(semihosting::ExitCode::load_failed);
    model->expected = model->compute();
  }
  check_memory();
  check_side_by_side();
  check_buffers();
  check_streams();
  check_interrupts();
  semihosting::exit(semihosting::ExitCode::done);
}
