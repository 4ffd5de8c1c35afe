// SPDX-License-Identifier: Apache-2.0
#include "program/program_io.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <sstream>

#include "base/diagnostic.h"
#include "compiler/import.h"
#include "compiler/samples.h"
#include "emit/emit.h"
#include "formats/pt2/recognize.h"
#include "formats/pte/method_names.h"
#include "formats/pte/origin.h"
#include "formats/pte/plan_io.h"
#include "formats/pte/proportion.h"
#include "formats/pte/reader.h"
#include "ops/op.h"
#include "program/bundle_io.h"
#include "program/files.h"
#include "quantizer/adopt.h"
#include "quantizer/parallel.h"
#include "runner/program_facts.h"
#include "runtime/host.h"

namespace cormorant {
namespace {

template <class T>
T value_of(const Result<T>& result, const std::string& file) {
  if (!result.ok()) throw InputError({describe(result.error()), "compile the model again", file});
  return result.value();
}

std::vector<ProgramTensor> io_tensors(const pte::MethodView& method, std::span<const std::int32_t> indices,
                                      const std::string& file) {
  std::vector<ProgramTensor> tensors;
  for (const std::int32_t index : indices) {
    const pte::TensorView view = value_of(method.tensor(index), file);
    ProgramTensor tensor;
    tensor.dtype = view.dtype;
    tensor.shape.assign(view.sizes.begin(), view.sizes.end());
    tensor.dim_order.assign(view.dim_order.begin(), view.dim_order.end());
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// What the compiler notes of inputs and outputs (formats/pte/origin.h).
void read_notes(const pte::MethodView& method, ProgramFile& program) {
  const pte::Notes notes = pte::find_notes(method);
  if (notes.rows != 0 && program.inputs.size() == 1 && program.inputs[0].shape.size() == 4) {
    program.inputs[0].shape[2] = notes.rows;
    program.by_rows = true;
  }
  std::string_view origin;
  if (pte::find_origin(method, origin) && pte::is_for_one_cpu(origin)) {  // "CPU ISA …"
    std::istringstream words{std::string(origin)};
    words >> program.cpu >> program.isa;
  }
  std::size_t number = 0;
  for (auto* tensors : {&program.inputs, &program.outputs}) {
    for (ProgramTensor& tensor : *tensors) {
      const auto quantization = value_of(pte::read_quantization(method, notes, number), program.file);
      if (quantization.scale != 0) tensor.scale = quantization.scale;
      tensor.zero_point = quantization.zero_point;
      tensor.name = value_of(pte::read_name(method, notes, number), program.file);
      ++number;
    }
  }
}

// f(logical, place) for each element: its number in logical order, and in memory.
template <class F>
void for_each_place(const ProgramTensor& tensor, F f) {
  const std::size_t rank = tensor.shape.size();
  std::vector<std::size_t> size(tensor.shape.begin(), tensor.shape.end());
  std::vector<std::size_t> stride(rank, 1);  // in memory, of each logical dimension
  std::size_t count = 1;
  for (std::size_t i = rank; i-- > 0;) {
    stride[tensor.dim_order[i]] = count;
    count *= size[tensor.dim_order[i]];
  }
  std::vector<std::size_t> index(rank, 0);
  std::size_t place = 0;
  for (std::size_t logical = 0; logical < count; ++logical) {
    f(logical, place);
    for (std::size_t d = rank; d-- > 0;) {
      place += stride[d];
      if (++index[d] < size[d]) break;
      place -= size[d] * stride[d];
      index[d] = 0;
    }
  }
}

std::vector<std::byte> quantized(const npy::Array& array, const ProgramTensor& tensor, double scale,
                                 const std::string& what) {
  std::vector<std::byte> out;
  for (const float value : compiler::to_float(array.dtype, array.data)) {
    if (std::isnan(value)) {
      throw InputError(
          {fmt::format("element {} is NaN, which integers cannot represent", out.size() / size_of(tensor.dtype)),
           "check how the array was made", what});
    }
    const double level = std::nearbyint(static_cast<double>(value) / scale) + tensor.zero_point;
    if (tensor.dtype == DType::i16) {
      const auto word = static_cast<std::int16_t>(std::clamp(level, -32768.0, 32767.0));
      out.push_back(static_cast<std::byte>(word & 0xff));
      out.push_back(static_cast<std::byte>(word >> 8 & 0xff));
      continue;
    }
    const double byte = tensor.dtype == DType::u8 ? std::clamp(level, 0.0, 255.0) : std::clamp(level, -128.0, 127.0);
    out.push_back(static_cast<std::byte>(static_cast<int>(byte)));
  }
  return out;
}

// y, y0, y1, … and other words for labels
bool names_outputs(const std::string& name) {
  for (const char* const word : {"label", "labels", "target", "targets"}) {
    if (name == word) return true;
  }
  return name.starts_with('y') &&
         std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

const std::pair<std::string, npy::Array>& array_for(const npy::DataSet& data, const ProgramFile& program,
                                                    std::size_t input) {
  const auto named = [&](const std::string& name) {
    return std::ranges::find_if(data.arrays, [&](const auto& entry) { return entry.first == name; });
  };
  const auto own = named(program.inputs[input].name);
  if (own != data.arrays.end()) return *own;
  if (program.inputs.size() == 1) {
    if (const auto x = named("x"); x != data.arrays.end()) return *x;
  }
  std::size_t position = 0;
  for (const auto& entry : data.arrays) {
    if (!names_outputs(entry.first) && position++ == input) return entry;
  }
  throw InputError(
      {fmt::format("no array for input {}", input), "give one array per input, x for a single one", data.path});
}

// Every thread has a program, so memory, of its own.
std::vector<Sample> run_on_host(const ProgramFile& program, const std::vector<Sample>& samples, std::size_t steps,
                                const Progress& progress) {
  const std::vector<const Kernel*> kernels = ops::host_kernels();
  const std::size_t sequences = (samples.size() + steps - 1) / steps;
  const std::size_t threads = quantizer::thread_count(0, sequences);
  std::vector<std::unique_ptr<HostProgram>> hosts;
  hosts.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    hosts.push_back(std::make_unique<HostProgram>(program.bytes, kernels, program.file, program.method));
  }
  std::vector<Sample> outputs(samples.size());
  quantizer::SharedProgress shared(progress, "running", samples.size());
  quantizer::parallel_for(sequences, threads, [&](std::size_t sequence, std::size_t thread) {
    hosts[thread]->program().reset();
    const std::size_t end = std::min(samples.size(), (sequence + 1) * steps);
    for (std::size_t k = sequence * steps; k < end; ++k) {
      outputs[k] = hosts[thread]->run(samples[k]);
      shared.one_done();
    }
  });
  return outputs;
}

RunResult run_on_board(const ProgramFile& program, const RunRequest& request) {
  try {
    return cormorant::run_on_board(request);
  } catch (const InputError& error) {
    Diagnostic diagnostic = error.diagnostic();
    if (diagnostic.file.empty()) diagnostic.file = program.file;
    throw InputError(std::move(diagnostic));
  }
}

bool same_shape(const std::vector<std::int64_t>& array, const std::vector<std::int64_t>& wanted) {
  if (array == wanted) return true;
  return !wanted.empty() && wanted[0] == 1 && std::equal(array.begin(), array.end(), wanted.begin() + 1, wanted.end());
}

// Refuses what a runtime without delegates and data files cannot run, and names all of it; load checks the rest.
void require_plain(const pte::MethodView& method, const std::string& file) {
  std::set<std::string> delegates, elsewhere;
  const auto count = method.delegate_count();
  for (std::uint32_t i = 0; count.ok() && i < count.value(); ++i) {
    delegates.emplace(value_of(method.delegate_name(i), file));
  }
  if (!delegates.empty()) {
    throw InputError({fmt::format("parts of the program are delegate blobs: {}", fmt::join(delegates, ", ")),
                      "only plain operators are supported: export the model without a delegate", file});
  }
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(method.value_count()); ++i) {
    const auto kind = method.kind(i);
    if (!kind.ok() || kind.value() != pte::ValueKind::tensor || !value_of(method.is_external(i), file)) continue;
    elsewhere.emplace(value_of(method.tensor_name(i), file));
  }
  if (!elsewhere.empty()) {
    throw InputError({fmt::format("its data is in another file (.ptd): {}", fmt::join(elsewhere, ", ")),
                      "export the model with its constants in the program (external_constants=False)", file});
  }
}

}  // namespace

std::size_t ProgramTensor::element_count() const {
  return static_cast<std::size_t>(std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>()));
}

ProgramFile program_from(std::vector<std::byte> bytes, std::string file, bool plain, const std::string& wanted) {
  pte::require_proportionate(bytes, file);
  ProgramFile program{.file = std::move(file), .bytes = pte::with_planned_io(std::move(bytes))};
  const AlignedBytes aligned(program.bytes);
  const auto opened = pte::ProgramView::open(aligned.span());
  if (!opened.ok()) {
    Diagnostic why = explain({.error = opened.error()}, program.bytes, "forward");
    why.file = program.file;
    throw InputError(std::move(why));
  }
  const pte::ProgramView& view = opened.value();
  program.method = pte::choose_method(pte::method_names(program.bytes), wanted, program.file);
  const pte::MethodView method = value_of(view.method(program.method), program.file);
  if (plain) require_plain(method, program.file);
  program.inputs = io_tensors(method, value_of(method.inputs(), program.file), program.file);
  program.outputs = io_tensors(method, value_of(method.outputs(), program.file), program.file);
  read_notes(method, program);
  const KeptFacts kept = kept_by(view, method);
  program.has_state = kept.state;
  program.buffer_bytes = kept.buffer_bytes;
  return program;
}

namespace {

// The node alone: what it reads are inputs, except for constants and scratch.
ir::Graph alone(const ir::Node& node) {
  ir::Graph graph;
  std::map<const ir::Value*, ir::Value*> twins = {{nullptr, nullptr}};
  for (const ir::Value* value : node.inputs()) {
    if (twins.contains(value)) continue;
    twins[value] = value->kind == ir::ValueKind::constant  ? graph.add_constant(value->name, value->type, value->data)
                   : value->kind == ir::ValueKind::scratch ? graph.add_scratch(value->name, value->type.bytes())
                                                           : graph.add_input(value->name, value->type);
  }
  std::vector<ir::NamedArgument> args = node.args;
  for (ir::NamedArgument& argument : args) {
    if (auto* one = std::get_if<ir::Value*>(&argument.value)) *one = twins.at(*one);
    if (auto* many = std::get_if<std::vector<ir::Value*>>(&argument.value)) {
      for (ir::Value*& value : *many) value = twins.at(value);
    }
  }
  std::vector<ir::TensorType> types;
  types.reserve(node.results.size());
  for (const ir::Value* result : node.results) types.push_back(result->type);
  for (ir::Value* result : graph.add_node(node.name, node.op, std::move(args), std::move(types))->results) {
    graph.add_output(result);
  }
  return graph;
}

}  // namespace

bool is_of_later_stage(const ir::Graph& graph) {
  return std::ranges::any_of(graph.nodes(), compiler::is_lowered) ||
         std::ranges::any_of(graph.values(), [](const ir::Value& value) { return value.type.quant.has_value(); });
}

void require_operators_to_quantize(const ir::Graph& graph, const std::string& file) {
  if (quantizer::is_quantized_model(graph)) return;  // which keeps its own parameters
  for (const ir::Node& node : graph.nodes()) {
    if (!compiler::is_lowered(node)) continue;
    throw InputError({.problem = fmt::format("a compiled program cannot be quantized: {} is an instruction", node.op),
                      .advice = "compile the original model with --quantize, or this file without it",
                      .file = file,
                      .node = node.name,
                      .source = node.location.text()});
  }
}

void check_program_operators(const ir::Graph& graph, const ops::Config& config, const std::string& file) {
  const std::vector<const Kernel*> kernels = ops::host_kernels();
  for (const ir::Node& node : graph.nodes()) {
    if (!compiler::is_lowered(node)) continue;
    const ir::Graph one = alone(node);
    const memory::MemoryMap memory = memory::map_memory(one, {}, config.runtime, memory::Reuse::none);
    const std::vector<std::byte> program = emit::emit(one, config, memory).program;
    if (!missing_operators(program, kernels).empty()) continue;
    try {
      const HostProgram loaded(program, kernels, file);
    } catch (const InputError& error) {
      // Before layout and packing, arguments may be valid that no kernel takes yet. In a program they are behind it.
      const bool is_program = file.ends_with(".pte");
      if (!is_program && error.diagnostic().problem.find(describe(Error::unsupported)) != std::string::npos) continue;
      throw InputError({.problem = fmt::format("{}: {}", node.op, error.diagnostic().problem),
                        .advice = is_program ? "compile the original model" : "use a text written by --intermediates",
                        .file = file,
                        .node = node.name,
                        .source = node.location.text()});
    }
  }
}

namespace {

struct TooLarge : InputError {
  using InputError::InputError;
};

// A model may well need more memory than programs can have: that is no fault of ours.
void require_possible(std::span<const std::byte> program, const std::string& method, const std::string& model) {
  const std::vector<std::uint64_t> arenas = read_facts(program, method).arena_bytes;
  const std::uint64_t bytes = std::accumulate(arenas.begin(), arenas.end(), std::uint64_t{0});
  if (bytes <= static_cast<std::uint64_t>(kMostArenas)) return;
  throw TooLarge({fmt::format("its tensors need {} bytes at a time, more than 1 GiB", bytes),
                  "export it for smaller inputs: microcontrollers have a few megabytes", model});
}

}  // namespace

void require_loadable(std::span<const std::byte> program, const std::string& model, bool of_later_stage) {
  const std::vector<const Kernel*> kernels = ops::host_kernels();
  if (!missing_operators(program, kernels).empty()) return;  // of another runtime alone
  try {
    for (const std::string& method : pte::method_names(program)) {
      require_possible(program, method, model);
      const HostProgram loaded(program, kernels, model, method);
    }
  } catch (const TooLarge&) {
    throw;
  } catch (const InputError& error) {
    if (of_later_stage) throw;
    throw std::logic_error(fmt::format("the program does not load: {}", error.what()));
  }
}

ProgramFile read_program(const std::string& path, const std::string& method) {
  if (kind_of(path) == FileKind::bundle) {
    pte::Bundle bundle = read_bundle(path, method);
    const bool is_said = !method.empty() || bundle.cases.empty();
    return program_from(std::move(bundle.program), path, true, is_said ? method : bundle.method);
  }
  std::vector<std::byte> bytes = read_file(path);
  if (pt2::looks_like_zip(bytes)) {
    throw InputError({"this is a model, not a program", "compile it first: cormorant compile " + path, path});
  }
  return program_from(std::move(bytes), path, true, method);
}

std::vector<std::byte> to_io(const npy::Array& array, const ProgramTensor& tensor, const std::string& what) {
  if (!same_shape(array.shape, tensor.shape)) {
    throw InputError({fmt::format("the array has shape [{}], but the program needs [{}]", fmt::join(array.shape, ", "),
                                  fmt::join(tensor.shape, ", ")),
                      "give the model's logical shape (NCHW)", what});
  }
  std::vector<std::byte> converted;
  std::span<const std::byte> elements = array.data;
  if (array.dtype != tensor.dtype) {
    const bool widen = tensor.dtype == DType::f32 && array.dtype != DType::f16 && array.dtype != DType::bf16;
    const bool has_levels = tensor.dtype == DType::i8 || tensor.dtype == DType::u8 || tensor.dtype == DType::i16;
    if (has_levels && tensor.scale && is_float(array.dtype)) {
      converted = quantized(array, tensor, *tensor.scale, what);
    } else if (widen) {
      const std::vector<float> floats = compiler::to_float(array.dtype, array.data);
      const auto raw = std::as_bytes(std::span(floats));
      converted.assign(raw.begin(), raw.end());
    } else {
      throw InputError(
          {fmt::format("the array is {}, but the program needs {}", name_of(array.dtype), name_of(tensor.dtype)),
           fmt::format("convert it to {}", name_of(tensor.dtype)), what});
    }
    elements = converted;
  }
  const std::size_t width = size_of(tensor.dtype);
  std::vector<std::byte> out(elements.size());
  for_each_place(tensor, [&](std::size_t logical, std::size_t place) {
    std::memcpy(&out[place * width], &elements[logical * width], width);
  });
  return out;
}

npy::Array from_io(std::span<const std::byte> bytes, const ProgramTensor& tensor) {
  const std::size_t width = size_of(tensor.dtype);
  npy::Array array{tensor.dtype, tensor.shape, std::vector<std::byte>(bytes.size())};
  for_each_place(tensor, [&](std::size_t logical, std::size_t place) {
    std::memcpy(&array.data[logical * width], &bytes[place * width], width);
  });
  return array;
}

std::vector<float> real_values(const npy::Array& array, const ProgramTensor& tensor) {
  std::vector<float> values = compiler::to_float(array.dtype, array.data);
  if (tensor.scale && !is_float(array.dtype)) {
    for (float& value : values)
      value = static_cast<float>((static_cast<double>(value) - tensor.zero_point) * *tensor.scale);
  }
  return values;
}

std::vector<std::string> input_arrays(const ProgramFile& program, const npy::DataSet& data) {
  std::vector<std::string> names;
  names.reserve(program.inputs.size());
  for (std::size_t i = 0; i < program.inputs.size(); ++i) names.push_back(array_for(data, program, i).first);
  return names;
}

std::vector<Arrays> sample_arrays(const ProgramFile& program, const npy::DataSet& data, compiler::Axes axes) {
  std::vector<Arrays> samples;
  for (std::size_t input = 0; input < program.inputs.size(); ++input) {
    const npy::Array& array = array_for(data, program, input).second;
    const std::vector<std::int64_t> shape(array.shape.begin() + 1, array.shape.end());
    std::size_t next = 0;
    for (std::int64_t i = 0; i < data.samples; ++i) {
      const auto bytes = npy::sample(array, i);
      std::vector<npy::Array> steps = {{array.dtype, shape, {bytes.begin(), bytes.end()}}};
      if (axes == compiler::Axes::sequences) steps = steps_of(steps.front(), program.inputs[input], data.path);
      for (npy::Array& step : steps) {
        if (input == 0) samples.emplace_back();
        if (next >= samples.size()) break;
        samples[next++].push_back(std::move(step));
      }
    }
    if (next != samples.size()) {
      throw InputError({fmt::format("the array for input {} has a different number of steps than the first", input),
                        "all inputs of a sequence must have the same number of steps", data.path});
    }
  }
  return samples;
}

std::vector<npy::Array> steps_of(const npy::Array& sequence, const ProgramTensor& tensor, const std::string& what) {
  if (sequence.shape.empty() ||
      !std::equal(sequence.shape.begin() + 1, sequence.shape.end(), tensor.shape.begin(), tensor.shape.end())) {
    throw InputError({fmt::format("the array has shape [{}], but a sequence for this input is [steps, {}]",
                                  fmt::join(sequence.shape, ", "), fmt::join(tensor.shape, ", ")),
                      "with --sequence the first axis counts steps; the rest must be the input's whole shape", what});
  }
  std::vector<npy::Array> steps;
  for (std::int64_t i = 0; i < sequence.shape[0]; ++i) {
    const auto bytes = npy::sample(sequence, i);
    steps.push_back({sequence.dtype, tensor.shape, {bytes.begin(), bytes.end()}});
  }
  return steps;
}

npy::Array sequence_of(std::span<const npy::Array> steps) {
  npy::Array sequence = steps.front();
  sequence.shape.insert(sequence.shape.begin(), static_cast<std::int64_t>(steps.size()));
  for (const npy::Array& step : steps.subspan(1)) {
    sequence.data.insert(sequence.data.end(), step.data.begin(), step.data.end());
  }
  return sequence;
}

Execution execute(const ProgramFile& program, const std::vector<Arrays>& samples, const ExecuteOn& where) {
  std::vector<Sample> raw;
  for (const Arrays& arrays : samples) {
    Sample sample;
    for (std::size_t i = 0; i < program.inputs.size(); ++i) {
      const ProgramTensor& tensor = program.inputs[i];
      if (i < arrays.size()) {
        sample.push_back(to_io(arrays[i], tensor, fmt::format("input {} of {}", i, program.file)));
      } else {
        sample.emplace_back(tensor.element_count() * size_of(tensor.dtype));
      }
    }
    raw.push_back(std::move(sample));
  }
  Execution execution;
  std::vector<Sample> outputs;
  if (where.target) {
    RunRequest request;
    request.program = program.bytes;
    request.method = program.method;
    request.target = *where.target;
    request.board = where.board;
    request.compiler = where.compiler;
    request.samples = raw;
    request.steps = where.steps;
    request.profile = where.profile;
    request.estimate_cycles = where.estimate_cycles;
    request.account = where.account;
    request.time_limit = where.time_limit;
    request.keep_elf = where.keep_elf;
    execution.board = run_on_board(program, request);
    outputs = std::move(execution.board->outputs);
  } else {
    outputs = run_on_host(program, raw, where.steps, where.progress);
  }
  for (const Sample& sample : outputs) {
    Arrays arrays;
    for (std::size_t i = 0; i < sample.size(); ++i) arrays.push_back(from_io(sample[i], program.outputs.at(i)));
    execution.outputs.push_back(std::move(arrays));
  }
  return execution;
}

}  // namespace cormorant
