// SPDX-License-Identifier: Apache-2.0
//
// The file of --layer-settings: one line per exception, a module path (with * and ? to match several) and what is
// different there. '#' starts a comment.
//
//     features.0       float
//     blocks.*.conv    observer=minmax no-weight-rounding
//     classifier       range=-8..8
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "quantizer/settings.h"

namespace cormorant::compiler {

// Throws InputError with `file` and the line at fault.
[[nodiscard]] std::vector<quantizer::LayerSettings> parse_layer_settings(std::string_view text,
                                                                         const std::string& file);
[[nodiscard]] std::vector<quantizer::LayerSettings> read_layer_settings(const std::string& file);

// Throws InputError for a module path that no node of the model has, naming those that look like it.
void check_layer_settings(const ir::Graph& graph, const std::vector<quantizer::LayerSettings>& layers);

}  // namespace cormorant::compiler
