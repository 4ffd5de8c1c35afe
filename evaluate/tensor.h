// SPDX-License-Identifier: Apache-2.0
//
// Float tensors on the host and the frame that holds them while a graph is evaluated: the float semantics of a model,
// used for calibration and as the reference for accuracy. Data is always contiguous in logical (NCHW) order.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace cormorant::evaluate {

struct Tensor {
  ir::Shape shape;
  std::shared_ptr<const std::vector<float>> data;

  Tensor() = default;
  Tensor(ir::Shape s, std::vector<float> d)
      : shape(std::move(s)), data(std::make_shared<const std::vector<float>>(std::move(d))) {}
  [[nodiscard]] std::span<const float> values() const { return *data; }
  // The same elements with another shape, without a copy.
  [[nodiscard]] Tensor reshaped(ir::Shape s) const {
    Tensor t = *this;
    t.shape = std::move(s);
    return t;
  }
};

// A constant's (or a state's initial) content as floats in logical order; quantized ones come as the real numbers they
// stand for.
[[nodiscard]] Tensor constant_tensor(const ir::Value& value);

// For an operator with a fused clamp, and with a PReLU before it: its result times the node's activation_slopes where
// it is below zero, then limited to the node's activation_min and activation_max, as far as it has them.
[[nodiscard]] Tensor with_activation(const ir::Node& node, Tensor result);

// A graph's constants as floats: converted on first use, then shared by the frames of all samples and threads.
class Constants {
 public:
  [[nodiscard]] const Tensor& get(const ir::Value* value);

 private:
  std::mutex mutex_;
  std::unordered_map<const ir::Value*, Tensor> tensors_;
};

// The tensors that exist at a point of the evaluation. One frame belongs to one thread.
class Frame {
 public:
  Frame() : constants_(std::make_shared<Constants>()) {}
  explicit Frame(std::shared_ptr<Constants> constants) : constants_(std::move(constants)) {}

  // The tensor that was set, else the constant. std::logic_error for a value that has not been computed.
  [[nodiscard]] const Tensor& get(const ir::Value* value) const;
  void set(const ir::Value* value, Tensor tensor);
  void drop(const ir::Value* value);
  [[nodiscard]] bool holds(const ir::Value* value) const { return tensors_.contains(value); }

 private:
  std::shared_ptr<Constants> constants_;
  std::unordered_map<const ir::Value*, Tensor> tensors_;
};

}  // namespace cormorant::evaluate
