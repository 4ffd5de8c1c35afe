// SPDX-License-Identifier: Apache-2.0
//
// Where in the user's own source a node came from. Profiles and diagnostics show it, because "conv2d_7" means nothing
// to the person who wrote the model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "formats/pt2/graph.h"

namespace cormorant::pt2 {

// "blocks.2.depthwise.conv"; empty for the model itself, or if the file does not say.
std::string module_path(const Node& node);

// "kws.py:14": the innermost frame that is the user's, neither a library's nor generated code. Empty if there is none.
std::string source_line(const Node& node);

// Both as a diagnostic shows them: "blocks.2.conv (kws.py:14)", or only the one that is known.
std::string source_of(const Node& node);

// A diagnostic about this node, ready to be thrown in an InputError; the file is for the caller to add.
Diagnostic diagnose(const Node& node, std::string problem, std::string advice);

// "key,blocks.2.conv,torch.nn.modules.conv.Conv2d;..." as torch serializes it.
std::vector<ModuleFrame> parse_module_stack(std::string_view text);

}  // namespace cormorant::pt2
