// SPDX-License-Identifier: Apache-2.0
//
// Unlike ways to compile a model, by number: for tests and fuzzers, whose models must be sound in each of them.
#pragma once

#include <array>
#include <cstddef>

#include "compiler/compile.h"
#include "target/parse.h"

namespace cormorant::compiler {

inline constexpr std::array kWays = {
    "float", "8w8a", "8w16a", "4w8a", "auto", "8w8a by rows", "8w8a for ExecuTorch", "8w8a on cortex-m4",
};

// Of a number below the size of kWays.
inline Options options_of_way(std::size_t way) {
  Options options;
  options.config.target = parse_target(way == 7 ? "cortex-m4" : "cortex-m55", "");
  options.quantize = way != 0;
  options.threads = 1;
  if (way == 2) options.scheme = ops::Precision::w8a16;
  if (way == 3) options.scheme = ops::Precision::w4a8;
  if (way == 4) {
    options.bits.emplace();
    options.bits->footprint = [](const Compiled& compiled) {
      return quantizer::Footprint{.flash = compiled.program.size(),
                                  .ram = static_cast<std::uint64_t>(arena_bytes(compiled.facts))};
    };
  }
  if (way == 5) options.rows.emplace();
  if (way == 6) options.config.runtime = ops::Runtime::executorch;
  return options;
}

}  // namespace cormorant::compiler
