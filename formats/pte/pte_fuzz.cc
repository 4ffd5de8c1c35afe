// SPDX-License-Identifier: Apache-2.0
//
// libFuzzer on the reader: whatever the bytes, every accessor ends within them.
// Corpus: tests/executorch/*.pte (they need -max_len=65536 or more).
#include <cstddef>
#include <cstdint>

#include "formats/pte/read_all.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const cormorant::pte::AlignedCopy file(std::as_bytes(std::span(data, size)));
  cormorant::pte::ReadAll::of(file.bytes());
  return 0;
}
