// SPDX-License-Identifier: Apache-2.0
#include "base/suggest.h"

#include <algorithm>
#include <vector>

namespace cormorant {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// At least two characters of a longer word, ignoring case.
bool is_beginning(std::string_view part, std::string_view whole) {
  return part.size() > 1 && part.size() < whole.size() &&
         std::ranges::equal(part, whole.substr(0, part.size()), {}, lower, lower);
}

}  // namespace

std::size_t distance(std::string_view a, std::string_view b) {
  // Three rows of the usual table: two before the current one, for transpositions.
  std::vector<std::size_t> older(b.size() + 1), old(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) now[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(older, old);
    std::swap(old, now);
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      now[j] = std::min({old[j] + 1, now[j - 1] + 1, old[j - 1] + (same ? 0 : 1)});
      const bool exchanged = i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
      if (exchanged) now[j] = std::min(now[j], older[j - 2] + 1);
    }
  }
  return now[b.size()];
}

std::vector<std::string> nearest(std::string_view word, std::span<const std::string> known) {
  constexpr std::size_t kLongest = 200;  // longer names are not typos, and the table grows with the product
  if (word.empty() || word.size() > kLongest) return {};
  std::vector<std::string> best;
  bool begins = false;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3);
  for (const std::string& candidate : known) {
    if (candidate.size() > kLongest) continue;
    const std::size_t d = distance(word, candidate);
    if (is_beginning(word, candidate) && !begins) {
      begins = true;
      best.clear();
      least = d;
    } else if (d > least || begins != is_beginning(word, candidate)) {
      continue;
    }
    if (d < least) best.clear();
    least = d;
    best.push_back(candidate);
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  constexpr std::size_t kListed = 3;  // of more, one is as good as another
  const std::vector<std::string> meant = nearest(word, known);
  if (meant.empty()) return {};
  std::string text = "; did you mean '" + meant.front() + "'";
  for (std::size_t i = 1; i < meant.size() && meant.size() <= kListed; ++i) text += " or '" + meant[i] + "'";
  return text + "?";
}

}  // namespace cormorant
