// SPDX-License-Identifier: Apache-2.0
#include "ops/pad/float.h"

#include "ops/host/movement.h"
#include "ops/op.h"
#include "ops/pad/pad.h"

namespace cormorant::ops {
namespace {

// At most three dimensions at a time: of more, the outermost ones follow with the inner ones seen as one.
ir::Value* lower_float(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const Mover mover(rewriter);
  std::vector<std::int64_t> pad = node.integers("pad");
  ir::Value* value = node.tensor("self");
  ir::Shape shape = value->type.shape;
  const auto emit = [&](ir::Value* self, std::vector<std::int64_t> list, const ir::Shape& result) {
    return rewriter
        .emit(ConstantPad<HostWorld>{.self = self, .pad = std::move(list), .value = {node.number("value")}},
              ir::float_type(result), names::aten_constant_pad_nd_out)
        ->result();
  };
  const std::size_t inner = std::min<std::size_t>(pad.size() / 2, kPaddedDims);
  for (std::size_t i = 0; i < inner; ++i) shape[shape.size() - 1 - i] += pad[2 * i] + pad[2 * i + 1];
  value = emit(value, {pad.begin(), pad.begin() + static_cast<std::ptrdiff_t>(2 * inner)}, shape);
  if (pad.size() / 2 <= kPaddedDims) return value;
  const std::size_t rest = pad.size() / 2 - kPaddedDims;  // at most three again: tensors have six dimensions
  ir::Shape merged(shape.begin(), shape.end() - kPaddedDims);
  std::int64_t block = 1;
  for (std::size_t i = 0; i < kPaddedDims; ++i) block *= shape[shape.size() - 1 - i];
  merged.push_back(block);
  std::vector<std::int64_t> outer = {0, 0};
  ir::Shape result = merged;
  for (std::size_t i = 0; i < rest; ++i) {
    const std::int64_t before = pad[2 * (kPaddedDims + i)], after = pad[2 * (kPaddedDims + i) + 1];
    outer.insert(outer.end(), {before, after});
    result[result.size() - 2 - i] += before + after;
  }
  value = emit(mover.view(value, merged), std::move(outer), result);
  return mover.view(value, node.result()->type.shape);
}

}  // namespace

Lower pad_float() { return lower_float; }

}  // namespace cormorant::ops
