// SPDX-License-Identifier: Apache-2.0
//
// Up to three inner dimensions have borders; those outside are merged into one.
#include "ops/load/float_kernel.h"
#include "ops/pad/float.h"
#include "ops/pad/pad.h"

namespace cormorant::ops {
namespace {

struct FloatPadPlan {
  static constexpr std::uint32_t kStateBytes = 52;
  const float* input;
  float* output;
  std::int32_t outer;
  std::int32_t in[kPaddedDims], out[kPaddedDims], before[kPaddedDims];  // outermost first
  float value;
};

Error load_constant_pad(Call& call) {
  ConstantPad<TargetWorld> args;
  if (!call.read_signature(args)) return call.error();
  const auto& [self, pad, value, out] = args;
  call.require(is_f32(self) && is_f32(out) && self.is_contiguous() && out.is_contiguous(), Error::unsupported);
  call.require(pad.count % 2 == 0 && pad.count <= 2 * kPaddedDims && pad.count / 2 <= self.rank, Error::unsupported);
  call.require(self.rank == out.rank, Error::bad_shape);
  if (call.error() != Error::ok) return call.error();
  FloatPadPlan plan{self.as<const float>(), out.as<float>(), 1, {1, 1, 1}, {1, 1, 1}, {}, value.value};
  const std::uint32_t padded = pad.count / 2;
  for (std::uint32_t i = 0; i < self.rank; ++i) {  // the i-th from the end
    const std::size_t dim = self.rank - 1U - i;
    const std::int64_t before = i < padded ? pad.items[2 * i] : 0;
    const std::int64_t after = i < padded ? pad.items[2 * i + 1] : 0;
    call.require(out.sizes[dim] == self.sizes[dim] + before + after, Error::bad_shape);
    if (i < kPaddedDims) {
      const std::size_t at = kPaddedDims - 1U - i;
      plan.in[at] = self.sizes[dim];
      plan.out[at] = out.sizes[dim];
      plan.before[at] = static_cast<std::int32_t>(before);
    } else {
      plan.outer *= self.sizes[dim];
    }
  }
  if (call.error() != Error::ok) return call.error();
  auto* const stored = call.make_plan<FloatPadPlan>();
  if (stored == nullptr) return call.error();
  *stored = plan;
  return Error::ok;
}

// Whether `index` minus the border before it is in the input. Borders may be negative, and of any size.
bool is_inside(std::int32_t index, std::int32_t before, std::int32_t size) {
  return static_cast<std::uint32_t>(index) - static_cast<std::uint32_t>(before) < static_cast<std::uint32_t>(size);
}

void execute_constant_pad(const void* plan) {
  const auto& p = *static_cast<const FloatPadPlan*>(plan);
  const float* image = p.input;
  float* out = p.output;
  for (std::int32_t n = 0; n < p.outer; ++n, image += p.in[0] * p.in[1] * p.in[2]) {
    for (std::int32_t z = 0; z < p.out[0]; ++z) {
      for (std::int32_t y = 0; y < p.out[1]; ++y) {
        const bool inside = is_inside(z, p.before[0], p.in[0]) && is_inside(y, p.before[1], p.in[1]);
        const std::int32_t row = inside ? ((z - p.before[0]) * p.in[1] + y - p.before[1]) * p.in[2] : 0;
        for (std::int32_t x = 0; x < p.out[2]; ++x) {
          *out++ = inside && is_inside(x, p.before[2], p.in[2]) ? image[row + x - p.before[2]] : p.value;
        }
      }
    }
  }
}

}  // namespace

CORMORANT_KERNELS(CORMORANT_PAD_KERNELS, any_cpu)

}  // namespace cormorant::ops
