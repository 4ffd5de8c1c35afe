// SPDX-License-Identifier: Apache-2.0
//
// A convolution can pad with zeros itself, the same on both sides. Uneven padding stays a node here; prepacked
// convolutions, which have four borders, absorb it later. So do those of ExecuTorch's newest runtime, within limits.
#include <algorithm>

#include "ops/nodes.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

// What the node adds around rows and columns: top, left, bottom, right. Empty if it does anything else.
std::vector<std::int64_t> spatial_padding(const ir::Node& pad) {
  std::vector<std::int64_t> borders = pad.integers("pad");  // last dimension first: left, right, top, bottom
  if (pad.tensor("self")->type.rank() != 4 || pad.number("value") != 0 || borders.size() > 8) return {};
  borders.resize(8, 0);
  const bool adds = std::all_of(borders.begin(), borders.begin() + 4, [](std::int64_t n) { return n >= 0; });
  const bool spatial = std::all_of(borders.begin() + 4, borders.end(), [](std::int64_t n) { return n == 0; });
  if (!adds || !spatial) return {};
  return {borders[2], borders[0], borders[3], borders[1]};
}

// As the wrappers of CMSIS-NN are called, and tested, with uneven padding: as many results as strides fit the image,
// and of an odd number of zeros one more after it. Its MVE kernel for a single row mishandles uneven ends.
bool is_for_cmsis_nn(const ir::Shape& image, const ir::Node& conv, const std::vector<std::int64_t>& padding) {
  const ir::Shape& weight = conv.tensor("weight")->type.shape;
  if (image[2] == 1 && weight[2] == 1) return false;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t size = image[2 + i], stride = conv.integers("stride")[i];
    const std::int64_t window = conv.integers("dilation")[i] * (weight[2 + i] - 1) + 1;
    const std::int64_t total = std::max<std::int64_t>(((size + stride - 1) / stride - 1) * stride + window - size, 0);
    if (padding[i] != total / 2 || padding[2 + i] != total - total / 2) return false;
  }
  return true;
}

// `may_fold`: given the image, the convolution and what it would pad at the top, left, bottom and right.
template <typename MayFold>
void fold(ir::Graph& graph, MayFold may_fold) {
  for (ir::Node* conv : graph.snapshot()) {
    if (conv->op != ops::nodes::aten_conv2d) continue;
    const ir::Node* pad = conv->tensor("input")->producer;
    if (pad == nullptr || pad->op != ops::nodes::aten_pad) continue;
    const std::vector<std::int64_t> borders = spatial_padding(*pad);
    const std::vector<std::int64_t> own = conv->integers("padding");
    if (borders.empty() || own.size() != 2 || pad->tensor("self")->type.quant != pad->result()->type.quant) continue;
    std::vector<std::int64_t> padding = borders;
    for (std::size_t i = 0; i < 4; ++i) padding[i] += own[i % 2];
    if (!may_fold(pad->tensor("self")->type.shape, *conv, padding)) continue;
    if (padding[0] == padding[2] && padding[1] == padding[3]) padding.resize(2);
    conv->set("padding", padding);
    conv->set("input", pad->tensor("self"));
  }
  graph.erase_unused();
}

}  // namespace

void fold_pad(ir::Graph& graph) {
  fold(graph, [](const ir::Shape&, const ir::Node&, const std::vector<std::int64_t>& padding) {
    return padding[0] == padding[2] && padding[1] == padding[3];
  });
}

void fold_uneven_pad(ir::Graph& graph) {
  fold(graph, [](const ir::Shape& image, const ir::Node& conv, const std::vector<std::int64_t>& padding) {
    const ir::TensorType& type = conv.result()->type;
    return type.is_quantized() && type.dtype == DType::i8 && is_for_cmsis_nn(image, conv, padding);
  });
}

}  // namespace cormorant::passes
