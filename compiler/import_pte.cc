// SPDX-License-Identifier: Apache-2.0
//
// A program, ours or ExecuTorch's, as the lowered graph that it came from: instructions become nodes again, with their
// arguments by the names of the operator's signature, and memory plan and scratch are dropped. What follows lowering
// can then lay the constants out for a target and plan memory again; results are bit-identical.
#include <fmt/format.h>

#include <cstring>
#include <map>
#include <new>
#include <numeric>
#include <unordered_map>

#include "base/diagnostic.h"
#include "compiler/import.h"
#include "formats/pte/reader.h"
#include "ops/op.h"

namespace cormorant::compiler {
namespace {

constexpr const char* kDamaged = "the file is damaged: compile it again";

// The reader needs 16-byte alignment.
std::shared_ptr<std::byte> aligned_copy(std::span<const std::byte> bytes) {
  constexpr std::align_val_t kAlignment{16};
  auto* data = static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes.size(), 1), kAlignment));
  std::memcpy(data, bytes.data(), bytes.size());
  return {data, [](std::byte* p) { ::operator delete(p, std::align_val_t{16}); }};
}

class ProgramImporter {
 public:
  ProgramImporter(std::span<const std::byte> bytes, std::string file)
      : file_(std::move(file)), bytes_(aligned_copy(bytes)) {
    program_ = take(pte::ProgramView::open({bytes_.get(), bytes.size()}), "it");
    if (program_.method_count() != 1) {
      fail(fmt::format("the program has {} methods", program_.method_count()), "give a program with one method");
    }
    method_ = take(program_.method(std::uint32_t{0}), "its method");
    graph_ = ir::Graph(std::string(take(method_.name(), "its method's name")));
  }

  ir::Graph run() {
    for (const std::int32_t index : take(method_.inputs(), "its inputs")) {
      const std::string_view name = take(method_.tensor_name(index), "an input's name");
      ir::TensorType type = type_of(tensor(index));
      values_[index] = graph_.add_input(name.empty() ? fmt::format("x{}", index) : std::string(name), std::move(type));
      const pte::TensorView view = tensor(index);
      places_[{view.memory_id, view.offset}] = values_[index];
    }
    for (std::uint32_t i = 0; i < method_.instruction_count(); ++i) add(i);
    for (const std::int32_t index : take(method_.outputs(), "its outputs")) graph_.add_output(value(index));
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(std::string problem, std::string advice) const {
    throw InputError({.problem = std::move(problem), .advice = std::move(advice), .file = file_, .node = where_});
  }
  template <class T>
  T take(Result<T> result, std::string_view what) const {
    if (!result.ok()) {
      fail(fmt::format("{} cannot be read: {}", what, describe(result.error())), kDamaged);
    }
    return result.value();
  }

  pte::TensorView tensor(std::int32_t index) const { return take(method_.tensor(index), "a tensor"); }

  static ir::TensorType type_of(const pte::TensorView& view) {
    ir::TensorType type{.dtype = view.dtype,
                        .shape = {view.sizes.begin(), view.sizes.end()},
                        .dim_order = {view.dim_order.begin(), view.dim_order.end()},
                        .quant = {}};
    std::vector<std::uint8_t> logical(type.dim_order.size());
    std::iota(logical.begin(), logical.end(), std::uint8_t{0});
    if (type.dim_order == logical) type.dim_order.clear();
    return type;
  }

  // The value in the tensor's memory, read with its shape: a mere change of shape has no instruction.
  ir::Value* seen_as(const pte::TensorView& view) {
    const auto at = places_.find({view.memory_id, view.offset});
    if (!view.is_planned() || at == places_.end()) return nullptr;
    ir::Value* there = at->second;
    const ir::TensorType type = type_of(view);
    const auto is_plain = [](const ir::TensorType& t) {  // its bytes are in logical order
      return t.dim_order.empty() || (t.rank() == 4 && (t.shape[1] == 1 || t.shape[2] * t.shape[3] == 1));
    };
    if (there->type.dtype != type.dtype || there->type.bytes() != type.bytes()) return nullptr;
    if (!is_plain(there->type) || !is_plain(type)) return nullptr;
    return graph_
        .add_node(there->name + "_seen", "aten.view",
                  {{"self", there}, {"size", std::vector<std::int64_t>(type.shape)}}, {type})
        ->result();
  }

  // A tensor that an instruction reads, or that is returned.
  ir::Value* value(std::int32_t index) {
    if (const auto at = values_.find(index); at != values_.end()) return at->second;
    const pte::TensorView view = tensor(index);
    if (ir::Value* seen = seen_as(view); seen != nullptr) return values_[index] = seen;
    if (!view.is_constant()) {
      fail(view.data_index != 0 ? "the program keeps state from one execution to the next"
                                : "the program reads a tensor that nothing has written",
           view.data_index != 0 ? "compile the original model instead" : kDamaged);
    }
    const auto data = take(program_.constant(view.data_index, view.bytes), "a constant");
    return values_[index] =
               graph_.add_constant(fmt::format("constant_{}", view.data_index), type_of(view), {bytes_, data});
  }

  std::vector<std::int64_t> integers(std::int32_t index) const {
    std::vector<std::int64_t> numbers;
    for (const std::int64_t item : take(method_.int_list(index), "a list of integers")) {
      if (item < 0 || item >= method_.value_count()) fail("a list names a value that is not there", kDamaged);
      numbers.push_back(take(method_.integer(static_cast<std::int32_t>(item)), "an integer"));
    }
    return numbers;
  }

  DType element_type(std::int64_t number) const {
    const auto type = static_cast<DType>(number);
    if (number < 0 || number > 255 || size_of(type) == 0)
      fail(fmt::format("{} is not an element type", number), kDamaged);
    return type;
  }

  ir::Argument scalar(std::int32_t index) const {
    switch (take(method_.kind(index), "a number")) {
      case pte::ValueKind::integer:
        return static_cast<double>(take(method_.integer(index), "a number"));
      case pte::ValueKind::boolean:
        return take(method_.boolean(index), "a number") ? 1.0 : 0.0;
      default:
        return take(method_.floating(index), "a number");
    }
  }

  // Our kernels with ExecuTorch's names need no scratch; that of its own kernels is dropped.
  ir::Argument argument(const ops::Parameter& parameter, std::int32_t index, const std::string& node, bool is_theirs) {
    const bool is_none = take(method_.kind(index), parameter.name) == pte::ValueKind::none;
    if (is_none && parameter.type.ends_with("?")) return {};
    if (parameter.type == "scratch") {
      return graph_.add_scratch(node + "_" + parameter.name, is_theirs ? 0 : tensor(index).bytes);
    }
    if (parameter.type.starts_with("Tensor[]")) {
      std::vector<ir::Value*> values;
      for (const std::int32_t item : take(method_.tensor_list(index), parameter.name)) values.push_back(value(item));
      return values;
    }
    if (parameter.type.starts_with("Tensor")) return value(index);
    if (parameter.type.starts_with("int[]")) return integers(index);
    if (parameter.type.starts_with("int")) return take(method_.integer(index), parameter.name);
    if (parameter.type == "bool") return take(method_.boolean(index), parameter.name);
    if (parameter.type == "str") return std::string(take(method_.string(index), parameter.name));
    if (parameter.type == "ScalarType") return element_type(take(method_.integer(index), parameter.name));
    return scalar(index);
  }

  void add(std::uint32_t i) {
    where_ = fmt::format("instruction {}", i);
    const pte::InstructionView instruction = take(method_.instruction(i), "it");
    const pte::OperatorView op = take(method_.operator_at(instruction.op), "its operator");
    const std::string name = op.overload.empty() ? std::string(op.name) : fmt::format("{}.{}", op.name, op.overload);
    const std::string graph_name = ops::graph_name(name);
    const ops::Signature* signature = ops::find_signature(graph_name);
    if (signature == nullptr || name.starts_with("cormorant::rows")) {
      fail(fmt::format("the operator {} cannot be recompiled", name),
           "run the program as it is, or compile the original model");
    }
    const std::size_t read = signature->parameters.size();
    if (instruction.args.size() < read + signature->outs) {
      fail(fmt::format("{} has {} arguments instead of {}", name, instruction.args.size(), read + signature->outs),
           kDamaged);
    }
    const std::string node = fmt::format("{}_{}", op.name.substr(op.name.rfind(':') + 1), i);
    std::vector<ir::NamedArgument> arguments;
    for (std::size_t k = 0; k < read; ++k) {
      arguments.push_back({signature->parameters[k].name, argument(signature->parameters[k], instruction.args[k], node,
                                                                   graph_name.starts_with("cortex_m."))});
    }
    std::vector<ir::TensorType> types;
    for (std::size_t k = 0; k < signature->outs; ++k) types.push_back(type_of(tensor(instruction.args[read + k])));
    const ir::Node* made = graph_.add_node(node, graph_name, std::move(arguments), std::move(types));
    for (std::size_t k = 0; k < signature->outs; ++k) {
      const std::int32_t index = instruction.args[read + k];
      const pte::TensorView view = tensor(index);
      values_[index] = made->results[k];
      places_[{view.memory_id, view.offset}] = made->results[k];
    }
    where_.clear();
  }

  std::string file_;
  std::string where_;  // for messages
  std::shared_ptr<std::byte> bytes_;
  pte::ProgramView program_;
  pte::MethodView method_;
  ir::Graph graph_;
  std::unordered_map<std::int32_t, ir::Value*> values_;  // what a tensor of the program holds now
  std::map<std::pair<std::uint32_t, std::uint32_t>, ir::Value*>
      places_;  // what was written last at a place of a memory
};

}  // namespace

ir::Graph import_pte(std::span<const std::byte> program, const std::string& file) {
  return ProgramImporter(program, file).run();
}

}  // namespace cormorant::compiler
