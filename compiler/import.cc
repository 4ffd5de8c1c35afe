// SPDX-License-Identifier: Apache-2.0
#include "compiler/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "base/diagnostic.h"
#include "base/element.h"
#include "compiler/aliases.h"
#include "compiler/count_selected.h"
#include "formats/pt2/recognize.h"
#include "formats/pt2/source.h"
#include "formats/pt2/zip.h"
#include "formats/pte/method_names.h"
#include "ir/text.h"
#include "ops/host/advice.h"
#include "ops/host/build.h"
#include "ops/host/check.h"
#include "ops/host/movement.h"
#include "ops/host/schema.h"
#include "ops/op.h"

namespace cormorant::compiler {
namespace {

struct Form {
  ops::Schema schema;
  const ops::AtenForm* form;
  const ops::Operator* op;
};

// Every form that some operator imports, by the export's name for it ("aten.conv2d.default").
using Forms = std::unordered_map<std::string, Form>;
struct FormTables {
  Forms all;
  Forms of_integers;  // those that differ where the result is an integer or a boolean
};

const FormTables& tables() {
  static const auto known = [] {
    FormTables made;
    for (const ops::Operator& op : ops::all_operators()) {
      for (const ops::AtenForm& form : op.forms) {
        ops::Schema schema = ops::parse_schema(form.schema);
        const std::string target = schema.target();
        const bool is_new =
            (op.for_integers ? made.of_integers : made.all).emplace(target, Form{schema, &form, &op}).second;
        if (!is_new) throw std::logic_error("two operators import " + target);
      }
    }
    // In-place variants take the same arguments; import makes them functional.
    for (Forms* forms : {&made.all, &made.of_integers}) {
      for (const auto& [target, form] : Forms(*forms)) {
        const std::size_t dot = target.rfind('.');
        if (!target.starts_with("aten.") || target[dot - 1] == '_') continue;
        forms->emplace(target.substr(0, dot) + "_" + target.substr(dot), form);
      }
    }
    return made;
  }();
  return known;
}
const Forms& forms() { return tables().all; }

// The form for results of that type.
const Form* find_form(const std::string& target, DType result) {
  const auto of_integers = tables().of_integers.find(target);
  if (of_integers != tables().of_integers.end() && !is_float(result)) return &of_integers->second;
  const auto found = forms().find(target);
  return found == forms().end() ? nullptr : &found->second;
}

std::string target_of(const pt2::Node& node) {
  constexpr std::string_view kLibrary = "torch.ops.";
  return node.target.starts_with(kLibrary) ? node.target.substr(kLibrary.size()) : node.target;
}

// Doubles are computed as floats.
DType computed(DType type) { return type == DType::f64 ? DType::f32 : type; }
ir::TensorType type_of(const pt2::TensorMeta& meta) { return {computed(meta.dtype), meta.sizes, {}, std::nullopt}; }

// A model whose layers still learn: batch norms that take their statistics from the batch.
bool is_training(const pt2::Node& node) {
  if (target_of(node).find("batch_norm") == std::string::npos) return false;
  return std::ranges::any_of(node.arguments, [](const pt2::NamedArgument& argument) {
    const bool* flag = argument.argument.get_if<bool>();
    return argument.name == "training" && flag != nullptr && *flag;
  });
}

std::string graph_name(const ops::Schema& schema) {
  std::string name = schema.name;
  return name.replace(name.find("::"), 2, ".");
}

std::vector<ir::Value*> import_call(ops::Importer& importer, const Form& form) {
  // A tensor without elements needs no computing.
  const auto is_empty = [](const ir::TensorType& type) { return type.elements() == 0; };
  if (!importer.types.empty() && std::ranges::all_of(importer.types, is_empty)) {
    std::vector<ir::Value*> results;
    results.reserve(importer.types.size());
    for (const ir::TensorType& type : importer.types) results.push_back(ops::Build(importer).filled(0, type));
    return results;
  }
  if (form.form->import != nullptr) return form.form->import(importer);
  return importer.node(graph_name(form.schema), importer.call->args)->results;
}

// What quantizers put into a model that has no form here: why, and what to export instead.
struct Refused {
  std::string_view prefix, problem, advice;
};
constexpr std::string_view kQuantizeStatically =
    "kernels have fixed parameters: quantize activations statically (PT2E with cormorant.quantizer.CortexMQuantizer, "
    "docs/python.md), or export the float model and let compile quantize it (--calibrate)";
constexpr std::string_view kDynamic = "activations are quantized anew for every input (dynamic quantization)";
constexpr std::string_view kPrepared = "the model was prepared for quantization, but not converted";
constexpr std::string_view kConvert =
    "call convert_pt2e (torchao: quantize_ with step=\"convert\") before torch.export.export";
constexpr Refused kRefused[] = {
    {"torchao.choose_qparams", kDynamic, kQuantizeStatically},
    {"quantized_decomposed.choose_qparams", kDynamic, kQuantizeStatically},
    {"quantized_decomposed._choose_qparams", kDynamic, kQuantizeStatically},
    {"quantized_decomposed.quantize_per_token", kDynamic, kQuantizeStatically},
    {"quantized_decomposed.dequantize_per_token", kDynamic, kQuantizeStatically},
    {"aten._int_mm.", "the product of integers as torchao's kernels for servers compute it", kQuantizeStatically},
    {"aten._weight_int", "a product as PyTorch's kernels for servers compute it", kQuantizeStatically},
    {"aten.fake_quantize_", kPrepared, kConvert},
    {"aten._fake_quantize_", kPrepared, kConvert},
    {"aten.fused_moving_avg_obs", kPrepared, kConvert},
    {"aten._fused_moving_avg_obs", kPrepared, kConvert},
    {"quantized_decomposed.fake_quant", kPrepared, kConvert},
};

class ProgramImport {
 public:
  ProgramImport(const pt2::Program& program, std::string file, std::vector<std::string>& notes)
      : program_(program), file_(std::move(file)), notes_(notes), aliases_(program.graph) {
    for (const pt2::OutputSpec& output : program.outputs) {
      if (output.kind == pt2::OutputKind::buffer_mutation) replaced_.insert(output.target);
    }
  }

  ir::Graph run() {
    require_inference();
    require_known_operators();
    for (const pt2::InputSpec& input : program_.inputs) add_input(input);
    for (const pt2::Node& node : program_.graph.nodes) add_node(node);
    for (const pt2::OutputSpec& output : program_.outputs) add_output(output);
    for (const auto& [name, state] : states_) {
      const auto returned = returned_.find(name);
      add_update(name, state, returned == returned_.end() ? value(name) : returned->second);
    }
    for (const pt2::InputSpec& input : program_.inputs) {
      if (input.kind == pt2::InputKind::user_input) keep_if_changed(input.name);
    }
    graph_.erase_unused();
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(Diagnostic diagnostic) const {
    diagnostic.file = file_;
    throw InputError(std::move(diagnostic));
  }

  // Before all else: such a model also has state and operators that it would not have at inference.
  void require_inference() const {
    const auto found = std::ranges::find_if(program_.graph.nodes, is_training);
    if (found == program_.graph.nodes.end()) return;
    fail(pt2::diagnose(*found, "the model was exported in training mode: this batch norm learns its statistics",
                       "call model.eval() before torch.export.export"));
  }

  // The types of inputs and results; constants may have other types where an operator supports them.
  ir::TensorType computed_type(const std::string& name) const {
    ir::TensorType type = type_of(program_.graph.tensors.at(name));
    if (!type.is_possible()) {
      fail({fmt::format(
                "the tensor '{}' of shape [{}] is larger than a program can hold: at most 16 dimensions, below 2 GB",
                name, fmt::join(type.shape, ", ")),
            "export the model for smaller inputs",
            {},
            name});
    }
    if (type.dtype == DType::f16 || type.dtype == DType::bf16) {
      fail({fmt::format("the tensor '{}' is {}, but float models compute in float32", name,
                        type.dtype == DType::f16 ? "float16" : "bfloat16"),
            "call model.float() and export it with float32 inputs",
            {},
            name});
    }
    return type;
  }

  // All at once: a user with three of them should not find out one by one.
  void require_known_operators() const {
    const pt2::Node* first = nullptr;
    std::set<std::string> unknown;
    for (const pt2::Node& node : program_.graph.nodes) {
      if (forms().contains(target_of(node))) continue;
      if (first == nullptr) first = &node;
      unknown.insert(target_of(node));
    }
    if (first == nullptr) return;
    for (const pt2::Node& node : program_.graph.nodes) {
      if (target_of(node).starts_with("higher_order.")) fail_for_control_flow(node);
    }
    fail_for_quantizer();
    const std::string target = target_of(*first);
    const bool is_of_pytorch = target.starts_with("aten.") || target.starts_with("prims.");
    std::string problem = is_of_pytorch ? "PyTorch's operator " + target + " is not supported"
                                        : target + " is not an operator of PyTorch but one of a library or the model";
    if (unknown.size() > 1) problem += fmt::format(" (all unsupported operators: {})", fmt::join(unknown, ", "));
    fail(pt2::diagnose(*first, problem,
                       is_of_pytorch ? "let PyTorch express it in terms of others: save torch.export.export(…)"
                                       ".run_decompositions(), or write it differently in the model; "
                                       "docs/adding-an-operator.md says how to add one"
                                     : "write it with PyTorch's own operators before the export"));
  }

  void fail_for_quantizer() const {
    for (const Refused& refused : kRefused) {
      for (const pt2::Node& node : program_.graph.nodes) {
        const std::string target = target_of(node);
        if (!target.starts_with(refused.prefix) || forms().contains(target)) continue;
        fail(pt2::diagnose(node, fmt::format("{}: {}", target, refused.problem), std::string(refused.advice)));
      }
    }
  }

  // A program computes the same instructions every time.
  [[noreturn]] void fail_for_control_flow(const pt2::Node& node) const {
    const std::string what = fmt::format("control flow ({})", target_of(node));
    const std::set<std::string> buffers = buffers_changed_by(node);
    fail(pt2::diagnose(node,
                       buffers.empty() ? what + ", which programs do not have"
                                       : fmt::format("the buffer '{}' is changed under {}, which programs do not have",
                                                     fmt::join(buffers, "', '"), what),
                       "compute both branches and choose by torch.where; write loops out in the model"));
  }

  // The buffers whose new contents depend on a node's results, by the model's names.
  std::set<std::string> buffers_changed_by(const pt2::Node& from) const {
    std::set<std::string> reached, buffers;
    const auto reaches = [&](const pt2::Argument& argument) {
      if (const auto* one = argument.get_if<pt2::TensorRef>()) return reached.contains(one->name);
      const auto* many = argument.get_if<std::vector<pt2::TensorRef>>();
      return many != nullptr &&
             std::ranges::any_of(*many, [&](const pt2::TensorRef& ref) { return reached.contains(ref.name); });
    };
    bool is_after = false;
    for (const pt2::Node& node : program_.graph.nodes) {
      is_after |= &node == &from;
      const bool depends = &node == &from || std::ranges::any_of(node.arguments, [&](const pt2::NamedArgument& named) {
        return reaches(named.argument);
      });
      if (!is_after || !depends) continue;
      for (const std::string& name : pt2::output_names(node)) reached.insert(name);
      if (!works_in_place(node.target) || node.arguments.empty()) continue;
      const auto* self = node.arguments.front().argument.get_if<pt2::TensorRef>();
      if (self == nullptr) continue;
      for (const pt2::InputSpec& input : program_.inputs) {
        if (input.kind == pt2::InputKind::buffer && input.name == aliases_.base(self->name)) {
          buffers.insert(input.target);
        }
      }
    }
    for (const pt2::OutputSpec& output : program_.outputs) {
      if (output.kind == pt2::OutputKind::buffer_mutation && reaches(output.argument)) buffers.insert(output.target);
    }
    return buffers;
  }

  // Assigning another shape to a buffer is exported as a copy to it that PyTorch would refuse.
  void require_same_shape(const pt2::Node& node) const {
    if (target_of(node) != "aten.copy_.default" || node.arguments.size() < 2) return;
    const auto* self = node.arguments[0].argument.get_if<pt2::TensorRef>();
    const auto* source = node.arguments[1].argument.get_if<pt2::TensorRef>();
    if (self == nullptr || source == nullptr) return;
    const auto input = std::ranges::find(program_.inputs, self->name, &pt2::InputSpec::name);
    if (input == program_.inputs.end() || input->kind != pt2::InputKind::buffer) return;
    const std::vector<std::int64_t>& before = program_.graph.tensors.at(self->name).sizes;
    const std::vector<std::int64_t>& now = program_.graph.tensors.at(source->name).sizes;
    bool fits = now.size() <= before.size();
    for (std::size_t i = 0; fits && i < now.size(); ++i) {
      fits = now[now.size() - 1 - i] == 1 || now[now.size() - 1 - i] == before[before.size() - 1 - i];
    }
    if (fits) return;
    fail(pt2::diagnose(node,
                       fmt::format("the buffer '{}' changes its shape from [{}] to [{}]", input->target,
                                   fmt::join(before, ", "), fmt::join(now, ", ")),
                       "state keeps its type from one execution to the next: allocate it at its largest size"));
  }

  // `changes` finds the node that does it.
  template <class F>
  [[noreturn]] void fail_for_parameter(const std::string& target, const std::string& name, F changes) const {
    const std::string problem = "the model changes its parameter '" + target + "'";
    const std::string advice =
        "make it a buffer (register_buffer) if it is state between inferences; training on the target is not supported";
    const auto node = std::ranges::find_if(program_.graph.nodes, changes);
    if (node == program_.graph.nodes.end()) fail({problem, advice, {}, name});
    fail(pt2::diagnose(*node, problem, advice));
  }

  void add_input(const pt2::InputSpec& input) {
    switch (input.kind) {
      case pt2::InputKind::user_input: {
        const auto* tensor = input.argument.get_if<pt2::TensorRef>();
        if (tensor == nullptr) {
          fail({"input '" + input.name + "' is not a tensor",
                "export the model with this argument fixed",
                {},
                input.name});
        }
        bind(tensor->name, graph_.add_input(tensor->name, computed_type(tensor->name)));
        return;
      }
      case pt2::InputKind::parameter:
      case pt2::InputKind::buffer:
      case pt2::InputKind::tensor_constant: {
        const pt2::TensorData* data = pt2::initial_value(program_, input);
        if (!aliases_.is_changed(input.name) && !replaced_.contains(input.target)) {
          bind(input.name, graph_.add_constant(input.target, type_of(data->meta), bytes_of(*data)));
          return;
        }
        if (input.kind != pt2::InputKind::buffer) {
          fail_for_parameter(input.target, input.name, [&](const pt2::Node& node) {
            if (!works_in_place(node.target) || node.arguments.empty()) return false;
            const auto* self = node.arguments.front().argument.get_if<pt2::TensorRef>();
            return self != nullptr && aliases_.base(self->name) == input.name;
          });
        }
        ir::Value* state = graph_.add_state(input.target, type_of(data->meta), bytes_of(*data));
        bind(input.name, state);
        states_.emplace_back(input.name, state);
        return;
      }
      case pt2::InputKind::constant:
        return;  // a number fixed by the export: it is in the nodes already
      default:
        fail({"input '" + input.name + "' is a custom object or token",
              "only tensors can be inputs of a model for a microcontroller",
              {},
              input.name});
    }
  }

  // The file's own bytes are used in place if possible; odd strides or alignment cost one copy.
  static ir::Bytes bytes_of(const pt2::TensorData& data) {
    if (data.meta.dtype == DType::f64) {
      const std::vector<std::byte> doubles = pt2::contiguous(data);
      std::vector<float> floats(doubles.size() / sizeof(double));
      for (std::size_t i = 0; i < floats.size(); ++i) {
        double value = 0;
        std::memcpy(&value, doubles.data() + i * sizeof(double), sizeof(double));
        floats[i] = static_cast<float>(value);
      }
      return ir::Bytes::of(std::span<const float>(floats));
    }
    if (pt2::is_contiguous(data.meta)) {
      const auto view = pt2::contiguous_view(data);
      if (reinterpret_cast<std::uintptr_t>(view.data()) % size_of(data.meta.dtype) == 0) return {data.owner, view};
    }
    return ir::Bytes::own(pt2::contiguous(data));
  }

  void add_node(const pt2::Node& node) {
    require_same_shape(node);
    const std::vector<std::string> names = pt2::output_names(node);
    const Form& form = form_of(node, names);
    ir::Node call;
    call.name = node.name;
    call.op = form.schema.target();
    call.location = {pt2::module_path(node), pt2::source_line(node)};
    call.args = arguments_of(node, form.schema);

    ops::Importer importer;
    importer.graph = &graph_;
    importer.call = &call;
    for (const std::string& name : names) importer.types.push_back(computed_type(name));

    std::vector<ir::Value*> results;
    const std::size_t known = graph_.nodes().size();
    try {
      ops::check_call(call, form.schema);
      if (!form.op->keeps_types && call.op.starts_with("aten.")) take_as_floats(importer, call);
      results = import_call(importer, form);
      for (auto made = std::prev(graph_.nodes().end(), static_cast<std::ptrdiff_t>(graph_.nodes().size() - known));
           made != graph_.nodes().end(); ++made) {
        ops::check_node(*made);
      }
      check_results(node, names, importer.types, results);
    } catch (const InputError& error) {
      fail(error.diagnostic());
    } catch (const std::out_of_range&) {
      fail(pt2::diagnose(node, "it lacks results or dimensions that this operator must have", ops::kInconsistent));
    } catch (const ir::ArgumentError& error) {  // a number where this form needs a tensor
      fail(pt2::diagnose(node, error.what(), ops::kInconsistent));
    }
    results.resize(std::max(results.size(), names.size()), nullptr);
    for (std::size_t i = 0; i < names.size(); ++i) {
      bind(names[i], results[i]);
      if (results[i] == nullptr) {
        missing_.emplace(
            names[i],
            pt2::diagnose(node, fmt::format("the model uses result {} of {}, which is not computed here", i, call.op),
                          "PyTorch computes it for training: use the others"));
      }
    }
    if (!works_in_place(node.target) || node.arguments.empty() || results.empty()) return;
    const auto* self = node.arguments.front().argument.get_if<pt2::TensorRef>();
    if (self == nullptr) return;
    write(node, self->name, results.front());
    if (!names.empty()) bind(names.front(), results.front());
  }

  // The result of an operator has the shape that the export declares.
  void check_results(const pt2::Node& node, const std::vector<std::string>& names,
                     const std::vector<ir::TensorType>& recorded, const std::vector<ir::Value*>& results) const {
    for (std::size_t i = 0; i < names.size() && i < results.size(); ++i) {
      if (results[i] == nullptr || results[i]->type.shape == recorded[i].shape) continue;
      fail(pt2::diagnose(node,
                         fmt::format("its result '{}' is declared as [{}], but its arguments give [{}]", names[i],
                                     fmt::join(recorded[i].shape, ", "), fmt::join(results[i]->type.shape, ", ")),
                         ops::kInconsistent));
    }
  }

  const Form& form_of(const pt2::Node& node, const std::vector<std::string>& names) const {
    const DType result = names.empty() ? DType::f32 : computed(program_.graph.tensors.at(names.front()).dtype);
    const Form* form = find_form(target_of(node), result);
    if (form == nullptr) throw std::logic_error("no form imports " + target_of(node));
    return *form;
  }

  // PyTorch promotes integers combined with floats.
  static void take_as_floats(ops::Importer& importer, ir::Node& call) {
    if (importer.types.empty() || importer.types.front().dtype != DType::f32) return;
    const ops::Build build(importer);
    const auto promote = [&](ir::Value*& value) {
      if (value != nullptr && is_integer(value->type.dtype)) value = build.real(value);
    };
    for (ir::NamedArgument& argument : call.args) {
      if (auto* value = std::get_if<ir::Value*>(&argument.value)) promote(*value);
      if (auto* list = std::get_if<std::vector<ir::Value*>>(&argument.value)) std::ranges::for_each(*list, promote);
    }
  }

  // relu_(x) changes x itself: later uses of x, or of any view of the same memory, mean the result.
  void write(const pt2::Node& by, const std::string& name, ir::Value* now) {
    const Aliases::View* view = aliases_.view(name);
    if (view == nullptr) {
      ++versions_[name];
    } else {
      write(by, view->of, view->node == nullptr ? now : put_back(by, *view->node, value(view->of), now));
    }
    bind(name, now);
  }

  // The whole tensor, with the part that the view shows replaced.
  ir::Value* put_back(const pt2::Node& by, const pt2::Node& view, ir::Value* whole, ir::Value* part) {
    ir::Node call;
    call.name = by.name;
    call.location = {pt2::module_path(by), pt2::source_line(by)};
    call.args = arguments_of(view, forms().at(target_of(view)).schema);
    ops::Importer importer;
    importer.graph = &graph_;
    importer.call = &call;
    const ops::Mover mover(importer);
    const std::string target = target_of(view);
    const std::string name = target.substr(0, target.rfind('.'));
    const auto dim = [&](const char* argument) {
      return ops::dim_argument(importer, call.integer(argument), whole->type.rank());
    };
    if (name == "aten.slice" || name == "aten.select" || name == "aten.narrow") {
      const auto at = static_cast<std::size_t>(dim("dim"));
      const std::int64_t size = whole->type.shape[at];
      const auto place = [&](const char* argument, std::int64_t otherwise) {
        const std::int64_t given = call.has(argument) ? call.integer(argument) : otherwise;
        return std::clamp<std::int64_t>(given < 0 ? given + size : given, 0, size);
      };
      if (name == "aten.slice" && call.integer("step") != 1) fail(cannot_follow(by, view));
      const std::int64_t start = place(name == "aten.select" ? "index" : "start", 0);
      ir::Shape shape = whole->type.shape;
      shape[at] = name == "aten.select" ? 1 : part->type.shape.at(at);
      std::vector<ir::Value*> pieces;
      if (start > 0) pieces.push_back(mover.slice(whole, static_cast<std::int64_t>(at), 0, start));
      pieces.push_back(mover.view(part, shape));
      const std::int64_t end = start + shape[at];
      if (end < size) pieces.push_back(mover.slice(whole, static_cast<std::int64_t>(at), end, size));
      return mover.cat(std::move(pieces), static_cast<std::int64_t>(at));
    }
    if (name == "aten.transpose" || name == "aten.t" || name == "aten.permute") {
      ops::Dims dims(whole->type.rank());
      for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = static_cast<std::int64_t>(i);
      if (name == "aten.permute") {
        const std::vector<std::int64_t>& order = call.integers("dims");
        for (std::size_t i = 0; i < order.size(); ++i) {
          dims[static_cast<std::size_t>(ops::dim_argument(importer, order[i], dims.size()))] =
              static_cast<std::int64_t>(i);
        }
      } else if (dims.size() > 1) {
        std::swap(dims[static_cast<std::size_t>(name == "aten.t" ? 0 : dim("dim0"))],
                  dims[static_cast<std::size_t>(name == "aten.t" ? 1 : dim("dim1"))]);
      }
      return mover.permute(part, dims);
    }
    constexpr std::string_view kReshaping[] = {"aten.alias",   "aten.detach",    "aten.flatten",   "aten.reshape",
                                               "aten.squeeze", "aten.unflatten", "aten.unsqueeze", "aten.view"};
    if (std::ranges::find(kReshaping, name) == std::end(kReshaping)) fail(cannot_follow(by, view));
    return mover.view(part, whole->type.shape);
  }

  static Diagnostic cannot_follow(const pt2::Node& by, const pt2::Node& view) {
    return pt2::diagnose(by, "changes a tensor through " + target_of(view) + ", which cannot be followed to its source",
                         "assign to the tensor itself, or to a slice of it with step 1");
  }

  // What a state holds when the next execution begins.
  void add_update(const std::string& name, ir::Value* state, ir::Value* now) {
    if (now == state) return;
    if (now->type.shape != state->type.shape || now->type.dtype != state->type.dtype) {
      const ir::Node* producer = now->producer;
      fail({"the buffer '" + state->name + "' changes its shape or element type",
            "state keeps its type from one execution to the next: allocate it at its largest size",
            {},
            producer == nullptr ? name : producer->name,
            producer == nullptr ? std::string() : producer->location.text()});
    }
    graph_.add_update(state, now);
  }

  // An input that the model changes using other inputs is state that the caller kept; it is initially zero. One that
  // only depends on itself (an activation in place) is an input like any other. Callers of forward() see the change in
  // either case, callers of the program do not.
  void keep_if_changed(const std::string& name) {
    const auto found = values_.find(name);
    if (found == values_.end()) return;
    const auto input = std::ranges::find_if(graph_.inputs(), [&](const ir::Value* v) { return v->name == name; });
    if (input == graph_.inputs().end()) return;
    const auto returned = returned_.find(name);
    ir::Value* now = returned != returned_.end() ? returned->second : value(name);
    if (now == *input) return;
    if (!depends_on_other_inputs(now, *input)) {
      notes_.push_back(
          fmt::format("forward() changes its input '{}' in place; the program computes with the change, but "
                      "does not write it to the caller's input: return it if it is needed",
                      name));
      return;
    }
    notes_.push_back(fmt::format(
        "forward() changes its input '{}' from other inputs: in the program it is not an input but state, which "
        "is initially zero and kept from one execution to the next",
        name));
    ir::Value* from = *input;
    ir::Value* state = graph_.add_state(
        name, from->type, ir::Bytes::own(std::vector<std::byte>(static_cast<std::size_t>(from->type.bytes()))));
    graph_.inputs().erase(input);
    graph_.replace_uses(from, state);
    add_update(name, state, now);
  }

  static bool depends_on_other_inputs(const ir::Value* value, const ir::Value* self) {
    std::set<const ir::Value*> seen = {value};
    std::vector<const ir::Value*> waiting = {value};
    while (!waiting.empty()) {
      const ir::Value* at = waiting.back();
      waiting.pop_back();
      if (at->kind == ir::ValueKind::input && at != self) return true;
      if (at->producer == nullptr) continue;
      for (const ir::Value* operand : at->producer->inputs()) {
        if (seen.insert(operand).second) waiting.push_back(operand);
      }
    }
    return false;
  }

  std::vector<ir::NamedArgument> arguments_of(const pt2::Node& node, const ops::Schema& schema) {
    std::vector<ir::NamedArgument> args;
    for (const ops::SchemaArgument& wanted : schema.arguments) {
      const pt2::NamedArgument* given = nullptr;
      for (const pt2::NamedArgument& argument : node.arguments) {
        if (argument.name == wanted.name) given = &argument;
      }
      if (given != nullptr) {
        args.push_back({wanted.name, convert(node, *given)});
      } else if (wanted.fallback) {
        args.push_back({wanted.name, *wanted.fallback});
      } else {
        fail(pt2::diagnose(node, fmt::format("{} lacks its argument '{}'", schema.target(), wanted.name),
                           "the file is damaged, or comes from a PyTorch version whose operator differs"));
      }
    }
    for (const pt2::NamedArgument& argument : node.arguments) {
      const auto known = [&](const ops::SchemaArgument& wanted) { return wanted.name == argument.name; };
      if (std::none_of(schema.arguments.begin(), schema.arguments.end(), known)) {
        fail(pt2::diagnose(node, fmt::format("{} has an unknown argument '{}'", schema.target(), argument.name),
                           "the file may come from a newer PyTorch than cormorant supports"));
      }
    }
    return args;
  }

  ir::Argument convert(const pt2::Node& node, const pt2::NamedArgument& named) {
    const pt2::Argument& a = named.argument;
    if (a.is_none()) return ir::None{};
    if (const auto* v = a.get_if<pt2::TensorRef>()) return value(v->name);
    if (const auto* v = a.get_if<std::vector<pt2::TensorRef>>()) {
      std::vector<ir::Value*> values;
      for (const pt2::TensorRef& ref : *v) values.push_back(value(ref.name));
      return values;
    }
    if (const auto* v = a.get_if<bool>()) return *v;
    if (const auto* v = a.get_if<std::int64_t>()) return *v;
    if (const auto* v = a.get_if<std::vector<std::int64_t>>()) return *v;
    if (const auto* v = a.get_if<double>()) return *v;
    if (const auto* v = a.get_if<std::vector<double>>()) return *v;
    if (const auto* v = a.get_if<std::string>()) return *v;
    if (const auto* v = a.get_if<pt2::ScalarType>(); v != nullptr && v->dtype) return computed(*v->dtype);
    if (const auto* v = a.get_if<pt2::MemoryFormat>()) return static_cast<std::int64_t>(*v);
    if (const auto* v = a.get_if<pt2::Layout>()) return static_cast<std::int64_t>(*v);
    if (const auto* v = a.get_if<pt2::Device>()) return v->type;
    // A list with gaps, of indices; an empty one has no type in the file.
    if (const auto* v = a.get_if<std::vector<std::optional<pt2::TensorRef>>>(); v != nullptr) {
      if (v->empty()) return ir::None{};
      std::vector<ir::Value*> values;
      for (const auto& ref : *v) values.push_back(ref ? value(ref->name) : nullptr);
      return values;
    }
    fail(pt2::diagnose(node, "argument '" + named.name + "' is of a kind that no operator here takes",
                       "dynamic shapes, sub-graphs and custom objects cannot be compiled"));
  }

  void add_output(const pt2::OutputSpec& output) {
    const auto* tensor = output.argument.get_if<pt2::TensorRef>();
    if (tensor == nullptr) {
      fail({"an output is not a tensor", "return only tensors from forward()", {}, output.name});
    }
    if (output.kind == pt2::OutputKind::user_output) return graph_.add_output(value(tensor->name), output.key);
    if (output.kind == pt2::OutputKind::user_input_mutation) {
      returned_[output.target] = value(tensor->name);
      return;
    }
    if (output.kind == pt2::OutputKind::parameter_mutation) {
      fail_for_parameter(output.target, output.name, [&](const pt2::Node& node) {
        const std::vector<std::string> made = pt2::output_names(node);
        return std::ranges::find(made, tensor->name) != made.end();
      });
    }
    const auto is_it = [&](const pt2::InputSpec& input) { return input.target == output.target; };
    const auto input = std::ranges::find_if(program_.inputs, is_it);
    if (output.kind != pt2::OutputKind::buffer_mutation || input == program_.inputs.end()) {
      fail({"the model changes '" + output.target + "', which is not a buffer",
            "only buffers (register_buffer) can be state between inferences",
            {},
            output.name});
    }
    returned_[input->name] = value(tensor->name);
  }

  void bind(const std::string& name, ir::Value* value) {
    values_[name] = value;
    seen_[name] = versions_[aliases_.base(name)];
  }
  // A view shows changes made to its source since it was created.
  ir::Value* value(const std::string& name) {
    const Aliases::View* view = aliases_.view(name);
    const auto seen = seen_.find(name);
    if (view != nullptr && seen != seen_.end() && seen->second != versions_[aliases_.base(name)]) {
      if (view->node != nullptr) {
        add_node(*view->node);
      } else {
        bind(name, value(view->of));
      }
    }
    const auto found = values_.find(name);
    if (found != values_.end() && found->second != nullptr) return found->second;
    const auto why = missing_.find(name);
    if (why != missing_.end()) fail(why->second);
    fail({"the tensor '" + name + "' is used but never defined", "the model is damaged: export it again", {}, name});
  }

  const pt2::Program& program_;
  std::string file_;
  std::vector<std::string>& notes_;
  ir::Graph graph_;
  std::unordered_map<std::string, ir::Value*> values_;
  std::unordered_map<std::string, Diagnostic> missing_;  // results that no operator here computes: masks, indices
  const Aliases aliases_;
  std::unordered_map<std::string, int> versions_;  // of a base: how often it was changed so far
  std::unordered_map<std::string, int> seen_;      // of a name: the version of its base that it was bound at
  std::vector<std::pair<std::string, ir::Value*>> states_;
  std::set<std::string> replaced_;  // buffers whose new contents the exported graph returns
  std::unordered_map<std::string, ir::Value*>
      returned_;  // the new contents of buffers and inputs, if the graph says so
};

}  // namespace

std::optional<PortableForm> find_portable_form(std::string_view name, std::string_view overload, DType result) {
  constexpr std::string_view kNamespace = "aten::", kCopy = "_copy", kOut = "_out";
  if (!name.starts_with(kNamespace)) return std::nullopt;
  name.remove_prefix(kNamespace.size());
  std::vector<std::string> overloads = {"default", "Tensor"};
  if (overload == "IntList_out") {
    overloads = {"dim_IntList"};
  } else if (overload.ends_with(kOut)) {
    overloads = {std::string(overload.substr(0, overload.size() - kOut.size()))};
  } else if (overload != "out") {
    return std::nullopt;
  }
  std::vector<std::string> names = {std::string(name)};  // view_copy is view, without the view
  if (name.ends_with(kCopy)) names.emplace_back(name.substr(0, name.size() - kCopy.size()));
  for (const std::string& base : names) {
    for (const std::string& ending : overloads) {
      std::string target = fmt::format("aten.{}.{}", base, ending);
      if (const Form* form = find_form(target, result); form != nullptr) return PortableForm{target, form->schema};
    }
  }
  return std::nullopt;
}

ir::Value* import_portable(ir::Graph& graph, const ir::Node& call, const ir::TensorType& type) {
  const Form& form = *find_form(call.op, type.dtype);
  ops::check_call(call, form.schema);
  ops::Importer importer;
  importer.graph = &graph;
  importer.call = &call;
  importer.types = {type};
  const std::size_t known = graph.nodes().size();
  const std::vector<ir::Value*> results = import_call(importer, form);
  for (auto made = std::prev(graph.nodes().end(), static_cast<std::ptrdiff_t>(graph.nodes().size() - known));
       made != graph.nodes().end(); ++made) {
    ops::check_node(*made);
  }
  return results.at(0);
}

// Warns once that a model's doubles are computed as floats.
static void note_doubles(const pt2::Program& program, std::vector<std::string>& notes) {
  for (const auto& [name, meta] : program.graph.tensors) {
    if (meta.dtype != DType::f64) continue;
    notes.push_back(fmt::format("'{}' is float64 in the model; it is computed in float32", name));
    return;
  }
}

ir::Graph import_program(const pt2::Program& program, const std::string& file, std::vector<std::string>* notes) {
  std::vector<std::string> unread;
  std::vector<std::string>& told = notes != nullptr ? *notes : unread;
  note_doubles(program, told);
  return ProgramImport(program, file, told).run();
}

ir::Graph import_text(std::string_view text, const std::string& file, const ir::Bytes& blob) {
  ir::Graph graph = ir::parse(text, file, blob);
  try {
    for (const ir::Node& node : graph.nodes()) ops::check_node(node);
  } catch (const InputError& error) {
    Diagnostic diagnostic = error.diagnostic();
    diagnostic.file = file;
    throw InputError(std::move(diagnostic));
  }
  return graph;
}

std::vector<std::string> method_names(const std::string& path) {
  if (std::filesystem::path(path).extension() == ".txt") return {};
  const pt2::SharedBytes file = pt2::map_file(path);
  if (std::filesystem::path(path).extension() != ".pte" || pt2::looks_like_zip(file.bytes)) {
    return pt2::read_names(path);
  }
  return pte::method_names(file.bytes);
}

ir::Graph import_model(const std::string& path, const ImportOptions& options) {
  const auto require_no_shapes = [&] {
    if (options.shapes.empty()) return;
    throw InputError({"--shape is for dynamic dimensions of a .pt2; this file has none", "remove --shape", path});
  };
  if (std::filesystem::path(path).extension() == ".txt") {
    require_no_shapes();
    const pt2::SharedBytes text = pt2::map_file(path);
    ir::Bytes blob;
    if (const std::string data = path + ".data"; std::filesystem::exists(data)) {
      pt2::SharedBytes mapped = pt2::map_file(data);
      blob = {mapped.owner, mapped.bytes};
    }
    ir::Graph graph = import_text(text.text(), path, blob);
    pte::choose_method({graph.name()}, options.method, path);
    return graph;
  }
  if (std::filesystem::path(path).extension() == ".pte") {
    const pt2::SharedBytes file = pt2::map_file(path);
    if (!pt2::looks_like_zip(file.bytes)) {
      require_no_shapes();
      return import_pte(file.bytes, path, options.method);
    }
  }
  const std::string method = pte::choose_method(pt2::read_names(path), options.method, path);
  const pt2::Archive archive = pt2::read(
      path,
      {.shapes = options.shapes,
       .defaults = options.defaults,
       .count = [&](const pt2::Program& before, const pt2::Node& node) { return count_selected(before, node, path); },
       .only = method});
  const pt2::Program& program = archive.programs.front();
  if (options.notes != nullptr) {
    options.notes->insert(options.notes->end(), program.notes.begin(), program.notes.end());
  }
  return import_program(program, path, options.notes);
}

}  // namespace cormorant::compiler
