// SPDX-License-Identifier: Apache-2.0
#include "ir/graph.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

namespace cormorant::ir {
namespace {

// Calls f on every Value* slot of an argument.
template <class A, class F>
void for_each_value(A& argument, F f) {
  if (auto* one = std::get_if<Value*>(&argument)) f(*one);
  if (auto* many = std::get_if<std::vector<Value*>>(&argument)) {
    for (auto& value : *many) f(value);
  }
}

template <class T>
const T& typed(const Node& node, std::string_view arg) {
  const Argument& value = node.get(arg);
  if (const T* typed_value = std::get_if<T>(&value)) return *typed_value;
  throw std::logic_error("node '" + node.name + "' (" + node.op + "): argument '" + std::string(arg) +
                         "' has another type than asked for");
}

}  // namespace

Bytes Bytes::own(std::vector<std::byte> data) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(data));
  const std::span<const std::byte> bytes = *owner;
  return {std::move(owner), bytes};
}

std::string Location::text() const {
  if (source.empty()) return module;
  return module.empty() ? source : module + " (" + source + ")";
}

const Argument& Node::get(std::string_view arg) const {
  for (const NamedArgument& a : args) {
    if (a.name == arg) return a.value;
  }
  throw std::logic_error("node '" + name + "' (" + op + ") has no argument '" + std::string(arg) + "'");
}

bool Node::has(std::string_view arg) const {
  return std::any_of(args.begin(), args.end(),
                     [&](const NamedArgument& a) { return a.name == arg && !std::holds_alternative<None>(a.value); });
}

void Node::set(std::string_view arg, Argument value) {
  for (NamedArgument& a : args) {
    if (a.name == arg) {
      a.value = std::move(value);
      return;
    }
  }
  args.push_back({std::string(arg), std::move(value)});
}

Value* Node::tensor(std::string_view arg) const {
  return std::holds_alternative<None>(get(arg)) ? nullptr : typed<Value*>(*this, arg);
}

const std::vector<Value*>& Node::tensors(std::string_view arg) const { return typed<std::vector<Value*>>(*this, arg); }

std::int64_t Node::integer(std::string_view arg) const { return typed<std::int64_t>(*this, arg); }

const std::vector<std::int64_t>& Node::integers(std::string_view arg) const {
  return typed<std::vector<std::int64_t>>(*this, arg);
}

double Node::number(std::string_view arg) const {
  if (const auto* integer = std::get_if<std::int64_t>(&get(arg))) return static_cast<double>(*integer);
  return typed<double>(*this, arg);
}

bool Node::boolean(std::string_view arg) const { return typed<bool>(*this, arg); }

const std::string& Node::string(std::string_view arg) const { return typed<std::string>(*this, arg); }

std::vector<Value*> Node::inputs() const {
  std::vector<Value*> found;
  for (const NamedArgument& a : args) {
    for_each_value(a.value, [&](Value* value) { found.push_back(value); });
  }
  return found;
}

bool Node::touches_state() const {
  const std::vector<Value*> all = inputs();
  return std::any_of(all.begin(), all.end(), [](const Value* value) { return value->kind == ValueKind::state; });
}

bool Node::uses(const Value* value) const {
  bool found = false;
  for (const NamedArgument& a : args) {
    for_each_value(a.value, [&](const Value* v) { found |= v == value; });
  }
  return found;
}

void Node::replace_use(const Value* from, Value* to) {
  for (NamedArgument& a : args) {
    for_each_value(a.value, [&](Value*& value) {
      if (value == from) value = to;
    });
  }
}

Value* Graph::add_value(std::string name, ValueKind kind, TensorType type) {
  if (name.empty()) name = "v";
  auto slot = std::lower_bound(taken_.begin(), taken_.end(), name);
  for (int number = 1; slot != taken_.end() && *slot == name; ++number) {
    std::string candidate = name + "_" + std::to_string(number);
    slot = std::lower_bound(taken_.begin(), taken_.end(), candidate);
    if (slot == taken_.end() || *slot != candidate) {
      name = std::move(candidate);
      break;
    }
    slot = std::lower_bound(taken_.begin(), taken_.end(), name);
  }
  taken_.insert(slot, name);
  values_.push_back({std::move(name), kind, std::move(type), nullptr, {}});
  return &values_.back();
}

Value* Graph::add_input(std::string name, TensorType type) {
  Value* value = add_value(std::move(name), ValueKind::input, std::move(type));
  inputs_.push_back(value);
  return value;
}

Value* Graph::add_constant(std::string name, TensorType type, Bytes data) {
  Value* value = add_value(std::move(name), ValueKind::constant, std::move(type));
  value->data = std::move(data);
  return value;
}

Value* Graph::add_state(std::string name, TensorType type, Bytes initial) {
  Value* value = add_value(std::move(name), ValueKind::state, std::move(type));
  value->data = std::move(initial);
  return value;
}

Value* Graph::add_scratch(std::string name, std::int64_t bytes) {
  return add_value(std::move(name), ValueKind::scratch, {DType::u8, {bytes}, {}, std::nullopt});
}

Node* Graph::add_node(std::string name, std::string op, std::vector<NamedArgument> args, std::vector<TensorType> types,
                      Location location, Node* before) {
  auto position = nodes_.end();
  if (before != nullptr) {
    position = std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& n) { return &n == before; });
  }
  Node* node =
      &*nodes_.insert(position, Node{std::move(name), std::move(op), std::move(args), {}, std::move(location)});
  add_results(node, std::vector<std::string>(types.size(), node->name), types);
  return node;
}

void Graph::add_results(Node* node, const std::vector<std::string>& names, const std::vector<TensorType>& types) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    Value* value = add_value(names[i], ValueKind::result, types.at(i));
    value->producer = node;
    node->results.push_back(value);
  }
}

std::vector<Node*> Graph::snapshot() {
  std::vector<Node*> nodes;
  nodes.reserve(nodes_.size());
  for (Node& node : nodes_) nodes.push_back(&node);
  return nodes;
}

std::vector<Node*> Graph::users(const Value* value) {
  std::vector<Node*> found;
  for (Node& node : nodes_) {
    if (node.uses(value)) found.push_back(&node);
  }
  return found;
}

std::vector<const Node*> Graph::users(const Value* value) const {
  std::vector<const Node*> found;
  for (const Node& node : nodes_) {
    if (node.uses(value)) found.push_back(&node);
  }
  return found;
}

bool Graph::is_output(const Value* value) const {
  return std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end();
}

Node* Graph::only_user(const Value* value) {
  if (is_output(value)) return nullptr;
  const std::vector<Node*> found = users(value);
  return found.size() == 1 ? found.front() : nullptr;
}

void Graph::replace_uses(const Value* from, Value* to) {
  for (Node& node : nodes_) node.replace_use(from, to);
  std::replace(outputs_.begin(), outputs_.end(), const_cast<Value*>(from), to);
}

void Graph::erase(Node* node) {
  for (Value* result : node->results) {
    if (is_output(result) || !users(result).empty()) {
      throw std::logic_error("erasing node '" + node->name + "' whose result is still used");
    }
  }
  const std::vector<Value*> results = node->results;
  nodes_.remove_if([&](const Node& n) { return &n == node; });
  for (Value* result : results) {
    taken_.erase(std::lower_bound(taken_.begin(), taken_.end(), result->name));
    values_.remove_if([&](const Value& v) { return &v == result; });
  }
}

void Graph::erase_unused() {
  std::unordered_set<const Value*> used(outputs_.begin(), outputs_.end());
  for (auto node = nodes_.rbegin(); node != nodes_.rend();) {
    const bool live = node->touches_state() || std::any_of(node->results.begin(), node->results.end(),
                                                           [&](const Value* result) { return used.contains(result); });
    if (live) {
      for (const Value* input : node->inputs()) used.insert(input);
      ++node;
    } else {
      node = std::make_reverse_iterator(nodes_.erase(std::next(node).base()));
    }
  }
  for (const Node& node : nodes_) used.insert(node.results.begin(), node.results.end());
  used.insert(inputs_.begin(), inputs_.end());
  std::erase_if(taken_, [](const std::string&) { return true; });
  values_.remove_if([&](const Value& value) { return value.kind != ValueKind::state && !used.contains(&value); });
  for (const Value& value : values_) taken_.push_back(value.name);
  std::sort(taken_.begin(), taken_.end());
}

void Graph::move_before(Node* node, Node* before) {
  const auto find = [&](Node* n) {
    return std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& x) { return &x == n; });
  };
  nodes_.splice(before == nullptr ? nodes_.end() : find(before), nodes_, find(node));
}

}  // namespace cormorant::ir
