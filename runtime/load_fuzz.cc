// SPDX-License-Identifier: Apache-2.0
//
// Any bytes as a program: load refuses them or what it loads runs within its memory. Seed it with tests/executorch.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/host.h"
#include "runtime/toy_kernels.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cormorant;
  const AlignedBytes file(std::as_bytes(std::span(data, size)));
  const AlignedBytes first(std::size_t{1} << 17);
  const AlignedBytes second(std::size_t{1} << 12);
  const AlignedBytes state(std::size_t{1} << 14);
  const Region arenas[] = {region_of(first.span()), region_of(second.span())};
  std::vector<const Kernel*> table;
  for (const Kernel& kernel : toy::kExecutorch) table.push_back(&kernel);
  toy::exercise(file.span(), table, state.span(), arenas);
  return 0;
}
