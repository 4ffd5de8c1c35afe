// SPDX-License-Identifier: Apache-2.0
//
// Suggestions for a mistyped name. Host only.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cormorant {

// The number of insertions, deletions, replacements and transpositions that turn one word into the other, ignoring
// case.
std::size_t distance(std::string_view a, std::string_view b);

// The closest known name, if it is close enough to be a typo, else empty. The first of equals.
std::string nearest(std::string_view word, std::span<const std::string> known);

// "; did you mean 'compile'?" or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace cormorant
