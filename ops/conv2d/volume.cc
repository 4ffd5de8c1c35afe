// SPDX-License-Identifier: Apache-2.0
//
// Convolutions in three dimensions are sums of convolutions in two: one for each plane of the weights, over the images
// that it meets.
#include "ops/conv2d/import.h"
#include "ops/host/build.h"
#include "ops/nodes.h"

namespace cormorant::ops::conv2d {
namespace {

std::int64_t entry(const Build& b, const char* name, std::size_t i) {
  const Ints& given = b.call().integers(name);
  return given.size() == 1 ? given[0] : given.at(i);
}

// [N, C, D, H, W] as images [N · D, C, H, W], and back.
V as_images(const Build& b, V x) {
  const ir::Shape s = x->type.shape;
  return b.view(b.permute(x, {0, 2, 1, 3, 4}), {s[0] * s[2], s[1], s[3], s[4]});
}
V as_volume(const Build& b, V x, std::int64_t batch) {
  const ir::Shape s = x->type.shape;
  return b.permute(b.view(x, {batch, s[0] / batch, s[1], s[2], s[3]}), {0, 2, 1, 3, 4});
}

V plane(const Build& b, V weight, std::int64_t k) {
  const ir::Shape s = weight->type.shape;
  return b.view(b.slice(weight, 2, k, k + 1), {s[0], s[1], s[3], s[4]});
}

V batched(const Build& b, V x) { return x->type.rank() == 4 ? b.unsqueeze(x, 0) : x; }

}  // namespace

std::vector<ir::Value*> import_volume(Importer& importer) {
  const Build b(importer);
  V x = batched(b, b.tensor("input"));
  V weight = b.tensor("weight");
  b.require(x->type.rank() == 5 && weight->type.rank() == 5 && size_at(weight, 2) > 0 && entry(b, "stride", 0) > 0);
  Dims pads = {0, 0, 0};
  if (const auto* name = std::get_if<std::string>(&b.call().get("padding"))) {
    Dims around;
    for (std::int64_t d = 4; d >= 2; --d) {
      const std::int64_t total =
          *name == "same" ? entry(b, "dilation", static_cast<std::size_t>(d - 2)) * (size_at(weight, d) - 1) : 0;
      around.push_back(total / 2);
      around.push_back(total - total / 2);
    }
    x = b.pad(x, around, 0);
  } else {
    for (std::size_t i = 0; i < 3; ++i) pads[i] = entry(b, "padding", i);
  }
  x = b.pad(x, {0, 0, 0, 0, pads[0], pads[0]}, 0);
  const std::int64_t stride = entry(b, "stride", 0), dilation = entry(b, "dilation", 0), kernel = size_at(weight, 2);
  const std::int64_t depth = (size_at(x, 2) - dilation * (kernel - 1) - 1) / stride + 1;
  V sum = nullptr;
  for (std::int64_t k = 0; k < kernel; ++k) {
    V met = b.slice(x, 2, k * dilation, k * dilation + (depth - 1) * stride + 1, stride);
    V part = b.node(nodes::aten_conv2d, {{"input", as_images(b, met)},
                                         {"weight", plane(b, weight, k)},
                                         {"bias", k == 0 ? b.call().get("bias") : ir::Argument{}},
                                         {"stride", Ints{entry(b, "stride", 1), entry(b, "stride", 2)}},
                                         {"padding", Ints{pads[1], pads[2]}},
                                         {"dilation", Ints{entry(b, "dilation", 1), entry(b, "dilation", 2)}},
                                         {"groups", b.call().get("groups")}});
    sum = sum == nullptr ? part : b.add(sum, part);
  }
  return {b.finish(as_volume(b, sum, size_at(x, 0)))};
}

// Each plane of the weights is applied to all images; its result for image d belongs to depth d · stride + k ·
// dilation.
std::vector<ir::Value*> import_transposed_volume(Importer& importer) {
  const Build b(importer);
  V x = batched(b, b.tensor("input"));
  V weight = b.tensor("weight");
  b.require(x->type.rank() == 5 && weight->type.rank() == 5 && size_at(weight, 2) > 0 && entry(b, "stride", 0) > 0 &&
            x->type.elements() > 0);
  const std::int64_t stride = entry(b, "stride", 0), dilation = entry(b, "dilation", 0), kernel = size_at(weight, 2);
  const std::int64_t batch = size_at(x, 0), depth = size_at(x, 2);
  const std::int64_t spread = (depth - 1) * stride + 1;
  const std::int64_t whole = spread + dilation * (kernel - 1) + entry(b, "output_padding", 0);
  V sum = nullptr;
  for (std::int64_t k = 0; k < kernel; ++k) {
    V part = b.node(nodes::aten_conv_transpose2d,
                    {{"input", as_images(b, x)},
                     {"weight", plane(b, weight, k)},
                     {"bias", ir::None{}},
                     {"stride", Ints{entry(b, "stride", 1), entry(b, "stride", 2)}},
                     {"padding", Ints{entry(b, "padding", 1), entry(b, "padding", 2)}},
                     {"output_padding", Ints{entry(b, "output_padding", 1), entry(b, "output_padding", 2)}},
                     {"groups", b.call().get("groups")},
                     {"dilation", Ints{entry(b, "dilation", 1), entry(b, "dilation", 2)}}});
    part = as_volume(b, part, batch);
    const ir::Shape s = part->type.shape;
    const std::int64_t area = s[3] * s[4];
    V rows = b.pad(b.view(part, {batch, s[1], depth, 1, area}), {0, 0, 0, stride - 1}, 0);
    rows = b.slice(b.view(rows, {batch, s[1], depth * stride, area}), 2, 0, spread);
    rows = b.pad(rows, {0, 0, k * dilation, whole - spread - k * dilation}, 0);
    sum = sum == nullptr ? rows : b.add(sum, rows);
    if (k + 1 == kernel) {
      const std::int64_t pad = entry(b, "padding", 0);
      sum = b.slice(sum, 2, pad, whole - pad);
      sum = b.view(sum, {batch, s[1], size_at(sum, 2), s[3], s[4]});
    }
  }
  if (b.given("bias")) sum = b.add(sum, b.view(b.tensor("bias"), {size_at(sum, 1), 1, 1, 1}));
  return {b.finish(sum)};
}

}  // namespace cormorant::ops::conv2d
