// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a program, loaded and executed with the host's kernels of all operators. Seeds are in seeds/; what it
// once found is in findings/.
#include "ops/op.h"
#include "tests/fuzz/exercise.h"

namespace {

constexpr std::size_t kLargestFile = 1 << 15;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cormorant;
  static const std::vector<const Kernel*> kernels = ops::host_kernels();
  if (size <= kLargestFile) fuzz::exercise(std::as_bytes(std::span(data, size)), kernels);
  return 0;
}
