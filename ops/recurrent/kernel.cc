// SPDX-License-Identifier: Apache-2.0
#include "ops/recurrent/kernel.h"

namespace cormorant::ops::recurrent {
namespace {

// They are apart, or the result takes the memory of what is read once, row by row, before its own rows are written.
void require_apart_or_same(Call& call, const Tensor& result, const Tensor& read) {
  const bool same = result.data == read.data && result.dtype == read.dtype && result.bytes() == read.bytes();
  if (!same) call.require_apart(result, read);
}

bool is_matrix(const Tensor& tensor, std::int32_t rows, std::int32_t columns) {
  return tensor.rank == 2 && tensor.sizes[0] == rows && tensor.sizes[1] == columns && tensor.is_contiguous();
}

// Shapes, types and memory of all activations. Kept out of its caller, which has the arguments on the stack as well.
[[gnu::noinline]] bool activations_fit(Call& call, const Recurrent<TargetWorld>& a, const PackedHeader& header) {
  const bool is_lstm = static_cast<Kind>(header.kind) == Kind::lstm;
  const DType dtype = multiplies_words(static_cast<Layout>(header.layout)) ? DType::i16 : DType::i8;
  call.require(a.input.dtype == dtype && a.states.dtype == dtype && a.last.dtype == DType::i16, Error::bad_value);
  call.require(a.input.rank == 3 && a.states.rank == 3 && a.last.rank == 2, Error::bad_shape);
  if (call.error() != Error::ok) return false;
  const std::int32_t batch = a.input.sizes[1];
  const std::int32_t units = a.states.sizes[2];
  call.require(a.states.sizes[0] == a.input.sizes[0] && a.states.sizes[1] == batch, Error::bad_shape);
  call.require(a.input.is_contiguous() && a.states.is_contiguous() && is_matrix(a.last, batch, units),
               Error::bad_shape);
  if (a.h.present()) {
    call.require(a.h.dtype == (is_lstm ? dtype : DType::i16), Error::bad_value);
    call.require(is_matrix(a.h, batch, units), Error::bad_shape);
  }
  if (a.c.present()) {
    call.require(is_lstm && a.c.dtype == DType::i16, Error::bad_value);
    call.require(is_matrix(a.c, batch, units), Error::bad_shape);
  }
  call.require_apart(a.states, a.input);
  call.require_apart(a.last, a.input);
  for (const OptionalTensor* state : {&a.h, &a.c}) {
    require_apart_or_same(call, a.states, *state);
    require_apart_or_same(call, a.last, *state);
  }
  return call.error() == Error::ok;
}

[[gnu::noinline]] const PackedHeader* checked_header(Call& call, const Recurrent<TargetWorld>& a, Layout layout) {
  call.require(a.packed.dtype == DType::i8, Error::bad_value);
  const auto* const found = call.packed<PackedHeader>(a.packed, 4);
  if (found == nullptr) return nullptr;
  const PackedHeader& header = *found;
  call.require(header.layout == static_cast<std::uint8_t>(layout) && header.kind <= 2, Error::bad_constant);
  call.require(header.inputs - 1U < kMaxFeatures && header.units - 1U < kMaxFeatures, Error::bad_constant);
  call.require(header.left <= 31 && header.h_shift >= 0 && header.h_shift <= 15 && header.h_multiplier >= 0,
               Error::bad_constant);
  call.require(!multiplies_words(layout) || header.left <= 2, Error::bad_constant);
  if (call.error() != Error::ok) return nullptr;
  const Geometry geometry{static_cast<Kind>(header.kind), layout, header.inputs, header.units};
  call.require(a.packed.bytes() == geometry.bytes(), Error::bad_constant);
  call.require_scratch(a.scratch, geometry.scratch_bytes(), 4);
  return call.error() == Error::ok ? found : nullptr;
}

Error load(Call& call, Layout layout) {
  Recurrent<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  const PackedHeader* const found = checked_header(call, a, layout);
  if (found == nullptr) return call.error();
  const PackedHeader& header = *found;
  if (!activations_fit(call, a, header)) return call.error();
  call.require(a.input.sizes[2] == header.inputs && a.states.sizes[2] == header.units, Error::bad_shape);
  auto* const plan = call.make_plan<Plan>();
  if (plan == nullptr) return call.error();
  *plan = {.input = a.input.data,
           .h = a.h.data,
           .c = a.c.as<const std::int16_t>(),
           .packed = a.packed.data,
           .scratch = a.scratch.data,
           .states = a.states.data,
           .last = a.last.as<std::int16_t>(),
           .steps = static_cast<std::uint32_t>(a.input.sizes[0]),
           .batch = static_cast<std::uint32_t>(a.input.sizes[1])};
  return call.error();
}

}  // namespace

Error load_scalar(Call& call) { return load(call, Layout::scalar); }
Error load_dsp_pairs(Call& call) { return load(call, Layout::dsp_pairs); }
Error load_dsp_wide(Call& call) { return load(call, Layout::dsp_wide); }
Error load_mve(Call& call) { return load(call, Layout::mve); }
Error load_scalar_words(Call& call) { return load(call, Layout::scalar_words); }
Error load_dsp_words(Call& call) { return load(call, Layout::dsp_words); }
Error load_mve_words(Call& call) { return load(call, Layout::mve_words); }

}  // namespace cormorant::ops::recurrent
