// SPDX-License-Identifier: Apache-2.0
//
// Graph and signature. Whatever goes wrong inside a node is reported with the node and its place in the user's source.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/diagnostic.h"
#include "formats/pt2/parse.h"
#include "formats/pt2/recognize.h"
#include "formats/pt2/source.h"

namespace cormorant::pt2 {
namespace {

constexpr std::int64_t kSchemaMajor = 8;

// Runs `body`; if it throws without having named a node, this node is added.
template <typename Body>
void within(const Node& node, Body body) {
  try {
    body();
  } catch (const InputError& error) {
    if (!error.diagnostic().node.empty()) throw;
    Diagnostic diagnostic = error.diagnostic();
    diagnostic.node = node.name;
    diagnostic.source = source_of(node);
    throw InputError(std::move(diagnostic));
  }
}

std::string optional_string(const Json& json, std::string_view key) {
  const std::optional<Json> value = json.find(key);
  return value ? value->string() : "";
}

NamedArgument parse_named_argument(const Json& json, const ParseContext& context) {
  NamedArgument argument{.name = json["name"].string(), .argument = parse_argument(json["arg"], context)};
  if (const std::optional<Json> kind = json.find("kind")) {
    const std::int64_t code = kind->integer();
    if (code < 0 || code > 2) json.fail("the kind of the argument is unknown");
    argument.kind = static_cast<ArgumentKind>(code);
  }
  return argument;
}

std::vector<Argument> parse_arguments(const Json& json, const ParseContext& context) {
  std::vector<Argument> arguments;
  for (const Json& item : json.items()) arguments.push_back(parse_argument(item, context));
  return arguments;
}

Node parse_node(const Json& json, const ParseContext& context) {
  Node node;
  node.target = json["target"].string();
  node.name = optional_string(json, "name");
  if (const std::optional<Json> metadata = json.find("metadata")) {
    node.stack_trace = optional_string(*metadata, "stack_trace");
    node.module_stack = parse_module_stack(optional_string(*metadata, "nn_module_stack"));
  }
  // Early versions of the schema had no names for nodes; torch calls a node as it calls its first output.
  const bool unnamed = node.name.empty();
  if (unnamed) node.name = node.target;
  within(node, [&] {
    for (const Json& item : json["inputs"].items()) node.arguments.push_back(parse_named_argument(item, context));
    node.outputs = parse_arguments(json["outputs"], context);
  });
  if (const std::vector<std::string> names = output_names(node); unnamed && !names.empty()) node.name = names.front();
  return node;
}

bool produces(const Node& node, std::string_view value) {
  const std::vector<std::string> names = output_names(node);
  if (std::find(names.begin(), names.end(), value) != names.end()) return true;
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](const Argument& output) {
    const Symbol* symbol = output.get_if<Symbol>();
    return symbol != nullptr && symbol->name == value;
  });
}

// Runs `body`, which is about a value; what it throws gets the node that produces the value.
template <typename Body>
void within_producer(const Graph& graph, std::string_view value, Body body) {
  const auto node = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](auto& n) { return produces(n, value); });
  if (node == graph.nodes.end()) {
    body();
  } else {
    within(*node, body);
  }
}

void parse_tensors(Graph& graph, const Json& json, const ParseContext& context) {
  for (const auto& [name, meta] : json.members()) {
    TensorMeta parsed;
    try {
      parsed = parse_tensor_meta(meta, name, context);
    } catch (const InputError&) {  // only now is it worth looking for the producer
      within_producer(graph, name, [] { throw; });
    }
    if (!graph.tensors.emplace(std::string(name), std::move(parsed)).second) {
      json.fail(fmt::format("the tensor '{}' is described twice", name));
    }
  }
}

// Numbers that the model computes from sizes that are open (x.shape[0]) or from data (x.item()) are as dynamic as
// these. Conditions are for tracing alone; computing with one is an error later.
void refuse_symbolic_numbers(const Graph& graph, const Json& json, const ParseContext& context) {
  for (const std::string_view key : {"sym_int_values", "sym_float_values"}) {
    const std::optional<Json> values = json.find(key);
    if (!values) continue;
    for (const auto& [name, value] : values->members()) {
      if (value.alternative().first != "as_expr" || context.numbers.contains(std::string(name))) continue;
      const std::string expression = value.alternative().second["expr_str"].string();
      Diagnostic diagnostic{
          .problem = fmt::format("the number '{}' is known only at run time: it is {}", name,
                                 symbol_of(expression).value_or(expression)),
          .advice =
              "numbers must follow from the inputs' sizes, which --shape NAME=D,D,… or an export without "
              "dynamic_shapes fixes: avoid item() in forward",
          .file = context.file};
      within_producer(graph, name, [&] { throw InputError(diagnostic); });
    }
  }
}

// The numbers that the graph computes from sizes, now that its symbols have some.
void find_numbers(const Json& json, ParseContext& context) {
  for (const std::string_view list : {"sym_int_values", "sym_float_values"}) {
    const std::optional<Json> values = json.find(list);
    if (!values) continue;
    for (const auto& [key, value] : values->members()) {
      const std::string name(key);
      const auto [kind, inside] = value.alternative();
      if (kind == "as_int") context.numbers[name] = inside.integer();
      if (kind == "as_float") context.numbers[name] = inside.floating();
      if (kind != "as_expr") continue;
      const std::string expression = inside["expr_str"].string();
      if (list == "sym_int_values") {
        if (const auto known = context.symbols.value(expression)) context.numbers[name] = *known;
      } else if (const auto known = context.symbols.real(expression)) {
        context.numbers[name] = *known;
      }
    }
  }
}

// x.shape[0] // 2, and checks of it: their results are in the nodes that use them.
bool computes_sizes(const Node& node) {
  constexpr std::string_view kOf[] = {"_operator.",          "torch.sym_", "torch._sym_",
                                      "torch.ops.aten.sym_", "math.",      "torch.ops.aten._assert_scalar"};
  return output_names(node).empty() &&
         std::any_of(std::begin(kOf), std::end(kOf), [&](std::string_view of) { return node.target.starts_with(of); });
}

// Every dimension of a user's input that is an expression: {input, dimension, expression}.
struct OpenSize {
  std::string input;
  std::size_t dim;
  std::string expression;
};
std::vector<OpenSize> open_sizes(const Json& module, std::map<std::string, std::vector<Extent>>& inputs) {
  std::vector<OpenSize> open;
  for (const Json& spec : module["signature"]["input_specs"].items()) {
    const auto [kind, value] = spec.alternative();
    if (kind != "user_input") continue;
    const auto [argument, inside] = value["arg"].alternative();
    if (argument != "as_tensor") continue;
    const std::string name = inside["name"].string();
    const std::optional<Json> meta = module["graph"]["tensor_values"].find(name);
    if (!meta) continue;
    for (const Json& size : (*meta)["sizes"].items()) {
      const Extent extent = parse_extent(size, {});
      if (!extent.expression.empty()) open.push_back({name, inputs[name].size(), extent.expression});
      inputs[name].push_back(extent);
    }
  }
  return open;
}

bool allows(const ParseContext& context, const std::string& symbol, std::int64_t size) {
  const auto bounds = context.ranges.find(symbol);
  return bounds == context.ranges.end() || bounds->second.allow(size);
}

void bind_defaults(const std::map<std::string, std::vector<Extent>>& inputs, const Shapes& defaults,
                   ParseContext& context) {
  for (const auto& [name, shape] : defaults) {
    const auto input = inputs.find(name);
    if (input == inputs.end() || input->second.size() != shape.size()) continue;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const auto symbol = symbol_of(input->second[i].expression);
      if (!symbol || context.symbols.binds(*symbol) || !allows(context, *symbol, shape[i])) continue;
      context.symbols.bind(*symbol, shape[i]);
    }
  }
}

// From the given shapes; an unbound symbol that is only the first dimension of inputs is a batch, of one.
void bind_symbols(const Json& module, const ParseOptions& options, ParseContext& context,
                  std::vector<std::string>& notes) {
  std::map<std::string, std::vector<Extent>> inputs;
  const std::vector<OpenSize> open = open_sizes(module, inputs);
  const auto fail = [&](std::string problem, std::string advice) {
    throw InputError({.problem = std::move(problem), .advice = std::move(advice), .file = context.file});
  };
  for (const auto& [name, shape] : options.shapes) {
    const auto input = inputs.find(name);
    if (input == inputs.end()) {
      std::string names;
      for (const auto& [known, extents] : inputs) names += (names.empty() ? "" : ", ") + known;
      fail(fmt::format("a shape is given for '{}', which is not an input of the model", name),
           "its inputs are " + names);
    }
    if (input->second.size() != shape.size()) {
      fail(fmt::format("the input '{}' has {} dimensions, not {}", name, input->second.size(), shape.size()),
           "give a number for each");
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const Extent& extent = input->second[i];
      if (extent.expression.empty() && extent.value != shape[i]) {
        fail(fmt::format("dimension {} of the input '{}' is fixed to {}, not {}", i, name, extent.value, shape[i]),
             "export the model with that shape, or with dynamic_shapes for it");
      }
      const auto symbol = symbol_of(extent.expression);
      if (extent.expression.empty() || !symbol || context.symbols.binds(*symbol)) continue;
      if (!allows(context, *symbol, shape[i])) {
        fail(fmt::format("dimension {} of the input '{}' cannot be {}: the model was exported for {}", i, name,
                         shape[i], context.ranges.at(*symbol).text()),
             "give another shape, or export the model with other bounds (torch.export.Dim)");
      }
      context.symbols.bind(*symbol, shape[i]);
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::string& expression = input->second[i].expression;
      if (expression.empty()) continue;
      const auto value = context.symbols.value(expression);
      if (value && *value != shape[i]) {
        fail(fmt::format("dimension {} of the input '{}' must be {} if the others are as given", i, name, *value),
             "dimensions that share a symbol are equal");
      }
    }
  }
  bind_defaults(inputs, options.defaults, context);
  std::set<std::string> batches;
  for (const OpenSize& size : open) {
    if (context.symbols.value(size.expression)) continue;
    const auto symbol = symbol_of(size.expression);
    if (size.dim != 0 || !symbol) return;  // the one that is dynamic is named where its tensor is read
    batches.insert(*symbol);
  }
  if (batches.empty()) return;
  if (!std::ranges::all_of(batches, [&](const std::string& batch) { return allows(context, batch, 1); })) return;
  for (const std::string& batch : batches) context.symbols.bind(batch, 1);
  notes.push_back(fmt::format("the model's batch {} dynamic and {} set to 1; --shape NAME=D,D,… sets another shape",
                              batches.size() == 1 ? "size is" : "sizes are", batches.size() == 1 ? "is" : "are"));
}

InputSpec parse_input_spec(const Json& json, const ParseContext& context) {
  const auto [key, value] = json.alternative();
  InputSpec spec;
  if (key == "user_input") {
    spec.argument = parse_argument(value["arg"], context);
    if (const TensorRef* tensor = spec.argument.get_if<TensorRef>()) spec.name = tensor->name;
    return spec;
  }
  if (key == "constant_input") {
    spec.kind = InputKind::constant;
    spec.name = value["name"].string();
    spec.argument = parse_argument(value["value"], context);
    return spec;
  }
  spec.name = value["arg"]["name"].string();
  spec.argument.value = TensorRef{.name = spec.name};
  if (key == "parameter") {
    spec.kind = InputKind::parameter;
    spec.target = value["parameter_name"].string();
  } else if (key == "buffer") {
    spec.kind = InputKind::buffer;
    spec.target = value["buffer_name"].string();
    spec.persistent = value["persistent"].boolean();
  } else if (key == "tensor_constant") {
    spec.kind = InputKind::tensor_constant;
    spec.target = value["tensor_constant_name"].string();
  } else if (key == "custom_obj") {
    spec.kind = InputKind::custom_object;
    spec.target = value["custom_obj_name"].string();
    spec.argument.value = CustomObject{.name = spec.name, .class_name = value["arg"]["class_fqn"].string()};
  } else if (key == "token") {
    spec.kind = InputKind::token;
    spec.argument.value = None{};
  } else {
    json.fail(fmt::format("the kind of input '{}' is unknown", key));
  }
  return spec;
}

OutputSpec parse_output_spec(const Json& json, const ParseContext& context) {
  const auto [key, value] = json.alternative();
  OutputSpec spec;
  if (key == "user_output") {
    spec.argument = parse_argument(value["arg"], context);
    if (const TensorRef* tensor = spec.argument.get_if<TensorRef>()) spec.name = tensor->name;
    return spec;
  }
  const struct {
    std::string_view key;
    OutputKind kind;
    std::string_view target;
  } kinds[] = {
      {"loss_output", OutputKind::loss, ""},
      {"buffer_mutation", OutputKind::buffer_mutation, "buffer_name"},
      {"parameter_mutation", OutputKind::parameter_mutation, "parameter_name"},
      {"user_input_mutation", OutputKind::user_input_mutation, "user_input_name"},
      {"gradient_to_parameter", OutputKind::gradient_to_parameter, "parameter_name"},
      {"gradient_to_user_input", OutputKind::gradient_to_user_input, "user_input_name"},
      {"token", OutputKind::token, ""},
  };
  for (const auto& known : kinds) {
    if (known.key != key) continue;
    spec.kind = known.kind;
    spec.name = value["arg"]["name"].string();
    spec.argument.value = TensorRef{.name = spec.name};
    if (spec.kind == OutputKind::token) spec.argument.value = None{};
    if (!known.target.empty()) spec.target = value[known.target].string();
    return spec;
  }
  json.fail(fmt::format("the kind of output '{}' is unknown", key));
}

void check_schema(const Json& root, const ParseContext& context) {
  const std::int64_t major = root["schema_version"]["major"].integer();
  if (major == kSchemaMajor) return;
  throw InputError({.problem = fmt::format(
                        "the model has version {} of torch's serialization schema{}, but only {} is supported", major,
                        context.torch_version.empty() ? "" : " (PyTorch " + context.torch_version + ")", kSchemaMajor),
                    .advice = major < kSchemaMajor ? kHowToExport
                                                   : "this PyTorch is newer than cormorant supports: report it, or "
                                                     "export with an older PyTorch (2.9 or later)",
                    .file = context.file});
}

ParseContext parse_context(const Json& root, const std::string& file) {
  ParseContext context{.file = file, .torch_version = optional_string(root, "torch_version"), .ranges = {}};
  if (const std::optional<Json> ranges = root.find("range_constraints")) {
    for (const auto& [symbol, range] : ranges->members()) {
      Bounds bounds;
      if (const std::optional<Json> low = range.find("min_val")) bounds.low = low->integer();
      if (const std::optional<Json> high = range.find("max_val")) bounds.high = high->integer();
      if (bounds.low || bounds.high) context.ranges.emplace(symbol, bounds);
    }
  }
  return context;
}

}  // namespace

std::string Bounds::text() const {
  return fmt::format("{}{}", low ? fmt::format("at least {}", *low) : "",
                     high ? fmt::format("{}at most {}", low ? ", " : "", *high) : "");
}

std::vector<std::string> output_names(const Node& node) {
  std::vector<std::string> names;
  for (const Argument& output : node.outputs) {
    if (const auto* tensor = output.get_if<TensorRef>()) names.push_back(tensor->name);
    if (const auto* tensors = output.get_if<std::vector<TensorRef>>()) {
      for (const TensorRef& tensor : *tensors) names.push_back(tensor.name);
    }
    if (const auto* tensors = output.get_if<std::vector<std::optional<TensorRef>>>()) {
      for (const std::optional<TensorRef>& tensor : *tensors) {
        if (tensor) names.push_back(tensor->name);
      }
    }
  }
  return names;
}

namespace {

// The first node with a result whose size is a symbol of its own ("u0"), and that symbol. Most models have none, which
// a look at the tensors tells.
std::optional<std::pair<std::string, Json>> find_open_size(const Json& graph, const ParseContext& context) {
  std::map<std::string, std::string, std::less<>> open;
  for (const auto& [name, meta] : graph["tensor_values"].members()) {
    for (const Json& size : meta["sizes"].items()) {
      const std::optional<std::string> symbol = symbol_of(parse_extent(size, context).expression);
      if (symbol && symbol->starts_with('u')) open.emplace(name, *symbol);
    }
  }
  if (open.empty()) return {};
  for (const Json& node : graph["nodes"].items()) {
    Node outputs;
    outputs.outputs = parse_arguments(node["outputs"], context);
    for (const std::string& name : output_names(outputs)) {
      if (const auto found = open.find(name); found != open.end()) return std::pair(found->second, node);
    }
  }
  return {};
}

// The tensors that the node computes with become what the graph returns; the node itself is not part of it.
Program parse_before(const Json& module, const Node& node, const ParseContext& outer) {
  Program program;
  ParseContext context = outer;
  Graph& graph = program.graph;
  const Json json = module["graph"];
  find_numbers(json, context);
  graph.inputs = parse_arguments(json["inputs"], context);
  for (const Json& item : json["nodes"].items()) {
    Node next = parse_node(item, context);
    if (next.name == node.name) break;
    graph.nodes.push_back(std::move(next));
  }
  std::erase_if(graph.nodes, computes_sizes);
  std::set<std::string, std::less<>> mentioned;
  for (const Argument& input : graph.inputs) {
    if (const auto* tensor = input.get_if<TensorRef>()) mentioned.insert(tensor->name);
  }
  for (const Node& known : graph.nodes) {
    for (std::string& name : output_names(known)) mentioned.insert(std::move(name));
  }
  for (const auto& [name, meta] : json["tensor_values"].members()) {
    if (!mentioned.contains(name)) continue;
    graph.tensors.emplace(std::string(name), parse_tensor_meta(meta, name, context));
  }
  const auto return_tensor = [&](const TensorRef& tensor) {
    graph.outputs.push_back({.value = tensor});
    program.outputs.push_back(
        {.kind = OutputKind::user_output, .argument = {.value = tensor}, .name = tensor.name, .target = {}});
  };
  for (const NamedArgument& argument : node.arguments) {
    if (const auto* tensor = argument.argument.get_if<TensorRef>()) return_tensor(*tensor);
    if (const auto* list = argument.argument.get_if<std::vector<std::optional<TensorRef>>>()) {
      for (const std::optional<TensorRef>& tensor : *list) {
        if (tensor) return_tensor(*tensor);
      }
    }
    if (const auto* list = argument.argument.get_if<std::vector<TensorRef>>()) {
      for (const TensorRef& tensor : *list) return_tensor(tensor);
    }
  }
  return program;
}

}  // namespace

Graph parse_graph(const Json& json, const ParseContext& outer) {
  Graph graph;
  ParseContext context = outer;
  find_numbers(json, context);
  graph.inputs = parse_arguments(json["inputs"], context);
  for (const Json& node : json["nodes"].items()) graph.nodes.push_back(parse_node(node, context));
  graph.outputs = parse_arguments(json["outputs"], context);
  parse_tensors(graph, json["tensor_values"], context);
  refuse_symbolic_numbers(graph, json, context);
  std::erase_if(graph.nodes, computes_sizes);
  return graph;
}

Program parse_program(std::string_view text, const JsonOrigin& origin, const ParseOptions& options, OpenSizes* sizes) {
  const JsonDocument document(text, origin);
  const Json root = document.root();
  ParseContext context = parse_context(root, origin.file);
  check_schema(root, context);
  const Json module = root["graph_module"];
  if (sizes != nullptr) context.symbols = sizes->known;
  std::vector<std::string> notes;
  bind_symbols(module, options, context, notes);
  const auto open = sizes == nullptr ? std::nullopt : find_open_size(module["graph"], context);
  Program program;
  if (open) {
    sizes->symbol = open->first;
    sizes->node = parse_node(open->second, context);
    program = parse_before(module, sizes->node, context);
  } else {
    program.graph = parse_graph(module["graph"], context);
  }
  program.torch_version = context.torch_version;
  program.notes = std::move(notes);
  const Json signature = module["signature"];
  for (const Json& spec : signature["input_specs"].items()) program.inputs.push_back(parse_input_spec(spec, context));
  if (open) return program;
  for (const Json& spec : signature["output_specs"].items())
    program.outputs.push_back(parse_output_spec(spec, context));
  std::vector<OutputSpec*> returned;
  for (OutputSpec& output : program.outputs) {
    if (output.kind == OutputKind::user_output) returned.push_back(&output);
  }
  const std::vector<std::string> keys = parse_output_keys(module);
  for (std::size_t i = 0; keys.size() == returned.size() && i < keys.size(); ++i) returned[i]->key = keys[i];
  return program;
}

}  // namespace cormorant::pt2
