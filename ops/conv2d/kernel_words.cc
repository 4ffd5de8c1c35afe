// SPDX-License-Identifier: Apache-2.0
//
// The general convolution of 16-bit activations: 64-bit sums, any factor, on any CPU. Stretches whose sums fit 32 bits
// are summed in 32 bits: up to 512 products of at most 2^15 · 128. Also the checks of loading convolutions with 4-bit
// weights: firmware without either links nothing of this file.
#include <cstring>

#include "kernels/conv_patch.h"
#include "ops/conv2d/float.h"
#include "ops/conv2d/nibbles_kernel.h"
#include "ops/conv2d/words_kernel.h"

namespace cormorant::ops::conv2d::words {
namespace {

constexpr std::uint32_t kChunk = 511;

std::int64_t dot(const std::int16_t* x, const std::int8_t* w, std::uint32_t count) {
  std::int64_t sum = 0;
  while (count > 0) {
    const std::uint32_t chunk = count < kChunk ? count : kChunk;
    std::int32_t part = 0;
    for (std::uint32_t i = 0; i < chunk; ++i) part += std::int32_t{x[i]} * w[i];
    sum += part;
    x += chunk;
    w += chunk;
    count -= chunk;
  }
  return sum;
}

void execute_plain(const void* raw) {
  const auto& plan = *static_cast<const Plan*>(raw);
  const Header& header = *plan.header;
  const conv::Geometry g = header.geometry;
  const conv::Geometry bytes = in_bytes(g);
  const Stream stream(Layout::plain, g);
  conv::Pixel pixel(bytes, reinterpret_cast<const std::int8_t*>(plan.input));
  std::int16_t* out = plan.out;
  for (std::uint32_t left = g.out_pixels(); left > 0; --left) {
    const std::uint8_t* record = plan.stream();
    for (std::uint32_t group = 0; group < g.groups; ++group) {
      for (std::uint32_t channel = 0; channel < g.group_outputs(); ++channel, record += stream.block_bytes()) {
        std::int64_t sum;
        Factor factor;
        std::memcpy(&sum, record, sizeof sum);
        std::memcpy(&factor, record + 8, sizeof factor);
        const auto* weights = reinterpret_cast<const std::int8_t*>(record + 16);
        pixel.for_runs(bytes, group * bytes.group_inputs(), [&](const std::int8_t* from, std::size_t run) {
          const auto count = static_cast<std::uint32_t>(run / 2);
          if (from != nullptr)
            sum = wrapping_sum(sum, dot(reinterpret_cast<const std::int16_t*>(from), weights, count));
          weights += count;
        });
        const std::int64_t value = rescaled(sum, factor);
        const std::int64_t low = header.activation_min, high = header.activation_max;
        *out++ = static_cast<std::int16_t>(value < low ? low : value > high ? high : value);
      }
    }
    pixel.advance(bytes);
  }
}

template <Layout L>
std::uint64_t stream_bytes_of(const conv::Geometry& g) {
  return Stream(L, g).bytes();
}
template <Layout L>
std::uint32_t scratch_bytes_of(const conv::Geometry& g) {
  return scratch_bytes(L, g).value();
}

// 64 bits can be shifted by every n; in the packed form it is 16 … 32.
bool has_sound_shifts(const Stream& stream, const std::uint8_t* record, std::int32_t low, std::int32_t high) {
  for (std::uint32_t i = stream.blocks(); i > 0; --i, record += stream.block_bytes()) {
    Factor factor;
    std::memcpy(&factor, record + (stream.layout == Layout::plain ? 8 : 4), sizeof factor);
    if (factor.multiplier < 0 || factor.multiplier > 0x7FFF || factor.shift < low || factor.shift > high) return false;
  }
  return true;
}

template <Layout L>
Error load(Call& call) {
  const Plan* plan = load_packed(call, is_computable, stream_bytes_of<L>, scratch_bytes_of<L>);
  if (plan == nullptr) return call.error();
  if constexpr (L == Layout::plain || L == Layout::v6m) {
    const Stream stream(L, plan->header->geometry);
    call.require(has_sound_shifts(stream, plan->stream(), L == Layout::plain ? 1 : 16, L == Layout::plain ? 62 : 32),
                 Error::bad_constant);
  }
  return call.error();
}

}  // namespace

bool is_image(const Tensor& tensor, std::int32_t batch, std::int32_t height, std::int32_t width,
              std::int32_t channels) {
  return tensor.dtype == DType::i16 && tensor.rank == 4 && tensor.is_channels_last() && tensor.size(0) == batch &&
         tensor.size(1) == channels && tensor.size(2) == height && tensor.size(3) == width;
}

Plan* load_packed(Call& call, bool (*is_computable)(const conv::Geometry&),
                  std::uint64_t (*stream_bytes)(const conv::Geometry&),
                  std::uint32_t (*scratch_bytes)(const conv::Geometry&)) {
  PackedConv2d<TargetWorld> args;
  if (!call.read_signature(args)) return nullptr;
  const auto& [input, packed, scratch, out] = args;
  const auto* const found = call.packed<Header>(packed, 16);
  if (found == nullptr) return nullptr;
  const Header& header = *found;
  const conv::Geometry& g = header.geometry;
  call.require(is_computable(g) && header.activation_min <= header.activation_max, Error::bad_constant);
  call.require(is_image(input, g.batch, g.in_height, g.in_width, g.in_channels), Error::bad_shape);
  call.require(is_image(out, g.batch, g.out_height, g.out_width, g.out_channels), Error::bad_shape);
  if (call.error() != Error::ok) return nullptr;
  call.require(stream_bytes(g) == header.stream_bytes && header.stream_bytes == packed.bytes() - sizeof(Header),
               Error::bad_constant);
  call.require_scratch(scratch, scratch_bytes(g));
  auto* const plan = call.make_plan<Plan>();
  if (plan == nullptr) return nullptr;
  *plan = {&header, input.as<const std::int16_t>(), scratch.as<std::int8_t>(), out.as<std::int16_t>()};
  return plan;
}

Error load_plain(Call& call) { return load<Layout::plain>(call); }
Error load_mve(Call& call) { return load<Layout::mve>(call); }
Error load_dsp(Call& call) { return load<Layout::dsp>(call); }
Error load_scalar(Call& call) { return load<Layout::scalar>(call); }
Error load_v6m(Call& call) { return load<Layout::v6m>(call); }

}  // namespace cormorant::ops::conv2d::words

namespace cormorant::ops::conv2d {

namespace {

template <const nibbles::Variant& V>
bool has_computable_nibbles(const conv::Geometry& geometry) {
  return nibbles::is_computable(V, geometry);
}
template <const nibbles::Variant& V>
PackedShape nibbles_shape_of(const conv::Geometry& geometry) {
  return nibbles::packed_shape(V, geometry);
}
template <const nibbles::Variant& V>
Error load_nibbles(Call& call) {
  return load_packed(call, has_computable_nibbles<V>, nibbles_shape_of<V>);
}

}  // namespace

PackedShape nibbles::packed_shape(const Variant& variant, const conv::Geometry& geometry) {
  const Stream stream(variant, geometry);
  return {stream.total(),        scratch_bytes(variant, geometry).value(),
          stream.bytes.blocks(), stream.block_bytes(),
          stream.bytes.block(),  stream.shifts_at()};
}

Error load_mve_nibbles(Call& call) { return load_nibbles<nibbles::kMve>(call); }
Error load_dsp_nibbles(Call& call) { return load_nibbles<nibbles::kDsp>(call); }
Error load_scalar_nibbles(Call& call) { return load_nibbles<nibbles::kScalar>(call); }
Error load_v6m_nibbles(Call& call) { return load_nibbles<nibbles::kV6m>(call); }

CORMORANT_KERNELS(CORMORANT_CONV2D_KERNELS, words)

}  // namespace cormorant::ops::conv2d
