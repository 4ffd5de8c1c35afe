// SPDX-License-Identifier: Apache-2.0
//
// The graph: values and the nodes that produce them, in execution order. Nodes name their operator by a string
// ("aten.conv2d", "cortex_m.quantized_conv2d", "cormorant.conv2d.mve_1x1") and carry named arguments, as PyTorch's
// schemas do; what an operator means is known to its folder in ops/, not here. Pointers to nodes and values stay valid
// until they are erased.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "ir/types.h"

namespace cormorant::ir {

struct Node;
struct Value;

// Bytes with shared ownership: a mapped file, or a vector. Not copied when a constant is.
struct Bytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;

  static Bytes own(std::vector<std::byte> data);
  template <class T>
  static Bytes of(std::span<const T> data) {
    const auto raw = std::as_bytes(data);
    return own(std::vector<std::byte>(raw.begin(), raw.end()));
  }
  // The constant as elements; T must be the value's element type.
  template <class T>
  [[nodiscard]] std::span<const T> as() const {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
};

// Where in the user's program a node comes from.
struct Location {
  std::string module;                      // "blocks.2.depthwise.conv"
  std::string source;                      // "kws.py:14"
  [[nodiscard]] std::string text() const;  // "blocks.2.depthwise.conv (kws.py:14)"
  friend bool operator==(const Location&, const Location&) = default;
};

enum class ValueKind : std::uint8_t {
  input,
  constant,  // has data, in memory order
  state,     // a buffer that the model mutates: data is its initial content
  result,    // made by a node
  scratch,   // memory that one node needs while it runs; no content before or after
};

// A graph's bookkeeping for its nodes and values: their position and their readers. A copy is in no graph.
template <class T>
struct Membership {
  typename std::list<T>::iterator at{};
  bool is_in_graph = false;
  std::uint64_t order = 0;          // of nodes: increases in execution order
  std::unordered_set<Node*> users;  // of values: the nodes of the graph that use it

  Membership() = default;
  Membership(const Membership&) : Membership() {}
  Membership& operator=(const Membership&) { return *this; }
  Membership(Membership&&) = default;
  Membership& operator=(Membership&&) = default;
  ~Membership() = default;
};

struct Value {
  std::string name;  // unique in the graph
  ValueKind kind = ValueKind::result;
  TensorType type;
  Node* producer = nullptr;  // results only
  Bytes data;                // constants and states only
  Membership<Value> membership = {};
};

using None = std::monostate;
using Argument = std::variant<None, Value*, std::vector<Value*>, std::int64_t, std::vector<std::int64_t>, double,
                              std::vector<double>, bool, std::string, DType>;

// A state's contents when the next execution begins: a value of this one. Until then every reader of the state sees the
// old contents, so the order of reads and writes follows from the data flow.
struct Update {
  Value* state = nullptr;
  Value* value = nullptr;  // of the state's type
};

struct NamedArgument {
  std::string name;
  Argument value;
};

class ArgumentError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

struct Node {
  std::string name;                 // of PyTorch's node if it has one, for diagnostics
  std::string op;                   // "aten.conv2d"
  std::vector<NamedArgument> args;  // of a node in a graph: changed only by the methods below, which inform the values
  std::vector<Value*> results;
  Location location;
  Membership<Node> membership = {};

  // Argument access by name. get() and the typed forms throw ArgumentError for a name that the node does not have, or
  // an argument of another type: nodes are checked against schemas on import, so after that it is a bug of ours.
  [[nodiscard]] const Argument& get(std::string_view arg) const;
  [[nodiscard]] bool has(std::string_view arg) const;       // present and not None
  void set(std::string_view arg, Argument value);           // replaces or appends
  void unset(std::string_view arg);                         // as if it had never been given
  [[nodiscard]] Value* tensor(std::string_view arg) const;  // null for None
  [[nodiscard]] const std::vector<Value*>& tensors(std::string_view arg) const;
  [[nodiscard]] std::int64_t integer(std::string_view arg) const;
  [[nodiscard]] const std::vector<std::int64_t>& integers(std::string_view arg) const;
  [[nodiscard]] double number(std::string_view arg) const;  // of an int or float argument
  [[nodiscard]] bool boolean(std::string_view arg) const;
  [[nodiscard]] const std::string& string(std::string_view arg) const;

  [[nodiscard]] Value* result() const { return results.at(0); }
  // All tensors among the arguments, in order, lists included.
  [[nodiscard]] std::vector<Value*> inputs() const;
  [[nodiscard]] bool uses(const Value* value) const;
  void replace_use(const Value* from, Value* to);
  void replace_use(std::string_view arg, const Value* from, Value* to);  // only in that argument
};

class Graph {
 public:
  explicit Graph(std::string name = "forward") : name_(std::move(name)) {}
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  [[nodiscard]] const std::string& name() const { return name_; }

  // Values. A name that is taken gets a number appended.
  Value* add_input(std::string name, TensorType type);
  Value* add_constant(std::string name, TensorType type, Bytes data);
  Value* add_state(std::string name, TensorType type, Bytes initial);
  Value* add_scratch(std::string name, std::int64_t bytes);
  // An output's name for callers: its key in the dictionary that the model returns, or empty.
  void add_output(Value* value, std::string key = {}) {
    outputs_.push_back(value);
    output_keys_.push_back(std::move(key));
  }
  void add_update(Value* state, Value* value) { updates_.push_back({state, value}); }

  // A node with one result per type, put before `before` (null: at the end). Result names derive from the node's name.
  Node* add_node(std::string name, std::string op, std::vector<NamedArgument> args, std::vector<TensorType> types,
                 Location location = {}, Node* before = nullptr);

  // Results under given names, for readers of the text form.
  void add_results(Node* node, const std::vector<std::string>& names, const std::vector<TensorType>& types);

  // Structure, in execution order. Erasing during iteration: advance first, or use nodes_snapshot().
  [[nodiscard]] std::list<Node>& nodes() { return nodes_; }
  [[nodiscard]] const std::list<Node>& nodes() const { return nodes_; }
  [[nodiscard]] std::vector<Node*> snapshot();
  [[nodiscard]] std::vector<Value*>& inputs() { return inputs_; }
  [[nodiscard]] const std::vector<Value*>& inputs() const { return inputs_; }
  [[nodiscard]] std::vector<Value*>& outputs() { return outputs_; }
  [[nodiscard]] const std::vector<Value*>& outputs() const { return outputs_; }
  // One per state that changes, in the order of the states.
  [[nodiscard]] std::vector<Update>& updates() { return updates_; }
  [[nodiscard]] const std::vector<Update>& updates() const { return updates_; }
  [[nodiscard]] std::vector<const Value*> states() const;
  [[nodiscard]] const std::vector<std::string>& output_keys() const { return output_keys_; }  // one per output
  [[nodiscard]] const std::list<Value>& values() const { return values_; }
  [[nodiscard]] std::list<Value>& values() { return values_; }

  // In execution order. Every query takes time proportional to its answer, not to the graph.
  [[nodiscard]] std::vector<Node*> users(const Value* value);
  [[nodiscard]] std::vector<const Node*> users(const Value* value) const;
  [[nodiscard]] bool is_output(const Value* value) const;
  [[nodiscard]] bool is_update(const Value* value) const;
  // Whether the value is needed after the last node: as an output or as a state's new contents.
  [[nodiscard]] bool is_kept(const Value* value) const { return is_output(value) || is_update(value); }
  // The one node that uses the value, if there is exactly one and the value is not kept; else null.
  [[nodiscard]] Node* only_user(const Value* value);
  void replace_uses(const Value* from, Value* to);  // in nodes, outputs and updates

  void erase(Node* node);  // its results must be unused
  // Removes dead nodes, then unreferenced values. A state that no output depends on is removed with its update.
  void erase_unused();
  void move_before(Node* node, Node* before);

  // A copy with the same names; constants share their bytes.
  [[nodiscard]] Graph copy() const;

 private:
  Value* add_value(std::string name, ValueKind kind, TensorType type);
  std::list<Node>::iterator enter(Node node, Node* before);
  void number(std::list<Node>::iterator node);
  void remove(std::list<Node>::iterator node);
  std::list<Value>::iterator remove(std::list<Value>::iterator value);

  std::string name_;
  std::list<Value> values_;
  std::list<Node> nodes_;
  std::vector<Value*> inputs_, outputs_;
  std::vector<Update> updates_;
  std::vector<std::string> output_keys_;
  std::unordered_set<std::string> taken_;               // names of values
  std::unordered_map<std::string, int> first_unknown_;  // below it, all numbers appended to a name are taken
};

}  // namespace cormorant::ir
