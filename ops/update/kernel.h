// SPDX-License-Identifier: Apache-2.0
//
// Seen from the dimension, a tensor is one row of contiguous bytes per index of the dimensions outside it. The loop is
// the same for any element size, rank and memory order.
#pragma once

#include <cstring>

#include "base/element.h"
#include "kernels/move.h"
#include "ops/update/update.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

struct UpdatePlan {
  static constexpr std::uint32_t kStateBytes = 28;
  const std::int8_t* self;  // may be the output
  std::int8_t* output;
  const std::int8_t* source;
  std::uint32_t rows;
  std::uint32_t row_bytes;   // of the result
  std::uint32_t part_bytes;  // of source
  std::uint32_t first;       // byte of a row where the part begins; not for places of an index
};

struct UpdateAtPlan {
  static constexpr std::uint32_t kStateBytes = 48;
  UpdatePlan rows;
  const std::byte* index;
  DType index_type;
  std::uint32_t count;  // of places
  std::uint32_t size;   // of the dimension
  std::uint32_t unit;   // bytes of an entry in a row
};

struct UpdateRingPlan {
  static constexpr std::uint32_t kStateBytes = 40;
  const std::int8_t* self;  // may be next
  const std::int32_t* position;
  const std::int8_t* source;
  std::int8_t* output;
  std::int8_t* next;
  std::int32_t* next_position;
  std::uint32_t unit;  // bytes of an entry
  std::uint32_t entries;
  std::uint32_t taps;
  std::uint32_t step;
};

Error plan_update_at(const UpdateAt<TargetWorld>& args, UpdateAtPlan& plan);
Error plan_update_part(const UpdatePart<TargetWorld>& args, UpdatePlan& plan);
Error plan_update_shift(const UpdateShift<TargetWorld>& args, UpdatePlan& plan);
Error load_update_at(Call& call);
Error load_update_part(Call& call);
Error load_update_shift(Call& call);
Error load_update_ring(Call& call);

// In ascending order: data moved to lower addresses may overlap.
template <Loops kLoops>
inline void move_rows(std::int8_t* to, const std::int8_t* from, const RowCopy& rows) {
  if constexpr (kLoops == Loops::reference) {
    for (std::uint32_t i = 0; i < rows.rows; ++i, to += rows.to_step, from += rows.from_step) {
      std::memmove(to, from, rows.bytes);
    }
  } else {
    copy_rows<kLoops>(to, from, rows);
  }
}

template <Loops kLoops>
inline void copy_entry(std::int8_t* to, const std::int8_t* from, std::uint32_t bytes) {
  if constexpr (kLoops == Loops::reference) {
    std::memcpy(to, from, bytes);
  } else {
    copy_bytes<kLoops>(to, from, bytes);
  }
}

template <Loops kLoops>
inline void take_over(const UpdatePlan& p) {
  if (p.output != p.self) move_rows<kLoops>(p.output, p.self, {1, p.rows * p.row_bytes, 0, 0});
}

// Each row of source to the same place of each row.
template <Loops kLoops>
inline void put_source(const UpdatePlan& p, std::uint32_t first) {
  move_rows<kLoops>(
      p.output + first, p.source,
      {p.rows, p.part_bytes, static_cast<std::int32_t>(p.row_bytes), static_cast<std::int32_t>(p.part_bytes)});
}

template <Loops kLoops>
void execute_update_at(const void* plan) {
  const auto& p = *static_cast<const UpdateAtPlan*>(plan);
  take_over<kLoops>(p.rows);
  for (std::uint32_t i = 0; i < p.count; ++i) {
    const std::int64_t signed_place = integer_at(p.index_type, p.index, i);
    const std::int64_t place = signed_place < 0 ? signed_place + p.size : signed_place;
    if (place < 0 || place >= static_cast<std::int64_t>(p.size)) continue;
    move_rows<kLoops>(p.rows.output + static_cast<std::uint32_t>(place) * p.unit, p.rows.source + i * p.unit,
                      {p.rows.rows, p.unit, static_cast<std::int32_t>(p.rows.row_bytes),
                       static_cast<std::int32_t>(p.rows.part_bytes)});
  }
}

template <Loops kLoops>
void execute_update_part(const void* plan) {
  const auto& p = *static_cast<const UpdatePlan*>(plan);
  take_over<kLoops>(p);
  put_source<kLoops>(p, p.first);
}

template <Loops kLoops>
void execute_update_shift(const void* plan) {
  const auto& p = *static_cast<const UpdatePlan*>(plan);
  // All rows at once: what crosses from one to the next ends up where source goes.
  const std::uint32_t moved = p.rows * p.row_bytes - p.part_bytes;
  if (p.first != 0) {
    move_rows<kLoops>(p.output, p.self + p.part_bytes, {1, moved, 0, 0});
  } else {  // to higher addresses: starting from the end
    std::memmove(p.output + p.part_bytes, p.self, moved);
  }
  put_source<kLoops>(p, p.first);
}

template <Loops kLoops>
void execute_update_ring(const void* plan) {
  const auto& p = *static_cast<const UpdateRingPlan*>(plan);
  if (p.next != p.self) copy_entry<kLoops>(p.next, p.self, p.entries * p.unit);
  // Writable memory may hold anything: the index is forced inside.
  const auto stored = static_cast<std::uint32_t>(*p.position);
  const std::uint32_t place = stored < p.entries ? stored : 0;
  copy_entry<kLoops>(p.next + place * p.unit, p.source, p.unit);
  const std::uint32_t oldest = place + 1 == p.entries ? 0 : place + 1;
  *p.next_position = static_cast<std::int32_t>(oldest);
  std::int8_t* to = p.output;
  std::uint32_t at = oldest;
  for (std::uint32_t left = p.taps; left != 0; --left, to += p.unit) {
    copy_entry<kLoops>(to, p.next + at * p.unit, p.unit);
    at += p.step;
    if (at >= p.entries) at -= p.entries;
  }
}

}  // namespace cormorant::ops
