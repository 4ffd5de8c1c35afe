// SPDX-License-Identifier: Apache-2.0
//
// Input i and tap k add to the output at i · stride + k · dilation − padding. So an output y sees tap k exactly if (y +
// padding − k · dilation) is a multiple of the stride, namely from the input at the quotient. All outputs with the same
// remainder of (y + padding) see the same taps, and each next one sees the next input.
#include "ops/transpose_conv2d/prepack.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "ops/conv2d/convolution.h"
#include "ops/conv2d/prepack.h"
#include "ops/depthwise_conv2d/prepack.h"

namespace cormorant::ops::transpose_conv2d {
namespace {

template <class T>
void append(std::vector<std::byte>& to, const T& what) {
  const auto* raw = reinterpret_cast<const std::byte*>(&what);
  to.insert(to.end(), raw, raw + sizeof what);
}

struct Kernel {
  std::span<const std::int8_t> weights;  // OHWI
  std::uint32_t height, width, inputs;
};

struct Packer {
  const Rewriter& rewriter;
  const Variant& variant;
  Kernel kernel;
  std::int64_t scratch = 0;

  // Phase, header and stream; none if the kernels cannot compute it.
  std::optional<std::vector<std::byte>> pack(const PhaseTaps& rows, const PhaseTaps& columns) {
    const ir::Node& node = rewriter.node;
    const auto height = static_cast<std::int64_t>(rows.taps.size());
    const auto width = static_cast<std::int64_t>(columns.taps.size());
    const ir::Shape& result = node.result()->type.shape;
    const auto geometry =
        conv2d::geometry_of(node.tensor("input")->type.shape, {result[0], result[1], rows.count, columns.count},
                            {height, width}, {1, 1}, {rows.dilation, columns.dilation}, {rows.pad, columns.pad});
    if (!geometry) return {};
    const auto weight_at = [&](std::uint32_t c, std::uint32_t k) -> std::int32_t {
      const auto& row = rows.taps[k / kernel.inputs / columns.taps.size()];
      const auto& column = columns.taps[k / kernel.inputs % columns.taps.size()];
      if (!row || !column) return 0;
      const auto tap = (std::size_t{c} * kernel.height + static_cast<std::size_t>(*row)) * kernel.width +
                       static_cast<std::size_t>(*column);
      return kernel.weights[tap * kernel.inputs + k % kernel.inputs];
    };
    const auto window = static_cast<std::uint32_t>(height * width) * kernel.inputs;
    std::optional<conv2d::Unpacked> u = conv2d::unpack_as(rewriter, *geometry, window, weight_at);
    if (!u) return {};
    std::optional<std::vector<std::byte>> bytes = stream_of(*u, window, weight_at);
    if (!bytes) return {};
    bytes->resize((bytes->size() + 15) / 16 * 16, std::byte{0});
    scratch = std::max<std::int64_t>(scratch, phase_scratch_bytes(variant, u->geometry).value());
    std::vector<std::byte> all;
    append(all, Phase{.y = static_cast<std::uint16_t>(rows.first),
                      .x = static_cast<std::uint16_t>(columns.first),
                      .bytes = static_cast<std::uint32_t>(bytes->size())});
    all.insert(all.end(), bytes->begin(), bytes->end());
    return all;
  }

 private:
  [[nodiscard]] std::optional<std::vector<std::byte>> stream_of(conv2d::Unpacked& u, std::uint32_t window,
                                                                const conv2d::WeightAt& weight_at) const {
    const Optimize optimize = rewriter.config.target.optimize;
    if (variant.depthwise_phase != nullptr) return depthwise::pack(*variant.depthwise_phase, u, window, weight_at);
    if (variant.phase != nullptr) return conv2d::pack(*variant.phase, u, kernel.inputs, weight_at, optimize);
    const conv2d::nibbles::Variant& nibbles = *variant.nibbles_phase;
    const auto bytes = conv2d::pack(nibbles.bytes, u, kernel.inputs, weight_at, optimize);
    const bool fits = bytes && conv2d::nibbles::is_computable(nibbles, u.geometry) &&
                      conv2d::nibbles::scratch_bytes(nibbles, u.geometry).fits();
    if (!fits) return {};
    const conv2d::nibbles::Stream stream(nibbles, u.geometry);
    return conv2d::halved(stream.record(), stream.bytes.blocks(), *bytes);
  }
};

ir::Value* prepack_as(const Rewriter& rewriter, const Variant& variant);

}  // namespace

PhaseTaps phase_taps(std::int64_t phase, std::int64_t out, std::int64_t kernel, std::int64_t stride,
                     std::int64_t padding, std::int64_t dilation) {
  PhaseTaps t;
  t.first = ((phase - padding) % stride + stride) % stride;
  if (t.first >= out) return t;
  t.count = (out - t.first + stride - 1) / stride;
  const std::int64_t input = (t.first + padding - phase) / stride;  // that tap 0 of the first output would see
  std::int64_t furthest = 0;                                        // inputs before it that the last tap sees
  for (std::int64_t k = 0; k < kernel; ++k) {
    if (k * dilation % stride != phase) continue;
    t.taps.insert(t.taps.begin(), k);
    furthest = (k * dilation - phase) / stride;
  }
  if (t.taps.empty()) {  // only the bias
    t.taps.emplace_back();
    return t;
  }
  t.dilation = t.taps.size() == 1 ? 1 : dilation / std::gcd(dilation, stride);
  t.pad = furthest - input;
  // If padding has cut off so much that the first window begins inside the input, it is extended backwards with zeros.
  for (; t.pad < 0; t.pad += t.dilation) t.taps.insert(t.taps.begin(), std::nullopt);
  return t;
}

ir::Value* prepack(const Rewriter& rewriter) {
  const ir::Value& weight = *rewriter.node.tensor("weight");
  const ir::Shape& ohwi = weight.type.shape;
  const std::int64_t inputs = rewriter.node.tensor("input")->type.shape[1];
  const Target& target = rewriter.config.target;
  const Variant* nibbles = choose_nibbles_variant(target);
  if (nibbles != nullptr && inputs == ohwi[3] && conv2d::has_nibbles(weight.data.as<std::int8_t>())) {
    if (ir::Value* packed = prepack_as(rewriter, *nibbles)) return packed;
  }
  return prepack_as(rewriter, choose_variant(target, ohwi[3] == 1 && inputs > 1));
}

namespace {

ir::Value* prepack_as(const Rewriter& rewriter, const Variant& variant) {
  const ir::Node& node = rewriter.node;
  const ir::Value& weight = *node.tensor("weight");
  const ir::Shape& ohwi = weight.type.shape;
  const ir::Shape& out = node.result()->type.shape;
  const auto& stride = node.integers("stride");
  const auto& padding = node.integers("padding");
  const auto& dilation = node.integers("dilation");
  if (std::max({out[2], out[3], stride[0], stride[1]}) > 0xffff) return nullptr;
  Packer packer{rewriter,
                variant,
                {weight.data.as<std::int8_t>(), static_cast<std::uint32_t>(ohwi[1]),
                 static_cast<std::uint32_t>(ohwi[2]), static_cast<std::uint32_t>(ohwi[3])}};
  std::vector<std::byte> phases;
  std::int64_t count = 0;
  for (std::int64_t y = 0; y < stride[0]; ++y) {
    const PhaseTaps rows = phase_taps(y, out[2], ohwi[1], stride[0], padding[0], dilation[0]);
    for (std::int64_t x = 0; rows.count != 0 && x < stride[1]; ++x) {
      const PhaseTaps columns = phase_taps(x, out[3], ohwi[2], stride[1], padding[1], dilation[1]);
      if (columns.count == 0) continue;
      const std::optional<std::vector<std::byte>> bytes = packer.pack(rows, columns);
      if (!bytes || ++count > 0xffff) return nullptr;
      phases.insert(phases.end(), bytes->begin(), bytes->end());
    }
  }
  if (phases.size() > 0x7fff0000U) return nullptr;
  std::vector<std::byte> packed;
  append(packed, Header{.out_height = static_cast<std::uint16_t>(out[2]),
                        .out_width = static_cast<std::uint16_t>(out[3]),
                        .stride_height = static_cast<std::uint16_t>(stride[0]),
                        .stride_width = static_cast<std::uint16_t>(stride[1]),
                        .phases = static_cast<std::uint16_t>(count),
                        .activation_min = static_cast<std::int8_t>(node.integer("activation_min")),
                        .activation_max = static_cast<std::int8_t>(node.integer("activation_max"))});
  packed.insert(packed.end(), phases.begin(), phases.end());
  return rewriter
      .emit(conv2d::PackedConv2d<HostWorld>{.input = node.tensor("input"),
                                            .packed = conv2d::packed_constant(rewriter, std::move(packed)),
                                            .scratch = {.bytes = packer.scratch}},
            node.result()->type, variant.name)
      ->result();
}

}  // namespace

std::int64_t packed_macs(const ir::Node& node) {
  const std::span<const std::byte> bytes = node.tensor("packed")->data.bytes;
  Header header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const bool is_depthwise = node.op.ends_with("_depthwise");
  std::size_t at = sizeof header;
  std::int64_t macs = 0;
  for (int i = 0; i < header.phases; ++i) {
    Phase phase;
    conv::Header convolution;
    std::memcpy(&phase, bytes.data() + at, sizeof phase);
    std::memcpy(&convolution, bytes.data() + at + sizeof phase, sizeof convolution);
    const conv::Geometry& g = convolution.geometry;
    macs += std::int64_t{g.out_pixels()} * g.out_channels * (is_depthwise ? g.taps() : g.patch());
    at += sizeof phase + phase.bytes;
  }
  return macs;
}

}  // namespace cormorant::ops::transpose_conv2d
