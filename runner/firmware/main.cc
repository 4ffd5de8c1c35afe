// SPDX-License-Identifier: Apache-2.0
//
// The firmware of `cormorant run`: load the one model that is linked in, then for every sample in inputs.bin execute it
// and append the outputs to outputs.bin. Facts for the launcher go to the console, one per line:
//
//   load 303 instruction 4 argument 12 required 640 actual 512      (0 alone when it loaded)
//   stack load 412 / state 812 / input 0 bytes 784 / output 0 bytes 10
//   samples 8 / stack execute 216 / done
//
// A sample is all of the program's inputs, one after another, in memory order. An empty file asks for one run with
// zeros; without a file nothing is executed. A file steps.bin with a number has the program's state reset after every
// that many samples. All of this is the harness's; the measured code is in inference.cc. Where an image arrives by rows
// the input is one row: a sample is all of them.
#include "runner/firmware/inference.h"
#include "runner/firmware/linked.h"
#include "runner/firmware/protection.h"
#include "runner/firmware/semihosting.h"
#include "runner/firmware/stack.h"

// Only if rows are pushed: the measured code must be what others link.
// NOLINTNEXTLINE(readability-redundant-declaration): it is weak here.
extern "C" [[gnu::weak]] size_t cormorant_missing_rows(const cormorant_program* program);

namespace cormorant {
namespace {

using semihosting::ExitCode;
using semihosting::File;
using semihosting::Mode;
using semihosting::print_line;

[[noreturn]] void fail(ExitCode code, const char* what) {
  print_line("error ", what);
  semihosting::exit(code);
}

// The content of RAM after power-up is undefined on hardware: a kernel that relies on zeros must fail here.
[[gnu::noinline]] void poison(const cormorant_region& memory) {
  volatile auto* data = static_cast<volatile std::byte*>(memory.data);
  for (std::size_t i = 0; i < memory.bytes; ++i) data[i] = std::byte{0xA5};
}

// These are kept out of main(), so that the harness's frame beneath the measured code stays
// small.
[[gnu::noinline]] void report_load(const cormorant_failure& why, std::uint32_t depth) {
  if (why.error != CORMORANT_OK) {
    print_line("load ", std::uint32_t{why.error}, " instruction ", std::uint32_t{why.instruction}, " argument ",
               std::uint32_t{why.argument}, " required ", why.required, " actual ", why.actual);
    semihosting::exit(ExitCode::load_failed);
  }
  print_line("load 0");
  print_line("stack load ", depth);
  print_line("state ", std::uint32_t{cormorant_linked_program.state_used});
}

[[gnu::noinline]] void load() {
  static cormorant_failure why;
  stack::paint();
  cormorant_measured_load(&why);
  report_load(why, stack::used());
}

// load has seen that every input and output has memory.
cormorant_tensor input(std::size_t index) {
  cormorant_tensor tensor;
  cormorant_input(&cormorant_linked_program, index, &tensor);
  return tensor;
}
cormorant_tensor output(std::size_t index) {
  cormorant_tensor tensor;
  cormorant_output(&cormorant_linked_program, index, &tensor);
  return tensor;
}
std::size_t input_count() { return cormorant_input_count(&cormorant_linked_program); }
std::size_t output_count() { return cormorant_output_count(&cormorant_linked_program); }

// Reports inputs and outputs.
[[gnu::noinline]] std::uint32_t describe_tensors() {
  std::uint32_t input_bytes = 0;
  for (std::size_t i = 0; i < input_count(); ++i) {
    print_line("input ", std::uint32_t{i}, " bytes ", input(i).bytes);
    input_bytes += input(i).bytes;
  }
  for (std::size_t i = 0; i < output_count(); ++i) {
    print_line("output ", std::uint32_t{i}, " bytes ", output(i).bytes);
  }
  return input_bytes;
}

[[gnu::noinline]] void fill_inputs(File& inputs, bool with_zeros) {
  for (std::size_t i = 0; i < input_count(); ++i) {
    const cormorant_tensor tensor = input(i);
    if (with_zeros) {
      volatile auto* data = static_cast<volatile std::byte*>(tensor.data);
      for (std::size_t n = 0; n < tensor.bytes; ++n) data[n] = std::byte{0};
    } else if (!inputs.read(tensor.data, tensor.bytes)) {
      fail(ExitCode::io_failed, "inputs.bin ends within a sample");
    }
  }
}

[[gnu::noinline]] void write_outputs(File& outputs) {
  for (std::size_t i = 0; i < output_count(); ++i) {
    const cormorant_tensor tensor = output(i);
    if (!outputs.write(tensor.data, tensor.bytes)) fail(ExitCode::io_failed, "outputs.bin cannot be written");
  }
}

// After how many samples the program is reset; 0 for never.
[[gnu::noinline]] std::uint32_t steps_of_a_sequence() {
  File file("steps.bin", Mode::read);
  std::uint32_t steps = 0;
  return file.is_open() && file.read(&steps, sizeof steps) ? steps : 0;
}

// How often it takes inputs for a sample: once, or row by row.
[[gnu::noinline]] std::size_t parts_of_a_sample() {
  return cormorant_measured_push == nullptr ? 1 : cormorant_missing_rows(&cormorant_linked_program);
}
[[gnu::noinline]] void push_row() {
  if (cormorant_measured_push(input(0).data) != CORMORANT_OK) {
    fail(ExitCode::io_failed, "the program takes no more rows");
  }
}

[[gnu::noinline]] void run_samples(std::uint32_t sample_bytes) {
  File inputs("inputs.bin", Mode::read);
  if (!inputs.is_open()) return;
  File outputs("outputs.bin", Mode::write);
  if (!outputs.is_open()) fail(ExitCode::io_failed, "outputs.bin cannot be opened");

  const std::uint32_t file_bytes = inputs.size();
  const bool with_zeros = file_bytes == 0 || sample_bytes == 0;
  std::uint32_t depth = 0;
  std::uint32_t samples = 0;
  std::uint32_t position = 0;
  const std::uint32_t steps = steps_of_a_sequence();
  std::uint32_t next_reset = steps;
  do {
    if (steps != 0 && samples == next_reset) {
      cormorant_reset(&cormorant_linked_program);
      next_reset += steps;
    }
    for (std::size_t part = parts_of_a_sample(); part != 0; --part) {
      fill_inputs(inputs, with_zeros);
      stack::paint();
      cormorant_measured_push == nullptr ? cormorant_measured_execute() : push_row();
      const std::uint32_t used = stack::used();
      if (used > depth) depth = used;
      position += sample_bytes;
    }
    write_outputs(outputs);
    ++samples;
  } while (!with_zeros && position < file_bytes);
  print_line("samples ", samples);
  print_line("stack execute ", depth);
}

}  // namespace
}  // namespace cormorant

int main() {
  using namespace cormorant;
  protect_memory();
  for (std::size_t i = 0; i < cormorant_linked_arena_count; ++i) poison(cormorant_linked_arenas[i]);
  load();
  run_samples(describe_tensors());
  print_line("done");
  semihosting::exit(ExitCode::done);
}
