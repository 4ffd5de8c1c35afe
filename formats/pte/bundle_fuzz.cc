// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer on bundled programs, and on programs whose inputs and outputs the caller plans: refused, or read within
// their bytes. Corpus: tests/executorch/*.bpte and *.pte (they need -max_len=65536 or more).
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/diagnostic.h"
#include "formats/pte/bundle.h"
#include "formats/pte/plan_io.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cormorant;
  const auto bytes = std::as_bytes(std::span(data, size));
  std::vector<std::byte> program(bytes.begin(), bytes.end());
  try {
    if (pte::is_bundle(bytes)) program = pte::read_bundle(bytes).program;
    pte::with_planned_io(std::move(program));
  } catch (const InputError&) {  // the expected answer to most inputs
  }
  return 0;
}
