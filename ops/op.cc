// SPDX-License-Identifier: Apache-2.0
#include "ops/op.h"

#include <algorithm>
#include <unordered_map>

#include "base/diagnostic.h"
#include "runtime/kernel.h"

namespace cormorant::ops {

std::vector<Operator> make_operators();  // generated from ops/operators.cmake

namespace {

struct Table {
  std::vector<Operator> operators = make_operators();
  std::unordered_map<std::string, std::vector<const Operator*>> by_name;
  std::unordered_map<std::string, const ListedKernel*> listed;  // those that nodes can be
  std::unordered_map<std::string, CanonicalSchema> canonical;

  Table() {
    for (Operator& op : operators) {
      for (std::string& name : op.canonical) {
        const bool has_schema = name.find('(') != std::string::npos;
        CanonicalSchema schema{&op, {}};
        if (has_schema) schema.arguments = parse_schema(name).arguments;
        name.resize(std::min(name.find('('), name.size()));
        by_name[name].push_back(&op);
        canonical.emplace(name, std::move(schema));
      }
      for (const ListedKernel& kernel : op.kernels) {
        if (!kernel.signature) continue;
        by_name[graph_name(kernel.name)].push_back(&op);
        listed[graph_name(kernel.name)] = &kernel;
      }
    }
  }
};

const Table& table() {
  static const Table instance;
  return instance;
}

}  // namespace

std::vector<Isa> isas_of(unsigned bits) {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::scalar, Isa::dsp, Isa::mve}) {
    if ((bits >> static_cast<unsigned>(isa) & 1U) != 0) isas.push_back(isa);
  }
  return isas;
}

std::string_view name_of(Precision precision) {
  switch (precision) {
    case Precision::w8a8:
      return "8w8a";
    case Precision::w8a16:
      return "8w16a";
    case Precision::w4a8:
      return "4w8a";
    case Precision::f32:
      return "float";
    case Precision::integers:
      break;
  }
  return "integers";
}

std::optional<Precision> parse_precision(std::string_view name) {
  for (const Precision precision : {Precision::w8a8, Precision::w8a16, Precision::w4a8}) {
    if (name_of(precision) == name) return precision;
  }
  return std::nullopt;
}

namespace {

bool computes_in(const ListedKernel& kernel, Precision precision) {
  return std::ranges::find(kernel.precisions, precision) != kernel.precisions.end();
}

}  // namespace

bool Operator::has(Precision precision) const {
  if (precision == Precision::f32 && (lower_float != nullptr || is_alias)) return true;
  if (std::ranges::find(by_others, precision) != by_others.end()) return true;
  return std::ranges::any_of(kernels, [&](const ListedKernel& kernel) { return computes_in(kernel, precision); });
}

bool computes_in(std::string_view graph_name, Precision precision) {
  const auto found = table().listed.find(std::string(graph_name));
  return found != table().listed.end() && computes_in(*found->second, precision);
}

bool is_alias(const ir::Node& node) {
  const Operator* op = find(node);
  return op != nullptr && op->is_alias && find_signature(node.op) == nullptr;
}

const ir::Value* root(const ir::Value* value) {
  while (value->producer != nullptr && is_alias(*value->producer)) value = value->producer->inputs().front();
  return value;
}

bool is_float(const ir::Node& node) { return !node.results.empty() && node.results.front()->type.dtype == DType::f32; }

bool wants_float(const ir::Node& node) {
  const auto found = table().listed.find(node.op);
  return found != table().listed.end() && found->second->precisions == precisions::f32();
}

std::span<const Operator> all_operators() { return table().operators; }

const Operator* find(const ir::Node& node) {
  const auto found = table().by_name.find(node.op);
  if (found == table().by_name.end()) return nullptr;
  for (const Operator* op : found->second) {
    const bool is_program_side = table().listed.contains(node.op);
    if (is_program_side || op->accepts == nullptr || op->accepts(node)) return op;
  }
  return nullptr;
}

const Signature* find_signature(std::string_view graph_name) {
  const auto found = table().listed.find(std::string(graph_name));
  return found == table().listed.end() ? nullptr : &*found->second->signature;
}

const CanonicalSchema* find_canonical(std::string_view graph_name) {
  const auto found = table().canonical.find(std::string(graph_name));
  return found == table().canonical.end() ? nullptr : &found->second;
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
