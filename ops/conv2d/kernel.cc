// SPDX-License-Identifier: Apache-2.0
//
// A packed constant is verified here once: the header against the tensors, the stream's size against the header. What
// execute() then reads and writes follows from the header alone.
#include "ops/conv2d/kernel.h"

#include "ops/load/explicit_layout.h"

namespace cormorant::ops::conv2d {
namespace {

// A line may be packed as a column: the bytes are the same.
bool has_sizes(const Tensor& t, std::int32_t n, std::int32_t c, std::int32_t h, std::int32_t w) {
  const bool same = t.size(2) == h && t.size(3) == w;
  return t.size(0) == n && t.size(1) == c && (same || (t.size(2) == 1 && w == 1 && t.size(3) == h));
}

// All right shifts are 0 … −31 and all left shifts 0 … 31: once the right ones are negated, no bit but the lowest five
// is set in any of them.
bool has_sound_shifts(const PackedShape& shape, const std::uint8_t* stream) {
  std::uint32_t bits_of_right = 0, bits_of_left = 0;
  for (std::uint32_t i = 0; i < shape.blocks; ++i, stream += shape.block_bytes) {
    const auto* right = reinterpret_cast<const std::int8_t*>(stream + shape.shifts_at);
    const std::int8_t* left = right + shape.block;
    for (std::uint32_t lane = 0; lane < shape.block; ++lane) {
      bits_of_right |= static_cast<std::uint32_t>(-std::int32_t{right[lane]});
      bits_of_left |= static_cast<std::uint32_t>(std::int32_t{left[lane]});
    }
  }
  return (bits_of_right | (bits_of_left & ~shape.marks)) < 32;
}

[[gnu::noinline]] void put(Call& call, std::uint16_t& field, std::int32_t value, std::int32_t low = 1) {
  call.require(value >= low && value <= 0xffff, Error::bad_shape);
  field = static_cast<std::uint16_t>(value);
}

template <const Variant& V>
bool is_computable_by(const conv::Geometry& geometry) {
  return is_computable(V, geometry);
}
template <const Variant& V>
PackedShape packed_shape_of(const conv::Geometry& geometry) {
  PackedShape shape = packed_shape(V, geometry);
  if constexpr (V.by_columns) shape.scratch_bytes = RowStretch(geometry).bytes.value();
  return shape;
}
template <const Variant& V>
Error load(Call& call) {
  return load_packed(call, is_computable_by<V>, packed_shape_of<V>);
}

// Kept out of line: the caller's frame is beneath everything that reads the arguments.
template <class Tensors>
[[gnu::noinline]] Error plan_direct_as(Call& call, QuantizedConv2d<TargetWorld>& args) {
  const Tensors tensors(call, args.input, args.out);
  if (!tensors.fit()) return call.error();
  const Tensor& weight = args.weight;
  call.require(weight.dtype == DType::i8 && weight.rank == 4 && weight.is_contiguous(), Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  return plan_direct(call,
                     {args.input, weight, args.bias, args.stride, args.padding, args.dilation, args.input_offset,
                      args.output_offset, args.requantize_multipliers, args.requantize_shifts, args.activation_min,
                      args.activation_max, args.scratch, args.out},
                     {weight.size(1), weight.size(2), weight.size(3), weight.size(0)});
}

template <class Tensors>
Error load_direct_as(Call& call) {
  QuantizedConv2d<TargetWorld> args;
  return call.read_signature(args) ? plan_direct_as<Tensors>(call, args) : call.error();
}

}  // namespace

bool is_activation(const Tensor& tensor) {
  return tensor.dtype == DType::i8 && tensor.rank == 4 && tensor.is_channels_last();
}

PackedShape packed_shape(const Variant& variant, const conv::Geometry& geometry) {
  const Stream stream(variant.layout, geometry);
  return {stream.bytes(),  scratch_bytes(variant, geometry).value(),
          stream.blocks(), stream.block_bytes(),
          stream.block(),  stream.shifts_at()};
}

bool is_sound_stream(const PackedShape& shape, const conv::Header& header, std::span<const std::uint8_t> stream) {
  return conv::is_known(header.rounding) && shape.stream_bytes == header.stream_bytes &&
         header.stream_bytes == stream.size() && has_sound_shifts(shape, stream.data());
}

namespace {

// What the signatures of packed convolutions have in common: checks, and a plan that begins with a PackedPlan. Null
// after any failure.
template <class Plan, class Args>
[[gnu::always_inline]] inline Plan* plan_packed(Call& call, const Args& args,
                                                bool (*is_computable)(const conv::Geometry&),
                                                PackedShape (*shape_of)(const conv::Geometry&)) {
  const Tensor& input = args.input;
  const Tensor& packed = args.packed;
  const Tensor& scratch_tensor = args.scratch;
  const Tensor& out = args.out;
  call.require(is_activation(input) && is_activation(out), Error::unsupported);
  const auto* const found = call.packed<conv::Header>(packed, 16);
  if (found == nullptr) return nullptr;
  const conv::Header& header = *found;
  const conv::Geometry& g = header.geometry;
  call.require(is_computable(g), Error::bad_constant);
  call.require(has_sizes(input, g.batch, g.in_channels, g.in_height, g.in_width), Error::bad_shape);
  call.require(has_sizes(out, g.batch, g.out_channels, g.out_height, g.out_width), Error::bad_shape);
  const auto* const stream = call.after<std::uint8_t>(found);
  if (stream == nullptr) return nullptr;
  const PackedShape shape = shape_of(g);
  call.require(is_sound_stream(shape, header, {stream, packed.bytes() - sizeof header}), Error::bad_constant);
  call.require_scratch(scratch_tensor, shape.scratch_bytes);
  auto* plan = call.allocate<Plan>();
  if (plan == nullptr) return nullptr;
  static_cast<PackedPlan&>(*plan) = {&header, input.as<const std::int8_t>(), scratch_tensor.as<std::int8_t>(),
                                     out.as<std::int8_t>()};
  return plan;
}

}  // namespace

Error load_packed(Call& call, bool (*is_computable)(const conv::Geometry&),
                  PackedShape (*shape_of)(const conv::Geometry&)) {
  PackedConv2d<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  auto* const plan = plan_packed<PackedPlan>(call, args, is_computable, shape_of);
  if (plan == nullptr) return call.error();
  call.set_plan(plan);
  return Error::ok;
}

Error load_mve_sum(Call& call) {
  SummedConv2d<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto shape_of = [](const conv::Geometry& geometry) {
    PackedShape shape = packed_shape_of<kMveKxk>(geometry);  // whose stream it has
    shape.scratch_bytes = (CheckedSize(shape.scratch_bytes) + summed_bytes(geometry)).value();
    return shape;
  };
  auto* const plan = plan_packed<SummedPlan>(call, args, is_summable, shape_of);
  if (plan == nullptr) return call.error();
  const conv::Geometry& g = plan->header->geometry;
  call.require(is_activation(args.residual), Error::unsupported);
  call.require(has_sizes(args.residual, g.batch, g.out_channels, g.out_height, g.out_width), Error::bad_shape);
  call.require_apart(args.input, args.out);  // which may be where the residual is
  plan->residual = args.residual.as<const std::int8_t>();
  plan->factors = {args.self_factor, args.other_factor, args.offset, args.shift};
  call.require(is_valid(plan->factors), Error::bad_value);
  call.set_plan(plan);
  return call.error();
}

Error load_mve_1x1(Call& call) { return load<kMve1x1>(call); }
Error load_mve_kxk(Call& call) { return load<kMveKxk>(call); }
Error load_mve_row(Call& call) { return load<kMveRow>(call); }
Error load_dsp(Call& call) { return load<kDsp>(call); }
Error load_dsp_groups(Call& call) { return load<kDspGroups>(call); }
Error load_dsp_wide(Call& call) { return load<kDspWide>(call); }
Error load_scalar(Call& call) { return load<kScalar>(call); }
Error load_v6m(Call& call) { return load<kV6m>(call); }
Error load_halves(Call& call) { return load<kHalves>(call); }
Error load_halves_groups(Call& call) { return load<kHalvesGroups>(call); }
Error load_mve_prelu(Call& call) { return load<kMvePrelu>(call); }
Error load_mve_row_prelu(Call& call) { return load<kMveRowPrelu>(call); }
Error load_dsp_prelu(Call& call) { return load<kDspPrelu>(call); }
Error load_scalar_prelu(Call& call) { return load<kScalarPrelu>(call); }
Error load_v6m_prelu(Call& call) { return load<kV6mPrelu>(call); }
Error load_halves_prelu(Call& call) { return load<kHalvesPrelu>(call); }

Error plan_direct(Call& call, const DirectArguments& a, const Window& window) {
  const auto is_per_channel = [&](const Tensor& t) {
    return t.dtype == DType::i32 && t.rank == 1 && t.size(0) == window.out_channels && t.constant;
  };
  // Rounding is chosen once for the weights.
  call.require(is_activation(a.input) && is_activation(a.out) && a.weight.constant, Error::unsupported);
  // Four paddings are top, left, bottom and right. Padding after the input follows from the sizes of the result.
  call.require(a.stride.count == 2 && (a.padding.count == 2 || a.padding.count == 4) && a.dilation.count == 2,
               Error::bad_value);
  call.require(a.input_offset >= -127 && a.input_offset <= 128, Error::bad_value);
  call.require(a.output_offset >= -128 && a.output_offset <= 127, Error::bad_value);
  call.require(a.activation_min >= -128 && a.activation_min <= a.activation_max && a.activation_max <= 127,
               Error::bad_value);
  call.require(is_per_channel(a.multipliers) && is_per_channel(a.shifts), Error::bad_shape);
  call.require(!a.bias.present() || is_per_channel(a.bias), Error::bad_shape);
  call.require_scratch(a.scratch, 0);
  auto* const plan = call.make_plan<conv::Direct>();
  if (plan == nullptr) return call.error();
  // In place: a copy on the stack would be on top of the whole signature.
  conv::Geometry& g = plan->geometry;
  put(call, g.batch, a.input.size(0));
  put(call, g.in_height, a.input.size(2));
  put(call, g.in_width, a.input.size(3));
  put(call, g.in_channels, a.input.size(1));
  put(call, g.out_height, a.out.size(2));
  put(call, g.out_width, a.out.size(3));
  put(call, g.out_channels, a.out.size(1));
  put(call, g.kernel_height, window.height);
  put(call, g.kernel_width, window.width);
  put(call, g.stride_height, a.stride[0]);
  put(call, g.stride_width, a.stride[1]);
  put(call, g.dilation_height, a.dilation[0]);
  put(call, g.dilation_width, a.dilation[1]);
  put(call, g.pad_top, a.padding[0], 0);
  put(call, g.pad_left, a.padding[1], 0);
  if (call.error() != Error::ok) return call.error();
  call.require(conv::is_sound(g) && a.out.size(0) == a.input.size(0) && a.out.size(1) == window.out_channels,
               Error::bad_shape);
  const std::int32_t groups = window.group_channels > 0 ? g.in_channels / window.group_channels : 0;
  call.require(groups > 0 && groups * window.group_channels == g.in_channels && g.out_channels % groups == 0,
               Error::bad_shape);
  const auto multipliers = call.elements<std::int32_t>(a.multipliers);
  const auto shifts = call.elements<std::int32_t>(a.shifts);
  for (const std::int32_t multiplier : multipliers) call.require(multiplier >= 0, Error::bad_value);
  for (const std::int32_t shift : shifts) call.require(shift >= -31 && shift <= 31, Error::bad_value);
  plan->group_channels = static_cast<std::uint16_t>(window.group_channels);
  plan->input_offset = static_cast<std::int16_t>(a.input_offset);
  plan->output_offset = static_cast<std::int16_t>(a.output_offset);
  plan->activation_min = static_cast<std::int8_t>(a.activation_min);
  plan->activation_max = static_cast<std::int8_t>(a.activation_max);
  plan->input = a.input.as<const std::int8_t>();
  plan->weights = a.weight.as<const std::int8_t>();
  plan->bias = a.bias.present() ? a.bias.as<const std::int32_t>() : nullptr;
  plan->multipliers = multipliers.data();
  plan->shifts = shifts.data();
  plan->out = a.out.as<std::int8_t>();
  return call.error();
}

Error load_direct(Call& call) { return load_direct_as<TensorsAsGiven>(call); }
Error load_direct_nhwc(Call& call) { return load_direct_as<NhwcTensors>(call); }

conv::Rounding rounding_of(const conv::Direct& plan) {
  bool is_simple = true;
  for (std::uint32_t c = 0; c < plan.geometry.out_channels; ++c) is_simple = is_simple && plan.is_simple(c);
  return conv::rounding_for(is_simple, plan.activation_min, plan.output_offset);
}

void share_workspace(Call& call, const Variant& variant, conv::Direct& plan) {
  conv::Geometry g = plan.geometry;
  g.inputs_per_group = g.in_channels;
  if (plan.group_channels != g.in_channels || g.patch() > conv::kLargestRepackedPatch) return;
  // Patches are made again for every pass, so a pass should serve several channels.
  constexpr std::uint32_t kStreamBytes = 8192;
  const Stream stream(variant.layout, g);
  std::uint32_t pass = stream.block();
  while (pass < g.out_channels && (pass + stream.block()) / stream.block() * stream.block_bytes() <= kStreamBytes) {
    pass += stream.block();
  }
  for (; pass != 0; pass = pass > stream.block() ? stream.block() : 0) {
    g.outputs_per_group = g.out_channels = static_cast<std::uint16_t>(pass);
    const std::uint32_t bytes = round_up(static_cast<std::uint32_t>(Stream(variant.layout, g).bytes()), 16);
    const CheckedSize both = CheckedSize(bytes) + scratch_bytes(variant, g);
    plan.workspace = both.fits() ? static_cast<std::uint8_t*>(call.share(both.value())) : nullptr;
    if (plan.workspace == nullptr) continue;
    plan.pass = static_cast<std::uint16_t>(pass);
    plan.rounding = rounding_of(plan);
    return;
  }
}

template <const Variant& V>
Error load_repacked(Call& call) {
  const Error error = load_direct(call);
  auto* const plan = call.made_plan<conv::Direct>();
  if (plan != nullptr) share_workspace(call, V, *plan);
  return error;
}
template <const Variant& V>
Error load_repacked_nhwc(Call& call) {
  const Error error = load_direct_nhwc(call);
  auto* const plan = call.made_plan<conv::Direct>();
  if (plan != nullptr) share_workspace(call, V, *plan);
  return error;
}
template Error load_repacked<kMveKxk>(Call& call);
template Error load_repacked<kDsp>(Call& call);
template Error load_repacked<kScalar>(Call& call);
template Error load_repacked<kV6m>(Call& call);
template Error load_repacked_nhwc<kMveKxk>(Call& call);
template Error load_repacked_nhwc<kDsp>(Call& call);
template Error load_repacked_nhwc<kScalar>(Call& call);
template Error load_repacked_nhwc<kV6m>(Call& call);

}  // namespace cormorant::ops::conv2d
