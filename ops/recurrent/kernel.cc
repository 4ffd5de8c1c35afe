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

// With 16-bit activations `left` is subtracted from the 2 of kPartShift.
constexpr std::uint32_t most_left(Layout layout) { return multiplies_words(layout) ? 2 : 31; }

[[gnu::noinline]] const PackedHeader* checked_header(Call& call, const Recurrent<TargetWorld>& a, Layout layout) {
  call.require(a.packed.dtype == DType::i8, Error::bad_value);
  const auto* const found = call.packed<PackedHeader>(a.packed, 4);
  if (found == nullptr) return nullptr;
  const PackedHeader& header = *found;
  call.require(header.layout == static_cast<std::uint8_t>(layout) && header.kind <= 2, Error::bad_constant);
  call.require(header.inputs - 1U < kMaxFeatures && header.units - 1U < kMaxFeatures, Error::bad_constant);
  call.require(
      header.left <= most_left(layout) && header.h_shift >= 0 && header.h_shift <= 15 && header.h_multiplier >= 0,
      Error::bad_constant);
  if (call.error() != Error::ok) return nullptr;
  const Geometry geometry{static_cast<Kind>(header.kind), layout, header.inputs, header.units};
  call.require(a.packed.bytes() == geometry.bytes(), Error::bad_constant);
  call.require_scratch(a.scratch, geometry.scratch_bytes(), 4);
  return call.error() == Error::ok ? found : nullptr;
}

Plan plan_of(const Recurrent<TargetWorld>& a) {
  return {.input = a.input.data,
          .h = a.h.data,
          .c = a.c.as<const std::int16_t>(),
          .packed = a.packed.data,
          .scratch = a.scratch.data,
          .states = a.states.data,
          .last = a.last.as<std::int16_t>(),
          .steps = static_cast<std::uint32_t>(a.input.sizes[0]),
          .batch = static_cast<std::uint32_t>(a.input.sizes[1])};
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
  *plan = plan_of(a);
  return call.error();
}

// What h of the states' own integers is like: [batch, outputs].
void check_own_h(Call& call, const Tensor& states, const OptionalTensor& h) {
  if (!h.present()) return;
  call.require(h.dtype == states.dtype, Error::bad_value);
  call.require(is_matrix(h, states.sizes[1], states.sizes[2]), Error::bad_shape);
}

// Shapes, types and memory of the sequences.
bool sequences_fit(Call& call, const Tensor& input, const Tensor& states, Layout layout) {
  const DType dtype = multiplies_words(layout) ? DType::i16 : DType::i8;
  call.require(input.dtype == dtype && states.dtype == dtype, Error::bad_value);
  call.require(input.rank == 3 && states.rank == 3, Error::bad_shape);
  if (call.error() != Error::ok) return false;
  call.require(states.sizes[0] == input.sizes[0] && states.sizes[1] == input.sizes[1], Error::bad_shape);
  call.require(input.is_contiguous() && states.is_contiguous(), Error::bad_shape);
  call.require_apart(states, input);
  return call.error() == Error::ok;
}

bool is_size(const PackedHeader& header, Layout layout) {
  return header.inputs - 1U < kMaxFeatures && header.units - 1U < kMaxFeatures && header.left <= most_left(layout);
}

Error load_relu_for(Call& call, Layout layout) {
  ReluRecurrent<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  call.require(a.packed.dtype == DType::i8, Error::bad_value);
  const auto* const header = call.packed<PackedHeader>(a.packed, 4);
  if (header == nullptr) return call.error();
  const bool is_ours =
      static_cast<Kind>(header->kind) == Kind::rnn_relu && header->layout == static_cast<std::uint8_t>(layout);
  call.require(is_ours && is_size(*header, layout), Error::bad_constant);
  if (call.error() != Error::ok || !sequences_fit(call, a.input, a.states, layout)) return call.error();
  const Geometry relu{Kind::rnn_relu, layout, header->inputs, header->units};
  call.require(a.packed.bytes() == relu.bytes(), Error::bad_constant);
  call.require_scratch(a.scratch, relu.scratch_bytes(), 4);
  call.require(a.input.sizes[2] == header->inputs && a.states.sizes[2] == header->units, Error::bad_shape);
  check_own_h(call, a.states, a.h);
  require_apart_or_same(call, a.states, a.h);
  auto* const plan = call.make_plan<Plan>();
  if (plan == nullptr) return call.error();
  *plan = {.input = a.input.data,
           .h = a.h.data,
           .c = nullptr,
           .packed = a.packed.data,
           .scratch = a.scratch.data,
           .states = a.states.data,
           .last = nullptr,
           .steps = static_cast<std::uint32_t>(a.input.sizes[0]),
           .batch = static_cast<std::uint32_t>(a.input.sizes[1])};
  return call.error();
}

[[gnu::noinline]] bool projected_states_fit(Call& call, const Recurrent<TargetWorld>& a, std::uint32_t units) {
  const std::int32_t batch = a.input.sizes[1];
  const auto is_cell = [&](const Tensor& c) {
    return c.dtype == DType::i16 && is_matrix(c, batch, static_cast<std::int32_t>(units));
  };
  call.require(is_cell(a.last) && (!a.c.present() || is_cell(a.c)), Error::bad_shape);
  check_own_h(call, a.states, a.h);
  call.require_apart(a.last, a.input);
  require_apart_or_same(call, a.states, a.h);
  require_apart_or_same(call, a.last, a.c);
  // The rows of h and c are not at the same places.
  call.require_apart(a.states, a.c);
  call.require_apart(a.last, a.h);
  return call.error() == Error::ok;
}

Error load_projected_for(Call& call, Layout layout) {
  Recurrent<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  call.require(a.packed.dtype == DType::i8, Error::bad_value);
  const auto* const header = call.packed<ProjectedHeader>(a.packed, 4);
  if (header == nullptr) return call.error();
  const PackedHeader& layer = header->layer;
  const bool is_ours = static_cast<Kind>(layer.kind) == Kind::lstm && layer.layout == static_cast<std::uint8_t>(layout);
  call.require(is_ours && is_size(layer, layout) && header->outputs - 1U < layer.units, Error::bad_constant);
  if (call.error() != Error::ok || !sequences_fit(call, a.input, a.states, layout)) return call.error();
  const Geometry geometry{Kind::lstm, layout, layer.inputs, layer.units, header->outputs};
  call.require(a.packed.bytes() == geometry.projected_bytes(), Error::bad_constant);
  call.require_scratch(a.scratch, geometry.scratch_bytes(), 4);
  call.require(a.input.sizes[2] == layer.inputs && a.states.sizes[2] == header->outputs, Error::bad_shape);
  if (!projected_states_fit(call, a, layer.units)) return call.error();
  auto* const plan = call.make_plan<Plan>();
  if (plan == nullptr) return call.error();
  *plan = plan_of(a);
  return call.error();
}

}  // namespace

template <Layout layout>
Error load_relu(Call& call) {
  return load_relu_for(call, layout);
}
template <Layout layout>
Error load_projected(Call& call) {
  return load_projected_for(call, layout);
}
#define CORMORANT_LOADS(layout)                    \
  template Error load_relu<Layout::layout>(Call&); \
  template Error load_projected<Layout::layout>(Call&);
CORMORANT_LOADS(scalar)
CORMORANT_LOADS(dsp_pairs)
CORMORANT_LOADS(dsp_wide)
CORMORANT_LOADS(mve)
CORMORANT_LOADS(scalar_words)
CORMORANT_LOADS(dsp_words)
CORMORANT_LOADS(mve_words)
#undef CORMORANT_LOADS

Error load_scalar(Call& call) { return load(call, Layout::scalar); }
Error load_dsp_pairs(Call& call) { return load(call, Layout::dsp_pairs); }
Error load_dsp_wide(Call& call) { return load(call, Layout::dsp_wide); }
Error load_mve(Call& call) { return load(call, Layout::mve); }
Error load_scalar_words(Call& call) { return load(call, Layout::scalar_words); }
Error load_dsp_words(Call& call) { return load(call, Layout::dsp_words); }
Error load_mve_words(Call& call) { return load(call, Layout::mve_words); }

}  // namespace cormorant::ops::recurrent
