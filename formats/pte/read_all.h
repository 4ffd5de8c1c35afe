// SPDX-License-Identifier: Apache-2.0
//
// Reads everything in a .pte, through every accessor. For tests and the fuzzer: whatever the bytes are, this ends and
// touches nothing outside them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "formats/pte/reader.h"

namespace cormorant::pte {

// A copy of bytes at the alignment that the reader needs and not a byte longer, so that sanitizers catch every access
// outside.
class AlignedCopy {
 public:
  explicit AlignedCopy(std::span<const std::byte> bytes)
      : size_(bytes.size()), data_(static_cast<std::byte*>(::operator new(bytes.size(), kAlignment))) {
    std::uninitialized_copy(bytes.begin(), bytes.end(), data_.get());
  }
  [[nodiscard]] std::span<std::byte> bytes() const { return {data_.get(), size_}; }

 private:
  static constexpr std::align_val_t kAlignment{16};
  struct Delete {
    void operator()(std::byte* data) const { ::operator delete(data, kAlignment); }
  };
  std::size_t size_;
  std::unique_ptr<std::byte, Delete> data_;
};

// What read_all() saw: figures that independent readers can confirm.
struct Summary {
  Error first_error = Error::ok;  // the first that any accessor returned
  std::int64_t integers = 0, integer_sum = 0;
  std::int64_t int_lists = 0, int_list_items = 0, int_list_sum = 0;
  std::int64_t tensors = 0, planned = 0, constants = 0, offset_sum = 0, tensor_bytes = 0, dim_order_sum = 0;
  std::int64_t args = 0, arg_sum = 0;
  std::vector<double> floats;
  std::vector<std::uint32_t> ops;
  std::uint64_t touched = 0;  // depends on what was read; of constants the first and last byte
};

class ReadAll {
 public:
  static Summary of(std::span<const std::byte> file) {
    ReadAll read;
    if (const auto* program = read.get(ProgramView::open(file))) read.program(*program);
    return read.summary_;
  }

 private:
  // Keeps the last result alive so that its value can be pointed to.
  template <class T>
  const T* get(Result<T> result) {
    static thread_local Result<T> kept = Error::ok;
    kept = std::move(result);
    if (kept.ok()) return &kept.value();
    if (summary_.first_error == Error::ok) summary_.first_error = kept.error();
    return nullptr;
  }
  template <class Container>
  void touch(const Container& items) {
    for (const auto item : items) summary_.touched = summary_.touched * 31 + static_cast<std::uint64_t>(item);
  }

  void program(ProgramView view) {
    // A damaged file may claim any number of methods; all that claim to exist are small in number in sound ones.
    for (std::uint32_t i = 0; i < view.method_count() && i < 4; ++i) {
      if (const auto* found = get(view.method(i))) {
        const MethodView method = *found;
        if (const auto* name = get(method.name())) {
          touch(*name);
          get(view.method(*name));
        }
        this->method(view, method);
      }
    }
    get(view.method("no method has this name"));
  }

  void method(const ProgramView& view, const MethodView& method) {
    if (const auto* inputs = get(method.inputs())) touch(*inputs);
    if (const auto* outputs = get(method.outputs())) touch(*outputs);
    touch(method.memory_sizes());
    if (const auto* count = get(method.delegate_count()); count != nullptr && *count > 0) {
      if (const auto* name = get(method.delegate_name(0))) touch(*name);
    }
    for (std::uint32_t i = 0; i < method.operator_count(); ++i) {
      if (const auto* op = get(method.operator_at(i))) {
        touch(op->name);
        touch(op->overload);
      }
    }
    for (std::uint32_t i = 0; i < method.instruction_count(); ++i) {
      if (const auto* call = get(method.instruction(i))) {
        summary_.ops.push_back(call->op);
        summary_.args += static_cast<std::int64_t>(call->args.size());
        for (const std::int32_t arg : call->args) summary_.arg_sum += arg;
      }
    }
    for (std::uint32_t i = 0; i < method.value_count(); ++i) value(view, method, static_cast<std::int32_t>(i));
  }

  void value(const ProgramView& view, const MethodView& method, std::int32_t i) {
    const auto* kind = get(method.kind(i));
    if (kind == nullptr) return;
    switch (*kind) {
      case ValueKind::none:
        return;
      case ValueKind::integer:
        if (const auto* integer = get(method.integer(i))) ++summary_.integers, add(summary_.integer_sum, *integer);
        return;
      case ValueKind::boolean:
        if (const auto* boolean = get(method.boolean(i))) summary_.touched += *boolean ? 1 : 0;
        return;
      case ValueKind::floating:
        if (const auto* floating = get(method.floating(i))) summary_.floats.push_back(*floating);
        return;
      case ValueKind::string:
        if (const auto* string = get(method.string(i))) touch(*string);
        return;
      case ValueKind::tensor:
        tensor(view, method, i);
        return;
      case ValueKind::int_list:
        int_list(method, i);
        return;
      case ValueKind::double_list:
        if (const auto* list = get(method.double_list(i))) {
          for (const double item : *list) summary_.touched += item > 0 ? 1 : 0;
        }
        return;
      case ValueKind::bool_list:
        if (const auto* list = get(method.bool_list(i))) touch(*list);
        return;
      case ValueKind::tensor_list:
        if (const auto* list = get(method.tensor_list(i))) touch(*list);
        return;
      case ValueKind::optional_tensor_list:
        if (const auto* list = get(method.optional_tensor_list(i))) touch(*list);
        return;
    }
  }

  void int_list(const MethodView& method, std::int32_t i) {
    const auto* items = get(method.int_list(i));
    if (items == nullptr) return;
    touch(*items);
    std::vector<std::int32_t> integers(items->size());
    const auto* count = get(method.integers(i, integers));
    if (count == nullptr) return;
    ++summary_.int_lists;
    summary_.int_list_items += *count;
    for (const std::int32_t integer : integers) summary_.int_list_sum += integer;
  }

  void tensor(const ProgramView& view, const MethodView& method, std::int32_t i) {
    if (const auto* name = get(method.tensor_name(i))) touch(*name);
    const auto* found = get(method.tensor(i));
    if (found == nullptr) return;
    const TensorView tensor = *found;
    ++summary_.tensors;
    touch(tensor.sizes);
    summary_.planned += tensor.is_planned() ? 1 : 0;
    summary_.constants += tensor.is_constant() ? 1 : 0;
    summary_.offset_sum += tensor.offset;
    summary_.tensor_bytes += tensor.bytes;
    for (std::size_t d = 0; d < tensor.dim_order.size(); ++d) {
      summary_.dim_order_sum += static_cast<std::int64_t>(d + 1) * tensor.dim_order[d];
    }
    if (tensor.data_index != 0) {
      const auto* data = get(tensor.is_planned() ? view.initial_value(tensor.data_index, tensor.bytes)
                                                 : view.constant(tensor.data_index, tensor.bytes));
      if (data != nullptr && !data->empty()) touch(std::array{data->front(), data->back()});
    }
  }

  static void add(std::int64_t& sum, std::int64_t value) {
    sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(value));
  }

  Summary summary_;
};

}  // namespace cormorant::pte
