// SPDX-License-Identifier: Apache-2.0
#include "ops/depthwise_conv2d/kernel.h"

#include <iterator>

#include "ops/depthwise_conv2d/nibbles_kernel.h"
#include "ops/load/explicit_layout.h"

namespace cormorant::ops::depthwise {
namespace {

template <const Variant& V>
bool is_computable_by(const conv::Geometry& geometry) {
  return is_computable(V, geometry);
}
template <const Variant& V>
conv2d::PackedShape packed_shape_of(const conv::Geometry& geometry) {
  return packed_shape(V, geometry);
}
template <const Variant& V>
Error load(Call& call) {
  return conv2d::load_packed(call, is_computable_by<V>, packed_shape_of<V>);
}

template <const nibbles::Variant& V>
bool has_computable_nibbles(const conv::Geometry& geometry) {
  return is_computable(V.bytes, geometry);
}
template <const nibbles::Variant& V>
conv2d::PackedShape nibbles_shape_of(const conv::Geometry& geometry) {
  const nibbles::Stream stream(V, geometry);
  return {stream.total(),        nibbles::scratch_bytes(V, geometry).value(),
          stream.bytes.blocks(), stream.record().bytes(),
          stream.bytes.block(),  stream.shifts_at(),
          stream.bytes.marks()};
}

// Kept out of line: the caller's frame is beneath everything that reads the arguments.
template <class Tensors>
[[gnu::noinline]] Error plan_direct_as(Call& call, QuantizedDepthwiseConv2d<TargetWorld>& args) {
  const Tensors tensors(call, args.input, args.out);
  if (!tensors.fit()) return call.error();
  const Tensor& weight = args.weight;
  call.require(weight.dtype == DType::i8 && weight.rank == 4 && weight.is_contiguous(), Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  call.require(weight.size(0) == 1 && args.input.rank == 4, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const std::int64_t outputs = std::int64_t{args.input.size(1)} * args.depth_multiplier;
  call.require(outputs == weight.size(3), Error::bad_shape);
  return conv2d::plan_direct(call,
                             {args.input, weight, args.bias, args.stride, args.padding, args.dilation,
                              args.input_offset, args.output_offset, args.requantize_multipliers,
                              args.requantize_shifts, args.activation_min, args.activation_max, args.scratch, args.out},
                             {weight.size(1), weight.size(2), 1, weight.size(3)});
}

template <class Tensors>
Error load_direct_as(Call& call) {
  QuantizedDepthwiseConv2d<TargetWorld> args;
  return call.read_signature(args) ? plan_direct_as<Tensors>(call, args) : call.error();
}

// Two products of weights of −128 may not fit 16 bits.
bool has_lowest_weights(const conv::Direct& plan) {
  const std::uint32_t channels = plan.geometry.out_channels;
  for (std::uint32_t c = 0; c < channels; ++c) {
    const std::int8_t* weight = plan.weights + c;
    bool found = false;
    for (std::uint32_t tap = plan.geometry.taps(); tap > 0; --tap, weight += channels) {
      if (*weight != -128) continue;
      if (found) return true;
      found = true;
    }
  }
  return false;
}

// Room for all constants and the packed kernel's scratch; none if there is too little. With one channel it is an
// ordinary convolution. Kept out of its callers, whose frames are beneath everything that reads the arguments.
[[gnu::noinline]] void share_workspace(Call& call, Isa isa, const conv2d::Variant& of_one_channel) {
  auto* const made = call.made_plan<conv::Direct>();
  if (made == nullptr) return;
  Target target;
  target.isa = isa;
  conv::Direct& plan = *made;
  conv::Geometry& g = plan.geometry;
  g.groups = 1;
  g.inputs_per_group = 1;
  if (g.in_channels == 1) return conv2d::share_workspace(call, of_one_channel, plan);
  if (g.out_channels != g.in_channels) return;
  g.outputs_per_group = 1;
  const bool lowest = target.isa == Isa::mve && has_lowest_weights(plan);
  const Variant& variant = choose_variant(target, g, lowest, conv::Rounding::right);
  const auto stream = static_cast<std::uint32_t>(Stream(variant, g).bytes());
  const CheckedSize both = CheckedSize(whole_vectors(stream)) + scratch_bytes(variant, g);
  if (!both.fits()) return;
  plan.workspace = static_cast<std::uint8_t*>(call.share(both.value()));
  plan.rounding = conv2d::rounding_of(plan);
  for (std::uint8_t i = 0; i < std::size(kVariants); ++i) {
    if (kVariants[i] == &variant) plan.variant = static_cast<std::uint8_t>(lowest ? i | conv::kLowestWeights : i);
  }
}

template <Isa kIsa, const conv2d::Variant& kOfOneChannel, Error (*kLoad)(Call&)>
Error load_repacked(Call& call) {
  const Error error = kLoad(call);
  share_workspace(call, kIsa, kOfOneChannel);
  return error;
}

}  // namespace

conv2d::PackedShape packed_shape(const Variant& variant, const conv::Geometry& geometry) {
  const Stream stream(variant, geometry);
  return {stream.bytes(),  scratch_bytes(variant, geometry).value(),
          stream.blocks(), stream.block_bytes(),
          stream.block(),  stream.shifts_at(),
          stream.marks()};
}

Error load_mve_3x3(Call& call) { return load<kMve3x3>(call); }
Error load_mve_3x3_narrow(Call& call) { return load<kMve3x3Narrow>(call); }
Error load_mve_kxk(Call& call) { return load<kMveKxk>(call); }
Error load_dsp(Call& call) { return load<kDsp>(call); }
Error load_dsp_wide(Call& call) { return load<kDspWide>(call); }
Error load_dsp_small(Call& call) { return load<kDspSmall>(call); }
Error load_scalar(Call& call) { return load<kScalar>(call); }
Error load_mve_prelu(Call& call) { return load<kMvePrelu>(call); }
Error load_dsp_prelu(Call& call) { return load<kDspPrelu>(call); }
Error load_scalar_prelu(Call& call) { return load<kScalarPrelu>(call); }

template <const nibbles::Variant& V>
Error load_nibbles(Call& call) {
  return conv2d::load_packed(call, has_computable_nibbles<V>, nibbles_shape_of<V>);
}
template Error load_nibbles<nibbles::kMve3x3>(Call& call);
template Error load_nibbles<nibbles::kMve3x3Narrow>(Call& call);
template Error load_nibbles<nibbles::kMveKxk>(Call& call);
template Error load_nibbles<nibbles::kDsp>(Call& call);
template Error load_nibbles<nibbles::kScalar>(Call& call);

Error load_direct(Call& call) { return load_direct_as<TensorsAsGiven>(call); }
Error load_direct_nhwc(Call& call) { return load_direct_as<NhwcTensors>(call); }
Error load_repacked_mve(Call& call) { return load_repacked<Isa::mve, conv2d::kMveKxk, load_direct>(call); }
Error load_repacked_mve_nhwc(Call& call) { return load_repacked<Isa::mve, conv2d::kMveKxk, load_direct_nhwc>(call); }
Error load_repacked_dsp(Call& call) { return load_repacked<Isa::dsp, conv2d::kDsp, load_direct>(call); }
Error load_repacked_dsp_nhwc(Call& call) { return load_repacked<Isa::dsp, conv2d::kDsp, load_direct_nhwc>(call); }
Error load_repacked_scalar(Call& call) { return load_repacked<Isa::scalar, conv2d::kScalar, load_direct>(call); }
Error load_repacked_scalar_nhwc(Call& call) {
  return load_repacked<Isa::scalar, conv2d::kScalar, load_direct_nhwc>(call);
}
Error load_repacked_v6m(Call& call) { return load_repacked<Isa::scalar, conv2d::kV6m, load_direct>(call); }
Error load_repacked_v6m_nhwc(Call& call) { return load_repacked<Isa::scalar, conv2d::kV6m, load_direct_nhwc>(call); }

}  // namespace cormorant::ops::depthwise
