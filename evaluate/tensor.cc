// SPDX-License-Identifier: Apache-2.0
#include "evaluate/tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <string>

namespace cormorant::evaluate {
namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);  // a mapped file promises no alignment
  return value;
}

double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const double mantissa = bits & 1023;
  double magnitude = 0;
  if (exponent == 31) {
    magnitude = mantissa == 0 ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(mantissa, -24);
  } else {
    magnitude = std::ldexp(mantissa + 1024, exponent - 25);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

double load_number(const std::byte* at, DType dtype) {
  switch (dtype) {
    case DType::u8:
      return load<std::uint8_t>(at);
    case DType::i8:
      return load<std::int8_t>(at);
    case DType::i16:
      return load<std::int16_t>(at);
    case DType::i32:
      return load<std::int32_t>(at);
    case DType::i64:
      return static_cast<double>(load<std::int64_t>(at));
    case DType::f16:
      return half_to_double(load<std::uint16_t>(at));
    case DType::bf16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(load<std::uint16_t>(at)) << 16);
    case DType::f32:
      return load<float>(at);
    case DType::f64:
      return load<double>(at);
    case DType::boolean:
      return load<std::uint8_t>(at) != 0 ? 1 : 0;
  }
  throw std::logic_error("constant with an element type that does not exist");
}

// Elements between neighbours along each logical dimension, in memory order.
std::vector<std::size_t> memory_strides(const ir::TensorType& type) {
  std::vector<std::size_t> strides(type.rank());
  std::size_t stride = 1;
  for (std::size_t k = type.rank(); k-- > 0;) {
    const std::size_t dim = type.dim_order.empty() ? k : type.dim_order[k];
    strides.at(dim) = stride;
    stride *= static_cast<std::size_t>(type.shape[dim]);
  }
  return strides;
}

}  // namespace

Tensor constant_tensor(const ir::Value& value) {
  const ir::TensorType& type = value.type;
  const auto count = static_cast<std::size_t>(type.elements());
  const std::size_t width = size_of(type.dtype);
  if (value.data.bytes.size() < count * width) {
    throw std::logic_error("constant '" + value.name + "' holds fewer bytes than its type says");
  }
  const std::byte* bytes = value.data.bytes.data();
  std::vector<float> out(count);
  if (type.dtype == DType::f32 && type.dim_order.empty() && !type.quant) {
    if (count > 0) std::memcpy(out.data(), bytes, count * sizeof(float));
    return {type.shape, std::move(out)};
  }
  const std::vector<std::size_t> strides = memory_strides(type);
  std::vector<std::size_t> index(type.rank(), 0);
  std::size_t offset = 0;
  for (float& element : out) {
    double number = load_number(bytes + offset * width, type.dtype);
    if (type.quant) {
      const std::size_t channel = type.quant->axis ? index.at(static_cast<std::size_t>(*type.quant->axis)) : 0;
      number = type.quant->scales.at(channel) * (number - type.quant->zero_points.at(channel));
    }
    element = static_cast<float>(number);
    for (std::size_t dim = type.rank(); dim-- > 0;) {  // the next element in logical order
      offset += strides[dim];
      if (++index[dim] < static_cast<std::size_t>(type.shape[dim])) break;
      offset -= strides[dim] * index[dim];
      index[dim] = 0;
    }
  }
  return {type.shape, std::move(out)};
}

namespace {

// One slope for all, or one per channel (dimension 1), for what is below zero.
Tensor with_slopes(const std::vector<double>& slopes, Tensor result) {
  std::size_t area = 1;
  for (std::size_t d = 2; d < result.shape.size(); ++d) area *= static_cast<std::size_t>(result.shape[d]);
  std::vector<float> out(result.values().begin(), result.values().end());
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] < 0) out[i] *= static_cast<float>(slopes[i / area % slopes.size()]);
  }
  return {std::move(result.shape), std::move(out)};
}

}  // namespace

Tensor with_activation(const ir::Node& node, Tensor result) {
  if (node.has("activation_slopes")) {
    result = with_slopes(std::get<std::vector<double>>(node.get("activation_slopes")), std::move(result));
  }
  if (!node.has("activation_min") && !node.has("activation_max")) return result;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float low = node.has("activation_min") ? static_cast<float>(node.number("activation_min")) : -kInfinity;
  const float high = node.has("activation_max") ? static_cast<float>(node.number("activation_max")) : kInfinity;
  std::vector<float> clamped(result.values().begin(), result.values().end());
  for (float& value : clamped) value = std::min(std::max(value, low), high);
  return {std::move(result.shape), std::move(clamped)};
}

const Tensor& Constants::get(const ir::Value* value) {
  const std::scoped_lock lock(mutex_);
  auto at = tensors_.find(value);
  if (at == tensors_.end()) at = tensors_.emplace(value, constant_tensor(*value)).first;
  return at->second;  // stays valid: nodes of the map never move, and nothing is removed
}

const Tensor& Frame::get(const ir::Value* value) const {
  if (const auto at = tensors_.find(value); at != tensors_.end()) return at->second;
  if (value->kind == ir::ValueKind::constant || value->kind == ir::ValueKind::state) return constants_->get(value);
  throw std::logic_error("evaluation asks for '" + value->name + "', which nothing has computed or which was dropped");
}

void Frame::set(const ir::Value* value, Tensor tensor) { tensors_.insert_or_assign(value, std::move(tensor)); }

void Frame::drop(const ir::Value* value) { tensors_.erase(value); }

}  // namespace cormorant::evaluate
