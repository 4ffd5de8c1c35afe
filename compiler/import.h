// SPDX-License-Identifier: Apache-2.0
//
// From files to graphs: a .pt2 through the operators' import forms, or the compiler's own text form.
#pragma once

#include <string>

#include "formats/pt2/archive.h"
#include "ir/graph.h"

namespace cormorant::compiler {

// What the caller says of a model, and what import says to the user.
struct ImportOptions {
  pt2::Shapes shapes = {};                    // of inputs whose dimensions the export left open
  std::vector<std::string>* notes = nullptr;  // appended to
};

// A .pt2, or a graph as text (.txt, with its constants in FILE.data). Diagnostics name the file.
ir::Graph import_model(const std::string& path, const ImportOptions& options = {});

// The text itself; `blob` is what stands in FILE.data.
ir::Graph import_text(std::string_view text, const std::string& file, const ir::Bytes& blob = {});

ir::Graph import_program(const pt2::Program& program, const std::string& file);

}  // namespace cormorant::compiler
