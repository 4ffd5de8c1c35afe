// SPDX-License-Identifier: Apache-2.0
//
// A .pte as plain data, and its bytes. The structs mirror program.fbs without its history: what ExecuTorch's runtime
// requires but carries no information (placeholders, empty vectors, headers, segments) is added when writing.
//
// Files are in flash beside the weights, so they are small: equal vectors, strings, values and constants are stored
// once however often they occur, defaults are left out. Equal programs give equal bytes. Host only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/dtype.h"

namespace cormorant::pte {

struct Place {
  std::uint32_t memory_id = 1;  // of Plan::memory_sizes
  std::uint64_t offset = 0;     // bytes
  friend bool operator==(const Place&, const Place&) = default;
};

// Without place and data the caller supplies the memory, with a place it is planned, with data it is a constant, with
// both it is state that begins with a value.
struct Tensor {
  DType dtype = DType::f32;
  std::vector<std::int32_t> sizes;      // logical, NCHW
  std::vector<std::uint8_t> dim_order;  // memory order of the dimensions, outermost first
  std::optional<Place> place = {};
  std::optional<std::uint32_t> data = {};  // index of Program::constants, with a place of Program::initial_values
  std::string name = {};                   // costs its bytes; may be empty
  friend bool operator==(const Tensor&, const Tensor&) = default;

  [[nodiscard]] std::uint64_t bytes() const;
};

struct None {
  friend bool operator==(const None&, const None&) = default;
};
struct IntList {
  std::vector<std::int64_t> items;  // indices of integer values
  friend bool operator==(const IntList&, const IntList&) = default;
};
struct DoubleList {
  std::vector<double> items;
  friend bool operator==(const DoubleList&, const DoubleList&) = default;
};
struct BoolList {
  std::vector<bool> items;
  friend bool operator==(const BoolList&, const BoolList&) = default;
};
struct TensorList {
  std::vector<std::int32_t> items;  // indices of tensor values
  friend bool operator==(const TensorList&, const TensorList&) = default;
};
struct OptionalTensorList {
  std::vector<std::int32_t> items;  // indices of tensor or none values
  friend bool operator==(const OptionalTensorList&, const OptionalTensorList&) = default;
};
using Value = std::variant<None, std::int64_t, bool, double, std::string, Tensor, IntList, DoubleList, BoolList,
                           TensorList, OptionalTensorList>;

struct Operator {
  std::string name;      // "cortex_m::quantized_add"
  std::string overload;  // "out"
};

struct KernelCall {
  std::uint32_t op = 0;            // index of Plan::operators
  std::vector<std::int32_t> args;  // indices of values, outputs last
};

// One method of the program.
struct Plan {
  std::string name = "forward";
  std::vector<Value> values = {};
  std::vector<std::int32_t> inputs = {};   // indices of values
  std::vector<std::int32_t> outputs = {};  // indices of values
  std::vector<Operator> operators = {};
  std::vector<KernelCall> calls = {};
  std::vector<std::int64_t> memory_sizes = {0};  // bytes by memory id; entry 0 means nothing
  // PyTorch's encoding of how arguments nest; only ExecuTorch's Python bindings use it. May be empty.
  std::string encoded_inputs = {};
  std::string encoded_outputs = {};

  // The index of a value: that of an equal one if there is one already. Not for tensors, which are their own.
  std::int32_t intern(const Value& value);
  std::int32_t intern_ints(std::span<const std::int64_t> ints);  // an IntList and its integers
  std::uint32_t intern_operator(const std::string& name, const std::string& overload);
  std::int32_t add(Value value);
};

struct Program {
  std::vector<Plan> plans;
  // Bytes that outlive the call of write(): weights are not copied before they are written.
  std::vector<std::span<const std::byte>> constants = {};
  std::vector<std::span<const std::byte>> initial_values = {};
};

// Throws std::logic_error if indices, sizes or places contradict each other: a bug in the caller.
std::vector<std::byte> write(const Program& program);

}  // namespace cormorant::pte
