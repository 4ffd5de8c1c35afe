// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/diagnostic.h"
#include "base/output_file.h"
#include "cli/cli.h"
#include "cli/compile_options.h"
#include "cli/summary.h"
#include "cli/terminal.h"
#include "compiler/import.h"
#include "driver/compile_error.h"
#include "driver/compile_model.h"
#include "driver/methods.h"
#include "driver/options.h"
#include "program/bundle_io.h"
#include "program/files.h"
#include "program/json_text.h"
#include "program/names.h"
#include "report/explain.h"

namespace cormorant::cli {
namespace {

using driver::CompileFlags;

// --output is a file, or a folder for one that has the model's name.
std::string output_of(const CompileFlags& flags, const std::string& model) {
  std::filesystem::path path = flags.output;
  if (path.empty() || std::filesystem::is_directory(path))
    path /= std::filesystem::path(model).stem().string() + ".pte";
  if (flags.bundles()) path.replace_extension(".bpte");
  return path.string();
}

// With the test cases of the only method, which needs no name, or of all.
std::vector<std::byte> bundle(const CompileFlags& flags, const std::vector<std::byte>& bytes, const std::string& model,
                              const std::vector<std::string>& methods = {""}) {
  std::vector<pte::Bundle> bundles;
  for (const std::string& method : methods) {
    const ProgramFile program = program_from(bytes, model, true, method);
    bundles.push_back(flags.bundle.empty() ? make_random_bundle(program)
                                           : make_bundle(program, npy::read_data_set(flags.bundle, method)));
  }
  return pte::write_bundle(bundles);
}

// The files that are read may not be written.
void check_files(const CompileFlags& flags, const std::vector<std::string>& reports, const std::string& model,
                 const std::string& output) {
  require_writable(output);
  for (const std::string& report : reports) require_writable(report);
  const std::vector<NamedFile> inputs = {{"the model", model},
                                         {"the model's weights file", model + ".data"},
                                         {"--calibrate", flags.calibrate},
                                         {"--bundle", flags.bundle},
                                         {"--layer-settings", flags.quantization.layers_file}};
  require_other_file({"--output", output}, inputs);
  require_other_file({"--output", names_file(output)}, inputs);
  for (const std::string& report : reports) {
    require_other_file({"--report", report}, inputs);
    require_other_file({"--report", report}, {{"--output", output}});
  }
}

// One page, or one per method.
std::vector<std::string> reports_of(const CompileFlags& flags, const std::vector<std::string>& methods) {
  if (flags.report.empty()) return {};
  if (methods.size() < 2) return {flags.report};
  std::vector<std::string> reports;
  for (const std::string& method : methods) reports.push_back(driver::report_of(flags.report, method));
  return reports;
}

// All methods of a file, in one program.
void run_methods(const CompileFlags& flags, const driver::CompileInputs& inputs, const std::vector<std::string>& names,
                 const std::vector<std::string>& reports, const std::string& output) {
  const driver::CompiledMethods compiled = driver::compile_methods(flags, inputs, names);
  std::vector<MethodNames> steps;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const driver::CompileResult& method = compiled.methods[i];
    if (!flags.quiet) print_warnings(driver::warnings_of(method.compiled.facts));
    steps.push_back({names[i], method.compiled.facts.steps, method.explanation});
  }
  for (std::size_t i = 0; i < reports.size(); ++i) {
    CompileFlags of_method = flags;
    of_method.method = names[i];
    write_output(reports[i], report_page(of_method, compiled.methods[i]));
  }
  const std::string& model = compiled.methods.front().model;
  write_output(output, flags.bundles() ? bundle(flags, compiled.program, model, names) : compiled.program);
  if (flags.names) write_names(output, compiled.program, steps);
  if (flags.json) {
    nlohmann::ordered_json json = compiled.figures;
    for (const MethodNames& method : steps) {
      if (flags.explain) json["methods"][method.method].update(method.explanation);
    }
    fmt::print("{}\n", json_text(json, 2));
  } else if (!flags.quiet) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const driver::CompileResult& method = compiled.methods[i];
      fmt::print("method {}: ", names[i]);
      if (flags.explain) print_explanation(method.explanation);
      print_summary(flags, method, "");
    }
    print_methods(compiled, output);
  }
}

void run(const CompileFlags& flags) {
  if (flags.delegate) {
    fmt::print(stderr, "{} --delegate is ignored: cormorant has no delegates; every operator runs on the CPU\n",
               warning_label());
  }
  const std::string model = find_model(flags.model);
  const std::string output = output_of(flags, model);
  driver::CompileInputs inputs;
  if (!flags.json && !flags.quiet) inputs.progress = terminal_progress();
  // What is wrong with the command comes before the file's faults.
  compiler::Options options = driver::options_of(flags, !flags.calibrate.empty());
  const std::vector<std::string> methods =
      flags.method.empty() ? compiler::method_names(model) : std::vector<std::string>();
  const std::vector<std::string> reports = reports_of(flags, methods);
  check_files(flags, reports, model, output);
  if (methods.size() > 1) return run_methods(flags, inputs, methods, reports, output);
  const driver::CompileResult result = driver::compile_model(flags, std::move(options), inputs);
  const compiler::Compiled& compiled = result.compiled;
  if (!flags.quiet) print_warnings(driver::warnings_of(compiled.facts));
  for (const std::string& report : reports) write_output(report, report_page(flags, result));
  if (result.excess) throw InputError(*result.excess);  // after the report, which shows where it goes
  write_output(output, flags.bundles() ? bundle(flags, compiled.program, model) : compiled.program);
  if (flags.names) write_names(output, compiled.program, compiled.facts.steps, result.explanation);
  if (flags.json) {
    nlohmann::ordered_json json = result.figures;
    if (flags.explain) json.update(result.explanation);
    fmt::print("{}\n", json_text(json, 2));
  } else if (!flags.quiet) {
    if (flags.explain) print_explanation(result.explanation);
    print_summary(flags, result, output);
  }
}

}  // namespace

void add_compile(CLI::App& app) {
  auto flags = std::make_shared<CompileFlags>();
  CLI::App* command = app.add_subcommand("compile", "Compile a .pt2 model to a .pte program");
  add_compile_options(*command, *flags);
  command->footer(
      "Examples:\n"
      "  cormorant compile model.pt2 --calibrate samples.npz --target=cortex-m4 -o model.pte\n"
      "  cormorant compile model.pt2 -q --report report.html --measure      a report on the cost of every layer\n"
      "  cormorant compile model.pt2 --calibrate samples.npz --io=int8 --budget=ram=64K,flash=256K\n"
      "  cormorant compile -m mv2 -q -o mv2.pte                             by name, exported by PyTorch\n");
  command->callback([flags] {
    if (flags->model.empty()) throw CLI::RequiredError("model");
    try {
      run(*flags);
    } catch (const driver::CompileError& error) {
      if (!flags->quiet) print_warnings(error.warnings());
      throw;
    }
  });
}

}  // namespace cormorant::cli
