// SPDX-License-Identifier: Apache-2.0
//
// Typed access to a node's arguments by the names in the operator's schema. Torch leaves out arguments that equal their
// default, so an importer gives the default in the query; without a default the argument is required. An argument of
// another type is an InputError that names node, source and argument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "formats/pt2/graph.h"

namespace cormorant::pt2 {

// nullptr if it is absent. One that is None is present.
const Argument* find_argument(const Node& node, std::string_view name);

std::int64_t get_int(const Node& node, std::string_view name, std::optional<std::int64_t> absent = {});
double get_float(const Node& node, std::string_view name, std::optional<double> absent = {});  // an int or a bool too
bool get_bool(const Node& node, std::string_view name, std::optional<bool> absent = {});
std::string get_string(const Node& node, std::string_view name, std::optional<std::string> absent = {});
// A single int counts as a list of one.
std::vector<std::int64_t> get_ints(const Node& node, std::string_view name,
                                   std::optional<std::vector<std::int64_t>> absent = {});
std::vector<double> get_floats(const Node& node, std::string_view name, std::optional<std::vector<double>> absent = {});

std::string get_tensor(const Node& node, std::string_view name);  // the tensor's name
std::vector<std::string> get_tensors(const Node& node, std::string_view name);

// Absent and None are the same here.
std::optional<std::string> get_optional_tensor(const Node& node, std::string_view name);
std::optional<std::int64_t> get_optional_int(const Node& node, std::string_view name);
std::optional<double> get_optional_float(const Node& node, std::string_view name);
std::optional<std::vector<std::int64_t>> get_optional_ints(const Node& node, std::string_view name);
std::optional<DType> get_optional_dtype(const Node& node, std::string_view name);

}  // namespace cormorant::pt2
