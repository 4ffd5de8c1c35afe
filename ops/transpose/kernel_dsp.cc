// SPDX-License-Identifier: Apache-2.0
#include "kernels/move.h"
#include "ops/transpose/words.h"

namespace cormorant::ops {
namespace {

// LDR and STR take any address on ARMv7-M and later; memcpy is how to say so.
struct AnyWords {
  static bool can_access(const void*) { return true; }
  static std::uint32_t load(const std::int8_t* from) {
    std::uint32_t word;
    __builtin_memcpy(&word, from, sizeof word);
    return word;
  }
  static void store(std::int8_t* to, std::uint32_t word) { __builtin_memcpy(to, &word, sizeof word); }
};

void execute(const void* plan) {
  execute_transpose<AnyWords>(*static_cast<const TransposePlan*>(plan), copy_bytes_dsp);
}

}  // namespace
}  // namespace cormorant::ops

CORMORANT_KERNEL(cortex_m_transpose_out_dsp, "cortex_m::transpose.out", cormorant::ops::load_transpose,
                 cormorant::ops::execute)
