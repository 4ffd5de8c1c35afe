// SPDX-License-Identifier: Apache-2.0
#include "memory/buffers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace cormorant::memory {
namespace {

Buffer::Kind kind_of(const ir::Value& value) {
  switch (value.kind) {
    case ir::ValueKind::input:
      return Buffer::Kind::input;
    case ir::ValueKind::state:
      return Buffer::Kind::state;
    case ir::ValueKind::scratch:
      return Buffer::Kind::scratch;
    case ir::ValueKind::constant:
      return Buffer::Kind::constants;
    case ir::ValueKind::result:
      return Buffer::Kind::value;
  }
  return Buffer::Kind::value;
}

// In order of creation; views and other aliases, which no step creates, at the end.
std::vector<const ir::Value*> in_order(const ir::Graph& graph, const MemoryMap& memory) {
  std::vector<const ir::Value*> values;
  std::unordered_set<const ir::Value*> seen;
  const auto add = [&](const ir::Value* value) {
    if (seen.insert(value).second) values.push_back(value);
  };
  for (const ir::Value* input : graph.inputs()) add(input);
  for (const ir::Node* node : memory.steps) {
    for (const ir::Value* input : node->inputs()) {
      if (input->kind == ir::ValueKind::scratch || input->kind == ir::ValueKind::state) add(input);
    }
    for (const ir::Value* result : node->results) add(result);
  }
  for (const ir::Value& value : graph.values()) add(&value);
  return values;
}

// One per block of the plan, of all regions.
std::vector<Buffer> all_buffers(const ir::Graph& graph, const MemoryMap& memory) {
  const auto end = static_cast<std::uint32_t>(memory.steps.size());
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < memory.blocks.size(); ++i) {
    const planner::Block& block = memory.blocks[i];
    Buffer& buffer = buffers.emplace_back();
    buffer.name = block.name;
    buffer.offset = memory.plan.placements[i].offset;
    buffer.bytes = block.size;
    buffer.first = block.first;
    buffer.last = std::min(block.last, end);
  }
  if (memory.constants) buffers[*memory.constants].kind = Buffer::Kind::constants;
  for (const ir::Value* value : in_order(graph, memory)) {
    const auto found = memory.block_of.find(value);
    if (found == memory.block_of.end()) continue;
    Buffer& buffer = buffers[found->second];
    if (buffer.values.empty()) {
      buffer.kind = kind_of(*value);
      buffer.type = short_text(value->type);
    }
    buffer.values.push_back(value->name);
  }
  for (const ir::Value* output : graph.outputs()) {
    const auto found = memory.block_of.find(output);
    if (found == memory.block_of.end()) continue;
    Buffer& buffer = buffers[found->second];
    if (buffer.kind == Buffer::Kind::value) buffer.kind = Buffer::Kind::output;
  }
  return buffers;
}

bool share_bytes(const Buffer& a, const Buffer& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace

std::string short_text(const ir::TensorType& type) {
  return fmt::format("{}[{}]", name_of(type.dtype), fmt::join(type.shape, ","));
}

std::string_view name_of(Buffer::Kind kind) {
  switch (kind) {
    case Buffer::Kind::value:
      return "value";
    case Buffer::Kind::input:
      return "input";
    case Buffer::Kind::output:
      return "output";
    case Buffer::Kind::state:
      return "state";
    case Buffer::Kind::scratch:
      return "scratch";
    case Buffer::Kind::constants:
      return "constants";
  }
  return "";
}

std::vector<Buffer> buffers_of(const ir::Graph& graph, const MemoryMap& memory, std::uint32_t region) {
  const std::vector<Buffer> all = all_buffers(graph, memory);
  std::vector<std::size_t> chosen;  // indices of blocks
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_named = !all[i].values.empty() || i == memory.constants;  // others are parts of what is
    if (memory.plan.placements[i].region == region && all[i].bytes != 0 && is_named) chosen.push_back(i);
  }
  std::ranges::sort(chosen, [&](std::size_t a, std::size_t b) {
    return all[a].first != all[b].first ? all[a].first < all[b].first : a < b;
  });
  std::unordered_map<std::size_t, std::size_t> index;
  for (std::size_t i = 0; i < chosen.size(); ++i) index[chosen[i]] = i;
  std::vector<Buffer> buffers;
  for (const std::size_t i : chosen) {
    const planner::Block& block = memory.blocks[i];
    Buffer& buffer = buffers.emplace_back(all[i]);
    if (block.part && index.contains(block.part->whole)) buffer.whole = index.at(block.part->whole);
    if (block.over && index.contains(block.over->block) && share_bytes(buffer, all[block.over->block])) {
      buffer.covers = index.at(block.over->block);
    }
  }
  return buffers;
}

}  // namespace cormorant::memory
