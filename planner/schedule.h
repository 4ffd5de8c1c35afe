// SPDX-License-Identifier: Apache-2.0
//
// The order in which to compute independent tasks, so that as few bytes as possible are alive at a time. The search
// goes through sets of computed tasks, one task more per level: of the orders that compute the same set only the best
// can be part of a best order. As long as a level has no more sets than the search keeps it is exact; beyond, the most
// promising are kept. Deterministic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cormorant::planner {

struct Buffer {
  std::uint64_t size = 0;
  bool is_input = false;   // there from the beginning
  bool is_output = false;  // needed to the end
};

// Computes buffers from buffers. Tasks must be given in an order that can be computed; those with the same nonzero
// `keeps_order` stay in it.
struct Task {
  struct Saving {
    std::uint32_t buffer = 0;  // if it is needed here for the last time …
    std::uint64_t bytes = 0;   // … this much less is alive while the task runs: it works in place
  };
  std::vector<std::uint32_t> reads = {}, writes = {};
  std::uint64_t scratch = 0;
  std::vector<Saving> savings = {};  // only the largest counts
  std::uint32_t keeps_order = 0;
};

// Most bytes that are alive at a time.
std::uint64_t peak_of(std::span<const Task> tasks, std::span<const Buffer> buffers,
                      std::span<const std::uint32_t> order);

// The order given (0, 1, 2, …) unless a better one is found.
std::vector<std::uint32_t> schedule(std::span<const Task> tasks, std::span<const Buffer> buffers,
                                    std::size_t width = 64);

}  // namespace cormorant::planner
