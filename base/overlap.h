// SPDX-License-Identifier: Apache-2.0
//
// In which memory of an input a result may be. A kernel's signature says it (`static constexpr Overlap kOverlap`; none
// without it), the compiler's hooks `in_place` and `overlap` use it, and load refuses calls that need more. Scratch
// never shares memory with anything.
#pragma once

#include <cstdint>

namespace cormorant {

enum class Overlap : std::uint8_t {
  none,
  in_place,  // both begin at the same address: an element is read before it is written, and never again
  covered,   // or the result begins before the input and covers what was read for the last time
};

}  // namespace cormorant
