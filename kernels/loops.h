// SPDX-License-Identifier: Apache-2.0
//
// Whose loops a kernel is made of. An operator that only puts shared loops together (a slice, a pooling) is a template
// over this, and needs no file per instruction set.
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
