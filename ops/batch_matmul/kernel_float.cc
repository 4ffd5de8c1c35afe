// SPDX-License-Identifier: Apache-2.0
#include "ops/batch_matmul/batch_matmul.h"
#include "ops/batch_matmul/float.h"
#include "ops/float_kernel.h"
#include "ops/float_matmul.h"

namespace cormorant::ops::batch_matmul {
namespace {

struct FloatPlan {
  const float* left;
  const float* right;
  float* output;
  std::uint32_t batches;
  FloatMatrixSize size;
};

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

void execute_bmm(const void* plan) {
  const auto& p = *static_cast<const FloatPlan*>(plan);
  for (std::uint32_t b = 0; b < p.batches; ++b) {
    multiply_matrices(p.left + b * p.size.rows * p.size.inner, p.right + b * p.size.inner * p.size.columns,
                      p.output + b * p.size.rows * p.size.columns, p.size);
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_BATCH_MATMUL_KERNELS, any_cpu)

}  // namespace cormorant::ops::batch_matmul
