// SPDX-License-Identifier: Apache-2.0
//
// The float semantics of an operator whose kernel is one source for the host and every CPU (ops/load/planned.h): the
// kernel itself, on typed copies of the tensors that the evaluation holds as floats.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <stdexcept>

#include "evaluate/tensor.h"
#include "ops/host/advice.h"
#include "ops/host/broadcast.h"
#include "ops/load/planned.h"
#include "ops/op.h"

namespace cormorant::ops {

// A tensor of a kernel, with memory of its own.
class TypedTensor {
 public:
  TypedTensor(DType dtype, const ir::Shape& shape) : dtype_(dtype), sizes_(shape.begin(), shape.end()) {
    for (std::size_t i = 0; i < shape.size(); ++i) order_.push_back(static_cast<std::uint8_t>(i));
    std::size_t elements = 1;
    for (const std::int64_t size : shape) elements *= static_cast<std::size_t>(size);
    // Never empty: a kernel's tensor without data would be an absent one.
    words_.resize(elements * size_of(dtype) / sizeof(std::uint64_t) + 1);
    elements_ = elements;
  }
  TypedTensor(DType dtype, const evaluate::Tensor& from) : TypedTensor(dtype, from.shape) {
    for (std::size_t i = 0; i < elements_; ++i) {
      set_real(dtype_, data(), static_cast<std::uint32_t>(i), from.values()[i]);
    }
  }
  void show(Tensor& tensor) {
    tensor.data = data();
    tensor.sizes = sizes_.data();
    tensor.dim_order = order_.data();
    tensor.rank = static_cast<std::uint8_t>(sizes_.size());
    tensor.dtype = dtype_;
    tensor.size_in_bytes = static_cast<std::uint32_t>(elements_ * size_of(dtype_));
  }
  [[nodiscard]] evaluate::Tensor read() {
    std::vector<float> values(elements_);
    for (std::size_t i = 0; i < elements_; ++i) values[i] = real_at(dtype_, data(), static_cast<std::uint32_t>(i));
    return {ir::Shape(sizes_.begin(), sizes_.end()), std::move(values)};
  }

 private:
  std::byte* data() { return reinterpret_cast<std::byte*>(words_.data()); }
  DType dtype_;
  std::vector<std::int32_t> sizes_;
  std::vector<std::uint8_t> order_;
  std::vector<std::uint64_t> words_;
  std::size_t elements_ = 0;
};

// For infer: what the kernel's plan would refuse.
inline void require(const ir::Node& node, bool condition, const char* problem) {
  if (!condition) refuse(node, problem, kInconsistent);
}
inline void require_numbers(const ir::Node& node) {
  for (const ir::Value* value : node.inputs()) {
    require(node, is_number(value->type.dtype) && !value->type.is_quantized(),
            "it takes only float32, integers and booleans that are not quantized");
  }
  require(node, is_number(node.result()->type.dtype), "its results must be float32, integers or booleans");
}
// Whether an argument is a dimension of the tensor; a number has one.
inline bool has_dim(const ir::TensorType& type, std::int64_t dim) {
  return dim >= 0 && dim < static_cast<std::int64_t>(std::max<std::size_t>(type.rank(), 1));
}

// The canonical nodes of an operator whose nodes are the program's already: those of its list.
inline std::vector<std::string> canonical_of(void (*list)(std::vector<ListedKernel>&)) {
  std::vector<ListedKernel> kernels;
  list(kernels);
  std::vector<std::string> nodes;
  for (const ListedKernel& kernel : kernels) {
    std::vector<std::string> arguments;
    for (const Parameter& parameter : kernel.signature.value().parameters) {
      arguments.push_back(parameter.type + " " + parameter.name);
    }
    nodes.push_back(fmt::format("{}({})", graph_name(kernel.name), fmt::join(arguments, ", ")));
  }
  return nodes;
}

// Quantized tensors are evaluated as the real numbers that they stand for.
inline DType evaluated_type(const ir::TensorType& type) { return type.is_quantized() ? DType::f32 : type.dtype; }

template <template <class> class S, class Plan, PlanFunction<S, Plan> kPlan, void (*kExecute)(const void*)>
std::vector<evaluate::Tensor> evaluate_planned(const ir::Node& node, const evaluate::Frame& frame) {
  std::deque<TypedTensor> inputs, outputs;
  const auto take = [&](const char* name, Tensor& tensor) {
    const ir::Value* value = node.tensor(name);
    inputs.emplace_back(evaluated_type(value->type), frame.get(value)).show(tensor);
  };
  S<TargetWorld> args;
  args.visit([&]<class F>(const char* name, F& field) {
    if constexpr (std::is_same_v<F, OutTensor>) {
      const ir::TensorType& type = node.results.at(outputs.size())->type;
      outputs.emplace_back(evaluated_type(type), type.shape).show(field);
    } else if constexpr (std::is_same_v<F, Tensor>) {
      take(name, field);
    } else if constexpr (std::is_same_v<F, OptionalTensor>) {
      if (node.has(name)) take(name, field);
    } else if constexpr (std::is_same_v<F, std::int32_t>) {
      field = static_cast<std::int32_t>(node.integer(name));
    } else if constexpr (std::is_same_v<F, bool>) {
      field = node.boolean(name);
    } else if constexpr (std::is_same_v<F, Scalar>) {
      field.value = static_cast<float>(node.number(name));
    } else if constexpr (std::is_same_v<F, OptionalInt>) {
      field.present = node.has(name);
      if (field.present) field.value = static_cast<std::int32_t>(node.integer(name));
    } else if constexpr (std::is_same_v<F, IntList>) {
      const auto& list = node.integers(name);
      field.count = static_cast<std::uint32_t>(list.size());
      for (std::size_t i = 0; i < list.size() && i < kMaxRank; ++i) field.items[i] = static_cast<std::int32_t>(list[i]);
    } else {
      static_assert(std::is_same_v<F, void>, "no such kernel takes this argument");
    }
  });
  Plan plan{};
  if (kPlan(args, plan) != Error::ok) throw std::logic_error("the kernel of " + node.op + " refuses node " + node.name);
  kExecute(&plan);
  std::vector<evaluate::Tensor> results;
  for (TypedTensor& output : outputs) results.push_back(output.read());
  return results;
}

}  // namespace cormorant::ops
