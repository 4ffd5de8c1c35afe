// SPDX-License-Identifier: Apache-2.0
//
// Packed constants carry their own geometry, which load compares with the shapes: changed alone, each is refused. Here
// the header gets another geometry and everything that depends on it follows, with the operators' own functions.
#include <algorithm>
#include <cstring>
#include <string_view>

#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/nibbles.h"
#include "ops/depthwise_conv2d/depthwise_conv2d.h"
#include "ops/depthwise_conv2d/nibbles.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/linear/linear.h"
#include "ops/transpose_conv2d/transpose_conv2d.h"
#include "tests/fuzz/mutate.h"

namespace cormorant::fuzz {
namespace {

constexpr std::uint64_t kLargestStream = 1 << 14;

std::uint16_t small(Random& random, std::uint32_t limit, std::uint32_t least = 1) {
  return static_cast<std::uint16_t>(least + random() % limit);
}

// A few fields of a geometry, with sizes that mostly occur in no network.
void change_fields(conv::Geometry& g, Random& random) {
  constexpr std::uint16_t kChannels[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 20, 31, 32, 33, 48};
  std::uint16_t* const any[] = {&g.batch,        &g.in_height,       &g.in_width,       &g.out_height,
                                &g.out_width,    &g.kernel_height,   &g.kernel_width,   &g.stride_height,
                                &g.stride_width, &g.dilation_height, &g.dilation_width, &g.pad_top,
                                &g.pad_left};
  for (std::size_t i = 0; i < 1 + random() % 5; ++i) *any[pick(random, std::size(any))] = small(random, 9);
  if (random() % 3 == 0) g.pad_top = small(random, 6, 0);
  if (random() % 3 == 0) g.pad_left = small(random, 6, 0);
  if (random() % 2 == 0) g.in_channels = kChannels[pick(random, std::size(kChannels))];
  if (random() % 2 == 0) g.out_channels = kChannels[pick(random, std::size(kChannels))];
  if (random() % 16 == 0) *any[pick(random, std::size(any))] = static_cast<std::uint16_t>(odd_number(random));
}

void change_groups(conv::Geometry& g, Random& random) {
  g.groups = random() % 3 == 0 ? small(random, 4) : 1;
  g.inputs_per_group = small(random, 6);
  g.outputs_per_group = small(random, 9);
  if (random() % 2 == 0) {
    g.inputs_per_group = g.in_channels;
    g.outputs_per_group = g.out_channels;
    g.groups = 1;
  }
  g.in_channels = static_cast<std::uint16_t>(g.groups * g.inputs_per_group);
  g.out_channels = static_cast<std::uint16_t>(g.groups * g.outputs_per_group);
}

void set_image(schema::TensorT& tensor, std::uint32_t n, std::uint32_t c, std::uint32_t h, std::uint32_t w) {
  tensor.sizes = {static_cast<std::int32_t>(n), static_cast<std::int32_t>(c), static_cast<std::int32_t>(h),
                  static_cast<std::int32_t>(w)};
  tensor.dim_order = {0, 2, 3, 1};
}

// input, packed, scratch, out: the arguments of all packed convolutions.
struct Arguments {
  schema::TensorT *input, *packed, *scratch, *out;
};
std::optional<Arguments> arguments_of(EditableProgram& p, const schema::KernelCallT& call) {
  if (call.args.size() < 4) return std::nullopt;
  const Arguments a{p.tensor(call.args[0]), p.tensor(call.args[1]), p.tensor(call.args[2]), p.tensor(call.args[3])};
  if (a.input == nullptr || a.packed == nullptr || a.scratch == nullptr || a.out == nullptr) return std::nullopt;
  return a;
}

void set_scratch(schema::TensorT& scratch, CheckedSize bytes) {
  scratch.sizes = {bytes <= (1U << 20) ? static_cast<std::int32_t>(bytes.value()) : 16};
  scratch.dim_order = {0};
}

// Header and stream: the old one's bytes as far as they go, shifts that load accepts.
Bytes packed_bytes(conv::Header header, std::span<const std::byte> old, std::uint64_t stream_bytes, Random& random) {
  header.stream_bytes = static_cast<std::uint32_t>(stream_bytes);
  Bytes bytes(sizeof header + stream_bytes);
  if (random() % 4 == 0) {
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 32);
  } else if (old.size() > sizeof header) {
    const std::size_t count = std::min<std::size_t>(old.size(), bytes.size());
    std::copy_n(old.data(), count, bytes.data());
  }
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

// A stream of records, whatever a weight takes.
struct Records {
  std::uint64_t bytes, count, each;
  std::uint32_t shifts_at, channels;
};
template <class Stream>
Records records_of(const Stream& s) {
  return {s.bytes(), s.blocks(), s.block_bytes(), s.shifts_at(), s.block()};
}
Records records_of(const ops::conv2d::nibbles::Stream& s) {
  return {s.total(), s.bytes.blocks(), s.block_bytes(), s.shifts_at(), s.bytes.block()};
}
Records records_of(const ops::depthwise::nibbles::Stream& s) {
  return {s.total(), s.bytes.blocks(), s.record().bytes(), s.shifts_at(), s.bytes.block()};
}
Records records_of(const ops::conv2d::Variant& v, const conv::Geometry& g) {
  return records_of(ops::conv2d::Stream(v.layout, g));
}
Records records_of(const ops::conv2d::nibbles::Variant& v, const conv::Geometry& g) {
  return records_of(ops::conv2d::nibbles::Stream(v, g));
}
Records records_of(const ops::depthwise::Variant& v, const conv::Geometry& g) {
  return records_of(ops::depthwise::Stream(v, g));
}
Records records_of(const ops::depthwise::nibbles::Variant& v, const conv::Geometry& g) {
  return records_of(ops::depthwise::nibbles::Stream(v, g));
}
Records records_of(const ops::transpose_conv2d::Variant& v, const conv::Geometry& g) {
  if (v.nibbles_phase != nullptr) return records_of(*v.nibbles_phase, g);
  return v.phase != nullptr ? records_of(*v.phase, g) : records_of(*v.depthwise_phase, g);
}

// The variant that computes with bytes.
const ops::conv2d::Variant& in_bytes(const ops::conv2d::Variant& v) { return v; }
const ops::conv2d::Variant& in_bytes(const ops::conv2d::nibbles::Variant& v) { return v.bytes; }
const ops::depthwise::Variant& in_bytes(const ops::depthwise::Variant& v) { return v; }
const ops::depthwise::Variant& in_bytes(const ops::depthwise::nibbles::Variant& v) { return v.bytes; }

void clear_shifts(Bytes& bytes, std::size_t begin, const Records& records) {
  for (std::uint64_t i = 0; i < records.count; ++i) {
    std::byte* const shifts = bytes.data() + begin + i * records.each + records.shifts_at;
    std::fill_n(shifts, records.channels, std::byte{0xff});  // to the right by one
    std::fill_n(shifts + records.channels, records.channels, std::byte{0});
  }
}

bool repack(EditableProgram& p, const Arguments& a, const Records& records, conv::Header header, CheckedSize scratch,
            Random& random) {
  if (records.bytes > kLargestStream) return false;
  const conv::Geometry& g = header.geometry;
  Bytes bytes = packed_bytes(header, p.constant(*a.packed), records.bytes, random);
  clear_shifts(bytes, sizeof header, records);
  p.replace_constant(*a.packed, bytes);
  set_image(*a.input, g.batch, g.in_channels, g.in_height, g.in_width);
  set_image(*a.out, g.batch, g.out_channels, g.out_height, g.out_width);
  set_scratch(*a.scratch, scratch);
  return true;
}

template <class Variant>
bool change_conv2d(EditableProgram& p, const Arguments& a, const Variant& variant, Random& random) {
  conv::Header header;
  const std::span<const std::byte> old = p.constant(*a.packed);
  if (old.size() < sizeof header) return false;
  std::memcpy(&header, old.data(), sizeof header);
  conv::Geometry& g = header.geometry;
  change_fields(g, random);
  change_groups(g, random);
  if (in_bytes(variant).pointwise) {
    g.kernel_height = g.kernel_width = 1;
    g.pad_top = g.pad_left = 0;
  }
  if (!is_computable(variant, g)) return false;
  return repack(p, a, records_of(variant, g), header, scratch_bytes(variant, g), random);
}

template <class Variant>
bool change_depthwise(EditableProgram& p, const Arguments& a, const Variant& variant, Random& random) {
  conv::Header header;
  const std::span<const std::byte> old = p.constant(*a.packed);
  if (old.size() < sizeof header) return false;
  std::memcpy(&header, old.data(), sizeof header);
  conv::Geometry& g = header.geometry;
  change_fields(g, random);
  g.groups = 1;
  const auto multiplier = random() % 3 == 0 ? small(random, 5) : std::uint16_t{1};
  g.out_channels = static_cast<std::uint16_t>(g.in_channels * multiplier);
  g.inputs_per_group = g.in_channels;
  g.outputs_per_group = multiplier;
  const ops::depthwise::Variant& bytes = in_bytes(variant);
  if (bytes.is_3x3) g.kernel_height = g.kernel_width = 3;
  if (bytes.is_narrow) {
    g.in_channels = g.out_channels = static_cast<std::uint16_t>(1U << random() % 4);
    g.stride_width = g.dilation_height = g.dilation_width = 1;
  }
  if (!is_computable(bytes, g)) return false;
  return repack(p, a, records_of(variant, g), header, scratch_bytes(variant, g), random);
}

// One phase is enough to reach everything; its pixels are anywhere between others.
bool change_transposed(EditableProgram& p, const Arguments& a, const ops::transpose_conv2d::Variant& variant,
                       Random& random) {
  namespace tc = ops::transpose_conv2d;
  conv::Header phase_header;
  conv::Geometry& g = phase_header.geometry;
  g.in_height = small(random, 9);
  g.in_width = small(random, 9);
  g.in_channels = small(random, 20);
  g.out_channels = small(random, 20);
  change_fields(g, random);
  if (variant.depthwise_phase == nullptr) {
    change_groups(g, random);
  } else {
    g.out_channels = g.in_channels;
    g.inputs_per_group = g.in_channels;
    g.outputs_per_group = 1;
  }
  g.stride_height = g.stride_width = 1;
  if (!tc::is_computable(variant, g)) return false;
  tc::Header header;
  header.stride_height = small(random, 4);
  header.stride_width = small(random, 4);
  tc::Phase phase;
  phase.y = small(random, 4, 0);
  phase.x = small(random, 4, 0);
  header.out_height =
      static_cast<std::uint16_t>(phase.y + (g.out_height - 1) * header.stride_height + small(random, 3));
  header.out_width = static_cast<std::uint16_t>(phase.x + (g.out_width - 1) * header.stride_width + small(random, 3));
  header.phases = 1;
  Bytes bytes(sizeof header + sizeof phase);
  const Records records = records_of(variant, g);
  if (records.bytes > kLargestStream) return false;
  Bytes packed = packed_bytes(phase_header, p.constant(*a.packed), records.bytes, random);
  clear_shifts(packed, sizeof phase_header, records);
  packed.resize((packed.size() + 15) / 16 * 16);
  phase.bytes = static_cast<std::uint32_t>(packed.size());
  bytes.insert(bytes.end(), packed.begin(), packed.end());
  set_scratch(*a.scratch, tc::phase_scratch_bytes(variant, g));
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, &phase, sizeof phase);
  p.replace_constant(*a.packed, bytes);
  set_image(*a.input, g.batch, g.in_channels, g.in_height, g.in_width);
  set_image(*a.out, g.batch, g.out_channels, header.out_height, header.out_width);
  return true;
}

bool change_linear(EditableProgram& p, const schema::KernelCallT& call, const ops::linear::Variant& variant,
                   Random& random) {
  namespace linear = ops::linear;
  if (call.args.size() < 3) return false;
  schema::TensorT* const input = p.tensor(call.args[0]);
  schema::TensorT* const packed = p.tensor(call.args[1]);
  schema::TensorT* const out = p.tensor(call.args[2]);
  if (input == nullptr || packed == nullptr || out == nullptr) return false;
  const std::span<const std::byte> old = p.constant(*packed);
  linear::PackedHeader header;
  if (old.size() < sizeof header) return false;
  std::memcpy(&header, old.data(), sizeof header);
  header.inputs = small(random, 70);
  header.outputs = small(random, 40);
  header.flags = random() % 4 == 0 ? static_cast<std::uint8_t>(random() % 2) : linear::kSimpleRequantize;
  const linear::PackedGeometry geometry{variant.layout, header.inputs, header.outputs};
  Bytes bytes(geometry.bytes());
  std::copy_n(old.data(), std::min(old.size(), bytes.size()), bytes.data());
  std::memcpy(bytes.data(), &header, sizeof header);
  for (std::uint32_t i = 0; i < header.outputs; ++i) {
    bytes[geometry.shift_offset(geometry.place(i))] = static_cast<std::byte>(-1 - static_cast<int>(random() % 8));
  }
  p.replace_constant(*packed, bytes);
  const auto rows = static_cast<std::int32_t>(random() % 5);
  input->sizes = {rows, static_cast<std::int32_t>(header.inputs)};
  out->sizes = {rows, static_cast<std::int32_t>(header.outputs)};
  input->dim_order = out->dim_order = {0, 1};
  return true;
}

bool change_layer_norm(EditableProgram& p, const schema::KernelCallT& call, Random& random) {
  namespace norm = ops::layer_norm;
  if (call.args.size() < 3) return false;
  schema::TensorT* const input = p.tensor(call.args[0]);
  schema::TensorT* const packed = p.tensor(call.args[1]);
  schema::TensorT* const out = p.tensor(call.args[2]);
  if (input == nullptr || packed == nullptr || out == nullptr) return false;
  const std::span<const std::byte> old = p.constant(*packed);
  norm::Header header;
  if (old.size() < sizeof header) return false;
  std::memcpy(&header, old.data(), sizeof header);
  header.groups = small(random, 4);
  header.channels = small(random, 40);
  header.inner = random() % 2 == 0 ? 1 : small(random, 20);
  header.subtracts_mean = static_cast<std::uint8_t>(random() % 2);
  if (random() % 4 == 0) header.fraction = static_cast<std::int8_t>(random());
  if (random() % 4 == 0) header.epsilon = random();
  Bytes bytes(norm::packed_bytes(header.groups * header.channels));
  std::copy_n(old.data(), std::min(old.size(), bytes.size()), bytes.data());
  std::memcpy(bytes.data(), &header, sizeof header);
  p.replace_constant(*packed, bytes);
  const auto elements = static_cast<std::int32_t>(header.groups * header.size() * small(random, 4));
  input->sizes = out->sizes = {elements};
  input->dim_order = out->dim_order = {0};
  return true;
}

template <class Variants>
const auto* named(const Variants& variants, std::string_view name) {
  const auto found = std::ranges::find_if(variants, [&](const auto* v) { return v->name == name; });
  return found == std::end(variants) ? nullptr : *found;
}

}  // namespace

bool change_geometry(EditableProgram& p, Random& random) {
  const auto calls = p.calls();
  if (calls.empty()) return false;
  const schema::KernelCallT& call = *calls[pick(random, calls.size())];
  const std::string name = p.operator_of(call);
  for (const ops::linear::Variant& variant : ops::linear::kVariants) {
    if (variant.name == name) return change_linear(p, call, variant, random);
  }
  if (name.starts_with("cormorant::layer_norm.")) return change_layer_norm(p, call, random);
  const std::optional<Arguments> a = arguments_of(p, call);
  if (!a) return false;
  if (const auto* v = named(ops::conv2d::kVariants, name)) return change_conv2d(p, *a, *v, random);
  if (const auto* v = named(ops::depthwise::kVariants, name)) return change_depthwise(p, *a, *v, random);
  namespace nibbles = ops::conv2d::nibbles;
  constexpr const nibbles::Variant* kNibbles[] = {&nibbles::kMve, &nibbles::kDsp, &nibbles::kScalar, &nibbles::kV6m};
  if (const auto* v = named(kNibbles, name)) return change_conv2d(p, *a, *v, random);
  if (const auto* v = named(ops::depthwise::nibbles::kVariants, name)) return change_depthwise(p, *a, *v, random);
  if (const auto* v = named(ops::transpose_conv2d::kVariants, name)) return change_transposed(p, *a, *v, random);
  return false;
}

}  // namespace cormorant::fuzz
