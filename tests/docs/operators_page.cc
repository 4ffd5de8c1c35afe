// SPDX-License-Identifier: Apache-2.0
#include "tests/docs/operators_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "ops/host/spellings.h"

namespace cormorant {
namespace {

using ops::Operator;
using ops::Precision;

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::string spelled(const Operator& op) {
  std::set<std::string> names;
  for (const std::string& name : ops::spellings(op)) {
    names.insert('`' + (name.starts_with("aten.") ? name.substr(5) : name) + '`');
  }
  std::erase_if(names, [&](const std::string& name) {  // in place: the same name with an underscore appended
    return name.ends_with("_`") && names.contains(name.substr(0, name.size() - 2) + '`');
  });
  return fmt::format("{}", fmt::join(names, " "));
}

// Operators without a node of their own are gone after import or after a pass.
bool is_compiled_away(const Operator& op) { return op.kernels.empty(); }

std::string cell(const Operator& op, Precision precision) { return op.has(precision) ? "yes" : ""; }

std::string tested_on(const Operator& op, const std::filesystem::path& folder) {
  if (is_compiled_away(op)) return "host";
  std::set<Isa> listed;
  for (const ops::ListedKernel& kernel : op.kernels) listed.insert(kernel.isas.begin(), kernel.isas.end());
  if (listed.empty()) return "any CPU";
  std::vector<std::string_view> isas;
  for (const Isa isa : listed) isas.push_back(name_of(isa));
  bool on_boards = false;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("_test.cc") && read_text(entry.path()).find("same_bits_everywhere") != std::string::npos)
      on_boards = true;
  }
  return on_boards ? fmt::format("{}", fmt::join(isas, " ")) : "host";
}

}  // namespace

std::string operators_page(const std::filesystem::path& source_root) {
  std::string page = R"(# Operators

Generated from the code by `./dev docs`; a test compares. Each row is one folder in `ops/`. 8w8a means int8 weights and
activations, 8w16a int16 activations, 4w8a int4 weights, float 32-bit floats; an empty cell is not supported yet. The
last column lists the instruction sets whose kernels are compared with the reference, bit for bit, on emulated boards
("any CPU": one source for all CPUs and the host, compared as well; "host": the operator is resolved before a program is
written). In-place forms (`relu_`) are equivalent to the others.

| operator | PyTorch's forms | 8w8a | 8w16a | 4w8a | float | limits | tested on |
|---|---|---|---|---|---|---|---|
)";
  for (const Operator& op : ops::all_operators()) {
    const std::filesystem::path folder = source_root / "ops" / op.name;
    const auto at = [&](Precision precision) { return is_compiled_away(op) ? "–" : cell(op, precision); };
    page +=
        fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", op.name, spelled(op), at(Precision::w8a8),
                    at(Precision::w8a16), at(Precision::w4a8), at(Precision::f32), op.limits, tested_on(op, folder));
  }
  return page;
}

}  // namespace cormorant
