// SPDX-License-Identifier: Apache-2.0
//
// aten.pad(self, pad, value): constant padding of up to four dimensions. `pad` is PyTorch's list: last dimension first,
// before and after.
#include <algorithm>

#include "base/checked64.h"
#include "base/diagnostic.h"
#include "ops/host/multiplier.h"
#include "ops/host/words.h"
#include "ops/op.h"
#include "ops/pad/pad.h"
#include "ops/pad/reference.h"

namespace cormorant::ops {
namespace {

// Borders per dimension, in the tensor's order.
struct Borders {
  std::vector<std::int64_t> before, after;
};

Borders borders_of(const ir::Node& node) {
  const std::size_t rank = node.tensor("self")->type.rank();
  const std::vector<std::int64_t>& pad = node.integers("pad");
  if (pad.size() % 2 != 0 || pad.size() / 2 > rank) {
    throw InputError({.problem = "a padding list of " + std::to_string(pad.size()) +
                                 " entries does not fit a tensor of " + std::to_string(rank) + " dimensions",
                      .advice = "give two entries per padded dimension, last dimension first",
                      .node = node.name,
                      .source = node.location.text()});
  }
  Borders borders{std::vector<std::int64_t>(rank, 0), std::vector<std::int64_t>(rank, 0)};
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    borders.before[rank - 1 - i] = pad[2 * i];
    borders.after[rank - 1 - i] = pad[2 * i + 1];
  }
  return borders;
}

std::vector<ir::TensorType> infer(const ir::Node& node) {
  const Borders borders = borders_of(node);
  ir::TensorType type = node.tensor("self")->type;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    const Checked64 size = Checked64(type.shape[i]) + borders.before[i] + borders.after[i];
    type.shape[i] = size.get().value_or(-1);
    if (type.shape[i] < 0) {
      throw InputError({.problem = "negative padding leaves nothing of dimension " + std::to_string(i),
                        .advice = {},
                        .node = node.name,
                        .source = node.location.text()});
    }
  }
  return {std::move(type)};
}

// A row of the last dimension at a time: calibration of an image network would spend a tenth of its time on single
// elements. Negative borders crop.
std::vector<evaluate::Tensor> evaluate_pad(const ir::Node& node, const evaluate::Frame& frame) {
  const evaluate::Tensor& input = frame.get(node.tensor("self"));
  const Borders borders = borders_of(node);
  const ir::Shape shape = infer(node).front().shape;
  if (shape.empty()) return {input};
  std::int64_t elements = 1;
  for (const std::int64_t size : shape) elements *= size;
  std::vector<float> out(static_cast<std::size_t>(elements), static_cast<float>(node.number("value")));
  const std::size_t last = shape.size() - 1;
  const std::int64_t to = std::max<std::int64_t>(borders.before[last], 0), from = to - borders.before[last];
  const std::int64_t length = std::min(shape[last] - to, input.shape[last] - from);
  if (elements == 0 || length <= 0) return {evaluate::Tensor(shape, std::move(out))};
  const std::span<const float> values = input.values();
  ir::Shape at(last, 0);
  for (std::int64_t row = 0; row < elements; row += shape[last]) {
    bool inside = true;
    std::int64_t index = 0;
    for (std::size_t i = 0; i < last; ++i) {
      const std::int64_t source = at[i] - borders.before[i];
      inside = inside && source >= 0 && source < input.shape[i];
      index = index * input.shape[i] + source;
    }
    if (inside) std::copy_n(values.begin() + index * input.shape[last] + from, length, out.begin() + row + to);
    for (std::size_t i = last; i-- > 0 && ++at[i] == shape[i];) at[i] = 0;
  }
  return {evaluate::Tensor(shape, std::move(out))};
}

QuantRule quantize(const ir::Node& node) {
  if (node.tensor("self")->type.rank() > kPadRank) {
    return {.output = QuantRule::Reject{"padding of more than four dimensions has no int8 kernel"}, .weights = {}};
  }
  const std::vector<std::int64_t>& pad = node.integers("pad");
  if (std::any_of(pad.begin(), pad.end(), [](std::int64_t n) { return n < 0; })) {
    return {.output = QuantRule::Reject{"negative padding (a crop) has no int8 kernel"}, .weights = {}};
  }
  return {.output = QuantRule::Share{}, .weights = {}, .precisions = precisions::w8a8_w8a16()};
}

// In memory order: 4-D activations are channels-last once the layout is decided.
std::vector<std::int64_t> memory_order(const std::vector<std::int64_t>& border) {
  if (border.size() == 4) return {border[0], border[2], border[3], border[1]};
  std::vector<std::int64_t> aligned(kPadRank, 0);
  std::copy_backward(border.begin(), border.end(), aligned.end());
  return aligned;
}

ir::Value* lower(const Rewriter& rewriter) {
  const ir::Node& node = rewriter.node;
  const ir::QuantParams& quant = node.result()->type.quant.value();
  if (node.tensor("self")->type.quant != quant) {
    throw InputError({.problem = "padding cannot change the quantization parameters",
                      .advice = "quantize the model so that input and output of pad share them",
                      .node = node.name,
                      .source = node.location.text()});
  }
  if (has_words(node)) require_words(rewriter, {"self"});
  const Borders borders = borders_of(node);
  return rewriter
      .emit(Pad<HostWorld>{.input = node.tensor("self"),
                           .pre_pad = memory_order(borders.before),
                           .post_pad = memory_order(borders.after),
                           .pad_value = quantize_value(node.number("value"), quant.scale(), quant.zero_point(),
                                                       quant.qmin, quant.qmax)},
            node.result()->type, has_words(node) ? names::cormorant_pad_words : names::cortex_m_pad_out)
      ->result();
}

// Runs are copied in order, to positions ever further after their sources: in the end by all borders except those after
// the last run. An input that begins that far after the output is read before it is overwritten.
std::optional<std::uint64_t> overlap(const ir::Node& node, std::string_view argument) {
  if (argument != "input" || !node.has("pre_pad") || node.result()->type.dtype != DType::i8) return std::nullopt;
  const ir::TensorType& in = node.tensor("input")->type;
  const std::vector<std::int64_t>& before = node.integers("pre_pad");
  const std::vector<std::int64_t>& after = node.integers("post_pad");
  std::int64_t bytes = static_cast<std::int64_t>(size_of(in.dtype)), trailing = 0;
  for (std::size_t i = kPadRank; i-- > 0;) {
    const std::size_t missing = kPadRank - in.rank();
    const std::size_t dim = missing == 0 ? ir::kChannelsLast[i] : i - missing;
    const std::int64_t size = i < missing ? 1 : in.shape[dim];
    trailing += after[i] * bytes;
    bytes *= before[i] + size + after[i];
  }
  if (bytes != node.result()->type.bytes()) return std::nullopt;
  return static_cast<std::uint64_t>(bytes - in.bytes() - trailing);
}

bool channelwise(const ir::Node& node) {
  return node.number("value") == 0 && node.integers("pad").size() <= 4 && node.tensor("self")->type.rank() == 4;
}

}  // namespace

Operator pad_operator() {
  return {.name = "pad",
          .layout = MemoryOrder::channels_last,
          .canonical = {"aten.pad(Tensor self, int[] pad, float value)"},
          .infer = infer,
          .evaluate = evaluate_pad,
          .quantize = quantize,
          .lower = lower,
          .overlap = overlap,
          .channelwise = channelwise};
}

}  // namespace cormorant::ops
