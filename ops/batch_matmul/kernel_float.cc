// SPDX-License-Identifier: Apache-2.0
#include "ops/batch_matmul/batch_matmul.h"
#include "ops/batch_matmul/float.h"
#include "ops/batch_matmul/float_product.h"
#include "ops/load/float_kernel.h"

namespace cormorant::ops::batch_matmul {

Error load_bmm(Call& call) {
  Bmm<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [self, mat2, out] = args;
  const bool ranks = self.rank == 3 && mat2.rank == 3 && out.rank == 3;
  call.require(ranks && is_f32(self) && is_f32(mat2) && is_f32(out), Error::unsupported);
  if (call.error() != Error::ok) return call.error();
  call.require(self.is_contiguous() && mat2.is_contiguous() && out.is_contiguous(), Error::unsupported);
  call.require(self.sizes[0] == out.sizes[0] && mat2.sizes[0] == out.sizes[0] && self.sizes[1] == out.sizes[1] &&
                   self.sizes[2] == mat2.sizes[1] && mat2.sizes[2] == out.sizes[2],
               Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  auto* const plan = call.make_plan<FloatPlan>();
  if (plan == nullptr) return call.error();
  const auto u32 = [](std::int32_t n) { return static_cast<std::uint32_t>(n); };
  *plan = {self.as<const float>(),
           mat2.as<const float>(),
           out.as<float>(),
           u32(out.sizes[0]),
           {u32(self.sizes[1]), u32(self.sizes[2]), u32(mat2.sizes[2])}};
  return Error::ok;
}

namespace {
void execute_bmm(const void* plan) { multiply_all<sum_row>(*static_cast<const FloatPlan*>(plan)); }
}  // namespace

CORMORANT_KERNELS(CORMORANT_BATCH_MATMUL_KERNELS, any_cpu)

}  // namespace cormorant::ops::batch_matmul
