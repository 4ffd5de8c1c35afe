// SPDX-License-Identifier: Apache-2.0
//
// From files to graphs: a .pt2 through the operators' import forms, the compiler's own text form, or a program.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/pt2/archive.h"
#include "ir/graph.h"
#include "ops/host/check.h"
#include "ops/host/schema.h"

namespace cormorant::compiler {

// Options of the caller for a model, and messages of import for the user.
struct ImportOptions {
  pt2::Shapes shapes = {};                    // of inputs with dynamic dimensions
  pt2::Shapes defaults = {};                  // for dimensions that these leave open: what a program made of it has
  std::vector<std::string>* notes = nullptr;  // appended to
  std::string method = {};                    // of a file that has several
};

// A .pt2, a graph as text (.txt, with its constants in FILE.data), or a program (.pte). Diagnostics name the file.
ir::Graph import_model(const std::string& path, const ImportOptions& options = {});

// The models in a .pt2, or the methods of a program; none for a text, whose only graph needs no name.
std::vector<std::string> method_names(const std::string& path);

// A program's instructions as the nodes they came from, after lowering; of its only method, if none is named.
ir::Graph import_pte(std::span<const std::byte> program, const std::string& file, const std::string& method = {});
using ops::is_lowered;  // what most of these nodes are

// What a portable operator of ExecuTorch ("aten::add", "out") computes, as one of PyTorch's, for results of that type.
struct PortableForm {
  std::string target;  // "aten.add.Tensor"
  ops::Schema schema;  // whose arguments the instruction has, then its result
};
std::optional<PortableForm> find_portable_form(std::string_view name, std::string_view overload, DType result);
// Adds the nodes of a call whose op is the target; its arguments are those of the schema.
ir::Value* import_portable(ir::Graph& graph, const ir::Node& call, const ir::TensorType& type);

// The text itself; `blob` is what is in FILE.data.
ir::Graph import_text(std::string_view text, const std::string& file, const ir::Bytes& blob = {});

// Appends to `notes`, if given, what the user should know of how the model was read.
ir::Graph import_program(const pt2::Program& program, const std::string& file,
                         std::vector<std::string>* notes = nullptr);

}  // namespace cormorant::compiler
