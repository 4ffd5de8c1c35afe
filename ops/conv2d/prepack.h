// SPDX-License-Identifier: Apache-2.0
//
// cortex_m.quantized_conv2d -> cormorant.conv2d.<variant>. Host only.
#pragma once

#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/convolution.h"
#include "ops/conv2d/nibbles.h"
#include "ops/op.h"

namespace cormorant::ops::conv2d {

ir::Value* prepack(const Rewriter& rewriter);

// The same for a variant of the caller's choice, for tests; null if it cannot compute the node.
ir::Value* prepack_with(const Rewriter& rewriter, const Variant* forced);

// Header and stream for a variant; `inputs` is the number of input channels that an output channel sees. Fills in the
// geometry's groups. None if the variant cannot compute it.
std::optional<std::vector<std::byte>> pack(const Variant& variant, Unpacked& unpacked, std::uint32_t inputs,
                                           const WeightAt& weight, Optimize optimize);

// Whether weights have four bits, as the quantizer made them: with eight bits some are always larger.
bool has_nibbles(std::span<const std::int8_t> weights);
// The packed constant of a variant for bytes, so many records, with its weights two to a byte.
std::vector<std::byte> halved(const nibbles::Record& record, std::uint32_t count, const std::vector<std::byte>& packed);

}  // namespace cormorant::ops::conv2d
