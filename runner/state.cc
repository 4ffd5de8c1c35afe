// SPDX-License-Identifier: Apache-2.0
#include "runner/state.h"

#include "ops/op.h"
#include "runtime/host.h"

namespace cormorant {

std::uint64_t state_bytes(std::span<const std::byte> program, const ProgramFacts& facts, const std::string& method,
                          const Target& target) {
  return state_on_target(program, method, ops::kernels_loading_on(target, facts.of_numbers));
}

}  // namespace cormorant
