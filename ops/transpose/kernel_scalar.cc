// SPDX-License-Identifier: Apache-2.0
#include "kernels/move.h"
#include "ops/transpose/words.h"

namespace cormorant::ops {
namespace {

// ARMv6-M faults on unaligned words.
struct AlignedWords {
  static bool can_access(const void* address) { return (reinterpret_cast<std::uintptr_t>(address) & 3) == 0; }
  static std::uint32_t load(const std::int8_t* from) { return *reinterpret_cast<const std::uint32_t*>(from); }
  static void store(std::int8_t* to, std::uint32_t word) { *reinterpret_cast<std::uint32_t*>(to) = word; }
};

void execute(const void* plan) {
  execute_transpose<AlignedWords>(*static_cast<const TransposePlan*>(plan), copy_bytes_scalar);
}

}  // namespace
}  // namespace cormorant::ops

CORMORANT_KERNEL(cortex_m_transpose_out_scalar, "cortex_m::transpose.out", cormorant::ops::load_transpose,
                 cormorant::ops::execute)
