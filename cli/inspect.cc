// SPDX-License-Identifier: Apache-2.0
//
// What is in a file: the graph of a .pt2, the operators, tensors and memory map of a .pte, the test cases of a .bpte.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/printable.h"
#include "cli/cli.h"
#include "cli/shared_options.h"
#include "cli/summary.h"
#include "compiler/compile.h"
#include "compiler/import.h"
#include "driver/calibration.h"
#include "driver/options.h"
#include "formats/pte/method_names.h"
#include "formats/pte/origin.h"
#include "formats/pte/proportion.h"
#include "formats/pte/reader.h"
#include "ir/text.h"
#include "ops/op.h"
#include "ops/rows/rows.h"
#include "program/bundle_io.h"
#include "program/files.h"
#include "program/json_text.h"
#include "program/names.h"
#include "program/program_io.h"
#include "quantizer/adopt.h"
#include "report/explain.h"
#include "runtime/host.h"
#include "target/parse.h"

namespace cormorant::cli {
namespace {

using Json = nlohmann::ordered_json;

// Errors of the reader become diagnostics that name the file.
template <class T>
T value_of(const Result<T>& result, const std::string& file) {
  if (!result.ok()) throw InputError({describe(result.error()), "compile the model again", file});
  return result.value();
}

Json tensor_json(const pte::TensorView& tensor) {
  Json json;
  json["dtype"] = name_of(tensor.dtype);
  json["shape"] = std::vector<std::int32_t>(tensor.sizes.begin(), tensor.sizes.end());
  json["dim_order"] = std::vector<int>(tensor.dim_order.begin(), tensor.dim_order.end());
  json["bytes"] = tensor.bytes;
  if (tensor.is_planned()) {
    json["memory"] = tensor.memory_id;
    json["offset"] = tensor.offset;
  }
  if (tensor.is_constant()) json["constant"] = true;
  return json;
}

std::string describe_contents(std::span<const std::byte> contents) {
  const auto are_all = [&](std::byte value) {
    return std::ranges::all_of(contents, [&](std::byte byte) { return byte == value; });
  };
  if (are_all(std::byte{0})) return "zeros";
  return are_all(contents[0]) ? fmt::format("bytes of {}", std::to_integer<int>(contents[0])) : "values in the file";
}

// Tensors with a place and initial contents, except for constants that are read from RAM.
Json states_json(const pte::ProgramView& program, const pte::MethodView& method) {
  Json states = Json::array();
  std::string_view origin;
  pte::TensorView copies{};  // where those are
  if (pte::find_origin(method, origin) && pte::has_constants_in_ram(origin)) {
    if (const auto found = method.tensor(pte::kCopies); found.ok()) copies = found.value();
  }
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(method.value_count()); ++i) {
    const auto read = method.tensor(i);
    if (!read.ok() || !read.value().is_planned() || read.value().data_index == 0) continue;
    const pte::TensorView& tensor = read.value();
    const bool is_copy = tensor.memory_id == copies.memory_id && tensor.offset >= copies.offset &&
                         tensor.offset - copies.offset < copies.bytes;
    const auto initial = program.initial_value(tensor.data_index, tensor.bytes);
    if (is_copy || !initial.ok() || initial.value().empty()) continue;
    states.push_back(tensor_json(tensor));
    states.back()["initially"] = describe_contents(initial.value());
  }
  return states;
}

// The instructions of a group of rows come after all others, from the one on that it names: its stages.
void note_stages(const std::map<std::size_t, std::size_t>& groups, Json& instructions) {
  for (auto group = groups.begin(); group != groups.end(); ++group) {
    const auto next = std::next(group);
    const std::size_t end = next == groups.end() ? instructions.size() : next->first;
    for (std::size_t stage = group->first; stage < end; ++stage) instructions[stage]["part_of"] = group->second;
  }
}

// One whose data is in another file has a name and nothing else to read.
Json argument_json(const pte::MethodView& method, std::int32_t index, const std::string& file) {
  if (!value_of(method.is_external(index), file)) return tensor_json(value_of(method.tensor(index), file));
  return {{"external", true}};
}

// The numbers that an instruction computes with (zero points, multipliers, bounds, strides), by their names in the
// operator's signature. For operators with packed constants, most of them are in those.
Json parameters_json(const pte::MethodView& method, const pte::InstructionView& instruction, const std::string& name) {
  Json json = Json::object();
  const ops::Signature* signature = ops::find_signature(ops::graph_name(name));
  if (signature == nullptr) return json;
  const std::size_t count = std::min<std::size_t>(signature->parameters.size(), instruction.args.size());
  for (std::size_t k = 0; k < count; ++k) {
    const std::int32_t arg = instruction.args[k];
    const auto put = [&](const auto& value) {
      if (value.ok()) json[signature->parameters[k].name] = value.value();
    };
    const auto kind = method.kind(arg);
    if (!kind.ok()) continue;
    if (kind.value() == pte::ValueKind::integer) put(method.integer(arg));
    if (kind.value() == pte::ValueKind::floating) put(method.floating(arg));
    if (kind.value() == pte::ValueKind::boolean) put(method.boolean(arg));
  }
  return json;
}

Json method_json(const pte::MethodView& method, const std::string& file) {
  Json json;
  json["name"] = value_of(method.name(), file);
  json["arena_bytes"] = Json::array();
  const auto sizes = method.memory_sizes();
  for (std::size_t i = 1; i < sizes.size(); ++i) json["arena_bytes"].push_back(sizes[i]);
  for (const bool inputs : {true, false}) {
    Json list = Json::array();
    for (const std::int32_t index : value_of(inputs ? method.inputs() : method.outputs(), file)) {
      const auto tensor = method.tensor(index);
      list.push_back(tensor.ok() ? tensor_json(tensor.value()) : Json("not a tensor"));
    }
    json[inputs ? "inputs" : "outputs"] = list;
  }
  Json delegates = Json::array();
  for (std::uint32_t i = 0; i < value_of(method.delegate_count(), file); ++i) {
    delegates.push_back(value_of(method.delegate_name(i), file));
  }
  if (!delegates.empty()) json["delegates"] = delegates;
  std::map<std::string, int> counts;
  std::map<std::size_t, std::size_t> groups;  // of rows, by their first stages
  Json instructions = Json::array();
  for (std::uint32_t i = 0; i < method.instruction_count(); ++i) {
    const auto read = method.instruction(i);
    if (read.error() == Error::has_delegate) {
      instructions.push_back({{"operator", "a delegate's call"}, {"tensors", Json::array()}});
      continue;
    }
    const pte::InstructionView instruction = value_of(read, file);
    const pte::OperatorView op = value_of(method.operator_at(instruction.op), file);
    std::string name(op.name);
    if (!op.overload.empty()) name += "." + std::string(op.overload);
    ++counts[name];
    if (ops::rows::is_group(name) && instruction.args.size() > 1) {
      const auto first = method.integer(instruction.args[1]);
      if (first.ok() && first.value() > i && first.value() < method.instruction_count())
        groups.emplace(static_cast<std::size_t>(first.value()), i);
    }
    Json row;
    row["operator"] = name;
    row["parameters"] = parameters_json(method, instruction, name);
    row["tensors"] = Json::array();
    for (const std::int32_t arg : instruction.args) {
      if (const auto kind = method.kind(arg); !kind.ok() || kind.value() != pte::ValueKind::tensor) continue;
      Json tensor = argument_json(method, arg, file);
      if (const auto tensor_name = method.tensor_name(arg); tensor_name.ok() && !tensor_name.value().empty()) {
        tensor["name"] = tensor_name.value();
      }
      row["tensors"].push_back(tensor);
    }
    instructions.push_back(row);
  }
  note_stages(groups, instructions);
  json["operators"] = counts;
  json["instructions"] = instructions;
  return json;
}

// Names, scales and zero points, which a caller of an int8 program needs.
void note_scales(Json& tensors, const std::vector<ProgramTensor>& io) {
  for (std::size_t i = 0; i < io.size() && i < tensors.size(); ++i) {
    if (!io[i].name.empty()) tensors[i]["name"] = io[i].name;
    if (const std::optional<double>& scale = io[i].scale) {
      tensors[i]["scale"] = *scale;
      tensors[i]["zero_point"] = io[i].zero_point;
    }
  }
}

// Of all methods, or of one.
Json program_json(const std::string& file, std::span<const std::byte> bytes, const std::string& only) {
  const pte::ProgramView program = value_of(pte::ProgramView::open(bytes), file);
  pte::require_proportionate(bytes, file);
  Json json;
  json["format"] = "pte";
  json["file_bytes"] = bytes.size();
  json["flatbuffer_bytes"] = program.flatbuffer_bytes();
  json["constant_bytes"] = program.constant_bytes();
  json["methods"] = Json::array();
  if (!only.empty()) pte::choose_method(pte::method_names(bytes), only, file);  // for its message
  for (std::uint32_t i = 0; i < program.method_count(); ++i) {
    if (!only.empty() && value_of(value_of(program.method(i), file).name(), file) != only) continue;
    json["methods"].push_back(method_json(value_of(program.method(i), file), file));
    Json& method = json["methods"].back();
    if (Json states = states_json(program, program.method(i).value()); !states.empty())
      method["states"] = std::move(states);
    const ProgramFile io = program_from({bytes.begin(), bytes.end()}, file, false, method["name"].get<std::string>());
    note_scales(method["inputs"], io.inputs);
    note_scales(method["outputs"], io.outputs);
    if (io.by_rows) method["inputs"][0]["rows"] = io.inputs[0].shape[2];
  }
  return json;
}

std::string tensor_text(const Json& tensor) {
  if (tensor.contains("external")) return "data in another file";
  std::string text = fmt::format("{}[{}]", tensor["dtype"].get<std::string>(),
                                 fmt::join(tensor["shape"].get<std::vector<int>>(), ","));
  if (tensor.contains("offset")) {
    text += fmt::format(" @{}", tensor["offset"].get<std::uint64_t>());
    if (tensor["memory"].get<int>() != 1) text += fmt::format(" in memory {}", tensor["memory"].get<int>());
  } else {
    text += tensor.contains("constant") ? " constant" : " of the caller's";
  }
  return text;
}

// Where an instruction comes from, and its numbers.
void print_row(const Json& row) {
  if (row.contains("node")) {
    fmt::print("       from {}  {}\n", row["node"].get<std::string>(), row["source"].get<std::string>());
  }
  std::vector<std::string> numbers;
  for (const auto& [name, value] : row["parameters"].items()) numbers.push_back(name + "=" + json_text(value));
  if (!numbers.empty()) fmt::print("       {}\n", fmt::join(numbers, " "));
}

// The stages of a group of rows beneath it.
void print_instructions(const Json& rows, bool explain) {
  const auto print = [&](std::size_t number, const char* indent) {
    const Json& row = rows[number];
    std::vector<std::string> tensors;
    for (const Json& tensor : row["tensors"]) tensors.push_back(tensor_text(tensor));
    fmt::print("  {:>4} {:<36} {}\n", number, indent + printable(row["operator"]), fmt::join(tensors, "  "));
    if (explain) print_row(row);
  };
  // Beneath a group that is no stage itself; no program that loads has others.
  const auto is_stage = [&](const Json& row) {
    return row.contains("part_of") && !rows[row["part_of"].get<std::size_t>()].contains("part_of");
  };
  std::map<std::size_t, std::vector<std::size_t>> stages;  // by the group
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (is_stage(rows[i])) stages[rows[i]["part_of"].get<std::size_t>()].push_back(i);
  }
  fmt::print("  instructions\n");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (is_stage(rows[i])) continue;
    print(i, "");
    const auto own = stages.find(i);
    if (own == stages.end()) continue;
    for (const std::size_t stage : own->second) print(stage, "  ");
  }
}

void print_program(const Json& json, bool explain) {
  fmt::print("program      {:>11} bytes: {} of description, {} of constants\n", grouped(json["file_bytes"]),
             grouped(json["flatbuffer_bytes"]), grouped(json["constant_bytes"]));
  for (const Json& method : json["methods"]) {
    fmt::print("method       {}\n", printable(method["name"]));
    for (const Json& name : method.value("delegates", Json::array())) {
      fmt::print("  delegate   {}\n", printable(name));
    }
    for (const Json& bytes : method["arena_bytes"]) fmt::print("  arena      {:>11} bytes\n", grouped(bytes));
    for (const char* kind : {"inputs", "outputs"}) {
      for (const Json& tensor : method[kind]) {
        fmt::print("  {:<10} {}{}{}{}{}\n", std::string(kind, std::string_view(kind).size() - 1), tensor_text(tensor),
                   tensor.contains("name") ? ", " + printable(tensor["name"]) : "",
                   tensor["dim_order"] == Json({0, 2, 3, 1}) ? ", channels last" : "",
                   tensor.contains("rows") ? fmt::format(", one of {} rows", tensor["rows"].get<int>()) : "",
                   tensor.contains("scale")
                       ? fmt::format(", real = {:.7g} · (stored − {})", tensor["scale"].get<double>(),
                                     tensor["zero_point"].get<int>())
                       : "");
      }
    }
    for (const Json& state : method.value("states", Json::array())) {
      fmt::print("  state      {}, {} bytes, initially {}\n", tensor_text(state), grouped(state["bytes"]),
                 state["initially"].get<std::string>());
    }
    print_instructions(method["instructions"], explain);
  }
}

Json model_json(const ir::Graph& graph) {
  std::map<std::string, int> counts;
  for (const ir::Node& node : graph.nodes()) ++counts[node.op];
  Json json;
  json["format"] = "pt2";
  for (const bool inputs : {true, false}) {
    Json list = Json::array();
    for (const ir::Value* value : inputs ? graph.inputs() : graph.outputs()) {
      list.push_back({{"name", value->name}, {"dtype", name_of(value->type.dtype)}, {"shape", value->type.shape}});
    }
    json[inputs ? "inputs" : "outputs"] = list;
  }
  json["operators"] = counts;
  json["nodes"] = Json::array();
  for (const ir::Node& node : graph.nodes()) {
    json["nodes"].push_back({{"name", node.name}, {"operator", node.op}, {"source", node.location.text()}});
  }
  return json;
}

void print_model(const ir::Graph& graph) {
  std::vector<std::byte> blob;
  fmt::print("{}", ir::print(graph, &blob, 4));
}

struct InspectFlags {
  std::string file, method, calibrate, target = "cortex-m55";
  std::vector<std::string> shapes;
  bool json = false, explain = false, sequence = false;
};

ir::Graph read_graph(const std::string& file, const std::string& method, const InspectFlags& flags) {
  std::vector<std::string> notes;
  ir::Graph graph = compiler::import_model(
      file, {.shapes = driver::shapes_for(file, flags.shapes, method), .notes = &notes, .method = method});
  print_warnings(notes);
  return graph;
}

// What compile would decide about a model: the compiler runs, and its program is thrown away.
Json explain_model(ir::Graph& graph, const InspectFlags& flags) {
  compiler::Options options;
  options.config.target = parse_target(flags.target);
  options.quantize = !quantizer::is_quantized_model(graph);
  options.explain = true;
  if (!flags.calibrate.empty()) {
    const compiler::Axes axes = flags.sequence ? compiler::Axes::sequences : compiler::Axes::samples;
    driver::Calibration calibration = driver::read_calibration(flags.calibrate, graph, axes, flags.method);
    if (options.quantize) print_warnings(calibration.facts.warnings);
    options.calibration = std::move(calibration.samples);
  }
  const compiler::Compiled compiled = compiler::compile(graph, options);
  print_warnings(compiled.facts.warnings);
  return explanation_json(compiled.facts);
}

// What `compile` wrote next to a program may have been written by somebody else.
template <class F>
auto with_names_of(const std::string& file, F f) {
  try {
    return f();
  } catch (const nlohmann::json::exception&) {
    throw InputError({"it is damaged, or was not written by cormorant compile", "compile the model again, or delete it",
                      names_file(file)});
  }
}

// The decisions made when a program was compiled: `compile` wrote them next to the program.
Json explain_program(const std::string& file, std::span<const std::byte> bytes, Json& program) {
  Json explanation;
  for (Json& method : program["methods"]) {
    const auto name = method["name"].get<std::string>();
    // One after another: the names of nodes say which is which.
    Json own = read_explanation(file, bytes, name);
    for (auto& [key, value] : own.items()) {
      if (explanation.contains(key) && value.is_array()) {
        explanation[key].insert(explanation[key].end(), value.begin(), value.end());
      } else {
        explanation[key] = std::move(value);
      }
    }
    const auto names = read_names(file, bytes, name);
    Json& rows = method["instructions"];
    if (!names || rows.size() != names->size()) continue;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      rows[k]["node"] = (*names)[k].node;
      rows[k]["source"] = (*names)[k].source;
    }
  }
  if (explanation.is_null()) {
    fmt::print(stderr,
               "note: {} is missing: a program alone contains its operators and numbers, not the reasons for them\n",
               names_file(file));
  }
  return explanation;
}

// A file with several models shows all of them, unless told otherwise.
void inspect_models(const std::string& file, const std::vector<std::string>& methods, const InspectFlags& flags) {
  const bool as_json = flags.json;
  Json json = {{"format", "pt2"}, {"methods", Json::array()}};
  for (const std::string& method : methods) {
    const ir::Graph graph = read_graph(file, method, flags);
    if (as_json) {
      Json model = {{"name", method}};
      model.update(model_json(graph));
      model.erase("format");
      json["methods"].push_back(std::move(model));
    } else {
      fmt::print("# method {}\n", method);
      print_model(graph);
    }
  }
  if (as_json) fmt::print("{}\n", json_text(json, 2));
}

void run(const InspectFlags& flags) {
  const bool as_json = flags.json;
  const std::string file = find_model(flags.file);
  const FileKind kind = kind_of(file);
  if (kind != FileKind::model && !flags.shapes.empty()) {
    throw UsageError("--shape is for a .pt2, and a program's shapes are fixed\n  remove --shape");
  }
  if (flags.sequence && flags.calibrate.empty()) {
    throw UsageError(
        "--sequence says how --calibrate is read, and there is no --calibrate\n  add it, or remove --sequence");
  }
  Json json, explanation;
  if (kind == FileKind::model) {
    const std::vector<std::string> methods = compiler::method_names(file);
    if (methods.size() > 1 && flags.method.empty() && !flags.explain) return inspect_models(file, methods, flags);
    ir::Graph graph = read_graph(file, flags.method, flags);
    if (!as_json && !flags.explain) return print_model(graph);
    json = model_json(graph);
    if (flags.explain) explanation = explain_model(graph, flags);
  } else if (kind == FileKind::bundle) {
    const pte::Bundle bundle = read_bundle(file, flags.method);
    json = program_json(file, AlignedBytes(bundle.program).span(), flags.method);
    if (flags.explain) explanation = with_names_of(file, [&] { return explain_program(file, bundle.program, json); });
    json["format"] = "bpte";
    json["test_cases"] = bundle.cases.size();
    json["tested_method"] = bundle.method;
  } else {
    const std::vector<std::byte> bytes = read_file(file);
    json = program_json(file, AlignedBytes(bytes).span(), flags.method);
    if (flags.explain) explanation = with_names_of(file, [&] { return explain_program(file, bytes, json); });
  }
  if (!explanation.is_null()) json["explanation"] = explanation;
  if (as_json) {
    fmt::print("{}\n", json_text(json, 2));
    return;
  }
  if (!explanation.is_null()) with_names_of(file, [&] { print_explanation(explanation); });
  if (kind == FileKind::model) return;
  if (json.contains("test_cases")) {
    const int count = json["test_cases"].get<int>();
    fmt::print("bundle       {} test case{} for method {}\n", count, count == 1 ? "" : "s",
               json["tested_method"].get<std::string>());
  }
  print_program(json, flags.explain);
}

}  // namespace

void add_inspect(CLI::App& app) {
  auto flags = std::make_shared<InspectFlags>();
  CLI::App* command = app.add_subcommand("inspect", "Show what is in a .pt2, .pte or .bpte file");
  command->add_option("file", flags->file, "The file")->required();
  command->add_option("--method", flags->method, "Only this method, of a file with several");
  add_shapes(*command, flags->shapes);
  command->add_flag("--json", flags->json, "Print one JSON object and nothing else");
  command->add_flag("--explain", flags->explain,
                    "For every node, show which rule applies, with which parameters, or why it stays in float; for a "
                    "program, show what compile recorded next to it, and the numbers of every instruction");
  command->add_option("--calibrate", flags->calibrate, "With --explain of a float .pt2: inputs for calibration");
  command->add_flag("--sequence", flags->sequence,
                    "With --calibrate: arrays are [samples, steps, …], where … is the input's whole shape");
  command->add_option("-t,--target", flags->target, "With --explain of a .pt2: the CPU")->capture_default_str();
  command->callback([flags] { run(*flags); });
}

}  // namespace cormorant::cli
