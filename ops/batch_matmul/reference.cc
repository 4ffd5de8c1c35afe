// SPDX-License-Identifier: Apache-2.0
#include "ops/batch_matmul/reference.h"

#include "base/fixed_point.h"
#include "ops/batch_matmul/float.h"
#include "ops/batch_matmul/words_kernel.h"
#include "ops/host/references.h"

namespace cormorant::ops::batch_matmul {

void reference(const Plan& p) {
  for_batches(p, [&](const std::int8_t* lhs, const std::int8_t* rhs, std::int8_t* out) {
    for (std::uint32_t row = 0; row < p.size.rows; ++row, lhs += p.size.inner) {
      for (std::uint32_t column = 0; column < p.size.columns; ++column) {
        std::int32_t sum = 0;
        const std::int8_t* r = rhs + column * p.column_step();
        for (std::uint32_t k = 0; k < p.size.inner; ++k, r += p.inner_step()) {
          sum += (lhs[k] + p.lhs_offset) * (*r + p.rhs_offset);
        }
        const std::int32_t level = requantize(sum, p.multiplier, p.shift) + p.output_offset;
        *out++ = static_cast<std::int8_t>(clamp(level, -128, 127));
      }
    }
  });
}

namespace {

void execute(const void* plan) { reference(*static_cast<const Plan*>(plan)); }

void execute_words(const void* raw) {
  const auto& p = *static_cast<const WordsPlan*>(raw);
  const std::uint32_t inner = p.size.inner;
  std::int16_t* out = p.out;
  for (std::uint32_t batch = 0; batch < p.batches; ++batch) {
    for (std::uint32_t row = 0; row < p.size.rows; ++row) {
      for (std::uint32_t column = 0; column < p.size.columns; ++column) {
        const std::int16_t* l = p.lhs + ((p.one_lhs ? 0 : batch * p.size.rows) + row) * inner;
        const std::int16_t* r = p.rhs + (batch * p.size.columns + column) * inner;
        std::int64_t sum = 0;
        for (std::uint32_t k = 0; k < inner; ++k) sum += l[k] * r[k];
        *out++ = rescaled_word(sum, p.multiplier, p.shift);
      }
    }
  }
}

}  // namespace

constexpr auto* execute_packed = execute;
constexpr auto* execute_v6m = execute;
CORMORANT_REFERENCES(batch_matmul, CORMORANT_BATCH_MATMUL_KERNELS)

}  // namespace cormorant::ops::batch_matmul
