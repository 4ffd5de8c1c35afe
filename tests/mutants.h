// SPDX-License-Identifier: Apache-2.0
//
// Models that are wrong in one place, made from good ones; the same ones every time.
#pragma once

#include <string>
#include <vector>

#include "formats/pt2/archive.h"
#include "ir/graph.h"
#include "ops/host/schema.h"

namespace cormorant::tests {

// A graph as text for every canonical node, and the constants that they refer to.
std::vector<std::string> operator_graphs();
const ir::Bytes& blob();

// The text with one number, name, argument or list changed, for every place and some changes each.
std::vector<std::string> mutants_of(const std::string& text);

// A model of one call, with arguments of the schema's types or others, and a result that may or may not fit.
pt2::Program random_call(const ops::Schema& schema, unsigned seed);

// The archive with one number or word of its graph changed; at most that many, spread over all places.
std::vector<std::string> mutants_of_export(const std::string& archive, std::size_t most);

}  // namespace cormorant::tests
