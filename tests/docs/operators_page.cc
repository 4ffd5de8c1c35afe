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

// Forms that become operators without an int8 kernel: by compiling PyTorch's samples of each with calibration. A form
// that is new belongs here if `compile --strict` refuses it.
constexpr std::string_view kFloatAlone[] = {"_embedding_bag",
                                            "_embedding_bag_forward_only",
                                            "arctan2",
                                            "atan2",
                                            "bucketize",
                                            "col2im",
                                            "copysign",
                                            "cummax",
                                            "cummin",
                                            "cumprod",
                                            "cumsum",
                                            "cumulative_trapezoid",
                                            "diagonal_scatter",
                                            "embedding_bag",
                                            "equal",
                                            "float_power",
                                            "floor_divide",
                                            "fmax",
                                            "fmin",
                                            "fmod",
                                            "grid_sampler",
                                            "grid_sampler_2d",
                                            "grid_sampler_3d",
                                            "heaviside",
                                            "hypot",
                                            "index_add",
                                            "index_fill",
                                            "index_reduce",
                                            "isclose",
                                            "isin",
                                            "isinf",
                                            "isnan",
                                            "logaddexp",
                                            "logaddexp2",
                                            "logcumsumexp",
                                            "logical_and",
                                            "logical_not",
                                            "logical_or",
                                            "logical_xor",
                                            "max_unpool2d",
                                            "max_unpool3d",
                                            "median",
                                            "nan_to_num",
                                            "nanmean",
                                            "nanmedian",
                                            "nansum",
                                            "prod",
                                            "remainder",
                                            "scatter",
                                            "scatter_add",
                                            "scatter_reduce",
                                            "searchsorted",
                                            "signbit",
                                            "special_xlog1py",
                                            "special_xlogy",
                                            "xlogy"};

std::string formats_of_composed() {
  const auto op = std::ranges::find(ops::all_operators(), "decompose", &Operator::name);
  const std::string known = spelled(*op);
  std::string list;
  for (const std::string_view name : kFloatAlone) {
    const std::string quoted = fmt::format("`{}`", name);
    if (known.find(quoted) == std::string::npos) throw std::logic_error(quoted + " is not composed of others");
    list += (list.empty() ? "" : " ") + quoted;
  }
  return fmt::format(R"(
What is in the row `decompose` becomes operators of other rows and has their formats: int8 in general, tensors of integers
and truth values as they are. These are in float, because what they become is: {}. So are comparisons of two tensors (with
a number they have int8), divisions that round, and powers whose exponent is a tensor.
)",
                     list);
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
  return page + formats_of_composed();
}

}  // namespace cormorant
