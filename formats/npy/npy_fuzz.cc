// SPDX-License-Identifier: Apache-2.0
//
// Any bytes give arrays or an InputError: nothing else is thrown, nothing is read out of bounds.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/diagnostic.h"
#include "formats/npy/npy.h"

namespace {

using Parser = void (*)(std::span<const std::byte>);

void attempt(Parser parse, std::span<const std::byte> bytes) {
  try {
    parse(bytes);
  } catch (const cormorant::InputError&) {  // the expected answer to most inputs
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  attempt([](auto b) { static_cast<void>(cormorant::npy::parse_npy(b, "fuzz.npy")); }, bytes);
  attempt([](auto b) { static_cast<void>(cormorant::npy::parse_npz(b, "fuzz.npz")); }, bytes);
  return 0;
}
