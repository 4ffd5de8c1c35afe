// SPDX-License-Identifier: Apache-2.0
//
// The guarantees of archive.h, checked once here so that no importer has to check whether a name exists.
#include <fmt/format.h>

#include <set>
#include <type_traits>
#include <utility>

#include "base/diagnostic.h"
#include "formats/pt2/parse.h"
#include "formats/pt2/source.h"

namespace cormorant::pt2 {
namespace {

constexpr const char* kDamaged = "the archive is damaged, or was not written by torch.export.save";

// Calls `visit` with the name of every tensor that the argument mentions, and `enter` with every graph in it.
template <typename Visit, typename Enter>
void for_each_tensor(const Argument& argument, const Visit& visit, const Enter& enter) {
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, TensorRef>) visit(value.name);
        if constexpr (std::is_same_v<T, std::vector<TensorRef>>) {
          for (const TensorRef& tensor : value) visit(tensor.name);
        }
        if constexpr (std::is_same_v<T, std::vector<std::optional<TensorRef>>>) {
          for (const auto& tensor : value) {
            if (tensor) visit(tensor->name);
          }
        }
        if constexpr (std::is_same_v<T, std::vector<std::vector<TensorRef>>>) {
          for (const auto& inner : value) {
            for (const TensorRef& tensor : inner) visit(tensor.name);
          }
        }
        if constexpr (std::is_same_v<T, ArgumentMap>) {
          for (const auto& [key, inner] : *value) for_each_tensor(inner, visit, enter);
        }
        if constexpr (std::is_same_v<T, Subgraph>) enter(*value.graph);
      },
      argument.value);
}

// Every name is defined once, before its use, and described. `file` is for the diagnostics.
void check_graph(const Graph& graph, const std::string& file) {
  std::set<std::string, std::less<>> defined;
  const Node* current = nullptr;  // null while graph inputs or outputs are checked
  const auto fail = [&](std::string problem) {
    Diagnostic diagnostic{.problem = problem, .advice = kDamaged};
    if (current != nullptr) diagnostic = diagnose(*current, std::move(problem), kDamaged);
    diagnostic.file = file;
    throw InputError(std::move(diagnostic));
  };
  const auto define = [&](const std::string& name) {
    if (!graph.tensors.contains(name)) fail(fmt::format("the tensor '{}' has no description", name));
    if (!defined.insert(name).second) fail(fmt::format("the tensor '{}' is defined twice", name));
  };
  const auto use = [&](const std::string& name) {
    if (!defined.contains(name)) fail(fmt::format("the tensor '{}' is used before it is defined", name));
  };
  const auto enter = [&](const Graph& inner) { check_graph(inner, file); };

  for (const Argument& input : graph.inputs) for_each_tensor(input, define, enter);
  for (const Node& node : graph.nodes) {
    current = &node;
    for (const NamedArgument& argument : node.arguments) for_each_tensor(argument.argument, use, enter);
    for (const Argument& output : node.outputs) for_each_tensor(output, define, enter);
  }
  current = nullptr;
  for (const Argument& output : graph.outputs) for_each_tensor(output, use, enter);
}

[[noreturn]] void fail_signature(const std::string& file, const std::string& name, std::string problem) {
  throw InputError({.problem = std::move(problem), .advice = kDamaged, .file = file, .node = name});
}

// Where both the graph and the signature name a tensor, the names must be the same.
template <typename Specs>
void check_names(const Specs& specs, const std::vector<Argument>& arguments, const char* what,
                 const std::string& file) {
  if (specs.size() != arguments.size()) {
    fail_signature(file, "",
                   fmt::format("the graph has {} {}s, but its signature has {}", arguments.size(), what, specs.size()));
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const TensorRef* in_graph = arguments[i].template get_if<TensorRef>();
    const TensorRef* in_signature = specs[i].argument.template get_if<TensorRef>();
    if ((in_graph == nullptr) != (in_signature == nullptr) ||
        (in_graph != nullptr && in_graph->name != in_signature->name)) {
      fail_signature(file, specs[i].name, fmt::format("{} {} of the graph differs from the signature's", what, i));
    }
  }
}

bool has_value(const InputSpec& input) {
  return input.kind == InputKind::parameter || input.kind == InputKind::buffer ||
         input.kind == InputKind::tensor_constant;
}

void check_values(const Program& program, const std::string& file) {
  for (const InputSpec& input : program.inputs) {
    if (!has_value(input)) continue;
    const TensorData* data = initial_value(program, input);
    if (data == nullptr) {
      throw InputError({.problem = "the model needs its value, but it is missing from the archive",
                        .advice = "save the model again with torch.export.save, without stripping its weights",
                        .file = file,
                        .node = input.target});
    }
    const TensorMeta& expected = program.graph.tensors.at(input.name);
    if (data->meta.dtype != expected.dtype || data->meta.sizes != expected.sizes) {
      fail_signature(file, input.target, "its value in the archive has a different type or shape than in the graph");
    }
  }
}

// What an output replaces must be an input.
void check_mutations(const Program& program, const std::string& file) {
  std::set<std::pair<InputKind, std::string>> inputs;
  for (const InputSpec& input : program.inputs) {
    inputs.emplace(input.kind, input.kind == InputKind::user_input ? input.name : input.target);
  }
  for (const OutputSpec& output : program.outputs) {
    InputKind kind = InputKind::user_input;
    if (output.kind == OutputKind::buffer_mutation) kind = InputKind::buffer;
    if (output.kind == OutputKind::parameter_mutation) kind = InputKind::parameter;
    if (!output.target.empty() && output.kind != OutputKind::gradient_to_parameter &&
        !inputs.contains({kind, output.target})) {
      fail_signature(file, output.name, fmt::format("it replaces '{}', which is not an input", output.target));
    }
  }
}

}  // namespace

void check_program(const Program& program, const std::string& file) {
  check_graph(program.graph, file);
  check_names(program.inputs, program.graph.inputs, "input", file);
  check_names(program.outputs, program.graph.outputs, "output", file);
  check_values(program, file);
  check_mutations(program, file);
}

}  // namespace cormorant::pt2
