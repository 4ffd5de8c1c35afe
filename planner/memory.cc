// SPDX-License-Identifier: Apache-2.0
#include "planner/memory.h"

#include <algorithm>
#include <charconv>

#include "base/diagnostic.h"

namespace cormorant::planner {
namespace {

// The option and the text, for messages.
struct Question {
  std::string option, part;
  [[noreturn]] void reject(const std::string& why) const {
    const char* example = option == "--budget" ? "ram=64K,flash=256K" : "sram=512K";
    throw UsageError(option + ": '" + part + "' " + why + "; expected NAME=SIZE, for example " + example);
  }
};

bool is_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

std::uint64_t parse_size(const Question& question, std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number == 0) question.reject("has no size");
  std::uint64_t unit = 1;
  if (rest != end) {
    const std::size_t power = std::string_view("KMG").find(*rest);
    if (power == std::string_view::npos || rest + 1 != end)
      question.reject("has a size with an unknown unit: there are K, M and G, or none for bytes");
    unit = std::uint64_t{1} << (10 * (power + 1));
  }
  if (number > (std::uint64_t{1} << 40U) / unit) question.reject("is larger than any memory");
  return number * unit;
}

}  // namespace

std::vector<Region> parse_memory(std::string_view text, std::string_view option) {
  std::vector<Region> regions;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const Question question{std::string(option), std::string(part)};
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos || !is_name(part.substr(0, equals))) question.reject("has no name");
    Region region{std::string(part.substr(0, equals)), parse_size(question, part.substr(equals + 1))};
    if (std::ranges::find(regions, region.name, &Region::name) != regions.end()) question.reject("is given twice");
    regions.push_back(std::move(region));
    if (comma == std::string_view::npos) return regions;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace cormorant::planner
