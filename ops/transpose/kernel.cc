// SPDX-License-Identifier: Apache-2.0
#include "ops/transpose/kernel.h"

#include "ops/load/move_plan.h"

namespace cormorant::ops {
namespace {

Error plan_permutation(Call& call, const Tensor& input, const IntList& perm, const Tensor& out) {
  call.require(input.dtype == out.dtype && size_of(input.dtype) != 0, Error::bad_value);
  call.require(input.rank == out.rank && perm.count == input.rank, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  const MoveSteps from = steps_of(input);
  MoveSteps steps;
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < out.rank; ++i) {
    const std::int32_t dim = perm[i];
    if (dim < 0 || dim >= input.rank || out.sizes[i] != input.sizes[dim]) {
      call.fail(Error::bad_shape);
      return call.error();
    }
    seen |= std::uint32_t{1} << dim;
    steps.bytes[i] = from.bytes[dim];
  }
  call.require(seen == (std::uint32_t{1} << out.rank) - 1, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  return plan_move(call, input, out, steps, 0);
}

}  // namespace

Error load_transpose(Call& call) {
  Transpose<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  return plan_permutation(call, args.input, args.perm, args.out);
}

Error load_permute_copy(Call& call) {
  PermuteCopy<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  for (std::int32_t& dim : args.dims.items) dim = wrap_dim(dim, args.self.rank);
  return plan_permutation(call, args.self, args.dims, args.out);
}

}  // namespace cormorant::ops
