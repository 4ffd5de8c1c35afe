// SPDX-License-Identifier: Apache-2.0
//
// Normalization of the model's input before the first layer, x / 255, minus a mean, divided by a deviation, is one
// factor and one term per channel: y = a · x + b. The layer absorbs it: w · y = (w · a) · x + w · b, in double, as with
// batch norms.
//
// Padding consists of zeros of y. If b is not zero, these are not zeros of x but −b / a, the mean, so the image gets a
// border of means and the convolution loses its own padding. Rows and columns of a border that the convolution does not
// read are left out.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/nodes.h"
#include "passes/match.h"
#include "passes/passes.h"

namespace cormorant::passes {
namespace {

// If channels' factors differ more, the smaller ones would be left with few of the weights' levels.
constexpr double kMostDifferent = 16;

// Left, right, top, bottom.
struct Borders {
  std::int64_t left = 0, right = 0, top = 0, bottom = 0;
  [[nodiscard]] bool any() const { return left != 0 || right != 0 || top != 0 || bottom != 0; }
};

// One number per channel of a constant that is repeated along everything else; none if it is not.
std::optional<std::vector<double>> per_channel(const ir::Value* value, std::size_t axis, std::size_t rank,
                                               std::size_t channels) {
  if (!is_float_constant(value) || value->type.rank() > rank) return std::nullopt;
  const auto data = value->data.as<float>();
  if (data.size() == 1) return std::vector<double>(channels, data.front());
  const std::size_t missing = rank - value->type.rank();
  if (data.size() != channels || axis < missing) return std::nullopt;
  if (static_cast<std::size_t>(value->type.shape[axis - missing]) != channels) return std::nullopt;
  return std::vector<double>(data.begin(), data.end());
}

// What the node does to a channel, and to which of its operands.
struct Step {
  ir::Value* from;
  Affine affine;
};

std::optional<Step> step_of(const ir::Node& node, std::size_t axis, std::size_t channels) {
  const std::size_t rank = node.result()->type.rank();
  const auto constant = [&](const char* argument) { return per_channel(node.tensor(argument), axis, rank, channels); };
  const std::vector<double> ones(channels, 1), zeros(channels, 0);
  Step step{nullptr, {ones, zeros}};
  if (node.op == ops::nodes::aten_add) {
    const double alpha = node.number("alpha");
    if (const auto other = constant("other")) {
      step.from = node.tensor("self");
      for (std::size_t c = 0; c < channels; ++c) step.affine.term[c] = alpha * (*other)[c];
    } else if (const auto self = constant("self")) {
      step.from = node.tensor("other");
      step.affine = {std::vector<double>(channels, alpha), *self};
    }
  } else if (node.op == ops::nodes::aten_mul) {
    if (const auto other = constant("other")) {
      step.from = node.tensor("self");
      step.affine.factor = *other;
    } else if (const auto self = constant("self")) {
      step.from = node.tensor("other");
      step.affine.factor = *self;
    }
  } else if (node.op == ops::nodes::aten_div) {
    if (const auto other = constant("other")) {
      step.from = node.tensor("self");
      for (std::size_t c = 0; c < channels; ++c) step.affine.factor[c] = 1 / (*other)[c];
    }
  }
  if (node.op == ops::nodes::aten_batch_norm && axis == 1) {
    if (auto affine = affine_of(node)) step = {node.tensor("input"), *std::move(affine)};
  }
  // A constant may have made the result larger than the operand.
  if (step.from == nullptr || step.from->type.shape != node.result()->type.shape) return std::nullopt;
  return step;
}

// From the program's caller, unchanged or rearranged.
bool is_from_input(const ir::Value* value) {
  while (value->producer != nullptr) {
    const ir::Node& node = *value->producer;
    const bool arranges = node.op == ops::nodes::aten_permute || node.op == ops::nodes::aten_view ||
                          node.op == ops::nodes::aten_slice || node.op == ops::nodes::cormorant_convert_any;
    if (!arranges) return false;
    value = node.inputs().front();
  }
  return value->kind == ir::ValueKind::input;
}

class Folding {
 public:
  Folding(ir::Graph& graph, ir::Node& layer, BorderOfMeans border, std::vector<std::string>& notes)
      : graph_(graph), layer_(layer), border_(border), notes_(notes), is_image_(layer.op == ops::nodes::aten_conv2d) {}

  void run() {
    if (!is_float_constant(layer_.tensor("weight")) ||
        (layer_.has("bias") && !is_float_constant(layer_.tensor("bias"))))
      return;
    ir::Value* const input = layer_.tensor("input");
    axis_ = is_image_ ? 1 : input->type.rank() - 1;
    channels_ = static_cast<std::size_t>(input->type.shape[axis_]);
    total_ = {std::vector<double>(channels_, 1), std::vector<double>(channels_, 0)};
    ir::Value* source = find_source(input);
    if (source == input || !is_from_input(source) || !has_usable_factors()) return;
    const bool shifts = std::ranges::any_of(total_.term, [](double term) { return term != 0; });
    const Borders borders = is_image_ ? reached_borders() : Borders();
    if (shifts && borders.any() && border_ == BorderOfMeans::avoided) return;
    change_weights();
    if (shifts && borders.any()) {
      layer_.set("input", with_means_around(source, borders));
      layer_.set("padding", std::vector<std::int64_t>{0, 0});
      return;
    }
    // Zeros remain zeros.
    layer_.set("input", pad_ == nullptr ? source : padded(source, pad_->integers("pad"), 0));
  }

 private:
  // Where the steps that lead to the value begin; together they are total_.
  ir::Value* find_source(ir::Value* value) {
    const ir::Node* reader = &layer_;
    while (value->producer != nullptr && graph_.only_user(value) == reader) {
      const ir::Node& node = *value->producer;
      if (pad_ == nullptr && is_image_ && node.op == ops::nodes::aten_pad && reader == &layer_) {
        if (node.number("value") != 0 || !is_spatial(node)) return layer_.tensor("input");
        pad_ = &node;
        value = node.tensor("self");
      } else if (const auto step = step_of(node, axis_, channels_)) {
        // total(step(x)) = total.factor · (f · x + t) + total.term
        for (std::size_t c = 0; c < channels_; ++c) {
          total_.term[c] += total_.factor[c] * step->affine.term[c];
          total_.factor[c] *= step->affine.factor[c];
        }
        value = step->from;
        any_ = true;
      } else {
        break;
      }
      reader = &node;
    }
    return any_ ? value : layer_.tensor("input");
  }

  static bool is_spatial(const ir::Node& pad) {
    const std::vector<std::int64_t>& borders = pad.integers("pad");
    return pad.tensor("self")->type.rank() == 4 && borders.size() <= 4 &&
           std::ranges::all_of(borders, [](std::int64_t n) { return n >= 0; });
  }

  [[nodiscard]] bool has_usable_factors() const {
    double smallest = INFINITY, largest = 0;
    for (std::size_t c = 0; c < channels_; ++c) {
      if (!std::isfinite(total_.factor[c]) || !std::isfinite(total_.term[c])) return false;
      smallest = std::min(smallest, std::abs(total_.factor[c]));
      largest = std::max(largest, std::abs(total_.factor[c]));
    }
    return smallest > 0 && largest <= kMostDifferent * smallest;
  }

  // The input channel that an element of the weight multiplies.
  [[nodiscard]] std::size_t channel_of(std::size_t element) const {
    const ir::Shape& shape = layer_.tensor("weight")->type.shape;
    if (!is_image_) return element % channels_;
    const auto taps = static_cast<std::size_t>(shape[2] * shape[3]), inner = static_cast<std::size_t>(shape[1]);
    const std::size_t out = element / (taps * inner);
    const auto outs_per_group = static_cast<std::size_t>(shape[0] / layer_.integer("groups"));
    return out / outs_per_group * inner + element / taps % inner;
  }

  void change_weights() {
    const ir::Value* weight = layer_.tensor("weight");
    const auto outs = static_cast<std::size_t>(weight->type.shape[0]);
    const auto old_weight = weight->data.as<float>();
    const std::size_t per_out = old_weight.size() / outs;
    std::vector<double> terms(outs, 0);
    if (layer_.has("bias")) std::ranges::copy(layer_.tensor("bias")->data.as<float>(), terms.begin());
    std::vector<float> new_weight(old_weight.size());
    for (std::size_t i = 0; i < new_weight.size(); ++i) {
      const std::size_t channel = channel_of(i);
      const double old = old_weight[i];
      new_weight[i] = static_cast<float>(old * total_.factor[channel]);
      terms[i / per_out] += old * total_.term[channel];
    }
    const std::vector<float> new_bias(terms.begin(), terms.end());
    layer_.set("weight", graph_.add_constant(weight->name + "_normalized", weight->type,
                                             ir::Bytes::of(std::span<const float>(new_weight))));
    if (!layer_.has("bias") && std::ranges::all_of(terms, [](double term) { return term == 0; })) return;
    layer_.set("bias",
               graph_.add_constant(layer_.name + "_bias_normalized", ir::float_type({static_cast<std::int64_t>(outs)}),
                                   ir::Bytes::of(std::span<const float>(new_bias))));
  }

  // What the convolution and a node before it pad, as far as the convolution reads it.
  [[nodiscard]] Borders reached_borders() const {
    const std::vector<std::int64_t>& own = layer_.integers("padding");
    std::vector<std::int64_t> before = pad_ == nullptr ? std::vector<std::int64_t>() : pad_->integers("pad");
    before.resize(4, 0);
    const ir::Shape& image = (pad_ == nullptr ? layer_.tensor("input") : pad_->tensor("self"))->type.shape;
    const ir::Shape& result = layer_.result()->type.shape;
    const ir::Shape& taps = layer_.tensor("weight")->type.shape;
    const auto after = [&](std::size_t dim, std::int64_t ahead) {
      const std::int64_t stride = layer_.integers("stride")[dim - 2], dilation = layer_.integers("dilation")[dim - 2];
      const std::int64_t read = (result[dim] - 1) * stride + (taps[dim] - 1) * dilation + 1;
      return std::max<std::int64_t>(0, read - ahead - image[dim]);
    };
    Borders borders{.left = own[1] + before[0], .top = own[0] + before[2]};
    borders.right = after(3, borders.left);
    borders.bottom = after(2, borders.top);
    return borders;
  }

  ir::Value* padded(ir::Value* value, const std::vector<std::int64_t>& pad, double with) {
    ir::TensorType type = value->type;
    for (std::size_t i = 0; i < pad.size(); ++i) type.shape[3 - i / 2] += pad[i];
    return graph_
        .add_node(layer_.name + "_border", ops::nodes::aten_pad, {{"self", value}, {"pad", pad}, {"value", with}},
                  {std::move(type)}, layer_.location, &layer_)
        ->result();
  }

  ir::Value* with_means_around(ir::Value* image, const Borders& borders) {
    std::vector<float> means(channels_);
    for (std::size_t c = 0; c < channels_; ++c) means[c] = static_cast<float>(-total_.term[c] / total_.factor[c]);
    notes_.push_back(
        fmt::format("the input's normalization at {} is now part of {}; its zero padding became a border of {:.6g}, "
                    "rounded to the input's levels",
                    layer_.tensor("input")->producer->location.text(), layer_.name, fmt::join(means, ", ")));
    if (std::ranges::all_of(means, [&](float mean) { return mean == means.front(); })) {
      return padded(image, {borders.left, borders.right, borders.top, borders.bottom}, means.front());
    }
    image = between(3, borders.left, image, borders.right, means);
    return between(2, borders.top, image, borders.bottom, means);
  }

  // The image with columns or rows of the means on either side.
  ir::Value* between(std::size_t dim, std::int64_t ahead, ir::Value* image, std::int64_t after,
                     const std::vector<float>& means) {
    std::vector<ir::Value*> parts = {image};
    if (ahead != 0) parts.insert(parts.begin(), block(dim, ahead, image->type.shape, means));
    if (after != 0) parts.push_back(block(dim, after, image->type.shape, means));
    if (parts.size() == 1) return image;
    ir::TensorType type = image->type;
    type.shape[dim] += ahead + after;
    return graph_
        .add_node(layer_.name + (dim == 3 ? "_columns" : "_rows"), ops::nodes::aten_cat,
                  {{"tensors", parts}, {"dim", static_cast<std::int64_t>(dim)}}, {std::move(type)}, layer_.location,
                  &layer_)
        ->result();
  }

  ir::Value* block(std::size_t dim, std::int64_t size, ir::Shape shape, const std::vector<float>& means) {
    shape[dim] = size;
    std::vector<float> values;
    const auto pixels = static_cast<std::size_t>(shape[2] * shape[3]);
    for (std::int64_t image = 0; image < shape[0]; ++image) {
      for (const float mean : means) values.insert(values.end(), pixels, mean);
    }
    return graph_.add_constant(layer_.name + "_means", ir::float_type(std::move(shape)),
                               ir::Bytes::of(std::span<const float>(values)));
  }

  ir::Graph& graph_;
  ir::Node& layer_;
  BorderOfMeans border_;
  std::vector<std::string>& notes_;
  const bool is_image_;
  std::size_t axis_ = 1, channels_ = 0;
  Affine total_;
  bool any_ = false;
  const ir::Node* pad_ = nullptr;  // of zeros, between the normalization and the convolution
};

}  // namespace

std::vector<std::string> fold_normalization(ir::Graph& graph, BorderOfMeans border) {
  std::vector<std::string> notes;
  for (ir::Node* node : graph.snapshot()) {
    if (node->op == ops::nodes::aten_conv2d || node->op == ops::nodes::aten_linear)
      Folding(graph, *node, border, notes).run();
  }
  graph.erase_unused();
  return notes;
}

}  // namespace cormorant::passes
