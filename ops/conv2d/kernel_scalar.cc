// SPDX-License-Identifier: Apache-2.0
#include "kernels/conv_gemm.h"
#include "kernels/conv_patch.h"
#include "kernels/move.h"
#include "ops/conv2d/blocks.h"
#include "ops/conv2d/repack.h"

namespace cormorant::ops::conv2d {
namespace {

// Writes one patch to its place among N patches of words, padded with zeros; returns the sum of its elements. `Compute`
// gives each caller its own copy.
template <std::uint32_t N, class Compute>
std::int32_t put_patch(const conv::Header& header, const conv::Pixel& pixel, std::uint32_t first, std::int32_t* to,
                       std::uint32_t elements) {
  const std::int32_t* end = to + elements * N;
  std::int32_t sum_of_all = 0;
  std::int32_t* next = to;
  pixel.for_runs(header.geometry, first, [&](const std::int8_t* from, std::uint32_t count) {
    std::int32_t* at = next;  // copies, which stay in registers
    std::int32_t sum = sum_of_all;
    if (from == nullptr) {
      const std::int32_t value = header.pad_value;
      for (; count > 0; --count, at += N, sum += value) *at = value;
    } else {
      for (; count >= 4; count -= 4, at += 4 * N, from += 4) {
        // One after another: ARMv6-M lacks the registers for four.
        sum += at[0] = from[0];
        sum += at[N] = from[1];
        sum += at[2 * N] = from[2];
        sum += at[3 * N] = from[3];
      }
      for (; count > 0; --count, at += N) {
        const std::int32_t value = *from++;
        *at = value;
        sum += value;
      }
    }
    next = at;
    sum_of_all = sum;
  });
  for (; next < end; next += N) *next = 0;
  return sum_of_all;
}

// Blocks of N pixels, group by group. A single pixel is computed N times and written to the same place.
template <std::uint32_t N, class Gemm, class Compute>
void convolve(const Convolution& c, const Stream& stream, Gemm& gemm, Compute compute) {
  const conv::Geometry& g = c.header.geometry;
  auto* patches = reinterpret_cast<std::int32_t*>(c.scratch);
  for_blocks<N>(c, [&](const conv::Pixel(&pixels)[N], std::int8_t* out, std::uint32_t out_step) {
    gemm.stream = c.stream;
    gemm.out = out;
    gemm.out_step = out_step;
    for (std::uint32_t first = 0; first < g.in_channels; first += g.group_inputs()) {
      for (std::uint32_t i = 0; i < N; ++i) {
        const std::int32_t sum = put_patch<N, Compute>(c.header, pixels[i], first, patches + i, gemm.elements);
        if constexpr (requires { gemm.excess; }) gemm.excess[i] = 128 * sum;
      }
      compute(gemm);
      gemm.stream += stream.group_bytes();
      gemm.out += g.group_outputs();
    }
  });
}

// Writes two patches to their place among the words of four pixels, padded with zeros.
void put_halves(const conv::Header& header, const conv::Pixel& low, const conv::Pixel& high, std::int32_t* to,
                std::uint32_t elements) {
  const conv::Geometry& g = header.geometry;
  const std::int32_t* const end = to + 2 * elements;
  std::int32_t* next = to;
  if (low.is_inside(g) && high.is_inside(g)) {
    const std::ptrdiff_t apart = high.first_tap(g) - low.first_tap(g);
    low.for_whole_runs(g, [&](const std::int8_t* from, std::uint32_t count) {
      std::int32_t* at = next;  // a copy, which stays in a register
      for (; count >= 4; count -= 4, at += 8, from += 4) {
        at[0] = from[0] + from[apart] * 65536;
        at[2] = from[1] + from[apart + 1] * 65536;
        at[4] = from[2] + from[apart + 2] * 65536;
        at[6] = from[3] + from[apart + 3] * 65536;
      }
      for (; count > 0; --count, at += 2, ++from) *at = from[0] + from[apart] * 65536;
      next = at;
    });
  } else {
    high.for_whole_runs(g, [&](const std::int8_t* from, std::uint32_t count) {
      std::int32_t* at = next;
      if (from == nullptr) {
        const std::int32_t value = header.pad_value * 65536;
        for (; count > 0; --count, at += 2) *at = value;
      } else {
        for (; count > 0; --count, at += 2) *at = *from++ * 65536;
      }
      next = at;
    });
    next = to;
    low.for_whole_runs(g, [&](const std::int8_t* from, std::uint32_t count) {
      std::int32_t* at = next;
      if (from == nullptr) {
        const std::int32_t pad = header.pad_value;
        for (; count > 0; --count, at += 2) *at += pad;
      } else {
        for (; count > 0; --count, at += 2) *at += *from++;
      }
      next = at;
    });
  }
  for (; next < end; next += 2) *next = 0;
}

// The same for a group's channels.
void put_group_halves(const conv::Geometry& g, const std::int8_t* const* low, const std::int8_t* const* high,
                      std::uint32_t first, std::int32_t* to, std::uint32_t elements) {
  const std::int32_t* const end = to + 2 * elements;
  for (std::uint32_t tap = g.taps(); tap > 0; --tap) {
    const std::int8_t* x = *low++ + first;
    const std::int8_t* y = *high++ + first;
    for (std::uint32_t i = g.group_inputs(); i > 0; --i, to += 2) *to = *x++ + *y++ * 65536;
  }
  for (; to < end; to += 2) *to = 0;
}

conv::HalvesGemm halves_gemm_of(const Convolution& c, const Stream& stream) {
  return {.stream = c.stream,
          .patches = reinterpret_cast<const std::int32_t*>(c.scratch),
          .out = nullptr,
          .out_step = 0,
          .elements = stream.padded_patch(),
          .channels = stream.channels,
          .output = conv::output_of(c.header)};
}

struct Halves {
  static constexpr Layout kLayout = Layout::halves;
  static constexpr auto loop =
      kHasLongMultiply ? conv::cormorant_conv_gemm_halves_scalar : conv::cormorant_conv_gemm_halves_v6m;
};
struct HalvesOfNibbles {
  static constexpr Layout kLayout = Layout::halves;
  static constexpr auto loop =
      kHasLongMultiply ? conv::cormorant_conv_gemm_nibbles_scalar : conv::cormorant_conv_gemm_halves_v6m;
};
struct HalvesWithSlopes {
  static constexpr Layout kLayout = Layout::halves_prelu;
  static constexpr auto loop =
      kHasLongMultiply ? conv::cormorant_conv_gemm_prelu_halves_scalar : conv::cormorant_conv_gemm_prelu_halves_v6m;
};

template <class Loops>
inline void convolve_whole_halves(const Convolution& c) {
  const Stream stream(Loops::kLayout, c.header.geometry);
  auto* patches = reinterpret_cast<std::int32_t*>(c.scratch);
  conv::HalvesGemm gemm = halves_gemm_of(c, stream);
  for_blocks<4>(c, [&](const conv::Pixel(&pixels)[4], std::int8_t* out, std::uint32_t out_step) {
    gemm.out = out;
    gemm.out_step = out_step;
    put_halves(c.header, pixels[0], pixels[1], patches, gemm.elements);
    put_halves(c.header, pixels[2], pixels[3], patches + 1, gemm.elements);
    Loops::loop(&gemm);
  });
}

template <class Loops>
void execute_whole_halves(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  convolve_whole_halves<Loops>(convolution_of(plan));
  conv::clamp_output(*plan.header, plan.out);
}

template <class Loops>
void execute_all_halves(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  const Convolution c = convolution_of(plan);
  const conv::Geometry& g = c.header.geometry;
  if (g.groups == 1) {
    execute_whole_halves<Loops>(raw);
    return;
  }
  const Stream stream(Loops::kLayout, g);
  auto* patches = reinterpret_cast<std::int32_t*>(c.scratch);
  conv::HalvesGemm gemm = halves_gemm_of(c, stream);
  conv::TapTable<4> table(c.header, patches + 2 * gemm.elements);
  for_blocks<4>(c, [&](const conv::Pixel(&pixels)[4], std::int8_t* out, std::uint32_t out_step) {
    table.look_up(g, pixels);
    gemm.stream = c.stream;
    gemm.out = out;
    gemm.out_step = out_step;
    for (std::uint32_t first = 0; first < g.in_channels; first += g.group_inputs()) {
      put_group_halves(g, table.taps_of(0), table.taps_of(1), first, patches, gemm.elements);
      put_group_halves(g, table.taps_of(2), table.taps_of(3), first, patches + 1, gemm.elements);
      Loops::loop(&gemm);
      gemm.stream += stream.group_bytes();
      gemm.out += g.group_outputs();
    }
  });
  conv::clamp_output(*plan.header, plan.out);
}

constexpr auto* execute_halves = execute_whole_halves<Halves>;
constexpr auto* execute_halves_groups = execute_all_halves<Halves>;
constexpr auto* execute_halves_prelu = execute_all_halves<HalvesWithSlopes>;

auto pairs_loop_for(conv::Rounding rounding) {
  if (rounding == conv::Rounding::positive) return conv::cormorant_conv_gemm_positive_scalar;
  return rounding == conv::Rounding::right ? conv::cormorant_conv_gemm_right_scalar
                                           : conv::cormorant_conv_gemm_any_scalar;
}

auto prelu_loop_for(conv::Rounding /*any*/) { return conv::cormorant_conv_gemm_prelu_scalar; }

// Pairs of channels in assembly, an odd last channel in plain loops.
template <auto kPlain, auto kLoopFor>
void compute_pairs(conv::ScalarGemm gemm, const Stream& stream) {
  const std::uint32_t channels = gemm.channels;
  gemm.channels = channels / 2 * 2;
  if (gemm.channels != 0) kLoopFor(gemm.output.rounding)(&gemm);
  if (channels % 2 == 0) return;
  gemm.stream += channels / 2 * stream.block_bytes();
  gemm.out += channels - 1;
  gemm.channels = 1;
  kPlain(gemm);
}

void compute_v6m(const conv::V6mGemm& gemm) {
  if (conv::is_simple(gemm.output.rounding)) {
    conv::cormorant_conv_gemm_right_v6m(&gemm);
  } else {
    conv::cormorant_conv_gemm_any_v6m(&gemm);
  }
}

void execute_scalar(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  convolve_scalar(convolution_of(plan));
  conv::clamp_output(*plan.header, plan.out);
}

void execute_v6m(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  convolve_v6m(convolution_of(plan));
  conv::clamp_output(*plan.header, plan.out);
}

conv::ScalarGemm scalar_gemm_of(const Convolution& c, const Stream& stream) {
  return {.stream = nullptr,
          .patches = reinterpret_cast<const std::int32_t*>(c.scratch),
          .out = nullptr,
          .out_step = 0,
          .elements = stream.padded_patch(),
          .channels = c.header.geometry.group_outputs(),
          .output = conv::output_of(c.header)};
}

conv::V6mGemm v6m_gemm_of(const Convolution& c, const Stream& stream) {
  return {.stream = nullptr,
          .patches = reinterpret_cast<const std::int32_t*>(c.scratch),
          .out = nullptr,
          .out_step = 0,
          .elements = stream.padded_patch(),
          .channels = c.header.geometry.group_outputs(),
          .output = conv::output_of(c.header),
          .excess = {}};
}

void execute_scalar_prelu(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  const Convolution c = convolution_of(plan);
  const Stream stream(Layout::scalar_prelu, c.header.geometry);
  conv::ScalarGemm gemm = scalar_gemm_of(c, stream);
  if constexpr (kHasLongMultiply) {
    convolve<3>(c, stream, gemm, [&](const conv::ScalarGemm& block) {
      compute_pairs<conv::conv_gemm_prelu_scalar_plain, prelu_loop_for>(block, stream);
    });
  } else {
    convolve<3>(c, stream, gemm, conv::conv_gemm_prelu_scalar_plain);
  }
  conv::clamp_output(*plan.header, plan.out);
}

void execute_v6m_prelu(const void* raw) {
  const auto& plan = *static_cast<const PackedPlan*>(raw);
  const Convolution c = convolution_of(plan);
  const Stream stream(Layout::v6m_prelu, c.header.geometry);
  conv::V6mGemm gemm = v6m_gemm_of(c, stream);
  convolve<4>(c, stream, gemm, [](const conv::V6mGemm& block) { conv::cormorant_conv_gemm_prelu_v6m(&block); });
  conv::clamp_output(*plan.header, plan.out);
}

constexpr Layout kLayout = kHasLongMultiply ? Layout::scalar : Layout::v6m;

void execute_direct(const void* raw) {
  const auto& plan = *static_cast<const conv::Direct*>(raw);
  if (plan.workspace == nullptr) {
    conv::conv_direct(plan, conv::dot_plain);
  } else {
    convolve_repacked_scalar(plan, ohwi_of(plan));
  }
}

}  // namespace

void convolve_halves_of_nibbles(const Convolution& c) { convolve_whole_halves<HalvesOfNibbles>(c); }

void convolve_scalar(const Convolution& c) {
  const Stream stream(Layout::scalar, c.header.geometry);
  conv::ScalarGemm gemm = scalar_gemm_of(c, stream);
  if constexpr (kHasLongMultiply) {
    convolve<3>(c, stream, gemm, [&](const conv::ScalarGemm& block) {
      compute_pairs<conv::conv_gemm_scalar_plain, pairs_loop_for>(block, stream);
    });
  } else {
    convolve<3>(c, stream, gemm, conv::conv_gemm_scalar_plain);
  }
}

void convolve_v6m(const Convolution& c) {
  const Stream stream(Layout::v6m, c.header.geometry);
  conv::V6mGemm gemm = v6m_gemm_of(c, stream);
  convolve<4>(c, stream, gemm, compute_v6m);
}

void convolve_repacked_scalar(const conv::Direct& d, const Weights& weights) {
  const auto clear = [](std::uint8_t* at, std::uint32_t bytes) {
    fill_bytes_scalar(reinterpret_cast<std::int8_t*>(at), 0, bytes);
  };
  constexpr auto kConvolve = kHasLongMultiply ? convolve_scalar : convolve_v6m;
  convolve_repacked<kLayout, kConvolve, put_weights<kLayout>>(d, weights, clear);
  conv::clamp_bytes(d.out, d.geometry.out_pixels() * d.geometry.out_channels, d.activation_min, d.activation_max);
}

// How programs of other compilers are loaded here.
constexpr auto* load_upstream = load_repacked<(kHasLongMultiply ? kScalar : kV6m)>;
constexpr auto* load_upstream_nhwc = load_repacked_nhwc<(kHasLongMultiply ? kScalar : kV6m)>;

CORMORANT_KERNELS(CORMORANT_CONV2D_KERNELS, scalar)

}  // namespace cormorant::ops::conv2d
