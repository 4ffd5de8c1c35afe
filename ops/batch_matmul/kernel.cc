// SPDX-License-Identifier: Apache-2.0
#include "ops/batch_matmul/kernel.h"

namespace cormorant::ops::batch_matmul {
namespace {

bool is_int8(std::int32_t value) { return value >= -128 && value <= 127; }
bool is_offset(std::int32_t value) { return value >= -127 && value <= 128; }  // of an int8 zero point

// The numbers, whichever form they come in.
struct Numbers {
  std::int32_t lhs_offset, rhs_offset, output_offset, multiplier, shift;
  bool rhs_is_transposed;
};

// Checks tensors and numbers; a plan without scratch, null after any failure.
Plan* make_plan(Call& call, const Tensor& lhs, const Tensor& rhs, const Tensor& out, const Numbers& n) {
  for (const Tensor* tensor : {&lhs, &rhs, &out}) {
    call.require(tensor->dtype == DType::i8, Error::bad_value);
    call.require(tensor->rank == 3 && tensor->is_contiguous(), Error::bad_shape);
  }
  call.require(is_offset(n.lhs_offset) && is_offset(n.rhs_offset) && is_int8(n.output_offset), Error::bad_value);
  call.require(n.multiplier >= 0 && n.shift >= -31 && n.shift <= 31, Error::bad_value);
  if (call.error() != Error::ok) return nullptr;

  const std::int32_t inner = rhs.size(n.rhs_is_transposed ? 2 : 1);
  const std::int32_t columns = rhs.size(n.rhs_is_transposed ? 1 : 2);
  const Size size{static_cast<std::uint32_t>(lhs.size(1)), static_cast<std::uint32_t>(inner),
                  static_cast<std::uint32_t>(columns)};
  call.require(lhs.size(2) == inner && out.size(1) == lhs.size(1) && out.size(2) == columns, Error::bad_shape);
  call.require(out.size(0) == rhs.size(0) && (lhs.size(0) == rhs.size(0) || lhs.size(0) == 1), Error::bad_shape);
  call.require(is_computable(size) && out.size(0) >= 1, Error::unsupported);
  if (call.error() != Error::ok) return nullptr;

  auto* plan = call.make_plan<Plan>();
  if (plan == nullptr) return nullptr;
  *plan = {.lhs = lhs.as<const std::int8_t>(),
           .rhs = rhs.as<const std::int8_t>(),
           .out = out.as<std::int8_t>(),
           .scratch = nullptr,
           .size = size,
           .batches = static_cast<std::uint32_t>(out.size(0)),
           .multiplier = n.multiplier,
           .lhs_offset = static_cast<std::int16_t>(n.lhs_offset),
           .rhs_offset = static_cast<std::int16_t>(n.rhs_offset),
           .output_offset = static_cast<std::int16_t>(n.output_offset),
           .shift = static_cast<std::int8_t>(n.shift),
           .rhs_is_transposed = n.rhs_is_transposed,
           .one_lhs = lhs.size(0) != out.size(0),
           .simple_requantize = n.shift <= -1 && n.shift >= -conv::kMaxShift};
  return plan;
}

Error load_packed(Call& call, const Variant& variant) {
  PackedBatchMatmul<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  Plan* plan = make_plan(call, a.lhs, a.rhs, a.out,
                         {a.lhs_offset, a.rhs_offset, a.output_offset, a.multiplier, a.shift, a.rhs_is_transposed});
  if (plan == nullptr) return call.error();
  call.require_scratch(a.scratch, scratch_bytes(variant, plan->size));
  plan->scratch = a.scratch.data;
  return call.error();
}

}  // namespace

Error load_mve(Call& call) { return load_packed(call, kMve); }
Error load_dsp(Call& call) { return load_packed(call, kDsp); }
Error load_scalar(Call& call) { return load_packed(call, kScalar); }
Error load_v6m(Call& call) { return load_packed(call, kV6m); }

// No scratch is used, whatever the program has planned for another kernel.
Error load(Call& call) {
  QuantizedBatchMatmul<TargetWorld> a;
  if (!call.read_signature(a)) return call.error();
  make_plan(call, a.lhs, a.rhs_transposed, a.out,
            {a.lhs_zero_point, a.rhs_zero_point, a.output_zero_point, a.output_multiplier, a.output_shift, true});
  return call.error();
}

}  // namespace cormorant::ops::batch_matmul
