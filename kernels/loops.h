// SPDX-License-Identifier: Apache-2.0
//
// Which instruction set's loops a kernel consists of. An operator that only combines shared loops (a slice, a pooling)
// is a template over this, and needs no file per instruction set.
#pragma once

#include <cstdint>

namespace cormorant {

enum class Loops : std::uint8_t {
  reference,  // the host's
  scalar,
  dsp,
  mve,
};

}  // namespace cormorant
