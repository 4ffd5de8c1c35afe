// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a program, loaded and executed with the host's kernels of all operators. Seeds are in seeds/; what it
// once found is in findings/.
#include <cstring>

#include "ops/op.h"
#include "tests/fuzz/exercise.h"
#include "tests/fuzz/mutate.h"

namespace {

constexpr std::size_t kLargestFile = 1 << 15;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cormorant;
  static const std::vector<const Kernel*> kernels = ops::host_kernels();
  if (size <= kLargestFile) fuzz::exercise(std::as_bytes(std::span(data, size)), kernels);
  return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t capacity);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t capacity,
                                               unsigned seed) {
  using namespace cormorant;
  fuzz::Random random(seed);
  if (random() % 8 == 0) return LLVMFuzzerMutate(data, size, capacity);
  const fuzz::Bytes changed = fuzz::mutate(std::as_bytes(std::span(data, size)), random);
  if (changed.size() > capacity || changed.size() > kLargestFile) return LLVMFuzzerMutate(data, size, capacity);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}
