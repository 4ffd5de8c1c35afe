// SPDX-License-Identifier: Apache-2.0
#include "passes/memory_order.h"

#include <algorithm>
#include <cstring>

namespace cormorant::passes {
namespace {

using Dims = std::vector<std::size_t>;

// All dimensions, outermost first.
Dims places(const ir::TensorType& type) {
  Dims dims(type.rank());
  for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = type.dim_order.empty() ? i : type.dim_order[i];
  return dims;
}

// Those that have a position in memory.
Dims real_places(const ir::TensorType& type) {
  Dims dims = places(type);
  std::erase_if(dims, [&](std::size_t d) { return type.shape[d] == 1; });
  return dims;
}

// The order that has the given dimensions (all but those of size 1) in this sequence, by its usual name if it has one.
Order named(const Dims& real, const ir::Shape& shape) {
  if (std::ranges::is_sorted(real)) return {};
  const auto last = [&](std::size_t d) { return d == 1 ? shape.size() : d; };
  if (shape.size() == 4 && std::ranges::is_sorted(real, {}, last)) return ir::kChannelsLast;
  Order order;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) order.push_back(static_cast<std::uint8_t>(d));
  }
  for (const std::size_t d : real) order.push_back(static_cast<std::uint8_t>(d));
  return order;
}

// Dimensions [in, in_end) of one shape hold the same elements as [out, out_end) of the other.
struct Match {
  std::size_t in, in_end, out, out_end;
};

// The finest division of two shapes of equal size into matching runs.
std::vector<Match> matches(const ir::Shape& in, const ir::Shape& out) {
  std::vector<Match> all;
  std::size_t i = 0, j = 0;
  while (i < in.size() || j < out.size()) {
    Match m{i, i, j, j};
    std::int64_t x = 1, y = 1;
    do {
      if ((x <= y && i < in.size()) || j == out.size()) {
        x *= in[i++];
      } else {
        y *= out[j++];
      }
    } while (x != y && (i < in.size() || j < out.size()));
    m.in_end = i;
    m.out_end = j;
    all.push_back(m);
  }
  return all;
}

}  // namespace

bool same_bytes(const ir::TensorType& a, const ir::TensorType& b) { return real_places(a) == real_places(b); }

std::optional<Order> order_of_view(const ir::TensorType& type, const ir::Shape& shape) {
  if (std::ranges::find(type.shape, 0) != type.shape.end()) return Order{};
  const Dims memory = real_places(type);
  const std::vector<Match> all = matches(type.shape, shape);
  Dims result;
  std::size_t at = 0;
  while (at < memory.size()) {
    const auto match =
        std::ranges::find_if(all, [&](const Match& m) { return memory[at] >= m.in && memory[at] < m.in_end; });
    // The whole run has to be here, in its order.
    for (std::size_t d = match->in; d < match->in_end; ++d) {
      if (type.shape[d] == 1) continue;
      if (at == memory.size() || memory[at] != d) return std::nullopt;
      ++at;
    }
    for (std::size_t d = match->out; d < match->out_end; ++d) {
      if (shape[d] != 1) result.push_back(d);
    }
  }
  return named(result, shape);
}

Order order_for_view(const ir::TensorType& type, const ir::Shape& shape) {
  const std::vector<Match> all = matches(type.shape, shape);
  Dims result;
  for (const std::size_t dim : real_places(type)) {
    if (std::ranges::find(result, dim) != result.end()) continue;
    const auto match = std::ranges::find_if(all, [&](const Match& m) { return dim >= m.in && dim < m.in_end; });
    for (std::size_t d = match->in; d < match->in_end; ++d) {
      if (type.shape[d] != 1) result.push_back(d);
    }
  }
  return named(result, type.shape);
}

Order order_of_permutation(const ir::TensorType& type, const std::vector<std::int64_t>& dims) {
  Dims where(dims.size());  // of each input dimension in the result
  ir::Shape shape(dims.size());
  for (std::size_t k = 0; k < dims.size(); ++k) {
    where[static_cast<std::size_t>(dims[k])] = k;
    shape[k] = type.shape[static_cast<std::size_t>(dims[k])];
  }
  Dims result = real_places(type);
  for (std::size_t& d : result) d = where[d];
  return named(result, shape);
}

Permutation permutation_between(const ir::TensorType& from, const ir::TensorType& to) {
  constexpr std::size_t kUsualRank = 4;
  Dims source = places(from), target = places(to);
  ir::Shape sizes = from.shape;  // by logical dimension
  if (source.size() > kUsualRank) {
    // Dimensions that stay together are moved as one: fewer dimensions for the kernel, more bytes at a time.
    source = real_places(from);
    target = real_places(to);
    for (std::size_t k = 0; k + 1 < source.size();) {
      const auto next = std::ranges::find(target, source[k]) + 1;
      if (next == target.end() || *next != source[k + 1]) {
        ++k;
        continue;
      }
      sizes[source[k]] *= sizes[source[k + 1]];
      target.erase(next);
      source.erase(source.begin() + static_cast<std::ptrdiff_t>(k) + 1);
    }
  }
  Permutation p;
  for (const std::size_t d : source) p.from.push_back(sizes[d]);
  for (const std::size_t d : target) {
    p.to.push_back(sizes[d]);
    p.dims.push_back(std::ranges::find(source, d) - source.begin());
  }
  return p;
}

std::vector<std::size_t> memory_sequence(const ir::TensorType& type) {
  const Dims order = places(type);
  Dims strides(type.rank(), 1);
  for (std::size_t i = type.rank(); i-- > 1;) strides[i - 1] = strides[i] * static_cast<std::size_t>(type.shape[i]);
  std::vector<std::size_t> sequence(static_cast<std::size_t>(type.elements()));
  Dims at(type.rank(), 0);
  for (std::size_t& index : sequence) {
    index = 0;
    for (std::size_t i = 0; i < at.size(); ++i) index += at[i] * strides[order[i]];
    for (std::size_t i = at.size(); i-- > 0;) {
      if (++at[i] < static_cast<std::size_t>(type.shape[order[i]])) break;
      at[i] = 0;
    }
  }
  return sequence;
}

std::vector<std::byte> reordered(std::span<const std::byte> bytes, const ir::TensorType& from,
                                 const ir::TensorType& to) {
  const std::size_t size = size_of(from.dtype);
  const std::vector<std::size_t> source = memory_sequence(from), target = memory_sequence(to);
  std::vector<std::size_t> place(source.size());  // in `from`, by logical index
  for (std::size_t i = 0; i < source.size(); ++i) place[source[i]] = i;
  std::vector<std::byte> result(bytes.size());
  for (std::size_t i = 0; i < target.size(); ++i) {
    std::memcpy(result.data() + i * size, bytes.data() + place[target[i]] * size, size);
  }
  return result;
}

}  // namespace cormorant::passes
