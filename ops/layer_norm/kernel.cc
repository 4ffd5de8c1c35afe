// SPDX-License-Identifier: Apache-2.0
#include "ops/layer_norm/kernel.h"

namespace cormorant::ops::layer_norm {
namespace {

template <class Element>
Error load_as(Call& call, DType dtype) {
  LayerNorm<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [input, packed, out] = args;
  call.require(input.dtype == dtype && out.dtype == dtype, Error::bad_value);
  call.require(input.is_contiguous() && out.is_contiguous() && input.elements() == out.elements(), Error::bad_shape);
  call.require(packed.dtype == DType::i8, Error::bad_value);
  const auto* const found = call.packed<Header>(packed, 8);
  if (found == nullptr) return call.error();
  const Header& h = *found;
  call.require(h.groups - 1 < kMaxParameters && h.channels - 1 < kMaxSize && h.inner - 1 < kMaxSize,
               Error::bad_constant);
  if (call.error() != Error::ok) return call.error();
  call.require(h.size() <= kMaxSize && std::uint64_t{h.groups} * h.channels <= kMaxParameters, Error::bad_constant);
  if (call.error() != Error::ok) return call.error();
  call.require(packed.bytes() == packed_bytes(h.groups * h.channels), Error::bad_constant);
  call.require(h.shift <= 31 && h.fraction <= largest_fraction(h.size()) && h.subtracts_mean <= 1, Error::bad_constant);
  // Activations of 16 bits have no zero point.
  call.require(sizeof(Element) == 1 ? h.zero_point >= -128 && h.zero_point <= 127 : h.zero_point == 0,
               Error::bad_constant);
  call.require(h.epsilon < (std::uint64_t{1} << 62), Error::bad_constant);
  const auto elements = static_cast<std::uint32_t>(input.elements());
  const std::uint64_t block = std::uint64_t{h.groups} * h.size();
  call.require(elements != 0 && block <= elements, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const std::uint32_t outer = elements / static_cast<std::uint32_t>(block);
  call.require(outer * block == elements, Error::bad_shape);

  auto* plan = call.make_plan<PlanOf<Element>>();
  if (plan == nullptr || call.error() != Error::ok) return call.error();
  *plan = {.input = input.as<const Element>(), .packed = packed.data, .out = out.as<Element>(), .outer = outer};
  return Error::ok;
}

}  // namespace

Error load(Call& call) { return load_as<std::int8_t>(call, DType::i8); }
Error load_words(Call& call) { return load_as<std::int16_t>(call, DType::i16); }

}  // namespace cormorant::ops::layer_norm
