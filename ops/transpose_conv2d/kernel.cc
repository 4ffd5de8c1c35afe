// SPDX-License-Identifier: Apache-2.0
//
// A packed constant is verified here once, phase by phase: what execute() reads and writes follows from the headers.
#include "ops/transpose_conv2d/kernel.h"

#include "ops/conv2d/nibbles_kernel.h"
#include "ops/load/explicit_layout.h"

namespace cormorant::ops::transpose_conv2d {
namespace {

bool fits(const Header& header, const Phase& phase, const conv::Geometry& g, const Tensor& input, const Tensor& out) {
  return input.size(0) == g.batch && input.size(1) == g.in_channels && input.size(2) == g.in_height &&
         input.size(3) == g.in_width && out.size(0) == g.batch && out.size(1) == g.out_channels &&
         phase.y + (g.out_height - 1U) * header.stride_height < header.out_height &&
         phase.x + (g.out_width - 1U) * header.stride_width < header.out_width;
}

conv2d::PackedShape shape_of_phase(const Variant& variant, const conv::Geometry& g) {
  if (variant.nibbles_phase != nullptr) return conv2d::nibbles::packed_shape(*variant.nibbles_phase, g);
  if (variant.phase != nullptr) return conv2d::packed_shape(*variant.phase, g);
  return depthwise::packed_shape(*variant.depthwise_phase, g);
}

// The largest scratch of all phases, which are what follows the header; none if one of them is unsound.
bool check_phases(const Variant& variant, const Header& header, std::span<const std::uint8_t> phases,
                  const Tensor& input, const Tensor& out, std::uint32_t& scratch) {
  constexpr std::uint32_t kHeaders = sizeof(Phase) + sizeof(conv::Header);
  scratch = 0;
  for (std::uint32_t i = 0; i < header.phases; ++i) {
    if (phases.size() < kHeaders) return false;
    const auto& phase = *reinterpret_cast<const Phase*>(phases.data());
    if (phase.bytes > phases.size() - sizeof phase || phase.bytes < sizeof(conv::Header) || phase.bytes % 16 != 0)
      return false;
    const auto& convolution = *reinterpret_cast<const conv::Header*>(&phase + 1);
    const conv::Geometry& g = convolution.geometry;
    if (!is_computable(variant, g) || !fits(header, phase, g, input, out)) return false;
    const conv2d::PackedShape shape = shape_of_phase(variant, g);
    const auto space = static_cast<std::uint32_t>(phase.bytes - sizeof convolution);
    if (convolution.stream_bytes > space || space - convolution.stream_bytes >= 16) return false;
    const auto stream = phases.subspan(kHeaders, convolution.stream_bytes);
    if (!conv2d::is_sound_stream(shape, convolution, stream)) return false;
    if (shape.scratch_bytes > scratch) scratch = shape.scratch_bytes;
    phases = phases.subspan(sizeof phase + phase.bytes);
  }
  return phases.empty();
}

template <const Variant& V>
Error load(Call& call) {
  conv2d::PackedConv2d<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [input, packed, scratch, out] = args;
  call.require(conv2d::is_activation(input) && conv2d::is_activation(out), Error::unsupported);
  call.require_apart(input, out);  // the signature shared with conv2d would permit overlap
  const auto* const found = call.packed<Header>(packed, 16);
  if (found == nullptr) return call.error();
  const Header& header = *found;
  call.require(out.size(2) == header.out_height && out.size(3) == header.out_width, Error::bad_shape);
  call.require(header.phases != 0 && header.stride_height != 0 && header.stride_width != 0, Error::bad_constant);
  const auto bytes = call.elements<std::uint8_t>(packed);
  if (bytes.empty()) return call.error();
  std::uint32_t scratch_bytes = 0;
  call.require(check_phases(V, header, bytes.subspan(sizeof header), input, out, scratch_bytes), Error::bad_constant);
  call.require_scratch(scratch, scratch_bytes);
  auto* plan = call.make_plan<PackedPlan>();
  if (plan == nullptr) return call.error();
  *plan = {&header, input.as<const std::int8_t>(), scratch.as<std::int8_t>(), out.as<std::int8_t>(), out.bytes()};
  return Error::ok;
}

// The plan is conv2d's direct one, whose load checks everything that both have in common. Their geometries differ only
// in what stride and padding mean. Kept out of line: the caller's frame is beneath everything that reads the arguments.
template <class Tensors>
[[gnu::noinline]] Error plan_direct_as(Call& call, QuantizedTransposeConv2d<TargetWorld>& args) {
  const Tensors tensors(call, args.input, args.out);
  if (!tensors.fit()) return call.error();
  const Tensor& weight = args.weight;
  call.require(weight.dtype == DType::i8 && weight.rank == 4 && weight.is_contiguous(), Error::unsupported);
  call.require(args.padding.count == 2, Error::bad_value);
  call.require_scratch(args.output_scratch, 0);
  if (call.error() != Error::ok) return call.error();
  return conv2d::plan_direct(call,
                             {args.input, weight, args.bias, args.stride, args.padding, args.dilation,
                              args.input_offset, args.output_offset, args.requantize_multipliers,
                              args.requantize_shifts, args.activation_min, args.activation_max, args.scratch, args.out},
                             {weight.size(1), weight.size(2), weight.size(3), weight.size(0)});
}

template <class Tensors>
Error load_direct_as(Call& call) {
  QuantizedTransposeConv2d<TargetWorld> args;
  return call.read_signature(args) ? plan_direct_as<Tensors>(call, args) : call.error();
}

}  // namespace

Error load_mve(Call& call) { return load<kMve>(call); }
Error load_dsp(Call& call) { return load<kDsp>(call); }
Error load_scalar(Call& call) { return load<kScalar>(call); }
Error load_v6m(Call& call) { return load<kV6m>(call); }
Error load_dsp_depthwise(Call& call) { return load<kDspDepthwise>(call); }
Error load_scalar_depthwise(Call& call) { return load<kScalarDepthwise>(call); }
Error load_mve_nibbles(Call& call) { return load<kMveNibbles>(call); }
Error load_dsp_nibbles(Call& call) { return load<kDspNibbles>(call); }
Error load_scalar_nibbles(Call& call) { return load<kScalarNibbles>(call); }

Error load_direct(Call& call) { return load_direct_as<TensorsAsGiven>(call); }
Error load_direct_nhwc(Call& call) { return load_direct_as<NhwcTensors>(call); }

}  // namespace cormorant::ops::transpose_conv2d
