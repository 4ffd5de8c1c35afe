// SPDX-License-Identifier: Apache-2.0
#include "ops/portable/kernel.h"

#include "base/fields.h"
#include "ops/load/move_plan.h"

namespace cormorant::ops {
namespace {

struct TCopy {
  Tensor self{};
  OutTensor out{};

  CORMORANT_FIELDS(self, out)
};

template <int kNumbers>
struct CopyByNumbers {
  Tensor self{};
  std::int32_t numbers[kNumbers]{};
  OutTensor out{};

  template <class V>
  void visit(V&& v) {
    v("self", self);
    for (std::int32_t& number : numbers) v("number", number);
    v("out", out);
  }
};

struct AsStrided {
  Tensor self{};
  IntList size{}, stride{};
  OptionalInt storage_offset{};
  OutTensor out{};

  CORMORANT_FIELDS(self, size, stride, storage_offset, out)
};

// Steps of a view are sums and products of its source's: all of them, and a step past the end, fit 31 bits. An empty
// view has no steps: it is not executed.
bool has_steps(Call& call, const Tensor& self, const Tensor& out) {
  call.require(self.bytes() <= 0x3FFFFFFF && out.bytes() <= 0x3FFFFFFF, Error::bad_shape);
  return call.error() == Error::ok && out.elements() != 0;
}

bool is_size(std::int32_t size, const CheckedSize& wanted) {
  return wanted == CheckedSize(static_cast<std::uint32_t>(size));
}

// Swaps two dimensions.
Error plan_exchange(Call& call, const Tensor& self, const Tensor& out, std::int32_t a, std::int32_t b) {
  call.require(self.dtype == out.dtype && a >= 0 && b >= 0, Error::bad_value);
  call.require(self.rank == out.rank, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const MoveSteps from = steps_of(self);
  MoveSteps steps;
  for (std::int32_t i = 0; i < out.rank; ++i) {
    const std::int32_t dim = i == a ? b : i == b ? a : i;
    call.require(out.sizes[i] == self.sizes[dim], Error::bad_shape);
    steps.bytes[i] = from.bytes[dim];
  }
  if (call.error() != Error::ok) return call.error();
  return plan_move(call, self, out, steps, 0);
}

}  // namespace

Error load_t_copy(Call& call) {
  TCopy args;
  if (!call.read_signature(args)) return call.error();
  call.require(args.self.rank <= 2, Error::bad_shape);
  if (args.self.rank < 2) {
    call.require(args.self.lies_like(args.out) && args.self.dtype == args.out.dtype, Error::bad_shape);
    return call.error() != Error::ok ? call.error() : plan_move(call, args.self, args.out, steps_of(args.self), 0);
  }
  return plan_exchange(call, args.self, args.out, 0, 1);
}

Error load_transpose_copy(Call& call) {
  CopyByNumbers<2> args;
  if (!call.read_signature(args)) return call.error();
  return plan_exchange(call, args.self, args.out, wrap_dim(args.numbers[0], args.self.rank),
                       wrap_dim(args.numbers[1], args.self.rank));
}

Error load_narrow_copy(Call& call) {
  CopyByNumbers<3> args;  // dim, start, length
  if (!call.read_signature(args)) return call.error();
  const Tensor& self = args.self;
  const Tensor& out = args.out;
  const std::int32_t dim = wrap_dim(args.numbers[0], self.rank);
  call.require(dim >= 0 && self.dtype == out.dtype, Error::bad_value);
  call.require(self.rank == out.rank, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const std::int32_t size = self.sizes[dim];
  const std::int32_t length = args.numbers[2];
  std::int32_t start = args.numbers[1];
  call.require(start >= -size && start <= size, Error::bad_value);
  if (start < 0) start += size;
  call.require(length >= 0 && length <= size - start, Error::bad_value);
  for (std::int32_t i = 0; i < out.rank; ++i) {
    call.require(out.sizes[i] == (i == dim ? length : self.sizes[i]), Error::bad_shape);
  }
  if (call.error() != Error::ok) return call.error();
  const MoveSteps steps = steps_of(self);
  return plan_move(call, self, out, steps, length == 0 ? 0 : start * steps.bytes[dim]);
}

Error load_diagonal_copy(Call& call) {
  CopyByNumbers<3> args;  // offset, dim1, dim2
  if (!call.read_signature(args)) return call.error();
  const Tensor& self = args.self;
  const Tensor& out = args.out;
  const std::int32_t offset = args.numbers[0];
  const std::int32_t dim1 = wrap_dim(args.numbers[1], self.rank);
  const std::int32_t dim2 = wrap_dim(args.numbers[2], self.rank);
  call.require(dim1 >= 0 && dim2 >= 0 && dim1 != dim2 && self.dtype == out.dtype, Error::bad_value);
  call.require(self.rank == out.rank + 1, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const MoveSteps from = steps_of(self);
  MoveSteps steps;
  std::int32_t at = 0;
  for (std::int32_t i = 0; i < self.rank; ++i) {
    if (i == dim1 || i == dim2) continue;
    call.require(out.sizes[at] == self.sizes[i], Error::bad_shape);
    steps.bytes[at++] = from.bytes[i];
  }
  // What is left of both dimensions from where the diagonal begins.
  const std::int64_t rows = std::int64_t{self.sizes[dim1]} + (offset < 0 ? offset : 0);
  const std::int64_t columns = std::int64_t{self.sizes[dim2]} - (offset > 0 ? offset : 0);
  std::int64_t length = rows < columns ? rows : columns;
  if (length < 0) length = 0;
  call.require(out.sizes[at] == length, Error::bad_shape);
  if (!has_steps(call, self, out)) return call.error();
  steps.bytes[at] = from.bytes[dim1] + from.bytes[dim2];
  const std::int32_t first = offset < 0 ? -offset * from.bytes[dim1] : offset * from.bytes[dim2];
  return plan_move(call, self, out, steps, first);
}

Error load_unfold_copy(Call& call) {
  CopyByNumbers<3> args;  // dimension, size, step
  if (!call.read_signature(args)) return call.error();
  const Tensor& self = args.self;
  const Tensor& out = args.out;
  const std::int32_t dim = wrap_dim(args.numbers[0], self.rank);
  const std::int32_t size = args.numbers[1];
  const std::int32_t step = args.numbers[2];
  call.require(dim >= 0 && size >= 0 && step >= 1 && self.dtype == out.dtype, Error::bad_value);
  call.require(out.rank == self.rank + 1, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  call.require(size <= self.sizes[dim], Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const std::int32_t windows = (self.sizes[dim] - size) / step + 1;
  const MoveSteps from = steps_of(self);
  MoveSteps steps = from;
  for (std::int32_t i = 0; i < self.rank; ++i) {
    call.require(out.sizes[i] == (i == dim ? windows : self.sizes[i]), Error::bad_shape);
  }
  call.require(out.sizes[self.rank] == size, Error::bad_shape);
  if (!has_steps(call, self, out)) return call.error();
  if (windows > 1) steps.bytes[dim] *= step;
  steps.bytes[self.rank] = from.bytes[dim];
  return plan_move(call, self, out, steps, 0);
}

Error load_as_strided_copy(Call& call) {
  AsStrided args;
  if (!call.read_signature(args)) return call.error();
  const auto& [self, size, stride, storage_offset, out] = args;
  const std::int32_t offset = storage_offset.value_or(0);
  call.require(self.dtype == out.dtype && offset >= 0, Error::bad_value);
  call.require(size.count == out.rank && stride.count == out.rank, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const auto width = static_cast<std::uint32_t>(size_of(out.dtype));
  MoveSteps steps;
  CheckedSize last(static_cast<std::uint32_t>(offset));  // the farthest element
  for (std::int32_t i = 0; i < out.rank; ++i) {
    call.require(stride.items[i] >= 0 && out.sizes[i] == size.items[i], Error::bad_shape);
  }
  if (!has_steps(call, self, out)) return call.error();
  for (std::int32_t i = 0; i < out.rank; ++i) {
    last =
        last + CheckedSize(static_cast<std::uint32_t>(stride.items[i])) * static_cast<std::uint32_t>(out.sizes[i] - 1);
    // If the dimension has one entry, its step does not matter.
    if (out.sizes[i] > 1) steps.bytes[i] = stride.items[i];
  }
  call.require((last + 1U) * width <= self.bytes(), Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  for (std::int32_t& step : steps.bytes) step *= static_cast<std::int32_t>(width);
  return plan_move(call, self, out, steps, offset * static_cast<std::int32_t>(width));
}

namespace {

// [..., C, H, W] with blocks of factor × factor pixels, and [..., C · factor², H / factor, W / factor].
Error plan_pixels(Call& call, bool to_blocks) {
  CopyByNumbers<1> args;
  if (!call.read_signature(args)) return call.error();
  const Tensor& self = args.self;
  const Tensor& out = args.out;
  const std::int32_t factor = args.numbers[0];
  call.require(self.dtype == out.dtype && factor >= 1, Error::bad_value);
  call.require(self.rank == out.rank && self.rank >= 3, Error::bad_shape);
  call.require(self.is_contiguous() && out.is_contiguous(), Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  const Tensor& deep = to_blocks ? self : out;
  const Tensor& wide = to_blocks ? out : self;
  const std::int32_t c = self.rank - 3, h = c + 1, w = c + 2;
  for (std::int32_t i = 0; i < c; ++i) call.require(self.sizes[i] == out.sizes[i], Error::bad_shape);
  const CheckedSize by(static_cast<std::uint32_t>(factor));
  call.require(is_size(deep.sizes[c], by * by * static_cast<std::uint32_t>(wide.sizes[c])), Error::bad_shape);
  call.require(is_size(wide.sizes[h], by * static_cast<std::uint32_t>(deep.sizes[h])), Error::bad_shape);
  call.require(is_size(wide.sizes[w], by * static_cast<std::uint32_t>(deep.sizes[w])), Error::bad_shape);
  if (!has_steps(call, self, out)) return call.error();
  std::int32_t outer = wide.sizes[c];
  for (std::int32_t i = 0; i < c; ++i) outer *= self.sizes[i];
  const auto width = static_cast<std::int32_t>(size_of(out.dtype));
  const std::int32_t height = deep.sizes[h], columns = deep.sizes[w];
  MoveNest nest;
  if (to_blocks) {
    const std::int32_t plane = height * columns * width;
    nest.add(outer, factor * factor * plane);
    nest.add(height, columns * width);
    nest.add(factor, factor * plane);
    nest.add(columns, width);
    nest.add(factor, plane);
  } else {
    const std::int32_t row = wide.sizes[w] * width;
    nest.add(outer, wide.sizes[h] * row);
    nest.add(factor, row);
    nest.add(factor, width);
    nest.add(height, factor * row);
    nest.add(columns, factor * width);
  }
  return plan_nest(call, self, out, nest, 0);
}

}  // namespace

Error load_pixel_shuffle(Call& call) { return plan_pixels(call, true); }
Error load_pixel_unshuffle(Call& call) { return plan_pixels(call, false); }

}  // namespace cormorant::ops
