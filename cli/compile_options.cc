// SPDX-License-Identifier: Apache-2.0
#include "cli/compile_options.h"

#include <CLI/CLI.hpp>

#include "cli/shared_options.h"

namespace cormorant::cli {

void add_compile_options(CLI::App& command, driver::CompileFlags& flags) {
  // Not CLI11's required(), which help would show for both spellings.
  command.add_option("model,-m,--model_name", flags.model,
                     "The model, as the argument or by -m: a .pt2 written by torch.export.save, a program (.pte) to "
                     "recompile, a graph as text (.txt), or the name of a zoo model");
  command.add_option("-t,--target", flags.target, "CPU: cortex-m0 … cortex-m85, or any")->capture_default_str();
  command.add_option("--isa", flags.isa, "Override the CPU's instruction set: scalar, dsp or mve");
  command.add_option("-o,--output", flags.output,
                     "The program to write, or a folder for it (default: the model's name with .pte)");
  command.add_option("--method", flags.method,
                     "Compile only this method, of a file with several; by default all become one program");
  command.add_flag("-q,--quantize", flags.quantize, "Quantize to integers (implied by --calibrate)");
  command.add_flag(
      "--sequence", flags.sequence,
      "Calibration arrays are [samples, steps, …], where … is the input's whole shape: the model's state is "
      "kept along the steps and reset between samples");
  command.add_option("--stream", flags.stream,
                     "AXIS[:HOP] of the first input: turn a network over a window into a program that takes HOP new "
                     "entries along that axis per execution (default 1) and keeps the rest");
  command
      .add_option("--feed", flags.feed,
                  "How the input arrives: whole, or by rows as from a camera (cormorant_push_rows), so that the whole "
                  "image is never in memory; implies --optimize=ram unless another goal is given")
      ->check(CLI::IsMember({"whole", "rows"}))
      ->capture_default_str();
  command
      .add_option("--recompute", flags.recompute,
                  "With --optimize=ram, --feed=rows or --budget=ram=…: compute up to FACTOR times the model's MACs "
                  "where that saves memory; outputs do not change")
      ->check(CLI::Range(1.0, 100.0))
      ->capture_default_str();
  command.add_flag("--stream-causal", flags.stream_causal,
                   "Also stream layers that pad the window's edge, and recurrent layers with continuing state: results "
                   "then differ from the window's");
  command.add_option(
      "--calibrate", flags.calibrate,
      "Representative inputs: .npz (one array per input, or x; METHOD.INPUT if there are several methods) "
      "or a folder of .npy");
  command.add_option("--io", flags.io, "Type of the program's inputs and outputs")
      ->check(CLI::IsMember({"float", "int8", "uint8", "int16"}))
      ->capture_default_str();
  command
      .add_option("--runtime", flags.runtime,
                  "Which runtime executes the program: ours, ExecuTorch's release 1.5.1, or ExecuTorch's main branch "
                  "since September 2026, whose convolutions may pad four sides differently")
      ->check(CLI::IsMember({"cormorant", "executorch", "executorch-main"}))
      ->capture_default_str();
  add_shapes(command, flags.shapes);
  command.add_option("--memory", flags.memory, "Memory regions in order of preference: dtcm=64K,sram=1M");
  command.add_option("-i,--intermediates", flags.intermediates,
                     "Write the graph as text to this folder after every stage");
  command.add_flag("--explain", flags.explain,
                   "For every node, show which rule applied, with which parameters, or why it stays in float; and what "
                   "less memory would cost in time");
  add_quantization(command, flags.quantization, "--layer-settings,--layers", true);
  command.add_option(
      "--min-sqnr", flags.min_sqnr,
      "Minimum SQNR in dB of the worst output on calibration data; less is an error. With --scheme=auto, "
      "layers get the bits this takes");
  command.add_flag("--strict", flags.strict, "Treat an operator left in float as an error");
  command.add_option(
      "--bundle", flags.bundle,
      "Write a bundled program (.bpte) with the inputs x of this .npz and the expected outputs y (METHOD.x "
      "and METHOD.y if there are several methods)");
  command.add_flag("--bundleio", flags.bundle_io, "The same with a random input");
  command.add_option(
      "--report", flags.report,
      "Write an HTML report on flash and RAM, the arena over time, and every layer's cost and quantization; one per "
      "method, FILE.METHOD.html, if there are several");
  command
      .add_option("--optimize", flags.optimize,
                  "What to optimize for: speed (larger constants, more code), size (fewest kernels) or balanced; ram: "
                  "the least memory for tensors, with chains of layers computed row by row")
      ->check(CLI::IsMember({"speed", "size", "ram", "balanced"}))
      ->capture_default_str();
  command.add_option("--budget", flags.budget,
                     "Limits that are an error to exceed: ram=64K,flash=256K; code, state and stack count if they are "
                     "known. If memory does not suffice, chains of layers are computed row by row");
  command.add_flag("--measure", flags.measure,
                   "Run the firmware once on the emulated board and report how deep the stack was, next to its bound");
  command.add_flag_callback(
      "--link", [&flags] { flags.link = true; }, "Link firmware to determine code, state and stack");
  command.add_flag_callback(
      "--no-link", [&flags] { flags.link = false; }, "Do not link firmware: code and stack stay unknown");
  command.add_option("--compiler", flags.compiler, "Compiler whose kernel archives are linked for these figures")
      ->check(CLI::IsMember({"gcc", "clang"}))
      ->capture_default_str();
  command
      .add_option("--weights-in", flags.weights_in,
                  "Where kernels read constants from: flash, or a region of --memory to which they are copied at load")
      ->capture_default_str();
  command.add_flag_callback(
      "--no-names", [&flags] { flags.names = false; },
      "Do not write OUTPUT.names.json, which run --profile reads for the names of nodes and source lines");
  command.add_flag("-d,--delegate", flags.delegate, "Accepted for compatibility with ExecuTorch; ignored");
  command.add_flag("--quiet", flags.quiet, "Print errors only");
  command.add_flag("--json", flags.json, "Print one JSON object and nothing else");
}

}  // namespace cormorant::cli
