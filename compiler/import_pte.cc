// SPDX-License-Identifier: Apache-2.0
//
// A program, ours or ExecuTorch's, as the lowered graph that it came from: instructions become nodes again, with their
// arguments by the names of the operator's signature, and memory plan and scratch are dropped. What follows lowering
// can then lay the constants out for a target and plan memory again; results are bit-identical.
//
// A tensor that is read before anything has written it is state: it keeps what the last execution left there. Its
// initial contents are those in the file; ExecuTorch leaves them out unless told otherwise, and then they are zeros.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <numeric>
#include <unordered_map>

#include "base/diagnostic.h"
#include "compiler/import.h"
#include "formats/pte/method_names.h"
#include "formats/pte/origin.h"
#include "formats/pte/proportion.h"
#include "formats/pte/reader.h"
#include "ir/text.h"
#include "ops/host/check.h"
#include "ops/nodes.h"
#include "ops/op.h"

namespace cormorant::compiler {
namespace {

constexpr const char* kDamaged = "the file is damaged: compile it again";
constexpr std::int64_t kMostMemory = std::int64_t{1} << 30;

// The reader needs 16-byte alignment.
std::shared_ptr<std::byte> aligned_copy(std::span<const std::byte> bytes) {
  constexpr std::align_val_t kAlignment{16};
  auto* data = static_cast<std::byte*>(::operator new(std::max<std::size_t>(bytes.size(), 1), kAlignment));
  std::memcpy(data, bytes.data(), bytes.size());
  return {data, [](std::byte* p) { ::operator delete(p, std::align_val_t{16}); }};
}

class ProgramImporter {
 public:
  ProgramImporter(std::span<const std::byte> bytes, std::string file, const std::string& method)
      : file_(std::move(file)), bytes_(aligned_copy(bytes)) {
    program_ = take(pte::ProgramView::open({bytes_.get(), bytes.size()}), "it");
    pte::require_proportionate(bytes, file_);
    method_ = take(program_.method(pte::choose_method(pte::method_names(bytes), method, file_)), "its method");
    graph_ = ir::Graph(std::string(take(method_.name(), "its method's name")));
    check_memory();
  }

  ir::Graph run() {
    for (const std::int32_t index : take(method_.inputs(), "its inputs")) {
      const std::string_view name = take(method_.tensor_name(index), "an input's name");
      ir::TensorType type = type_of(tensor(index));
      ir::Value* input =
          graph_.add_input(name.empty() ? fmt::format("x{}", index) : std::string(name), std::move(type));
      write(index, tensor(index), input);
    }
    find_initial_values();
    for (std::uint32_t i = 0; i < method_.instruction_count(); ++i) add(i);
    for (const std::int32_t index : take(method_.outputs(), "its outputs")) graph_.add_output(value(index));
    update_states();
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

  // What it keeps is allocated here.
  void check_memory() const {
    const auto sizes = method_.memory_sizes();
    std::int64_t room = kMostMemory;
    for (std::size_t id = 1; id < sizes.size(); ++id) {
      if (sizes[id] < 0 || sizes[id] > room) {
        fail(fmt::format("the program plans {} bytes of memory {}{}", sizes[id], id,
                         sizes[id] < 0 ? "" : ": more than 1 GiB in all"),
             kDamaged);
      }
      room -= sizes[id];
    }
  }

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

  using Place = std::pair<std::uint32_t, std::uint32_t>;  // memory id and offset

  struct State {
    ir::Value* value = nullptr;
    std::uint32_t bytes = 0;
    std::vector<std::int32_t> readers = {};  // tensors that were seen to hold its contents
  };

  static Place place_of(const pte::TensorView& view) { return {view.memory_id, view.offset}; }

  // Constants that the program reads from RAM (formats/pte/origin.h).
  [[nodiscard]] bool is_copied_constant(const pte::TensorView& view) const {
    std::string_view origin;
    if (!pte::find_origin(method_, origin) || !pte::has_constants_in_ram(origin)) return false;
    const auto copies = method_.tensor(pte::kCopies);
    return copies.ok() && view.memory_id == copies.value().memory_id && view.offset >= copies.value().offset &&
           view.offset - copies.value().offset < copies.value().bytes;
  }

  // Another tensor may be the first to read a state's memory.
  void find_initial_values() {
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(method_.value_count()); ++i) {
      const auto view = method_.tensor(i);
      if (!view.ok() || !view.value().is_planned() || view.value().data_index == 0) continue;
      if (!is_copied_constant(view.value())) initial_values_.emplace(place_of(view.value()), i);
    }
  }

  ir::Value* add_state(std::int32_t index, const pte::TensorView& view) {
    // States have memory of their own: so all of them are not larger than it.
    auto next = states_.lower_bound(place_of(view));
    if (next != states_.end() && next->first < Place{view.memory_id, view.offset + view.bytes}) {
      fail_to_separate(next->second);
    }
    if (next != states_.begin()) {
      const auto& [place, before] = *--next;
      if (place.first == view.memory_id && place.second + before.bytes > view.offset) fail_to_separate(before);
    }
    const ir::Bytes initial =
        view.data_index == 0
            ? ir::Bytes::own(std::vector<std::byte>(view.bytes))
            : ir::Bytes{bytes_, take(program_.initial_value(view.data_index, view.bytes), "a state's initial value")};
    const std::string_view name = take(method_.tensor_name(index), "a state's name");
    ir::Value* value = graph_.add_state(name.empty() ? fmt::format("state_{}", states_.size()) : std::string(name),
                                        type_of(view), initial);
    states_[place_of(view)] = {.value = value, .bytes = view.bytes, .readers = {index}};
    return places_[place_of(view)] = value;
  }

  // Notes that an instruction, or the caller, leaves a value in the tensor's memory.
  void write(std::int32_t index, const pte::TensorView& view, ir::Value* value) {
    if (const auto state = states_.find(place_of(view)); state != states_.end()) {
      for (const std::int32_t reader : state->second.readers) values_.erase(reader);
      state->second.readers = {index};
    }
    values_[index] = value;
    places_[place_of(view)] = value;
    if (view.is_planned()) written_.push_back(view);
  }

  // Only their updates write to states; each becomes what was left there last.
  void update_states() {
    for (const pte::TensorView& view : written_) {
      if (view.bytes == 0) continue;
      auto next = states_.lower_bound({view.memory_id, view.offset + view.bytes});
      if (next == states_.begin()) continue;
      const auto& [place, state] = *--next;
      const bool is_it = place == place_of(view) && state.bytes == view.bytes;
      if (!is_it && place.first == view.memory_id && place.second + state.bytes > view.offset) fail_to_separate(state);
    }
    for (const auto& [place, state] : states_) {
      ir::Value* now = places_.at(place);
      if (now == state.value) continue;
      if (now->type != state.value->type) {
        now = seen_as(now, state.value->type);
        if (now == nullptr) fail_to_separate(state);
      }
      graph_.add_update(state.value, now);
    }
  }
  [[noreturn]] void fail_to_separate(const State& state) const {
    fail(fmt::format("what the program keeps in {}, or reads before it is written, shares memory with other tensors",
                     state.value->name),
         "compile the original model instead");
  }

  // A value read with another shape, which needs no instruction. Null if it is more than a change of shape.
  ir::Value* seen_as(ir::Value* there, const ir::TensorType& type) {
    if (there->type == type) return there;
    const auto is_plain = [](const ir::TensorType& t) {  // its bytes are in logical order
      return t.dim_order.empty() || (t.rank() == 4 && (t.shape[1] == 1 || t.shape[2] * t.shape[3] == 1));
    };
    if (there->type.dtype != type.dtype || there->type.bytes() != type.bytes()) return nullptr;
    if (!is_plain(there->type) || !is_plain(type)) return nullptr;
    return graph_
        .add_node(there->name + "_seen", ops::nodes::aten_view,
                  {{"self", there}, {"size", std::vector<std::int64_t>(type.shape)}}, {type})
        ->result();
  }
  // The value in the tensor's memory.
  ir::Value* found_at(std::int32_t index, const pte::TensorView& view) {
    const auto at = places_.find(place_of(view));
    if (!view.is_planned() || at == places_.end()) return nullptr;
    ir::Value* value = seen_as(at->second, type_of(view));
    const auto state = states_.find(place_of(view));
    if (value != nullptr && state != states_.end()) state->second.readers.push_back(index);
    return value;
  }

  // A tensor that an instruction reads, or that is returned.
  ir::Value* value(std::int32_t index) {
    if (const auto at = values_.find(index); at != values_.end()) return at->second;
    const pte::TensorView view = tensor(index);
    if (ir::Value* found = found_at(index, view); found != nullptr) return values_[index] = found;
    if (!view.is_constant() && !is_copied_constant(view)) {
      const bool has_place = view.is_planned() && !places_.contains(place_of(view));
      if (const auto known = initial_values_.find(place_of(view)); has_place && known != initial_values_.end()) {
        values_[known->second] = add_state(known->second, tensor(known->second));
        if (known->second == index) return values_[index];
        if (ir::Value* found = found_at(index, view); found != nullptr) return values_[index] = found;
      }
      std::string_view origin;
      if (!has_place || places_.contains(place_of(view)) ||
          (view.data_index == 0 && pte::find_origin(method_, origin))) {
        const auto shares = [&](const pte::TensorView& other) {
          return other.memory_id == view.memory_id && other.offset < view.offset + view.bytes &&
                 other.offset + other.bytes > view.offset;
        };
        if (view.is_planned() && std::ranges::any_of(written_, shares)) {
          fail("the program reads a tensor whose parts are computed in place, or a part of another tensor",
               "compile the original model instead");
        }
        fail("the program reads a tensor that nothing has written", kDamaged);
      }
      return values_[index] = add_state(index, view);
    }
    const auto data = take(view.is_planned() ? program_.initial_value(view.data_index, view.bytes)
                                             : program_.constant(view.data_index, view.bytes),
                           "a constant");
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
      const pte::TensorView view = tensor(index);
      if (view.is_planned()) written_.push_back(view);
      return graph_.add_scratch(node + "_" + parameter.name, is_theirs ? 0 : view.bytes);
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
    if (graph_name == ops::nodes::aten_copy_) return copy(instruction);
    const ops::Signature* signature = ops::find_signature(graph_name);
    if (signature == nullptr || has_other_numbers(graph_name, instruction)) {
      if (add_portable(instruction, op)) return;
    }
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
    // Under a name that graphs have as well, stages may rely on what they rely on there; others are loaded.
    try {
      if (!ops::is_lowered(*made)) ops::check_node(*made);
    } catch (const InputError& error) {
      fail(error.diagnostic().problem, kDamaged);
    }
    for (std::size_t k = 0; k < signature->outs; ++k) {
      const std::int32_t index = instruction.args[read + k];
      write(index, tensor(index), made->results[k]);
    }
    where_.clear();
  }

  // Under a name that here computes in float, ExecuTorch computes in whatever type the result has.
  [[nodiscard]] bool has_other_numbers(const std::string& graph_name, const pte::InstructionView& instruction) const {
    ir::Node node;
    node.op = graph_name;
    if (!ops::wants_float(node) || instruction.args.empty()) return false;
    const auto out = method_.tensor(instruction.args.back());
    return out.ok() && out.value().dtype != DType::f32;
  }

  ir::Argument form_argument(std::string_view type, std::int32_t index) {
    using pte::ValueKind;
    switch (take(method_.kind(index), "an argument")) {
      case ValueKind::none:
        return {};
      case ValueKind::integer: {
        const std::int64_t number = take(method_.integer(index), "an integer");
        if (type.starts_with("ScalarType")) return element_type(number);
        if (type.starts_with("float")) return static_cast<double>(number);
        return number;
      }
      case ValueKind::boolean:
        return take(method_.boolean(index), "a boolean");
      case ValueKind::floating:
        return take(method_.floating(index), "a number");
      case ValueKind::string:
        return std::string(take(method_.string(index), "a string"));
      case ValueKind::int_list:
        return integers(index);
      case ValueKind::tensor_list: {
        std::vector<ir::Value*> values;
        for (const std::int32_t item : take(method_.tensor_list(index), "a list")) values.push_back(value(item));
        return values;
      }
      case ValueKind::tensor:
        return value(index);
      default:
        fail("an argument is a list of a kind that cannot be recompiled",
             "run the program as it is, or compile the original model");
    }
  }

  // A portable operator that our own programs do not have, as PyTorch's operator of that name; false if there is none.
  bool add_portable(const pte::InstructionView& instruction, const pte::OperatorView& op) {
    if (instruction.args.empty()) return false;
    const std::int32_t out = instruction.args.back();
    const auto result = method_.tensor(out);
    if (!result.ok()) return false;
    const auto form = find_portable_form(op.name, op.overload, result.value().dtype);
    if (!form || instruction.args.size() != form->schema.arguments.size() + 2) return false;
    if (instruction.args[form->schema.arguments.size()] != out) return false;  // it returns its result
    ir::Node call;
    call.name = fmt::format("{}_{}", op.name.substr(op.name.rfind(':') + 1), graph_.nodes().size());
    call.op = form->target;
    for (std::size_t k = 0; k < form->schema.arguments.size(); ++k) {
      const ops::SchemaArgument& argument = form->schema.arguments[k];
      call.args.push_back({argument.name, form_argument(argument.type, instruction.args[k])});
    }
    ir::Value* made = nullptr;
    try {
      made = import_portable(graph_, call, type_of(result.value()));
    } catch (const InputError& error) {
      fail(error.diagnostic().problem, error.diagnostic().advice);
    } catch (const ir::ArgumentError& error) {
      fail(error.what(), kDamaged);
    } catch (const std::out_of_range&) {
      fail("it lacks arguments or dimensions that this operator must have", kDamaged);
    }
    if (made == nullptr || made->type != type_of(result.value())) {
      fail(fmt::format("the operator {} cannot be recompiled", op.name),
           "run the program as it is, or compile the original model");
    }
    write(out, result.value(), made);
    where_.clear();
    return true;
  }

  // How ExecuTorch's programs end: what a mutable buffer becomes is copied to it.
  void copy(const pte::InstructionView& instruction) {
    if (instruction.args.size() < 2) fail("a copy has no tensors", kDamaged);
    const std::int32_t index = instruction.args[0];
    const pte::TensorView view = tensor(index);
    ir::Value* source = value(instruction.args[1]);
    if (source->type != type_of(view)) {
      fail(
          fmt::format("a copy of {} to {} cannot be recompiled", ir::to_text(source->type), ir::to_text(type_of(view))),
          "run the program as it is, or compile the original model");
    }
    write(index, view, source);
    where_.clear();
  }

  std::string file_;
  std::string where_;  // for messages
  std::shared_ptr<std::byte> bytes_;
  pte::ProgramView program_;
  pte::MethodView method_;
  ir::Graph graph_;
  std::unordered_map<std::int32_t, ir::Value*> values_;  // what a tensor of the program holds now
  std::map<Place, ir::Value*> places_;                   // what was written last at a place of a memory
  std::map<Place, State> states_;
  std::map<Place, std::int32_t> initial_values_;  // the tensors that have one
  std::vector<pte::TensorView> written_;          // tensors of inputs, results and scratch
};

}  // namespace

ir::Graph import_pte(std::span<const std::byte> program, const std::string& file, const std::string& method) {
  return ProgramImporter(program, file, method).run();
}

}  // namespace cormorant::compiler
