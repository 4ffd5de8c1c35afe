// SPDX-License-Identifier: Apache-2.0
//
// The CPUs, for the compiler and the launcher: plain data, no behaviour.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace cormorant {

// Ordered: each executes everything before it.
enum class Isa : std::uint8_t { scalar, dsp, mve };

constexpr std::string_view name_of(Isa isa) { return isa == Isa::scalar ? "scalar" : isa == Isa::dsp ? "dsp" : "mve"; }

struct Cpu {
  std::string_view name;     // "cortex-m55", as on the command line
  Isa isa;                   // the default, and the largest it can execute
  std::string_view archive;  // kernel archives are shared by CPUs that execute the same code: "m55"
  std::string_view board;    // the emulated board that runs its code: a folder in boards/
  bool has_fpu;              // single precision in hardware
  bool has_long_multiply;    // 64-bit products; CPUs without them are ARMv6-M or ARMv8-M baseline
};

inline constexpr std::array<Cpu, 11> kCpus = {{
    {"cortex-m0", Isa::scalar, "m0", "mps2-an385", false, false},
    {"cortex-m0plus", Isa::scalar, "m0", "mps2-an385", false, false},
    {"cortex-m3", Isa::scalar, "m3", "mps2-an385", false, true},
    {"cortex-m4", Isa::dsp, "m4", "mps2-an386", true, true},
    {"cortex-m7", Isa::dsp, "m7", "mps2-an500", true, true},
    {"cortex-m23", Isa::scalar, "m23", "mps2-an505", false, false},
    {"cortex-m33", Isa::dsp, "m33", "mps2-an505", true, true},
    {"cortex-m35p", Isa::dsp, "m33", "mps2-an505", true, true},
    {"cortex-m52", Isa::mve, "m55", "mps3-an547", true, true},
    {"cortex-m55", Isa::mve, "m55", "mps3-an547", true, true},
    {"cortex-m85", Isa::mve, "m55", "mps3-an547", true, true},
}};

// How much flash to spend on speed. `balanced` takes what is faster at the same size (weights stay one byte each),
// `speed` also what needs larger constants or more code, `size` the fewest kernels that compute a model.
enum class Optimize : std::uint8_t { balanced, speed, size };

constexpr std::string_view name_of(Optimize optimize) {
  return optimize == Optimize::balanced ? "balanced" : optimize == Optimize::speed ? "speed" : "size";
}

// What a program is compiled for: the one value that all passes share.
struct Target {
  const Cpu* cpu = &kCpus[9];  // cortex-m55; null for `any`
  Isa isa = Isa::mve;          // for `any`: meaningless, look at is_any() first
  Optimize optimize = Optimize::balanced;

  [[nodiscard]] constexpr bool is_any() const { return cpu == nullptr; }
  [[nodiscard]] constexpr std::string_view name() const { return is_any() ? "any" : cpu->name; }
};

}  // namespace cormorant
