// SPDX-License-Identifier: Apache-2.0
#include "ir/graph.h"

#include <algorithm>
#include <charconv>

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
  throw ArgumentError("node '" + node.name + "' (" + node.op + "): argument '" + std::string(arg) +
                      "' is not of its type");
}

// The values that a change of arguments affects: unregistered before it, registered again after it.
class Change {
 public:
  explicit Change(Node& node) : node_(node) {
    for (Value* value : uses()) value->membership.users.erase(&node_);
  }
  ~Change() {
    for (Value* value : uses()) value->membership.users.insert(&node_);
  }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

 private:
  [[nodiscard]] std::vector<Value*> uses() const {
    std::vector<Value*> values = node_.membership.is_in_graph ? node_.inputs() : std::vector<Value*>();
    std::erase(values, nullptr);
    return values;
  }
  Node& node_;
};

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
  throw ArgumentError("node '" + name + "' (" + op + ") has no argument '" + std::string(arg) + "'");
}

bool Node::has(std::string_view arg) const {
  return std::any_of(args.begin(), args.end(),
                     [&](const NamedArgument& a) { return a.name == arg && !std::holds_alternative<None>(a.value); });
}

void Node::set(std::string_view arg, Argument value) {
  const Change change(*this);
  for (NamedArgument& a : args) {
    if (a.name == arg) {
      a.value = std::move(value);
      return;
    }
  }
  args.push_back({std::string(arg), std::move(value)});
}

void Node::unset(std::string_view arg) {
  const Change change(*this);
  std::erase_if(args, [&](const NamedArgument& a) { return a.name == arg; });
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

bool Node::uses(const Value* value) const {
  bool found = false;
  for (const NamedArgument& a : args) {
    for_each_value(a.value, [&](const Value* v) { found |= v == value; });
  }
  return found;
}

void Node::replace_use(const Value* from, Value* to) {
  const Change change(*this);
  for (NamedArgument& a : args) {
    for_each_value(a.value, [&](Value*& value) {
      if (value == from) value = to;
    });
  }
}

void Node::replace_use(std::string_view arg, const Value* from, Value* to) {
  const Change change(*this);
  for (NamedArgument& a : args) {
    if (a.name != arg) continue;
    for_each_value(a.value, [&](Value*& value) {
      if (value == from) value = to;
    });
  }
}

Value* Graph::add_value(std::string name, ValueKind kind, TensorType type) {
  if (name.empty()) name = "v";
  if (taken_.contains(name)) {
    int& number = first_unknown_.try_emplace(name, 1).first->second;
    while (taken_.contains(name + "_" + std::to_string(number))) ++number;
    name += "_" + std::to_string(number);
  }
  taken_.insert(name);
  values_.push_back({std::move(name), kind, std::move(type), nullptr, {}});
  values_.back().membership.at = std::prev(values_.end());
  values_.back().membership.is_in_graph = true;
  return &values_.back();
}

std::list<Value>::iterator Graph::remove(std::list<Value>::iterator value) {
  taken_.erase(value->name);
  if (const std::size_t underscore = value->name.rfind('_');
      underscore != std::string::npos) {  // its number is free again
    const auto known = first_unknown_.find(value->name.substr(0, underscore));
    int number = 0;
    const char* end = value->name.data() + value->name.size();
    const auto [rest, error] = std::from_chars(value->name.data() + underscore + 1, end, number);
    if (known != first_unknown_.end() && error == std::errc() && rest == end && number > 0) {
      known->second = std::min(known->second, number);
    }
  }
  return values_.erase(value);
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

// Positions in the order are far apart, so that there is room between two; when it is used up, all are renumbered.
void Graph::number(std::list<Node>::iterator node) {
  constexpr std::uint64_t kApart = std::uint64_t{1} << 32;
  const std::uint64_t before = node == nodes_.begin() ? 0 : std::prev(node)->membership.order;
  if (std::next(node) == nodes_.end()) {
    node->membership.order = before + kApart;
    return;
  }
  const std::uint64_t after = std::next(node)->membership.order;
  node->membership.order = before + (after - before) / 2;
  if (node->membership.order != before) return;
  std::uint64_t order = 0;
  for (Node& each : nodes_) each.membership.order = order += kApart;
}

std::list<Node>::iterator Graph::enter(Node node, Node* before) {
  const auto at = nodes_.insert(before == nullptr ? nodes_.end() : before->membership.at, std::move(node));
  number(at);
  const Change change(*at);  // with what it uses: nothing yet
  at->membership.at = at;
  at->membership.is_in_graph = true;
  return at;
}

void Graph::remove(std::list<Node>::iterator node) {
  for (Value* input : node->inputs()) {
    if (input != nullptr) input->membership.users.erase(&*node);
  }
  nodes_.erase(node);
}

Node* Graph::add_node(std::string name, std::string op, std::vector<NamedArgument> args, std::vector<TensorType> types,
                      Location location, Node* before) {
  Node* node = &*enter(Node{std::move(name), std::move(op), std::move(args), {}, std::move(location)}, before);
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
  std::vector<Node*> found(value->membership.users.begin(), value->membership.users.end());
  std::ranges::sort(found, {}, [](const Node* node) { return node->membership.order; });
  return found;
}

std::vector<const Node*> Graph::users(const Value* value) const {
  std::vector<const Node*> found(value->membership.users.begin(), value->membership.users.end());
  std::ranges::sort(found, {}, [](const Node* node) { return node->membership.order; });
  return found;
}

bool Graph::is_output(const Value* value) const {
  return std::find(outputs_.begin(), outputs_.end(), value) != outputs_.end();
}

bool Graph::is_update(const Value* value) const {
  return std::any_of(updates_.begin(), updates_.end(), [&](const Update& update) { return update.value == value; });
}

std::vector<const Value*> Graph::states() const {
  std::vector<const Value*> states;
  for (const Value& value : values_) {
    if (value.kind == ValueKind::state) states.push_back(&value);
  }
  return states;
}

Node* Graph::only_user(const Value* value) {
  const auto& users = value->membership.users;
  return users.size() == 1 && !is_kept(value) ? *users.begin() : nullptr;
}

void Graph::replace_uses(const Value* from, Value* to) {
  for (Node* node : users(from)) node->replace_use(from, to);
  std::replace(outputs_.begin(), outputs_.end(), const_cast<Value*>(from), to);
  for (Update& update : updates_) {
    if (update.value == from) update.value = to;
  }
}

void Graph::erase(Node* node) {
  for (const Value* result : node->results) {
    if (is_kept(result) || !result->membership.users.empty()) {
      throw std::logic_error("erasing node '" + node->name + "' whose result is still used");
    }
  }
  const std::vector<Value*> results = node->results;
  remove(node->membership.at);
  for (const Value* result : results) remove(result->membership.at);
}

void Graph::erase_unused() {
  std::unordered_map<const Value*, const Value*> becomes;
  for (const Update& update : updates_) becomes.emplace(update.state, update.value);
  std::unordered_set<const Value*> used(inputs_.begin(), inputs_.end());
  std::unordered_set<const Node*> live;
  std::vector<const Value*> waiting(outputs_.begin(), outputs_.end());
  while (!waiting.empty()) {
    const Value* value = waiting.back();
    waiting.pop_back();
    used.insert(value);
    if (const auto next = becomes.find(value); next != becomes.end() && !used.contains(next->second)) {
      waiting.push_back(next->second);
    }
    if (value->producer == nullptr || !live.insert(value->producer).second) continue;
    used.insert(value->producer->results.begin(), value->producer->results.end());
    for (const Value* input : value->producer->inputs()) {
      if (!used.contains(input)) waiting.push_back(input);
    }
  }
  for (auto node = nodes_.begin(); node != nodes_.end();) {
    const auto at = node++;
    if (!live.contains(&*at)) remove(at);
  }
  std::erase_if(updates_, [&](const Update& update) { return !used.contains(update.state); });
  for (auto value = values_.begin(); value != values_.end();) {
    value = used.contains(&*value) ? std::next(value) : remove(value);
  }
}

void Graph::move_before(Node* node, Node* before) {
  nodes_.splice(before == nullptr ? nodes_.end() : before->membership.at, nodes_, node->membership.at);
  number(node->membership.at);
}

Graph Graph::copy() const {
  Graph other(name_);
  std::unordered_map<const Value*, Value*> twins = {{nullptr, nullptr}};
  for (const Value& value : values_) {
    Value* twin = other.add_value(value.name, value.kind, value.type);
    twin->data = value.data;
    twins[&value] = twin;
  }
  for (const Node& node : nodes_) {
    Node twin = node;
    for (NamedArgument& argument : twin.args) {
      for_each_value(argument.value, [&](Value*& value) { value = twins.at(value); });
    }
    for (Value*& result : twin.results) result = twins.at(result);
    Node* made = &*other.enter(std::move(twin), nullptr);
    for (Value* result : made->results) result->producer = made;
  }
  for (const Value* input : inputs_) other.inputs_.push_back(twins.at(input));
  for (std::size_t i = 0; i < outputs_.size(); ++i) other.add_output(twins.at(outputs_[i]), output_keys_[i]);
  for (const Update& update : updates_) other.add_update(twins.at(update.state), twins.at(update.value));
  return other;
}

}  // namespace cormorant::ir
