// SPDX-License-Identifier: Apache-2.0
//
// Suggestions for a mistyped name. Host only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cormorant {

// The number of insertions, deletions, replacements and transpositions that turn one word into the other, ignoring
// case.
std::size_t distance(std::string_view a, std::string_view b);

// The closest of the names that begin with the word; if none does, the closest of all, if it is close enough to be a
// typo. All that are equally close.
std::vector<std::string> nearest(std::string_view word, std::span<const std::string> known);

// "; did you mean 'compile'?", with up to three names, or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace cormorant
