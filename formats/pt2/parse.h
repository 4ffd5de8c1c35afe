// SPDX-License-Identifier: Apache-2.0
//
// JSON -> structs, piece by piece as torch's serialization schema (major version 8) nests them. Internal to this
// folder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "formats/pt2/archive.h"
#include "formats/pt2/graph.h"
#include "formats/pt2/json.h"
#include "formats/pt2/symbols.h"
#include "formats/pt2/zip.h"

namespace cormorant::pt2 {

// What an export lets a symbol be.
struct Bounds {
  std::optional<std::int64_t> low, high;
  // Exports begin at 2 unless the user says otherwise, because PyTorch treats 0 and 1 specially; 1 is fine here.
  [[nodiscard]] bool allow(std::int64_t value) const {
    const bool is_high_enough = !low || value >= *low || (value == 1 && *low == 2);
    return is_high_enough && (!high || value <= *high);
  }
  [[nodiscard]] std::string text() const;  // "at least 3, at most 8"
};

// What the messages about parts of a graph need to know about the whole.
struct ParseContext {
  std::string file;
  std::string torch_version;
  std::map<std::string, Bounds, std::less<>> ranges;  // of symbols
  Symbols symbols = {};                               // those that have a number
  // What the graph computes from them, by name.
  std::map<std::string, std::variant<std::int64_t, double>, std::less<>> numbers = {};
};

// A size, stride or offset is either a number or an expression.
struct Extent {
  std::int64_t value = 0;
  std::string expression;  // not empty: the number is known only at run time
};
Extent parse_extent(const Json& json, const ParseContext& context);

ScalarType parse_scalar_type(const Json& json);

// The meta of the tensor called `name`. Proves that no product of sizes, in bytes, and no offset within the tensor
// overflows; throws for dynamic shapes, with `name` but without a node.
TensorMeta parse_tensor_meta(const Json& json, std::string_view name, const ParseContext& context);

Argument parse_argument(const Json& json, const ParseContext& context);  // {"as_int": 3}
Graph parse_graph(const Json& json, const ParseContext& context);
// One per user output, empty for those that are in no dictionary; none at all where the file does not say.
std::vector<std::string> parse_output_keys(const Json& module);

// Sizes that depend on elements: those that are known, and the next that is not.
struct OpenSizes {
  Symbols known = {};
  std::optional<std::string> symbol = {};
  Node node = {};  // that decides it
};

// models/NAME.json, without weights. With `sizes` only what is before the first node that decides one it does not know.
Program parse_program(std::string_view text, const JsonOrigin& origin, const ParseOptions& options = {},
                      OpenSizes* sizes = nullptr);

// Fills in weights and constants of a program from the archive whose entries begin with `root`.
void load_weights(Program& program, Zip& zip, const std::string& root, const std::string& file);

// The guarantees of archive.h about a program.
void check_program(const Program& program, const std::string& file);

}  // namespace cormorant::pt2
