// SPDX-License-Identifier: Apache-2.0
//
// Images of another size: for each pixel of the result the position in the input is computed, without a table. In any
// memory order.
#pragma once

#include "base/fields.h"
#include "base/float_math.h"
#include "ops/argsort/kernel.h"
#include "ops/grid_sample/kernel.h"
#include "ops/load/broadcast.h"
#include "ops/load/planned.h"

namespace cormorant::ops::portable {

struct Nearest {
  Tensor input{};
  OptionalIntList output_size{};  // the result has it
  OptionalFloatPair scale_factors{};
  OutTensor out{};

  CORMORANT_FIELDS(input, output_size, scale_factors, out)
};
struct Bilinear {
  Tensor input{};
  OptionalIntList output_size{};
  bool align_corners{};
  OptionalFloatPair scale_factors{};
  OutTensor out{};

  CORMORANT_FIELDS(input, output_size, align_corners, scale_factors, out)
};
struct Smooth {  // aten::_upsample_bilinear2d_aa.out
  Tensor input{};
  IntPair output_size{};
  bool align_corners{};
  OptionalScalar scales_h{}, scales_w{};
  OutTensor out{};

  CORMORANT_FIELDS(input, output_size, align_corners, scales_h, scales_w, out)
};

struct ResizePlan {
  static constexpr std::uint32_t kStateBytes = 76;
  const std::byte* input;
  std::byte* out;
  std::int32_t batches, channels;
  std::int32_t in[2], size[2];             // height and width
  std::int32_t in_steps[4], out_steps[4];  // in elements
  float scale[2];                          // pixels of the input per pixel of the result
  bool align;
  std::uint8_t width;  // bytes of an element
};

// `factor` is how much larger the result is, as the program says; 0 if the sizes say so.
inline float scale_of(std::int32_t in, std::int32_t out, bool align, double factor) {
  if (align) return out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1) : 0.0F;
  constexpr double kLeast = 1e-30;  // whose inverse is a float
  return factor > kLeast ? static_cast<float>(1 / factor) : static_cast<float>(in) / static_cast<float>(out);
}

[[gnu::noinline]] inline Error plan_resize(Call& call, const Tensor& input, const Tensor& out, bool align,
                                           double factor_h, double factor_w) {
  call.require(input.dtype == out.dtype && is_number(input.dtype), Error::unsupported);
  call.require(input.rank == 4 && out.rank == 4, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  call.require(input.sizes[0] == out.sizes[0] && input.sizes[1] == out.sizes[1], Error::bad_shape);
  call.require((input.sizes[2] > 0 && input.sizes[3] > 0) || out.elements() == 0, Error::bad_shape);
  if (call.error() != Error::ok || out.elements() == 0) return call.error();
  auto* const plan = call.make_plan<ResizePlan>();
  if (plan == nullptr) return call.error();
  plan->input = input.data;
  plan->out = out.data;
  plan->batches = input.sizes[0];
  plan->channels = input.sizes[1];
  const double factors[2] = {factor_h, factor_w};
  for (std::size_t i = 0; i < 2; ++i) {
    plan->in[i] = input.sizes[2 + i];
    plan->size[i] = out.sizes[2 + i];
    plan->scale[i] = scale_of(plan->in[i], plan->size[i], align, factors[i]);
  }
  std::int32_t steps[kMaxRank];
  broadcast_strides(input, input, steps);
  for (std::size_t i = 0; i < 4; ++i) plan->in_steps[i] = steps[i];
  broadcast_strides(out, out, steps);
  for (std::size_t i = 0; i < 4; ++i) plan->out_steps[i] = steps[i];
  plan->align = align;
  plan->width = static_cast<std::uint8_t>(size_of(out.dtype));
  return Error::ok;
}

inline Error plan_vec(Call& call, const Tensor& input, const OptionalFloatPair& factors, bool align,
                      const Tensor& out) {
  call.require(!factors.present || factors.count == 2, Error::bad_value);
  return plan_resize(call, input, out, align, factors.items[0], factors.items[1]);
}
inline Error load_nearest(Call& call) {
  Nearest args;
  if (!call.read_signature(args)) return call.error();
  return plan_vec(call, args.input, args.scale_factors, false, args.out);
}
inline Error load_bilinear(Call& call) {
  Bilinear args;
  if (!call.read_signature(args)) return call.error();
  call.require(args.out.dtype == DType::f32, Error::unsupported);
  return plan_vec(call, args.input, args.scale_factors, args.align_corners, args.out);
}
inline Error load_smooth(Call& call) {
  Smooth args;
  if (!call.read_signature(args)) return call.error();
  call.require(args.out.dtype == DType::f32, Error::unsupported);
  return plan_resize(call, args.input, args.out, args.align_corners, args.scales_h.value_or(0),
                     args.scales_w.value_or(0));
}

// pixel(input's first element of the plane, where the result goes, y, x)
template <class F>
void for_each_pixel(const ResizePlan& p, F pixel) {
  for (std::int32_t n = 0; n < p.batches; ++n) {
    for (std::int32_t c = 0; c < p.channels; ++c) {
      const std::int32_t from = n * p.in_steps[0] + c * p.in_steps[1];
      const std::int32_t to = n * p.out_steps[0] + c * p.out_steps[1];
      for (std::int32_t y = 0; y < p.size[0]; ++y) {
        for (std::int32_t x = 0; x < p.size[1]; ++x) pixel(from, to + y * p.out_steps[2] + x * p.out_steps[3], y, x);
      }
    }
  }
}

// A coordinate as an index, which is inside whatever the scale is.
inline std::int32_t place_in(float coordinate, std::int32_t size) {
  if (!(coordinate > 0)) return 0;
  return coordinate < static_cast<float>(size) ? static_cast<std::int32_t>(coordinate) : size - 1;
}

// Equal and doubled sizes are copied, whatever the program says about scales: PyTorch's rule.
inline std::int32_t nearest_place(const ResizePlan& p, std::size_t dim, std::int32_t index) {
  if (p.size[dim] == p.in[dim]) return index;
  if (p.size[dim] % 2 == 0 && p.size[dim] / 2 == p.in[dim]) return index / 2;
  return place_in(static_cast<float>(index) * p.scale[dim], p.in[dim]);
}

inline void execute_nearest(const void* plan) {
  const auto& p = *static_cast<const ResizePlan*>(plan);
  for_each_pixel(p, [&](std::int32_t from, std::int32_t to, std::int32_t y, std::int32_t x) {
    const std::int32_t row = nearest_place(p, 0, y);
    const std::int32_t column = nearest_place(p, 1, x);
    const std::int32_t at = from + row * p.in_steps[2] + column * p.in_steps[3];
    std::memcpy(p.out + static_cast<std::size_t>(to) * p.width, p.input + static_cast<std::size_t>(at) * p.width,
                p.width);
  });
}

// Two neighbours and the weight of the second.
struct Between {
  std::int32_t first, second;
  float weight;
};
inline Between between(const ResizePlan& p, std::size_t dim, std::int32_t index) {
  if (p.size[dim] == p.in[dim]) return {index, index, 0.0F};  // whatever the program says of scales
  float at =
      p.align ? static_cast<float>(index) * p.scale[dim] : (static_cast<float>(index) + 0.5F) * p.scale[dim] - 0.5F;
  if (!(at > 0)) at = 0;
  const std::int32_t first = place_in(at, p.in[dim]);
  const std::int32_t second = first + 1 < p.in[dim] ? first + 1 : first;
  const float weight = at - static_cast<float>(first);
  return {first, second, weight < 1 ? weight : 1.0F};
}

inline void execute_bilinear(const void* plan) {
  const auto& p = *static_cast<const ResizePlan*>(plan);
  const auto* const input = reinterpret_cast<const float*>(p.input);
  auto* const out = reinterpret_cast<float*>(p.out);
  for_each_pixel(p, [&](std::int32_t from, std::int32_t to, std::int32_t y, std::int32_t x) {
    const Between v = between(p, 0, y), h = between(p, 1, x);
    const auto row = [&](std::int32_t r) {
      const std::int32_t begin = from + r * p.in_steps[2];
      return (1 - h.weight) * input[begin + h.first * p.in_steps[3]] +
             h.weight * input[begin + h.second * p.in_steps[3]];
    };
    out[to] = (1 - v.weight) * row(v.first) + v.weight * row(v.second);
  });
}

// A triangle over as many pixels of the input as correspond to one of the result, at least two.
struct Triangle {
  std::int32_t begin, end;
  float center, slope;
  [[nodiscard]] float weight(std::int32_t place) const {
    const float apart = float_math::abs((static_cast<float>(place) - center + 0.5F) * slope);
    return apart < 1 ? 1 - apart : 0.0F;
  }
};
inline Triangle triangle(const ResizePlan& p, std::size_t dim, std::int32_t index) {
  const float scale = p.scale[dim];
  const float support = scale >= 1 ? scale : 1.0F;
  const float center = scale * (static_cast<float>(index) + 0.5F);
  const std::int32_t begin = place_in(center - support + 0.5F, p.in[dim]);
  std::int32_t end = place_in(center + support + 0.5F, p.in[dim] + 1);
  if (end <= begin) end = begin + 1;
  return {begin, end, center, 1 / support};
}

inline void execute_smooth(const void* plan) {
  const auto& p = *static_cast<const ResizePlan*>(plan);
  const auto* const input = reinterpret_cast<const float*>(p.input);
  auto* const out = reinterpret_cast<float*>(p.out);
  for_each_pixel(p, [&](std::int32_t from, std::int32_t to, std::int32_t y, std::int32_t x) {
    const Triangle v = triangle(p, 0, y), h = triangle(p, 1, x);
    float sum = 0, weights = 0;
    for (std::int32_t r = v.begin; r < v.end; ++r) {
      float row = 0, row_weights = 0;
      for (std::int32_t c = h.begin; c < h.end; ++c) {
        const float weight = h.weight(c);
        row += weight * input[from + r * p.in_steps[2] + c * p.in_steps[3]];
        row_weights += weight;
      }
      const float weight = v.weight(r);
      if (row_weights != 0) sum += weight * (row / row_weights);
      weights += weight;
    }
    out[to] = weights != 0 ? sum / weights : 0.0F;
  });
}

// ---- the largest element of each window and its index, in any type and memory order ---------------------------------

struct MaxPool {
  Tensor self{};
  IntPair kernel_size{}, stride{}, padding{}, dilation{};
  bool ceil_mode{};
  OutTensor out{}, indices{};

  CORMORANT_FIELDS(self, kernel_size, stride, padding, dilation, ceil_mode, out, indices)
};
struct MaxPoolPlan {
  static constexpr std::uint32_t kStateBytes = 120;
  const std::byte* self;
  std::byte* out;
  std::byte* indices;
  DType dtype;
  std::int32_t batches, channels;
  std::int32_t in[2], size[2], kernel[2], stride[2], padding[2], dilation[2];
  std::int32_t in_steps[4], out_steps[4], index_steps[4];  // in elements
};

// A single number is for both dimensions.
inline bool read_pair(const IntPair& list, std::int32_t least, std::int32_t (&pair)[2]) {
  for (std::uint32_t i = 0; i < 2; ++i) pair[i] = list.items[list.count == 1 ? 0 : i];
  constexpr std::int32_t kMost = 0x7FFF;  // so that products of two fit 32 bits
  return (list.count == 1 || list.count == 2) && pair[0] >= least && pair[1] >= least && pair[0] <= kMost &&
         pair[1] <= kMost;
}

[[gnu::noinline]] inline Error plan_max_pool(Call& call, const MaxPool& args, MaxPoolPlan& plan) {
  const Tensor& self = args.self;
  const Tensor& out = args.out;
  if (!is_number(self.dtype) || self.dtype != out.dtype || args.indices.dtype != DType::i64) return Error::unsupported;
  if (self.rank != 4 || out.rank != 4 || !same_sizes(out, args.indices)) return Error::bad_shape;
  if (self.sizes[0] != out.sizes[0] || self.sizes[1] != out.sizes[1]) return Error::bad_shape;
  if (!read_pair(args.kernel_size, 1, plan.kernel) || !read_pair(args.padding, 0, plan.padding) ||
      !read_pair(args.dilation, 1, plan.dilation) ||
      !read_pair(args.stride.count == 0 ? args.kernel_size : args.stride, 1, plan.stride)) {
    return Error::bad_value;
  }
  for (std::size_t i = 0; i < 2; ++i) {
    plan.in[i] = self.sizes[2 + i];
    plan.size[i] = out.sizes[2 + i];
    if (plan.in[i] > 0x7FFF || plan.size[i] > 0x7FFF) return Error::unsupported;
    if (out.elements() != 0 && plan.in[i] == 0) return Error::bad_shape;
    // Every window begins in the input or in the border before it.
    if (out.elements() != 0 && (plan.size[i] - 1) * plan.stride[i] - plan.padding[i] >= plan.in[i])
      return Error::bad_shape;
  }
  plan.self = self.data;
  plan.out = out.data;
  plan.indices = args.indices.data;
  plan.dtype = self.dtype;
  plan.batches = self.sizes[0];
  plan.channels = self.sizes[1];
  std::int32_t steps[kMaxRank];
  const auto read_steps = [&](const Tensor& tensor, std::int32_t(&to)[4]) {
    broadcast_strides(tensor, tensor, steps);
    for (std::size_t i = 0; i < 4; ++i) to[i] = steps[i];
  };
  read_steps(self, plan.in_steps);
  read_steps(out, plan.out_steps);
  read_steps(args.indices, plan.index_steps);
  return call.error();
}

inline Error load_max_pool(Call& call) {
  MaxPool args;
  if (!call.read_signature(args)) return call.error();
  auto* const plan = call.make_plan<MaxPoolPlan>();
  if (plan == nullptr) return call.error();
  call.fail(plan_max_pool(call, args, *plan));
  return call.error();
}

inline void execute_max_pool(const void* plan) {
  const auto& p = *static_cast<const MaxPoolPlan*>(plan);
  const std::size_t width = size_of(p.dtype);
  const auto at = [](const std::int32_t(&steps)[4], std::int32_t n, std::int32_t c, std::int32_t y, std::int32_t x) {
    return static_cast<std::uint32_t>(n * steps[0] + c * steps[1] + y * steps[2] + x * steps[3]);
  };
  const auto pool = [&](std::int32_t n, std::int32_t c, std::int32_t y, std::int32_t x) {
    std::uint32_t best = at(p.in_steps, n, c, 0, 0);
    std::int32_t place = -1;
    for (std::int32_t i = 0; i < p.kernel[0]; ++i) {
      const std::int32_t row = y * p.stride[0] - p.padding[0] + i * p.dilation[0];
      if (row < 0 || row >= p.in[0]) continue;
      for (std::int32_t k = 0; k < p.kernel[1]; ++k) {
        const std::int32_t column = x * p.stride[1] - p.padding[1] + k * p.dilation[1];
        if (column < 0 || column >= p.in[1]) continue;
        const std::uint32_t here = at(p.in_steps, n, c, row, column);
        if (place < 0 || argsort::is_less(p.dtype, p.self, best, p.self, here)) {
          best = here;
          place = row * p.in[1] + column;
        }
      }
    }
    std::memcpy(p.out + at(p.out_steps, n, c, y, x) * width, p.self + best * width, width);
    set_integer(DType::i64, p.indices, at(p.index_steps, n, c, y, x), place < 0 ? 0 : place);
  };
  for (std::int32_t n = 0; n < p.batches; ++n) {
    for (std::int32_t c = 0; c < p.channels; ++c) {
      for (std::int32_t y = 0; y < p.size[0]; ++y) {
        for (std::int32_t x = 0; x < p.size[1]; ++x) pool(n, c, y, x);
      }
    }
  }
}

}  // namespace cormorant::ops::portable
