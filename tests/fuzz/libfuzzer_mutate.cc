// SPDX-License-Identifier: Apache-2.0
//
// How libFuzzer changes programs.
#include <cstring>

#include "tests/fuzz/mutate.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t capacity);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t capacity,
                                               unsigned seed) {
  using namespace cormorant;
  constexpr std::size_t kLargestFile = 1 << 15;
  fuzz::Random random(seed);
  if (random() % 8 == 0) return LLVMFuzzerMutate(data, size, capacity);
  const fuzz::Bytes changed = fuzz::mutate(std::as_bytes(std::span(data, size)), random);
  if (changed.size() > capacity || changed.size() > kLargestFile) return LLVMFuzzerMutate(data, size, capacity);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
