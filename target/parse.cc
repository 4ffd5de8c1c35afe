// SPDX-License-Identifier: Apache-2.0
#include "target/parse.h"

#include <algorithm>
#include <optional>

#include "base/diagnostic.h"

namespace cormorant {
namespace {

std::optional<Isa> parse_isa(std::string_view text) {
  for (const Isa isa : {Isa::scalar, Isa::dsp, Isa::mve}) {
    if (text == name_of(isa)) return isa;
  }
  return std::nullopt;
}

std::string all_targets() {
  std::string text;
  for (const Cpu& cpu : kCpus) text += std::string(cpu.name) + ", ";
  return text + "any";
}

}  // namespace

std::string isas_of(const Cpu& cpu) {
  std::string text;
  for (const Isa isa : {Isa::scalar, Isa::dsp, Isa::mve}) {
    if (isa <= cpu.isa) text += (text.empty() ? "" : ", ") + std::string(name_of(isa));
  }
  return text;
}

Target parse_target(std::string_view target, std::string_view isa) {
  const std::optional<Isa> wanted = parse_isa(isa);
  if (!isa.empty() && !wanted) {
    throw UsageError("unknown ISA '" + std::string(isa) + "'\n  --isa takes scalar, dsp or mve");
  }
  if (target == "any") {
    if (wanted) throw UsageError("--target=any runs on every ISA\n  name a CPU to choose one with --isa");
    return {nullptr, Isa::scalar};
  }
  const auto* const cpu = std::find_if(kCpus.begin(), kCpus.end(), [&](const Cpu& c) { return c.name == target; });
  if (cpu == kCpus.end()) {
    const std::size_t plus = target.find("+int8");
    if (plus != std::string_view::npos) {
      const std::string base(target.substr(0, plus));
      throw UsageError("unknown target '" + std::string(target) +
                       "': quantization is an option of its own\n  use --target=" + base + " --quantize");
    }
    throw UsageError("unknown target '" + std::string(target) + "'\n  targets are " + all_targets());
  }
  if (wanted && *wanted > cpu->isa) {
    throw UsageError(std::string(cpu->name) + " cannot execute " + std::string(isa) + " code\n  it supports " +
                     isas_of(*cpu));
  }
  return {cpu, wanted.value_or(cpu->isa)};
}

}  // namespace cormorant
