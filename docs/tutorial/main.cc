// SPDX-License-Identifier: Apache-2.0
//
// A firmware of one's own around the wave model: loads it once, listens to a sawtooth, says what it heard. The
// tutorial builds it; on hardware, semihosting gives way to the board's own console and samples come from a converter.
#include "runner/firmware/generated.h"
#include "runner/firmware/semihosting.h"
#include "runtime/program.h"

using cormorant::semihosting::ExitCode;
using cormorant::semihosting::print_line;

namespace {

// What the runtime keeps per operator. `cormorant run` prints how much a program needs ("state").
alignas(16) std::byte state[512];

void listen(float* samples, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) samples[i] = 0.7F * (static_cast<float>(i % 24) / 12 - 1);
}

std::size_t largest(const float* values, std::size_t count) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (values[i] > values[best]) best = i;
  }
  return best;
}

}  // namespace

int main() {
  const std::span<const std::byte> model{cormorant_model, cormorant_model_end};
  const std::span<const cormorant::Kernel* const> operators{cormorant_operators, cormorant_operator_count};
  const cormorant::Memory memory = {state, {cormorant_arenas, cormorant_arena_count}};

  cormorant::Failure why;
  const auto loaded = cormorant::Program::load(model, "forward", operators, memory, why);
  if (!loaded.ok()) {
    print_line("error ", std::uint32_t{static_cast<std::uint16_t>(why.error)}, ": ", describe(why.error));
    cormorant::semihosting::exit(ExitCode::load_failed);
  }
  const cormorant::Program& program = loaded.value();
  const cormorant::Tensor input = program.input(0).value();
  const cormorant::Tensor output = program.output(0).value();

  listen(input.as<float>(), static_cast<std::size_t>(input.elements()));
  program.execute();

  static constexpr const char* kNames[] = {"sine", "square", "sawtooth", "nothing"};
  print_line("heard: ", kNames[largest(output.as<float>(), 4)]);
  cormorant::semihosting::exit(ExitCode::done);
}
