// SPDX-License-Identifier: Apache-2.0
//
// Memory regions in order of preference, and how the command line spells them: "dtcm=64K,sram=1M".
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace cormorant::planner {

struct Region {
  static constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
  std::string name = "memory";
  std::uint64_t size = kUnlimited;  // bytes
  friend bool operator==(const Region&, const Region&) = default;
};

// Sizes are bytes, or units of 1024 with a suffix K, M or G. Throws UsageError that names the option.
std::vector<Region> parse_memory(std::string_view text, std::string_view option = "--memory");

}  // namespace cormorant::planner
