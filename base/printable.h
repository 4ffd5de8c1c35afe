// SPDX-License-Identifier: Apache-2.0
//
// Text that may come from a file, for a terminal: a hostile one must not send it control characters. Host only.
#pragma once

#include <algorithm>
#include <string>

namespace cormorant {

inline std::string printable(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; }, '?');
  return text;
}

}  // namespace cormorant
