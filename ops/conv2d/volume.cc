// SPDX-License-Identifier: Apache-2.0
//
// Convolutions in three dimensions are convolutions in two, over the images that each plane of the weights meets.
#include <utility>

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

namespace {

V padded(const Build& b, V x, Dims pads) {
  return b.node(nodes::aten_pad, {{"self", x}, {"pad", std::move(pads)}, {"value", 0.0}});
}

// Images as [N · D, C, H, W] with images of zeros before and after each volume's.
V with_more_images(const Build& b, V images, std::int64_t batch, std::int64_t before, std::int64_t after) {
  if (before == 0 && after == 0) return images;
  const ir::Shape s = images->type.shape;
  if (batch == 1) return padded(b, images, {0, 0, 0, 0, 0, 0, before, after});
  V volumes = padded(b, b.view(images, {batch, s[0] / batch, s[1] * s[2] * s[3]}), {0, 0, before, after});
  return b.view(volumes, {batch * size_at(volumes, 1), s[1], s[2], s[3]});
}

// Of each volume the images first, first + stride … that are `depth` ones.
V chosen_images(const Build& b, V images, std::int64_t batch, std::int64_t first, std::int64_t depth,
                std::int64_t stride) {
  const ir::Shape s = images->type.shape;
  const std::int64_t end = first + (depth - 1) * stride + 1;
  if (batch == 1) return b.slice(images, 0, first, end, stride);
  V volumes = b.view(images, {batch, s[0] / batch, s[1] * s[2] * s[3]});
  return b.view(b.slice(volumes, 1, first, end, stride), {batch * depth, s[1], s[2], s[3]});
}

// Padding of the three dimensions, before and after.
struct Padding {
  std::int64_t before[3], after[3];
};
Padding padding_of(const Build& b, V weight) {
  Padding padding{};
  const auto* name = std::get_if<std::string>(&b.call().get("padding"));
  for (std::size_t i = 0; i < 3; ++i) {
    if (name == nullptr) {
      padding.before[i] = padding.after[i] = entry(b, "padding", i);
    } else if (*name == "same") {
      const std::int64_t total = entry(b, "dilation", i) * (size_at(weight, static_cast<std::int64_t>(2 + i)) - 1);
      padding.before[i] = total / 2;
      padding.after[i] = total - total / 2;
    }
  }
  return padding;
}

}  // namespace

// The images that meet a kernel's planes are channels next to each other, so that all products are one sum, rounded
// once. With groups, planes are summed one by one: their channels would belong to one group each.
std::vector<ir::Value*> import_volume(Importer& importer) {
  const Build b(importer);
  V x = batched(b, b.tensor("input"));
  V weight = b.tensor("weight");
  b.require(x->type.rank() == 5 && weight->type.rank() == 5 && size_at(weight, 2) > 0 && entry(b, "stride", 0) > 0);
  const Padding pads = padding_of(b, weight);
  const std::int64_t batch = size_at(x, 0);
  V images = with_more_images(b, as_images(b, x), batch, pads.before[0], pads.after[0]);
  Dims around = {0, 0};  // the same before and after is the convolution's own affair
  if (pads.before[1] == pads.after[1] && pads.before[2] == pads.after[2]) {
    around = {pads.before[1], pads.before[2]};
  } else {
    images = padded(b, images, {pads.before[2], pads.after[2], pads.before[1], pads.after[1]});
  }
  const std::int64_t stride = entry(b, "stride", 0), dilation = entry(b, "dilation", 0), kernel = size_at(weight, 2);
  b.require(batch > 0);
  const std::int64_t depth = (size_at(images, 0) / batch - dilation * (kernel - 1) - 1) / stride + 1;
  const auto convolved = [&](V input, V with, ir::Argument bias) {
    return b.node(nodes::aten_conv2d, {{"input", input},
                                       {"weight", with},
                                       {"bias", std::move(bias)},
                                       {"stride", Ints{entry(b, "stride", 1), entry(b, "stride", 2)}},
                                       {"padding", around},
                                       {"dilation", Ints{entry(b, "dilation", 1), entry(b, "dilation", 2)}},
                                       {"groups", b.call().get("groups")}});
  };
  std::vector<V> met;
  for (std::int64_t k = 0; k < kernel; ++k) {
    met.push_back(chosen_images(b, images, batch, k * dilation, depth, stride));
  }
  V result = nullptr;
  if (b.call().integer("groups") == 1) {
    const ir::Shape s = weight->type.shape;
    V planes = b.view(b.permute(weight, {0, 2, 1, 3, 4}), {s[0], s[2] * s[1], s[3], s[4]});
    result = convolved(b.cat(met, 1), planes, b.call().get("bias"));
  } else {
    for (std::int64_t k = 0; k < kernel; ++k) {
      V part = convolved(met[static_cast<std::size_t>(k)], plane(b, weight, k),
                         k == 0 ? b.call().get("bias") : ir::Argument{});
      result = result == nullptr ? part : b.add(result, part);
    }
  }
  return {b.finish(as_volume(b, result, batch))};
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
