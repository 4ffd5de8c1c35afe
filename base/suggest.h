// SPDX-License-Identifier: Apache-2.0
//
// What somebody may have meant who wrote a word that is not known. Host only.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cormorant {

// Insertions, deletions, replacements and exchanges of neighbours that lead from one word to the other; upper and lower
// case are the same.
std::size_t distance(std::string_view a, std::string_view b);

// The known word that is nearest, if it is near enough to have been meant; else empty. Of equals the first.
std::string nearest(std::string_view word, std::span<const std::string> known);

// "; did you mean 'compile'?" or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace cormorant
