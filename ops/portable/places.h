// SPDX-License-Identifier: Apache-2.0
//
// Every element of the result comes from an element of the input, dimension by dimension: rolled around, or beyond a
// border. Elements of any type.
#pragma once

#include "base/fields.h"
#include "ops/load/planned.h"

namespace cormorant::ops::portable {

enum class Border : std::uint8_t { replication, reflection, wrap, value };

struct PlacesPlan {
  static constexpr std::uint32_t kStateBytes = 120;
  const std::byte* self;
  std::byte* out;
  std::uint32_t count;
  std::uint8_t rank, width;  // bytes of an element
  Border border;
  std::byte value[sizeof(std::int64_t)];
  struct {
    std::int32_t size, in_size, before, step;  // step: in elements of the input
  } dims[kMaxRank];
};

// The index in the input; inside it whatever the border, since load has bounded `before`. −1 beyond a constant border.
inline std::int32_t place_of(Border border, std::int32_t index, std::int32_t before, std::int32_t size) {
  std::int32_t place = index - before;
  if (border == Border::value) return place < 0 || place >= size ? -1 : place;
  if (border == Border::wrap) return place < 0 ? place + size : place;
  if (border == Border::reflection) {
    if (place < 0) place = -place;
    if (place >= size) place = 2 * (size - 1) - place;
  }
  return place < 0 ? 0 : place >= size ? size - 1 : place;
}

inline void execute_places(const void* plan) {
  const auto& p = *static_cast<const PlacesPlan*>(plan);
  std::int32_t turn[kMaxRank] = {};
  for (std::uint32_t i = 0; i < p.count; ++i) {
    std::int32_t at = 0;
    const std::byte* from = p.self;
    for (std::uint32_t d = 0; d < p.rank; ++d) {
      const std::int32_t place = place_of(p.border, turn[d], p.dims[d].before, p.dims[d].in_size);
      if (place < 0) {
        from = p.value;
        break;
      }
      at += place * p.dims[d].step;
    }
    if (from == p.self) from += static_cast<std::size_t>(at) * p.width;
    std::memcpy(p.out + std::size_t{i} * p.width, from, p.width);
    for (std::uint32_t d = p.rank; d-- > 0;) {
      if (++turn[d] < p.dims[d].size) break;
      turn[d] = 0;
    }
  }
}

inline PlacesPlan* begin_places(Call& call, const Tensor& self, const Tensor& out, Border border) {
  call.require(self.dtype == out.dtype, Error::bad_value);
  call.require(self.is_contiguous() && out.is_contiguous(), Error::unsupported);
  call.require(self.rank == out.rank, Error::bad_shape);
  if (call.error() != Error::ok) return nullptr;
  auto* const plan = call.make_plan<PlacesPlan>();
  if (plan == nullptr) return nullptr;
  plan->self = self.data;
  plan->out = out.data;
  plan->count = static_cast<std::uint32_t>(out.elements());
  plan->rank = out.rank;
  plan->width = static_cast<std::uint8_t>(size_of(out.dtype));
  plan->border = border;
  std::int32_t step = 1;
  for (std::uint32_t i = out.rank; i-- > 0;) {
    plan->dims[i] = {out.sizes[i], self.sizes[i], 0, step};
    step *= self.sizes[i];
  }
  return plan;
}

struct Pad {
  Tensor self{};
  IntList padding{};  // last dimension first, before and after
  OutTensor out{};

  CORMORANT_FIELDS(self, padding, out)
};

// Borders may be negative, which crops.
[[gnu::noinline]] inline PlacesPlan* plan_pad(Call& call, const Tensor& self, const IntList& padding, const Tensor& out,
                                              Border border) {
  PlacesPlan* const plan = begin_places(call, self, out, border);
  if (plan == nullptr) return nullptr;
  call.require(padding.count % 2 == 0 && padding.count <= kMaxRank && padding.count / 2 <= self.rank, Error::bad_value);
  if (call.error() != Error::ok) return nullptr;
  for (std::uint32_t i = 0; i < self.rank; ++i) {  // the i-th from the end
    const std::uint32_t dim = self.rank - 1U - i;
    const std::int64_t before = 2 * i < padding.count ? padding.items[2 * i] : 0;
    const std::int64_t after = 2 * i < padding.count ? padding.items[2 * i + 1] : 0;
    const std::int64_t size = self.sizes[dim];
    call.require(out.sizes[dim] == size + before + after, Error::bad_shape);
    // At most one reflection; and there is something to repeat.
    const std::int64_t most = border == Border::reflection ? size - 1 : 0x3FFFFFFF;
    call.require((before <= most && after <= most && before > -0x3FFFFFFF && size < 0x3FFFFFFF) || out.elements() == 0,
                 Error::bad_value);
    call.require(size > 0 || border == Border::value || out.elements() == 0, Error::bad_shape);
    plan->dims[dim].before = static_cast<std::int32_t>(before);
  }
  return call.error() == Error::ok ? plan : nullptr;
}

template <Border kBorder>
Error load_pad(Call& call) {
  Pad args;
  if (!call.read_signature(args)) return call.error();
  plan_pad(call, args.self, args.padding, args.out, kBorder);
  return call.error();
}

struct Roll {
  Tensor self{};
  IntList shifts{}, dims{};
  OutTensor out{};

  CORMORANT_FIELDS(self, shifts, dims, out)
};

inline std::int32_t rolled(std::int64_t shift, std::int32_t size) {
  const auto rest = static_cast<std::int32_t>(shift % size);
  return rest < 0 ? rest + size : rest;
}

inline Error load_roll(Call& call) {
  Roll args;
  if (!call.read_signature(args)) return call.error();
  const auto& [self, shifts, dims, out] = args;
  call.require(same_sizes(self, out), Error::bad_shape);
  call.require(shifts.count <= kMaxRank && (dims.count == shifts.count || (dims.count == 0 && shifts.count == 1)),
               Error::bad_value);
  PlacesPlan* const plan = begin_places(call, self, out, Border::wrap);
  if (plan == nullptr || out.elements() == 0) return call.error();
  if (dims.count == 0) {  // as one row
    plan->rank = 1;
    plan->dims[0] = {out.elements(), out.elements(), rolled(shifts.items[0], out.elements()), 1};
    return Error::ok;
  }
  for (std::uint32_t i = 0; i < dims.count; ++i) {
    const std::int32_t dim = dim_of(dims.items[i], self);
    call.require(dim >= 0 && self.rank != 0, Error::bad_value);
    if (call.error() != Error::ok) return call.error();
    auto& place = plan->dims[dim];
    place.before = rolled(std::int64_t{place.before} + rolled(shifts.items[i], place.size), place.size);
  }
  return Error::ok;
}

struct Tril {
  Tensor self{};
  std::int32_t diagonal{};
  OutTensor out{};

  CORMORANT_FIELDS(self, diagonal, out)
};
struct TrilPlan {
  static constexpr std::uint32_t kStateBytes = 28;
  const std::byte* self;
  std::byte* out;
  std::int32_t matrices, rows, columns, diagonal;
  std::uint32_t width;
};

inline Error load_tril(Call& call) {
  Tril args;
  if (!call.read_signature(args)) return call.error();
  const auto& [self, diagonal, out] = args;
  call.require(self.dtype == out.dtype, Error::bad_value);
  call.require(same_sizes(self, out) && self.rank >= 2, Error::bad_shape);
  call.require(self.is_contiguous() && out.is_contiguous(), Error::unsupported);
  if (call.error() != Error::ok || out.elements() == 0) return call.error();
  auto* const plan = call.make_plan<TrilPlan>();
  if (plan == nullptr) return call.error();
  const std::int32_t rows = self.sizes[self.rank - 2], columns = self.sizes[self.rank - 1];
  *plan = {self.data,
           out.data,
           self.elements() / (rows * columns),
           rows,
           columns,
           diagonal,
           static_cast<std::uint32_t>(size_of(self.dtype))};
  return Error::ok;
}

inline void execute_tril(const void* plan) {
  const auto& p = *static_cast<const TrilPlan*>(plan);
  const std::byte* from = p.self;
  std::byte* to = p.out;
  const std::size_t row = static_cast<std::size_t>(p.columns) * p.width;
  for (std::int32_t m = 0; m < p.matrices; ++m) {
    for (std::int32_t r = 0; r < p.rows; ++r, from += row, to += row) {
      const std::int64_t last = std::int64_t{r} + p.diagonal + 1;
      const std::size_t kept = (last < 0 ? 0 : last > p.columns ? row : static_cast<std::size_t>(last) * p.width);
      std::memcpy(to, from, kept);
      std::memset(to + kept, 0, row - kept);
    }
  }
}

}  // namespace cormorant::ops::portable
