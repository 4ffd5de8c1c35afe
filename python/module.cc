// SPDX-License-Identifier: Apache-2.0
//
// cormorant._core: what the command line does, for the Python package around it, which turns arrays and options into
// the plain types here. Nothing here knows numpy or torch.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <memory>
#include <system_error>

#include "base/diagnostic.h"
#include "base/output_file.h"
#include "cli/cli.h"
#include "cli/compile_options.h"
#include "cli/run_figures.h"
#include "compiler/import.h"
#include "driver/compile_error.h"
#include "driver/compile_model.h"
#include "driver/methods.h"
#include "formats/pte/method_names.h"
#include "program/bundle_io.h"
#include "program/files.h"
#include "program/json_text.h"
#include "program/names.h"
#include "program/program_io.h"
#include "program/score.h"
#include "runner/toolchain.h"
#include "runner/tree.h"
#include "target/parse.h"

namespace nb = nanobind;

namespace cormorant::python {
namespace {

// ---- arrays: (type, shape, bytes) -----------------------------------------------------------------------------------

using PyArray = std::tuple<std::string, std::vector<std::int64_t>, nb::bytes>;
using PyNamed = std::pair<std::string, PyArray>;

DType dtype_of(const std::string& name) {
  for (const DType type : {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64, DType::f16, DType::f32, DType::f64,
                           DType::boolean, DType::bf16}) {
    if (name == name_of(type)) return type;
  }
  throw InputError({"arrays of type " + name + " cannot be inputs", "convert them to float32"});
}

npy::Array array_from(const PyArray& from) {
  const auto& [type, shape, bytes] = from;
  npy::Array array{dtype_of(type), shape, std::vector<std::byte>(bytes.size())};
  std::memcpy(array.data.data(), bytes.c_str(), bytes.size());
  return array;
}

PyArray array_to(const npy::Array& array) {
  return {name_of(array.dtype), array.shape, nb::bytes(array.data.data(), array.data.size())};
}

npy::DataSet data_set_from(const std::vector<PyNamed>& arrays, const std::string& name) {
  npy::DataSet data{.path = name, .samples = 0, .arrays = {}};
  for (const auto& [key, array] : arrays) data.arrays.emplace_back(key, array_from(array));
  for (const auto& [key, array] : data.arrays) {
    if (array.shape.empty() || array.shape[0] < 1) {
      throw InputError({fmt::format("array '{}' has no samples", key), "the first axis counts samples", name});
    }
    if (data.samples == 0) data.samples = array.shape[0];
    if (array.shape[0] != data.samples) {
      throw InputError(
          {fmt::format("array '{}' has {} samples, but the first one has {}", key, array.shape[0], data.samples),
           "all arrays have as many samples: their first axis", name});
    }
  }
  if (data.arrays.empty()) throw InputError({"there are no arrays", "pass one array per input", name});
  return data;
}

// ---- options --------------------------------------------------------------------------------------------------------

void parse(CLI::App& app, std::vector<std::string> arguments) {
  std::ranges::reverse(arguments);  // CLI11 takes them from the end
  try {
    app.parse(arguments);
  } catch (const CLI::ExtrasError& error) {
    const std::vector<std::string> extras = app.remaining();
    throw UsageError(extras.empty() ? error.what() : cli::explain_extra(app, extras.front()));
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
}

// Names without dashes, whether it is a flag, and what it is about.
std::vector<std::tuple<std::vector<std::string>, bool, std::string>> compile_options() {
  CLI::App app;
  driver::CompileFlags flags;
  cli::add_compile_options(app, flags);
  std::vector<std::tuple<std::vector<std::string>, bool, std::string>> options;
  for (const CLI::Option* option : app.get_options()) {
    const bool is_model = option->get_positional();
    if (!option->get_lnames().empty() && option->get_lnames().front() != "help" && !is_model) {
      options.emplace_back(option->get_lnames(), option->get_items_expected_max() == 0, option->get_description());
    }
  }
  return options;
}

ExecuteOn place(const std::string& target, const std::map<std::string, std::string>& settings) {
  ExecuteOn where;
  const auto get = [&](const char* name) { return settings.contains(name) ? settings.at(name) : std::string(); };
  if (target != "host") {
    where.target = parse_target(target, get("isa"));
    if (where.target->is_any()) throw UsageError("target 'any' is not a board\n  name a CPU, or host");
  }
  const std::string compiler = get("compiler");
  if (!compiler.empty() && compiler != "gcc" && compiler != "clang") {
    throw UsageError("compiler must be gcc or clang, not '" + compiler + "'");
  }
  where.compiler = compiler == "clang" ? Compiler::clang : Compiler::gcc;
  where.board = get("board");
  where.profile = where.estimate_cycles = where.account = settings.contains("profile");
  if (settings.contains("timeout")) {
    where.time_limit = std::chrono::milliseconds(static_cast<std::int64_t>(std::stod(get("timeout")) * 1000));
  }
  where.keep_elf = get("elf");
  return where;
}

// ---- programs -------------------------------------------------------------------------------------------------------

class Program {
 public:
  explicit Program(ProgramFile file, std::optional<StepNames> names = {})
      : file_(std::move(file)), names_(std::move(names)) {}

  static Program read(const std::string& path, const std::string& method) {
    ProgramFile file = read_program(path, method);
    std::optional<StepNames> names = read_names(path, file.bytes, file.method);
    return Program(std::move(file), std::move(names));
  }

  [[nodiscard]] nb::bytes bytes() const { return nb::bytes(file_.bytes.data(), file_.bytes.size()); }
  [[nodiscard]] bool has_state() const { return file_.has_state; }
  [[nodiscard]] std::uint64_t buffer_bytes() const { return file_.buffer_bytes; }

  // (name, type, shape, scale or none, zero point)
  using Tensor = std::tuple<std::string, std::string, std::vector<std::int64_t>, std::optional<double>, std::int32_t>;
  [[nodiscard]] std::vector<Tensor> inputs() const { return tensors(file_.inputs); }
  [[nodiscard]] std::vector<Tensor> outputs() const { return tensors(file_.outputs); }

  // Outputs of every sample, and the figures of run --json as text.
  std::pair<std::vector<std::vector<PyArray>>, std::string> run(const std::vector<std::vector<PyArray>>& samples,
                                                                const std::string& target, std::size_t steps,
                                                                const std::map<std::string, std::string>& settings) {
    ExecuteOn where = place(target, settings);
    where.steps = steps;
    const double clock = settings.contains("clock") ? cli::parse_clock(settings.at("clock")) : 0;
    std::vector<Arrays> inputs;
    for (const std::vector<PyArray>& sample : samples) {
      Arrays& arrays = inputs.emplace_back();
      for (const PyArray& array : sample) arrays.push_back(array_from(array));
    }
    Execution execution;
    {
      const nb::gil_scoped_release released;
      execution = execute(file_, inputs, where);
    }
    std::vector<std::vector<PyArray>> outputs;
    for (const Arrays& arrays : execution.outputs) {
      auto& to = outputs.emplace_back();
      for (const npy::Array& array : arrays) to.push_back(array_to(array));
    }
    return {std::move(outputs), json_text(cli::run_json(where, execution, clock, names_))};
  }

  std::string evaluate(const std::vector<PyNamed>& arrays, const std::string& float_model, const std::string& target,
                       bool sequence, const std::map<std::string, std::string>& settings) {
    const npy::DataSet data = data_set_from(arrays, "the data");
    ScoreRequest request{.program = &file_, .float_model = float_model, .where = place(target, settings)};
    // A model with one method may call it otherwise than the program does.
    if (!float_model.empty() && compiler::method_names(float_model).size() > 1) request.method = file_.method;
    if (!settings.contains("timeout")) request.where.time_limit = std::chrono::minutes(10);
    request.axes = sequence ? compiler::Axes::sequences : compiler::Axes::samples;
    const nb::gil_scoped_release released;
    return json_text(scores_json(score(request, data)));
  }

  // Test cases with the inputs that are given, or one with random inputs.
  [[nodiscard]] pte::Bundle bundle(const std::optional<std::vector<PyNamed>>& arrays) const {
    return arrays ? make_bundle(file_, data_set_from(*arrays, "the data")) : make_random_bundle(file_);
  }

 private:
  static std::vector<Tensor> tensors(const std::vector<ProgramTensor>& from) {
    std::vector<Tensor> to;
    for (const ProgramTensor& t : from) to.emplace_back(t.name, name_of(t.dtype), t.shape, t.scale, t.zero_point);
    return to;
  }

  ProgramFile file_;
  std::optional<StepNames> names_;
};

// Of a model, a program or a bundled program.
std::vector<std::string> method_names(const std::string& path) {
  if (kind_of(path) == FileKind::bundle) return pte::method_names(read_bundle(path).program);
  return compiler::method_names(path);
}

// A .bpte: methods of one program, each with its test cases.
void write_bundled(const std::string& path,
                   const std::vector<std::pair<Program*, std::optional<std::vector<PyNamed>>>>& methods) {
  std::vector<pte::Bundle> bundles;
  for (const auto& [program, arrays] : methods) bundles.push_back(program->bundle(arrays));
  write_output(path, pte::write_bundle(bundles));
}

// What compile_model() gives, or compile_methods() for a file with several, with the flags it was given.
class Compiled {
 public:
  Compiled(driver::CompileFlags flags, driver::CompiledMethods compiled)
      : flags_(std::move(flags)), compiled_(std::move(compiled)) {}

  [[nodiscard]] std::vector<std::string> methods() const { return compiled_.names; }  // none: there is only one
  [[nodiscard]] std::string model() const { return one(0).model; }
  [[nodiscard]] std::string figures() const { return json_text(compiled_.figures); }
  // Of the method of this number.
  [[nodiscard]] std::string figures_of(std::size_t i) const { return json_text(one(i).figures); }
  [[nodiscard]] std::string explanation(std::size_t i) const { return json_text(one(i).explanation); }
  [[nodiscard]] std::vector<std::string> warnings(std::size_t i) const { return one(i).compiled.facts.warnings; }
  [[nodiscard]] std::string report(std::size_t i) const {
    driver::CompileFlags flags = flags_;
    if (!compiled_.names.empty()) flags.method = compiled_.names.at(i);
    return driver::report_page(flags, one(i));
  }
  [[nodiscard]] Program program(std::size_t i) const {
    const std::string method = compiled_.names.empty() ? "" : compiled_.names.at(i);
    return Program(program_from(compiled_.program, one(i).model, true, method), one(i).compiled.facts.steps);
  }
  void save(const std::string& path, bool names) const {
    require_other_file({"the program", path}, {{"the model", model()}});
    write_output(path, compiled_.program);
    if (!names) return;
    if (compiled_.names.empty()) {
      return write_names(path, compiled_.program, one(0).compiled.facts.steps, one(0).explanation);
    }
    std::vector<MethodNames> steps;
    for (std::size_t i = 0; i < compiled_.names.size(); ++i) {
      steps.push_back({compiled_.names[i], one(i).compiled.facts.steps, one(i).explanation});
    }
    write_names(path, compiled_.program, steps);
  }
  void write_reports() const {
    if (flags_.report.empty()) return;
    if (compiled_.names.empty()) return write_output(flags_.report, report(0));
    for (std::size_t i = 0; i < compiled_.names.size(); ++i) {
      write_output(driver::report_of(flags_.report, compiled_.names[i]), report(i));
    }
  }

 private:
  [[nodiscard]] const driver::CompileResult& one(std::size_t i) const { return compiled_.methods.at(i); }

  driver::CompileFlags flags_;
  driver::CompiledMethods compiled_;
};

using PyProgress = std::function<void(std::string, std::size_t, std::size_t)>;

// An exception of the callback must not unwind the compiler's threads: the first one is kept until these are done.
class Guarded {
 public:
  explicit Guarded(PyProgress callback) : callback_(std::move(callback)) {}
  void operator()(std::string_view task, std::size_t done, std::size_t total) {
    const nb::gil_scoped_acquire acquired;
    if (failure_) return;
    try {
      callback_(std::string(task), done, total);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  PyProgress callback_;
  std::exception_ptr failure_;
};

// Data by method; "" is for the only one, or for all.
using PyData = std::map<std::string, std::vector<PyNamed>>;

driver::CompiledMethods compile_file(const driver::CompileFlags& flags, driver::CompileInputs& inputs) {
  const std::vector<std::string> names =
      flags.method.empty() ? compiler::method_names(find_model(flags.model)) : std::vector<std::string>();
  driver::CompiledMethods compiled;
  if (names.size() > 1) {
    compiled = driver::compile_methods(flags, inputs, names);
  } else {
    compiled.methods.push_back(driver::compile_model(flags, inputs));
    compiled.program = compiled.methods.front().compiled.program;
    compiled.figures = compiled.methods.front().figures;
  }
  for (driver::CompileResult& method : compiled.methods) method.options.progress = nullptr;
  return compiled;
}

Compiled compile(const std::vector<std::string>& arguments, const std::optional<PyData>& calibration,
                 std::optional<PyProgress> progress) {
  driver::CompileFlags flags;
  CLI::App app("", "compile");
  cli::add_compile_options(app, flags);
  parse(app, arguments);
  flags.explain = true;  // for the report
  driver::CompileInputs inputs;
  for (const auto& [method, arrays] : calibration.value_or(PyData())) {
    auto data = std::make_shared<const npy::DataSet>(data_set_from(arrays, "the calibration data"));
    if (method.empty()) {
      inputs.calibration = std::move(data);
    } else {
      inputs.of_methods.emplace(method, std::move(data));
    }
  }
  const auto guarded = progress ? std::make_shared<Guarded>(std::move(*progress)) : nullptr;
  if (guarded) {
    inputs.progress = [guarded](std::string_view task, std::size_t done, std::size_t total) {
      (*guarded)(task, done, total);
    };
  }
  std::optional<Compiled> compiled;
  std::optional<driver::CompileError> excess;
  {
    const nb::gil_scoped_release released;
    driver::CompiledMethods methods = compile_file(flags, inputs);
    const driver::CompileResult& first = methods.methods.front();
    if (first.excess) excess.emplace(*first.excess, driver::warnings_of(first.compiled.facts));
    compiled.emplace(flags, std::move(methods));
    compiled->write_reports();
  }
  if (guarded) guarded->rethrow();
  if (excess) throw *excess;
  return std::move(*compiled);
}

// ---- errors ---------------------------------------------------------------------------------------------------------

struct Errors {
  PyObject *input = nullptr, *usage = nullptr, *board = nullptr, *internal = nullptr;
};

void set_error(PyObject* type, const std::string& text, const Diagnostic* diagnostic = nullptr,
               const std::vector<std::string>& warnings = {}) {
  const nb::object error = nb::borrow(type)(text);
  if (diagnostic != nullptr) {
    error.attr("problem") = diagnostic->problem;
    error.attr("advice") = diagnostic->advice;
    error.attr("file") = diagnostic->file;
    error.attr("node") = diagnostic->node;
    error.attr("source") = diagnostic->source;
    error.attr("warnings") = warnings;
  }
  PyErr_SetObject(type, error.ptr());
}

// The same text as the program's, after "error: ".
void translate(const std::exception_ptr& thrown, void* payload) {
  const Errors& errors = *static_cast<const Errors*>(payload);
  try {
    std::rethrow_exception(thrown);
  } catch (const nb::python_error&) {
    throw;
  } catch (const nb::builtin_exception&) {
    throw;
  } catch (const driver::CompileError& error) {
    set_error(errors.input, error.what(), &error.diagnostic(), error.warnings().texts);
  } catch (const InputError& error) {
    set_error(errors.input, error.what(), &error.diagnostic());
  } catch (const UsageError& error) {
    set_error(errors.usage, error.what());
  } catch (const BoardFault& error) {
    set_error(errors.board, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError, cli::kOutOfMemory);
  } catch (const std::system_error& error) {
    PyErr_SetString(PyExc_OSError, error.what());
  } catch (const std::exception& error) {
    set_error(errors.internal,
              fmt::format("internal error: {}\n  this is a bug in cormorant; please report it with the "
                          "call and the model",
                          error.what()));
  }
}

}  // namespace
}  // namespace cormorant::python

NB_MODULE(_core, m) {
  using namespace cormorant::python;
  static Errors errors;
  const auto exception = [&](const char* name, PyObject* base) {
    PyObject* const type = PyErr_NewException(fmt::format("cormorant.{}", name).c_str(), base, nullptr);
    m.attr(name) = nb::borrow(type);
    return type;
  };
  PyObject* const base = exception("Error", nullptr);
  errors.input = exception("InputError", base);
  errors.usage = exception("UsageError", base);
  errors.board = exception("BoardFault", base);
  errors.internal = exception("InternalError", base);
  nb::register_exception_translator(translate, &errors);

  m.attr("version") = CORMORANT_VERSION;
  m.def("use_installation", [](const std::string& folder) { cormorant::use_installation(folder); });
  m.def("compile_options", &compile_options);
  m.def("targets", [] {
    std::vector<std::string> names;
    for (const cormorant::Cpu& cpu : cormorant::kCpus) names.emplace_back(cpu.name);
    return names;
  });
  m.def("compile", &compile, nb::arg("arguments"), nb::arg("calibration").none(), nb::arg("progress").none());

  m.def("method_names", &method_names);
  m.def("write_bundled", &write_bundled, nb::arg("path"), nb::arg("methods"));

  nb::class_<Program>(m, "Program")
      .def_static("read", &Program::read)
      .def_prop_ro("bytes", &Program::bytes)
      .def_prop_ro("has_state", &Program::has_state)
      .def_prop_ro("buffer_bytes", &Program::buffer_bytes)
      .def_prop_ro("inputs", &Program::inputs)
      .def_prop_ro("outputs", &Program::outputs)
      .def("run", &Program::run)
      .def("evaluate", &Program::evaluate);
  nb::class_<Compiled>(m, "Compiled")
      .def_prop_ro("methods", &Compiled::methods)
      .def_prop_ro("model", &Compiled::model)
      .def_prop_ro("figures", &Compiled::figures)
      .def("figures_of", &Compiled::figures_of)
      .def("explanation", &Compiled::explanation)
      .def("warnings", &Compiled::warnings)
      .def("report", &Compiled::report)
      .def("program", &Compiled::program)
      .def("save", &Compiled::save);
}
