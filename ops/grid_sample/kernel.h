// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/float_math.h"
#include "ops/grid_sample/grid_sample.h"
#include "ops/load/planned.h"

namespace cormorant::ops::grid_sample {

namespace fm = float_math;

struct Plan {
  static constexpr std::uint32_t kStateBytes = 40;
  const float* input;
  const float* grid;
  float* out;
  std::uint32_t batches, channels, points;  // points: of a batch's grid
  std::int32_t sizes[3];                    // of the input: width, height, depth
  std::uint8_t dims, mode, padding;
  bool align;
};

inline Error plan_grid_sample(const GridSample<TargetWorld>& args, Plan& plan) {
  const auto& [input, grid, mode, padding, align, out] = args;
  if (input.dtype != DType::f32 || grid.dtype != DType::f32 || out.dtype != DType::f32) return Error::unsupported;
  const std::int32_t dims = input.rank - 2;
  if (dims < 2 || dims > 3 || grid.rank != input.rank || out.rank != input.rank) return Error::bad_shape;
  if (mode < 0 || mode > (dims == 2 ? 2 : 1) || padding < 0 || padding > 2) return Error::bad_value;
  bool fits = grid.sizes[0] == input.sizes[0] && out.sizes[0] == input.sizes[0] && out.sizes[1] == input.sizes[1] &&
              grid.sizes[dims + 1] == dims;
  std::uint32_t points = 1;
  for (std::int32_t i = 0; i < dims; ++i) {
    fits = fits && out.sizes[2 + i] == grid.sizes[1 + i] && input.sizes[2 + i] > 0;
    points *= static_cast<std::uint32_t>(out.sizes[2 + i]);
    plan.sizes[i] = input.sizes[input.rank - 1 - i];
  }
  if (!fits) return Error::bad_shape;
  if (!input.is_contiguous() || !grid.is_contiguous() || !out.is_contiguous()) return Error::unsupported;
  plan.input = input.as<const float>();
  plan.grid = grid.as<const float>();
  plan.out = out.as<float>();
  plan.batches = static_cast<std::uint32_t>(input.sizes[0]);
  plan.channels = static_cast<std::uint32_t>(input.sizes[1]);
  plan.points = points;
  plan.dims = static_cast<std::uint8_t>(dims);
  plan.mode = static_cast<std::uint8_t>(mode);
  plan.padding = static_cast<std::uint8_t>(padding);
  plan.align = align;
  return Error::ok;
}

inline float clipped(float x, float high) { return x > 0 ? (x < high ? x : high) : 0.0F; }  // a NaN is 0

// Mirrored at the centres of the outermost elements, or at their edges.
inline float reflected(float x, std::int32_t size, bool align) {
  const float low = align ? 0.0F : -0.5F;
  const auto span = static_cast<float>(align ? size - 1 : size);
  if (span == 0) return 0;
  x = fm::abs(x - low);
  const float rest = fm::fmod(x, span);
  const float turns = fm::floor(x / span);
  const bool back = fm::fmod(turns, 2) != 0;
  return back ? span - rest + low : rest + low;
}

inline float padded(const Plan& p, float x, std::int32_t size) {
  if (p.padding == 0) return x;
  if (p.padding == 2) x = reflected(x, size, p.align);
  return clipped(x, static_cast<float>(size - 1));
}

// The coordinate as a number that an int32 can hold; what is far outside stays far outside.
inline std::int32_t whole(float x) {
  if (!(x > -1e9F)) return -1000000000;
  return x < 1e9F ? static_cast<std::int32_t>(x) : 1000000000;
}

inline float pixel(const Plan& p, const float* plane, const std::int32_t (&at)[3]) {
  std::int32_t index = 0;
  for (std::int32_t d = p.dims; d-- > 0;) {
    if (at[d] < 0 || at[d] >= p.sizes[d]) return 0;
    index = index * p.sizes[d] + at[d];
  }
  return plane[index];
}

inline void cubic_weights(float t, float (&w)[4]) {
  const auto near = [](float x) { return (1.25F * x - 2.25F) * x * x + 1; };
  const auto far = [](float x) { return ((-0.75F * x + 3.75F) * x - 6) * x + 3; };
  w[0] = far(t + 1);
  w[1] = near(t);
  w[2] = near(1 - t);
  w[3] = far(2 - t);
}

inline float linear(const Plan& p, const float* plane, const float (&x)[3]) {
  std::int32_t low[3] = {};
  float part[3] = {};
  for (std::int32_t d = 0; d < p.dims; ++d) {
    const float floor = fm::floor(x[d]);
    low[d] = whole(floor);
    part[d] = x[d] - floor;
  }
  float sum = 0;
  for (std::uint32_t corner = 0; corner < (1U << p.dims); ++corner) {
    std::int32_t at[3] = {};
    float weight = 1;
    for (std::int32_t d = 0; d < p.dims; ++d) {
      const bool high = (corner >> d & 1U) != 0;
      at[d] = low[d] + (high ? 1 : 0);
      weight *= high ? part[d] : 1 - part[d];
    }
    const float value = pixel(p, plane, at);
    if (value != 0) sum += weight * value;
  }
  return sum;
}

inline float cubic(const Plan& p, const float* plane, const float (&x)[3]) {
  float wx[4], wy[4];
  const float fx = fm::floor(x[0]), fy = fm::floor(x[1]);
  cubic_weights(x[0] - fx, wx);
  cubic_weights(x[1] - fy, wy);
  float sum = 0;
  for (std::int32_t j = 0; j < 4; ++j) {
    float row = 0;
    for (std::int32_t i = 0; i < 4; ++i) {
      const std::int32_t at[3] = {whole(padded(p, fx + static_cast<float>(i - 1), p.sizes[0])),
                                  whole(padded(p, fy + static_cast<float>(j - 1), p.sizes[1])), 0};
      row += wx[i] * pixel(p, plane, at);
    }
    sum += wy[j] * row;
  }
  return sum;
}

inline void execute_grid_sample(const void* plan) {
  const auto& p = *static_cast<const Plan*>(plan);
  std::uint32_t area = 1;
  for (std::int32_t d = 0; d < p.dims; ++d) area *= static_cast<std::uint32_t>(p.sizes[d]);
  for (std::uint32_t n = 0; n < p.batches; ++n) {
    for (std::uint32_t i = 0; i < p.points; ++i) {
      float x[3] = {};
      for (std::int32_t d = 0; d < p.dims; ++d) {
        const float at = p.grid[(n * p.points + i) * p.dims + static_cast<std::uint32_t>(d)];
        const auto size = static_cast<float>(p.sizes[d]);
        x[d] = p.align ? (at + 1) / 2 * (size - 1) : ((at + 1) * size - 1) / 2;
        if (p.mode != 2) x[d] = padded(p, x[d], p.sizes[d]);
      }
      for (std::uint32_t c = 0; c < p.channels; ++c) {
        const float* const plane = p.input + (n * p.channels + c) * area;
        float& out = p.out[(n * p.channels + c) * p.points + i];
        if (p.mode == 1) {
          std::int32_t at[3] = {};
          for (std::int32_t d = 0; d < p.dims; ++d) at[d] = whole(fm::round(x[d]));
          out = pixel(p, plane, at);
        } else {
          out = p.mode == 0 ? linear(p, plane, x) : cubic(p, plane, x);
        }
      }
    }
  }
}

inline Error load_grid_sample(Call& call) { return load_planned<GridSample, Plan, plan_grid_sample>(call); }

}  // namespace cormorant::ops::grid_sample
