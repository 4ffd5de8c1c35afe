// SPDX-License-Identifier: Apache-2.0
#include "kernels/bytes_scalar.h"
#include "ops/flip_sign/kernel.h"

namespace cormorant::ops {
namespace {

void execute(const void* plan) {
  const auto& p = *static_cast<const FlipSignPlan*>(plan);
  const std::int8_t* from = p.input;
  std::int8_t* to = p.output;
  const std::uint32_t signs = in_all_bytes(-128);
  std::uint32_t count = p.count;
  for (; count >= 16; count -= 16, from += 16, to += 16) {
    const std::uint32_t words[] = {load_four(from), load_four(from + 4), load_four(from + 8), load_four(from + 12)};
    store_four(to, words[0] ^ signs);
    store_four(to + 4, words[1] ^ signs);
    store_four(to + 8, words[2] ^ signs);
    store_four(to + 12, words[3] ^ signs);
  }
  for (; count != 0; --count) *to++ = static_cast<std::int8_t>(*from++ ^ -128);
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_FLIP_SIGN_KERNELS, scalar)

}  // namespace cormorant::ops
