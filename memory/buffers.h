// SPDX-License-Identifier: Apache-2.0
//
// A memory plan for people: what is where in a region, and during which steps.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memory/map.h"

namespace cormorant::memory {

// A range of a region that is planned as one block: a tensor, or several that occupy it one after another.
struct Buffer {
  enum class Kind : std::uint8_t { value, input, output, state, scratch, constants };
  std::string name;                      // the operator that writes it first, or the input's
  Kind kind = Kind::value;               // an input that becomes an output is an input
  std::string type = {};                 // of its first contents, "i8[1,16,14,14]"; empty for copies of the constants
  std::vector<std::string> values = {};  // everything it holds, by the graph's names
  std::uint64_t offset = 0, bytes = 0;
  std::uint32_t first = 0, last = 0;       // steps, inclusive; the number of steps means when the outputs are read
  std::optional<std::size_t> whole = {};   // index of the buffer that it is a part of
  std::optional<std::size_t> covers = {};  // of the one whose bytes it takes at `first`, when they are read last
};

std::string_view name_of(Buffer::Kind kind);

// The buffers of one region, in order of first use; indices are into this list.
std::vector<Buffer> buffers_of(const ir::Graph& graph, const MemoryMap& memory, std::uint32_t region);

std::string short_text(const ir::TensorType& type);  // element type and shape: "i8[1,16,14,14]"

}  // namespace cormorant::memory
