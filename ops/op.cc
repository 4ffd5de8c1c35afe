// SPDX-License-Identifier: Apache-2.0
#include "ops/op.h"

#include <algorithm>
#include <unordered_map>

#include "base/diagnostic.h"

namespace cormorant::ops {

std::vector<Operator> make_operators();  // generated from ops/operators.cmake

namespace {

struct Table {
  std::vector<Operator> operators = make_operators();
  std::unordered_map<std::string, std::vector<const Operator*>> by_name;
  std::unordered_map<std::string, const Signature*> signatures;
  std::unordered_map<std::string, CanonicalSchema> canonical;

  Table() {
    for (Operator& op : operators) {
      // What moves data, or costs nothing at all, does so in float too.
      const bool in_float = op.lower_float != nullptr || op.is_alias;
      const bool is_listed = std::ranges::find(op.precisions, Precision::f32) != op.precisions.end();
      if (in_float && !is_listed) op.precisions.push_back(Precision::f32);
      for (std::string& name : op.canonical) {
        const bool has_schema = name.find('(') != std::string::npos;
        CanonicalSchema schema{&op, {}};
        if (has_schema) schema.arguments = parse_schema(name).arguments;
        name.resize(std::min(name.find('('), name.size()));
        by_name[name].push_back(&op);
        canonical.emplace(name, std::move(schema));
      }
      for (const Signature& signature : op.signatures) {
        by_name[graph_name(signature.name)].push_back(&op);
        signatures[graph_name(signature.name)] = &signature;
      }
    }
  }
};

const Table& table() {
  static const Table instance;
  return instance;
}

}  // namespace

Operator with_float(Operator op, FloatForm form) {
  op.lower_float = form.lower;
  op.precisions.push_back(Precision::f32);
  op.float_signatures += form.signatures.size();
  op.signatures.insert(op.signatures.end(), form.signatures.begin(), form.signatures.end());
  op.host_kernels.insert(op.host_kernels.end(), form.kernels.begin(), form.kernels.end());
  return op;
}

bool is_alias(const ir::Node& node) {
  const Operator* op = find(node);
  return op != nullptr && op->is_alias && find_signature(node.op) == nullptr;
}

bool is_float(const ir::Node& node) { return !node.results.empty() && node.results.front()->type.dtype == DType::f32; }

bool wants_float(const ir::Node& node) {
  const Operator* op = find(node);
  if (op == nullptr) return false;
  const auto float_ones = std::span(op->signatures).last(op->float_signatures);
  return std::ranges::any_of(float_ones, [&](const Signature& s) { return graph_name(s.name) == node.op; });
}

std::span<const Operator> all_operators() { return table().operators; }

const Operator* find(const ir::Node& node) {
  const auto found = table().by_name.find(node.op);
  if (found == table().by_name.end()) return nullptr;
  for (const Operator* op : found->second) {
    const bool is_program_side = table().signatures.contains(node.op);
    if (is_program_side || op->accepts == nullptr || op->accepts(node)) return op;
  }
  return nullptr;
}

const Signature* find_signature(std::string_view graph_name) {
  const auto found = table().signatures.find(std::string(graph_name));
  return found == table().signatures.end() ? nullptr : found->second;
}

const CanonicalSchema* find_canonical(std::string_view graph_name) {
  const auto found = table().canonical.find(std::string(graph_name));
  return found == table().canonical.end() ? nullptr : &found->second;
}

std::vector<const Kernel*> host_kernels() {
  std::vector<const Kernel*> kernels;
  for (const Operator& op : all_operators()) {
    kernels.insert(kernels.end(), op.host_kernels.begin(), op.host_kernels.end());
  }
  return kernels;
}

ir::Node* Importer::node(std::string op, std::vector<ir::NamedArgument> args,
                         std::vector<ir::TensorType> result_types) {
  return graph->add_node(call->name, std::move(op), std::move(args),
                         result_types.empty() ? types : std::move(result_types), call->location);
}

void Importer::reject(std::string problem, std::string advice) const {
  throw InputError({std::move(problem), std::move(advice), {}, call->name, call->location.text()});
}

}  // namespace cormorant::ops
