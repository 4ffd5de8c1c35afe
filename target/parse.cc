// SPDX-License-Identifier: Apache-2.0
#include "target/parse.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/suggest.h"

namespace cormorant {
namespace {

std::optional<Isa> parse_isa(std::string_view text) {
  for (const Isa isa : {Isa::scalar, Isa::dsp, Isa::mve}) {
    if (text == name_of(isa)) return isa;
  }
  return std::nullopt;
}

std::vector<std::string> all_targets() {
  std::vector<std::string> names(kCpus.size());
  std::ranges::transform(kCpus, names.begin(), [](const Cpu& cpu) { return std::string(cpu.name); });
  names.emplace_back("any");
  return names;
}

// As data sheets and people write it: Cortex-M55, cortex_m55, M55, m0+.
std::string canonical_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    if (c == '+') {
      name += "plus";
    } else if (c == '_' || c == ' ') {
      name += '-';
    } else {
      name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  if (name.starts_with("m") && name.size() > 1 && name[1] >= '0' && name[1] <= '9') return "cortex-" + name;
  return name;
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
  const std::string name = canonical_name(target);
  if (name == "any") {
    if (wanted) throw UsageError("--target=any runs on every ISA\n  name a CPU to choose one with --isa");
    return {nullptr, Isa::scalar};
  }
  const auto* const cpu = std::find_if(kCpus.begin(), kCpus.end(), [&](const Cpu& c) { return c.name == name; });
  if (cpu == kCpus.end()) {
    const std::size_t plus = target.find("+int8");
    if (plus != std::string_view::npos) {
      const std::string base(target.substr(0, plus));
      throw UsageError("unknown target '" + std::string(target) +
                       "': quantization is a separate option\n  use --target=" + base + " --quantize");
    }
    const std::vector<std::string> known = all_targets();
    std::string list;
    for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
    throw UsageError("unknown target '" + std::string(target) + "'" + did_you_mean(name, known) + "\n  targets are " +
                     list);
  }
  if (wanted && *wanted > cpu->isa) {
    throw UsageError(std::string(cpu->name) + " cannot execute " + std::string(isa) + " code\n  it supports " +
                     isas_of(*cpu));
  }
  return {cpu, wanted.value_or(cpu->isa)};
}

}  // namespace cormorant
