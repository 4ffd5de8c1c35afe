// SPDX-License-Identifier: Apache-2.0
#include "quantizer/copy.h"

#include <unordered_map>

namespace cormorant::quantizer {
namespace {

using Twins = std::unordered_map<const ir::Value*, ir::Value*>;

void redirect(ir::Argument& argument, const Twins& twins) {
  if (auto* one = std::get_if<ir::Value*>(&argument)) *one = twins.at(*one);
  if (auto* many = std::get_if<std::vector<ir::Value*>>(&argument)) {
    for (ir::Value*& value : *many) value = twins.at(value);
  }
}

}  // namespace

ir::Graph copy_of(const ir::Graph& graph) {
  ir::Graph other(graph.name());
  Twins twins = {{nullptr, nullptr}};
  for (const ir::Value& value : graph.values()) twins[&value] = &other.values().emplace_back(value);
  for (const ir::Node& node : graph.nodes()) {
    ir::Node& made = other.nodes().emplace_back(node);
    for (ir::NamedArgument& argument : made.args) redirect(argument.value, twins);
    for (ir::Value*& result : made.results) {
      result = twins.at(result);
      result->producer = &made;
    }
  }
  for (const ir::Value* input : graph.inputs()) other.inputs().push_back(twins.at(input));
  for (const ir::Value* output : graph.outputs()) other.outputs().push_back(twins.at(output));
  for (const ir::Update& update : graph.updates()) {
    other.updates().push_back({twins.at(update.state), twins.at(update.value)});
  }
  other.erase_unused();  // also makes the graph know its names
  return other;
}

}  // namespace cormorant::quantizer
