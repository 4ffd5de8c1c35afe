// SPDX-License-Identifier: Apache-2.0
#include "driver/remedies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "base/diagnostic.h"
#include "program/files.h"

namespace cormorant::driver {
namespace {

struct Remedy {
  std::string option;
  std::function<void(CompileFlags&)> apply;
};

// Options that the command line did not already give, mildest first. The budget stays: rows are computed where it asks
// for them.
std::vector<Remedy> candidates(const CompileFlags& flags, bool is_quantized, bool lacks_flash) {
  const bool executorch = flags.is_for_executorch();
  const Remedy quantize = {"--calibrate FILE", [](CompileFlags& f) { f.quantize = true; }};
  const Remedy io = {"--io=int8", [](CompileFlags& f) { f.io = "int8"; }};
  const Remedy size = {"--optimize=size", [](CompileFlags& f) { f.optimize = "size"; }};
  std::vector<Remedy> single;
  if (!is_quantized) single.push_back(quantize);
  if (flags.io == "float" && is_quantized) single.push_back(io);
  if (flags.optimize != "size" && !executorch) single.push_back(size);
  std::vector<Remedy> all = single;
  const Remedy feed = {"--io=int8 --feed=rows (no memory holds the image: docs/memory.md)", [](CompileFlags& f) {
                         f.io = "int8";
                         f.feed = "rows";
                       }};
  if (!is_quantized) single.push_back(io);  // goes with the first
  if (single.size() > 1) {
    Remedy both;
    for (const Remedy& one : single) both.option += (both.option.empty() ? "" : " ") + one.option;
    both.apply = [single](CompileFlags& f) {
      for (const Remedy& one : single) one.apply(f);
    };
    all.push_back(std::move(both));
  }
  // Half of the weights' bytes, for less accuracy and more RAM.
  const Remedy nibbles = {"--scheme=4w8a", [](CompileFlags& f) { f.quantization.scheme = "4w8a"; }};
  if (lacks_flash && is_quantized && !executorch && flags.quantization.scheme == "8w8a") all.push_back(nibbles);
  if (is_quantized && !executorch && flags.feed == "whole" && flags.io == "float") all.push_back(feed);
  return all;
}

// Where the remedy changes it.
std::string accuracy_of(const CompileFlags& flags, const CompileResult& result) {
  const auto& comparison = result.compiled.facts.comparison;
  if (!comparison || comparison->output_db.empty()) return "";
  if (result.options.scheme == ops::parse_precision(flags.quantization.scheme)) return "";
  return fmt::format(", SQNR {:.1f} dB", std::ranges::min(comparison->output_db));
}

}  // namespace

std::string remedies(const CompileFlags& flags, const CompileInputs& inputs, const Budget& budget, bool lacks_flash) {
  // Each of them would need a new search, and the bits are the remedy already.
  if (flags.quantization.chooses_bits()) return "raise --budget, or make the largest part smaller";
  const bool is_quantized = flags.quantize || !flags.calibrate.empty() || inputs.calibration != nullptr;
  std::vector<std::string> meeting, tried;
  const std::vector<Remedy> all = candidates(flags, is_quantized, lacks_flash);
  std::size_t done = 0;
  const auto tell_of_next = [&](std::size_t number) {
    tell(inputs.progress, "looking for what fits", number, all.size());
  };
  for (const Remedy& remedy : all) {
    tell_of_next(done++);
    CompileFlags changed = flags;
    changed.intermediates.clear();
    changed.measure = false;
    remedy.apply(changed);
    try {
      const CompileResult result =
          compile_model(changed, {.calibration = inputs.calibration, .progress = {}, .advises = false});
      const Needs needs = needs_of(result.compiled, result.firmware);
      const std::string figures = fmt::format("{} (RAM {}, flash {}{})", remedy.option, grouped(needs.ram),
                                              grouped(needs.flash), accuracy_of(flags, result));
      (over_budget(budget, result.compiled, result.firmware) ? tried : meeting).push_back(figures);
    } catch (const std::exception&) {
      continue;  // not for this model
    }
    if (!meeting.empty()) break;
  }
  tell_of_next(all.size());
  if (!meeting.empty()) return fmt::format("it fits with {}", meeting.front());
  if (tried.empty()) return "raise --budget, or make the largest part smaller";
  return fmt::format("no single option meets it; tried: {}. Raise --budget, or make the largest part smaller",
                     fmt::join(tried, ", "));
}

}  // namespace cormorant::driver
