// SPDX-License-Identifier: Apache-2.0
//
// Up to two outputs by four places at a time: as many sums as fit an FPU's registers; without an FPU the float library
// takes so long that nothing else counts.
#include "kernels/float_sums.h"

namespace cormorant {
namespace {

// Whether products are so cheap that loops matter.
#if defined(__arm__) && !defined(__ARM_FP)
constexpr bool kHasFpu = false;
#else
constexpr bool kHasFpu = true;
#endif

// Where a few results of a row begin.
struct FloatTile {
  const float* in;
  const float* weight;
  float* out;
  const float* bias;
  std::int32_t taps, in_tap, in_step, out_step;
};

// The sums of four places, or one (then the first), of one output.
struct FloatSums {
  float s0 = 0, s1 = 0, s2 = 0, s3 = 0;

  template <int kPlaces>
  [[gnu::always_inline]] void add(float w, float x0, float x1, float x2, float x3) {
    s0 += w * x0;
    if constexpr (kPlaces == 4) {
      s1 += w * x1;
      s2 += w * x2;
      s3 += w * x3;
    }
  }
  template <int kPlaces>
  [[gnu::always_inline]] void store(float* out, std::int32_t step, const float* bias) {
    if (bias != nullptr) {
      s0 += *bias;
      s1 += *bias;
      s2 += *bias;
      s3 += *bias;
    }
    out[0] = s0;
    if constexpr (kPlaces == 4) {
      out[step] = s1;
      out[2 * step] = s2;
      out[3 * step] = s3;
    }
  }
};

// kOutputs · kPlaces results: 1 or 2, and 1 or 4. kThree: neighbours with three adjacent taps, which share most of what
// they read.
template <int kOutputs, int kPlaces, bool kThree = false>
void sum_tile(const FloatRow& r, const FloatTile& t) {
  const float* in = t.in;
  const float* weight = t.weight;
  FloatSums a, b;
  const std::int32_t other = r.weight_output;
  for (std::int32_t c = r.channels; c > 0; --c) {
    const float* in_row = in;
    const float* weight_row = weight;
    for (std::int32_t y = r.rows; y > 0; --y) {
      const float* x = in_row;
      const float* w = weight_row;
      if constexpr (kThree) {
        const float x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3], x4 = x[4], x5 = x[5];
        a.add<4>(w[0], x0, x1, x2, x3);
        a.add<4>(w[1], x1, x2, x3, x4);
        a.add<4>(w[2], x2, x3, x4, x5);
        if constexpr (kOutputs == 2) {
          b.add<4>(w[other], x0, x1, x2, x3);
          b.add<4>(w[other + 1], x1, x2, x3, x4);
          b.add<4>(w[other + 2], x2, x3, x4, x5);
        }
      } else {
        for (std::int32_t k = t.taps; k > 0; --k) {
          const float x0 = x[0];
          const float x1 = kPlaces == 4 ? x[t.in_step] : 0;
          const float x2 = kPlaces == 4 ? x[2 * t.in_step] : 0;
          const float x3 = kPlaces == 4 ? x[3 * t.in_step] : 0;
          a.add<kPlaces>(w[0], x0, x1, x2, x3);
          if constexpr (kOutputs == 2) b.add<kPlaces>(w[other], x0, x1, x2, x3);
          x += t.in_tap;
          w += r.weight_tap;
        }
      }
      in_row += r.in_row;
      weight_row += r.weight_row;
    }
    in += r.in_channel;
    weight += r.weight_channel;
  }
  a.store<kPlaces>(t.out, t.out_step, t.bias);
  if constexpr (kOutputs == 2) {
    b.store<kPlaces>(t.out + r.out_output, t.out_step, t.bias == nullptr ? nullptr : t.bias + 1);
  }
}

template <int kOutputs>
void sum_places(const FloatRow& r, const FloatLine& line, std::int32_t output) {
  FloatTile tile{.in = nullptr,
                 .weight = nullptr,
                 .out = nullptr,
                 .bias = r.bias == nullptr ? nullptr : r.bias + output,
                 .taps = 0,
                 .in_tap = r.in_tap + line.in_tap,
                 .in_step = line.in_step,
                 .out_step = line.out_step};
  const float* const in = r.in + output * r.in_output;
  const float* const weight = r.weight + output * r.weight_output;
  float* const out = r.out + output * r.out_output;
  const bool is_three = kHasFpu && r.taps == 3 && r.weight_tap == 1 && tile.in_tap == 1 && line.in_step == 1;
  for (std::int32_t i = 0; i < line.count;) {
    tile.out = out + i * line.out_step;
    if (i >= line.begin && i < line.end) {
      tile.taps = r.taps;
      tile.weight = weight;
      // Two or three leftover ones are computed again together with their predecessors.
      std::int32_t at = i;
      if (kHasFpu && line.end - i < 4 && line.end - i > 1 && line.end - line.begin >= 4) at = line.end - 4;
      tile.in = in + line.in_at(at);
      if (line.end - at >= 4) {
        tile.out = out + at * line.out_step;
        if (is_three) {
          sum_tile<kOutputs, 4, true>(r, tile);
        } else {
          sum_tile<kOutputs, 4>(r, tile);
        }
        i = at + 4;
        continue;
      }
    } else {
      const FloatTapRange range = taps_inside(line, i);
      tile.taps = range.count;
      tile.weight = weight + range.first * r.weight_tap;
      tile.in = range.count == 0 ? in : in + line.in_at(i) + range.first * tile.in_tap;
    }
    sum_tile<kOutputs, 1>(r, tile);
    ++i;
  }
}

void scale_row(const FloatRow& row, const FloatLine& line) {
  for (std::int32_t o = 0; o < row.outputs; ++o) {
    const float weight = row.weight[o * row.weight_output];
    const float bias = row.bias == nullptr ? 0 : row.bias[o];
    const float* in = row.in + o * row.in_output + line.first_in;
    float* out = row.out + o * row.out_output;
    for (std::int32_t i = line.count; i > 0; --i, in += line.in_step, out += line.out_step) {
      *out = 0 + weight * *in + bias;
    }
  }
}

}  // namespace

void sum_row(const FloatRow& row, const FloatLine& line) {
  if (is_scaling(row, line)) return scale_row(row, line);
  std::int32_t output = 0;
  if (row.in_output == 0) {
    for (; output + 1 < row.outputs; output += 2) sum_places<2>(row, line, output);
  }
  for (; output < row.outputs; ++output) sum_places<1>(row, line, output);
}

}  // namespace cormorant
