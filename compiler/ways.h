// SPDX-License-Identifier: Apache-2.0
//
// Unlike ways to compile a model: for tests and fuzzers, whose models must be sound in each of them.
#pragma once

#include <array>
#include <cstddef>

#include "compiler/compile.h"
#include "target/parse.h"

namespace cormorant::compiler {

struct Way {
  const char* name;
  void (*set)(Options& options);  // what is unlike the usual: 8w8a for a Cortex-M55
};

inline constexpr Way kFloatWay = {"float", [](Options& options) { options.quantize = false; }};
inline constexpr Way kUsualWay = {"8w8a", [](Options&) {}};
inline constexpr std::array kWays = {
    kFloatWay,
    kUsualWay,
    Way{"8w16a", [](Options& options) { options.scheme = ops::Precision::w8a16; }},
    Way{"4w8a", [](Options& options) { options.scheme = ops::Precision::w4a8; }},
    Way{"auto",
        [](Options& options) {
          options.bits.emplace();
          options.bits->footprint = [](const Compiled& compiled) {
            return quantizer::Footprint{.flash = compiled.program.size(),
                                        .ram = static_cast<std::uint64_t>(arena_bytes(compiled.facts))};
          };
        }},
    Way{"8w8a by rows", [](Options& options) { options.rows.emplace(); }},
    Way{"8w8a for ExecuTorch", [](Options& options) { options.config.runtime = ops::Runtime::executorch; }},
    Way{"8w8a on cortex-m4", [](Options& options) { options.config.target = parse_target("cortex-m4", ""); }},
};

inline Options options_of(const Way& way) {
  Options options;
  options.config.target = parse_target("cortex-m55", "");
  options.quantize = true;
  options.threads = 1;
  way.set(options);
  return options;
}

// For fuzzers: some way for any number.
inline const Way& some_way(std::size_t number) { return kWays[number % kWays.size()]; }

}  // namespace cormorant::compiler
