// SPDX-License-Identifier: Apache-2.0
#include "compiler/import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <unordered_map>

#include "base/diagnostic.h"
#include "formats/pt2/source.h"
#include "formats/pt2/zip.h"
#include "ir/text.h"
#include "ops/check.h"
#include "ops/op.h"
#include "ops/schema.h"

namespace cormorant::compiler {
namespace {

struct Form {
  ops::Schema schema;
  const ops::AtenForm* form;
};

// Every spelling that some operator imports, by the export's name for it ("aten.conv2d.default").
const std::unordered_map<std::string, Form>& forms() {
  static const auto table = [] {
    std::unordered_map<std::string, Form> made;
    for (const ops::Operator& op : ops::all_operators()) {
      for (const ops::AtenForm& form : op.forms) {
        ops::Schema schema = ops::parse_schema(form.schema);
        std::string target = schema.target();
        made.emplace(std::move(target), Form{std::move(schema), &form});
      }
    }
    return made;
  }();
  return table;
}

std::string target_of(const pt2::Node& node) {
  constexpr std::string_view kPrefix = "torch.ops.";
  return node.target.starts_with(kPrefix) ? node.target.substr(kPrefix.size()) : node.target;
}

// nn.LSTM, nn.GRU, nn.RNN and their cells.
bool is_recurrent(std::string_view target) {
  constexpr std::string_view kNames[] = {"aten.lstm", "aten.gru", "aten.rnn_", "aten.quantized_lstm",
                                         "aten.quantized_gru"};
  return std::ranges::any_of(kNames, [&](std::string_view name) { return target.starts_with(name); });
}

ir::TensorType type_of(const pt2::TensorMeta& meta) { return {meta.dtype, meta.sizes, {}, std::nullopt}; }

// A model whose layers still learn: batch norms that take their statistics from the batch.
bool is_training(const pt2::Node& node) {
  if (target_of(node).find("batch_norm") == std::string::npos) return false;
  return std::ranges::any_of(node.arguments, [](const pt2::NamedArgument& argument) {
    const bool* flag = argument.argument.get_if<bool>();
    return argument.name == "training" && flag != nullptr && *flag;
  });
}

class ProgramImport {
 public:
  ProgramImport(const pt2::Program& program, std::string file) : program_(program), file_(std::move(file)) {}

  ir::Graph run() {
    require_inference();
    require_known_operators();
    for (const pt2::InputSpec& input : program_.inputs) add_input(input);
    for (const pt2::Node& node : program_.graph.nodes) add_node(node);
    for (const pt2::OutputSpec& output : program_.outputs) add_output(output);
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

  // What the model computes with, its inputs and results; constants may be of other types where an operator knows them.
  ir::TensorType computed_type(const std::string& name) const {
    ir::TensorType type = type_of(program_.graph.tensors.at(name));
    if (!type.is_possible()) {
      fail({fmt::format("the tensor '{}' of shape [{}] is larger than a program can hold: 16 dimensions, below 2 GB",
                        name, fmt::join(type.shape, ", ")),
            "export the model for smaller inputs",
            {},
            name});
    }
    if (type.dtype == DType::f16 || type.dtype == DType::bf16 || type.dtype == DType::f64) {
      fail({fmt::format("the tensor '{}' is {}, but float models compute in float32", name,
                        type.dtype == DType::f64   ? "float64"
                        : type.dtype == DType::f16 ? "float16"
                                                   : "bfloat16"),
            "call model.float() and export it with float32 inputs",
            {},
            name});
    }
    return type;
  }

  // All at once: a user who has three of them should not find out one by one.
  void require_known_operators() const {
    const pt2::Node* first = nullptr;
    std::set<std::string> unknown;
    for (const pt2::Node& node : program_.graph.nodes) {
      if (forms().contains(target_of(node))) continue;
      // A layer's own operator says more than what surrounds it, such as the zeros that an LSTM starts from.
      if (first == nullptr || (!is_recurrent(target_of(*first)) && is_recurrent(target_of(node)))) first = &node;
      unknown.insert(target_of(node));
    }
    if (first == nullptr) return;
    const bool recurrent = is_recurrent(target_of(*first));
    std::string problem = (recurrent ? "a recurrent layer as one operator, " : "unknown operator ") + target_of(*first);
    if (unknown.size() > 1) problem += fmt::format(" (all that are unknown: {})", fmt::join(unknown, ", "));
    fail(pt2::diagnose(*first, problem,
                       recurrent ? "write the cell out as Linear, sigmoid, tanh and products, as "
                                   "torch.ao.nn.quantizable.LSTM does; for one step per inference make the state an "
                                   "input and an output of the model"
                                 : "docs/adding-an-operator.md tells how to add one"));
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
        bind(input.name, graph_.add_constant(input.target, type_of(data->meta), bytes_of(*data)));
        weights_.insert(input.name);
        return;
      }
      case pt2::InputKind::constant:
        return;  // a number that the export was given: it stands in the nodes already
      default:
        fail({"input '" + input.name + "' is a custom object or token",
              "only tensors can be inputs of a model for a microcontroller",
              {},
              input.name});
    }
  }

  // Where the file's own bytes do, they are used in place; odd strides or alignment cost one copy.
  static ir::Bytes bytes_of(const pt2::TensorData& data) {
    if (pt2::is_contiguous(data.meta)) {
      const auto view = pt2::contiguous_view(data);
      if (reinterpret_cast<std::uintptr_t>(view.data()) % size_of(data.meta.dtype) == 0) return {data.owner, view};
    }
    return ir::Bytes::own(pt2::contiguous(data));
  }

  void add_node(const pt2::Node& node) {
    const Form& form = forms().at(target_of(node));
    ir::Node call;
    call.name = node.name;
    call.op = form.schema.target();
    call.location = {pt2::module_path(node), pt2::source_line(node)};
    call.args = arguments_of(node, form.schema);

    ops::Importer importer;
    importer.graph = &graph_;
    importer.call = &call;
    const std::vector<std::string> names = pt2::output_names(node);
    for (const std::string& name : names) importer.types.push_back(computed_type(name));

    std::vector<ir::Value*> results;
    const std::size_t known = graph_.nodes().size();
    try {
      ops::check_call(call, form.schema);
      results = form.form->import != nullptr ? form.form->import(importer)
                                             : importer.node(graph_name(form.schema), call.args)->results;
      for (auto made = std::prev(graph_.nodes().end(), static_cast<std::ptrdiff_t>(graph_.nodes().size() - known));
           made != graph_.nodes().end(); ++made) {
        ops::check_node(*made);
      }
      check_results(node, names, importer.types, results);
    } catch (const InputError& error) {
      fail(error.diagnostic());
    } catch (const std::out_of_range&) {
      fail(pt2::diagnose(node, "it lacks results or dimensions that this operator has",
                         "the model is inconsistent: export it again"));
    } catch (const ir::ArgumentError& error) {  // a number where this spelling needs a tensor
      fail(pt2::diagnose(node, error.what(), "the model is inconsistent: export it again"));
    }
    results.resize(std::max(results.size(), names.size()), nullptr);
    for (std::size_t i = 0; i < names.size(); ++i) {
      bind(names[i], results[i]);
      if (results[i] == nullptr) {
        missing_.emplace(
            names[i],
            pt2::diagnose(node, fmt::format("the model uses result {} of {}, which is not computed here", i, call.op),
                          "use only its first result (for a pooling: the maxima without their indices)"));
      }
    }
    rebind_mutated(node, results);
  }

  // What an operator makes of the call has the shape that the export says.
  void check_results(const pt2::Node& node, const std::vector<std::string>& names,
                     const std::vector<ir::TensorType>& recorded, const std::vector<ir::Value*>& results) const {
    for (std::size_t i = 0; i < names.size() && i < results.size(); ++i) {
      if (results[i] == nullptr || results[i]->type.shape == recorded[i].shape) continue;
      fail(pt2::diagnose(node,
                         fmt::format("its result '{}' is said to be [{}], but of its arguments it is [{}]", names[i],
                                     fmt::join(recorded[i].shape, ", "), fmt::join(results[i]->type.shape, ", ")),
                         "the model is inconsistent: export it again"));
    }
  }

  static std::string graph_name(const ops::Schema& schema) {
    std::string name = schema.name;
    return name.replace(name.find("::"), 2, ".");
  }

  // relu_(x) changes x itself: whoever names x later means the result.
  void rebind_mutated(const pt2::Node& node, const std::vector<ir::Value*>& results) {
    const std::string target = target_of(node);
    const std::string name = target.substr(0, target.rfind('.'));
    if (!name.ends_with('_') || node.arguments.empty() || results.empty()) return;
    const auto* self = node.arguments.front().argument.get_if<pt2::TensorRef>();
    if (self == nullptr) return;
    if (weights_.contains(self->name)) {
      fail(pt2::diagnose(node, "changes the buffer '" + self->name + "' in place",
                         "models with state between inferences are not supported yet"));
    }
    bind(self->name, results.front());
  }

  std::vector<ir::NamedArgument> arguments_of(const pt2::Node& node, const ops::Schema& schema) const {
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
                           "the file is damaged, or from a PyTorch whose operator differs"));
      }
    }
    for (const pt2::NamedArgument& argument : node.arguments) {
      const auto known = [&](const ops::SchemaArgument& wanted) { return wanted.name == argument.name; };
      if (std::none_of(schema.arguments.begin(), schema.arguments.end(), known)) {
        fail(pt2::diagnose(node,
                           fmt::format("{} has an argument '{}' that we do not know", schema.target(), argument.name),
                           "the file may be from a newer PyTorch than this program knows"));
      }
    }
    return args;
  }

  ir::Argument convert(const pt2::Node& node, const pt2::NamedArgument& named) const {
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
    if (const auto* v = a.get_if<pt2::ScalarType>(); v != nullptr && v->dtype) return *v->dtype;
    if (const auto* v = a.get_if<pt2::MemoryFormat>()) return static_cast<std::int64_t>(*v);
    if (const auto* v = a.get_if<pt2::Layout>()) return static_cast<std::int64_t>(*v);
    if (const auto* v = a.get_if<pt2::Device>()) return v->type;
    // None is not among the plain lists; an empty one has no type in the file.
    if (const auto* v = a.get_if<std::vector<std::optional<pt2::TensorRef>>>(); v != nullptr && v->empty())
      return ir::None{};
    fail(pt2::diagnose(node, "argument '" + named.name + "' is of a kind that no operator here takes",
                       "dynamic shapes, sub-graphs and custom objects cannot be compiled"));
  }

  void add_output(const pt2::OutputSpec& output) {
    if (output.kind != pt2::OutputKind::user_output) {
      fail({"the model changes '" + output.target + "' between inferences",
            "models with state between inferences are not supported yet",
            {},
            output.name});
    }
    const auto* tensor = output.argument.get_if<pt2::TensorRef>();
    if (tensor == nullptr) {
      fail({"an output is not a tensor", "return only tensors from forward()", {}, output.name});
    }
    graph_.add_output(value(tensor->name));
  }

  void bind(const std::string& name, ir::Value* value) { values_[name] = value; }
  ir::Value* value(const std::string& name) const {
    const auto found = values_.find(name);
    if (found != values_.end() && found->second != nullptr) return found->second;
    const auto why = missing_.find(name);
    if (why != missing_.end()) fail(why->second);
    fail(
        {"the tensor '" + name + "' is used, but nothing makes it", "the model is damaged: export it again", {}, name});
  }

  const pt2::Program& program_;
  std::string file_;
  ir::Graph graph_;
  std::unordered_map<std::string, ir::Value*> values_;
  std::unordered_map<std::string, Diagnostic> missing_;  // results that no operator here computes: masks, indices
  std::set<std::string> weights_;
};

}  // namespace

ir::Graph import_program(const pt2::Program& program, const std::string& file) {
  return ProgramImport(program, file).run();
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

ir::Graph import_model(const std::string& path) {
  if (std::filesystem::path(path).extension() == ".txt") {
    const pt2::SharedBytes text = pt2::map_file(path);
    ir::Bytes blob;
    if (const std::string data = path + ".data"; std::filesystem::exists(data)) {
      pt2::SharedBytes mapped = pt2::map_file(data);
      blob = {mapped.owner, mapped.bytes};
    }
    return import_text(text.text(), path, blob);
  }
  const pt2::Archive archive = pt2::read(path);
  if (archive.programs.size() != 1) {
    throw InputError({fmt::format("the archive bundles {} models", archive.programs.size()),
                      "save one model per file with torch.export.save", path});
  }
  return import_program(archive.programs.front(), path);
}

}  // namespace cormorant::compiler
