// SPDX-License-Identifier: Apache-2.0
#include "planner/memory.h"

#include <algorithm>
#include <charconv>

#include "base/diagnostic.h"

namespace cormorant::planner {
namespace {

[[noreturn]] void reject(std::string_view part, const std::string& why) {
  throw UsageError("--memory: '" + std::string(part) + "' " + why + "; expected NAME=SIZE, for example sram=512K");
}

bool is_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::uint64_t parse_size(std::string_view part, std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number == 0) reject(part, "has no size");
  std::uint64_t unit = 1;
  if (rest != end) {
    const std::size_t power = std::string_view("KMG").find(*rest);
    if (power == std::string_view::npos || rest + 1 != end) reject(part, "has a size with an unknown unit");
    unit = std::uint64_t{1} << (10 * (power + 1));
  }
  if (number > (std::uint64_t{1} << 40U) / unit) reject(part, "is larger than any memory");
  return number * unit;
}

}  // namespace

std::vector<Region> parse_memory(std::string_view text) {
  std::vector<Region> regions;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || !is_name(part.substr(0, equals))) reject(part, "is no region");
    Region region{std::string(part.substr(0, equals)), parse_size(part, part.substr(equals + 1))};
    if (std::ranges::find(regions, region.name, &Region::name) != regions.end()) reject(part, "is given twice");
    regions.push_back(std::move(region));
    if (comma == std::string_view::npos) return regions;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace cormorant::planner
