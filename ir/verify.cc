// SPDX-License-Identifier: Apache-2.0
#include "ir/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "ir/text.h"

namespace cormorant::ir {
namespace {

class Verifier {
 public:
  Verifier(const Graph& graph, std::string_view stage) : graph_(graph), stage_(stage) {}

  void run() {
    for (const Value& value : graph_.values()) check_value(value);
    for (const Value* input : graph_.inputs()) {
      if (!owned_.contains(input) || input->kind != ValueKind::input) fail("an input that is not a value of the graph");
      defined_.insert(input);
    }
    for (const Node& node : graph_.nodes()) check_node(node);
    for (const Value& value : graph_.values()) {
      if (value.membership.users != users_[&value]) fail("%" + value.name + " has an inconsistent list of readers");
    }
    for (const Value* output : graph_.outputs()) {
      if (!defined_.contains(output))
        fail("output %" + (output == nullptr ? "null" : output->name) + " is never defined");
    }
    for (const Update& update : graph_.updates()) check_update(update);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::logic_error(fmt::format("after stage '{}': {}", stage_, what));
  }

  void check_value(const Value& value) {
    owned_.insert(&value);
    if (!names_.insert(value.name).second) fail("two values are named %" + value.name);
    check_type(value);
    const bool has_data = value.kind == ValueKind::constant || value.kind == ValueKind::state;
    if (has_data && static_cast<std::int64_t>(value.data.bytes.size()) != value.type.bytes()) {
      fail(fmt::format("%{} has {} bytes of data, its type needs {}", value.name, value.data.bytes.size(),
                       value.type.bytes()));
    }
    if (has_data) defined_.insert(&value);
    if ((value.kind == ValueKind::result) != (value.producer != nullptr)) {
      fail("%" + value.name + " has a producer but is not its result, or vice versa");
    }
  }

  void check_type(const Value& value) const {
    const TensorType& type = value.type;
    for (const std::int64_t size : type.shape) {
      if (size < 0) fail("%" + value.name + " has a negative size");
    }
    if (!type.is_possible()) {
      fail(fmt::format("%{} is {}, larger than a program can hold: at most 16 dimensions, below 2 GB", value.name,
                       to_text(type)));
    }
    if (!type.dim_order.empty()) {
      std::vector<std::uint8_t> sorted = type.dim_order;
      std::sort(sorted.begin(), sorted.end());
      for (std::size_t i = 0; i < sorted.size(); ++i) {
        if (sorted[i] != i || sorted.size() != type.rank()) fail("%" + value.name + " has an impossible dim order");
      }
    }
    if (!type.quant) return;
    const QuantParams& q = *type.quant;
    if (q.dtype != type.dtype) fail("%" + value.name + ": element type and quantized type differ");
    if (q.scales.size() != q.zero_points.size()) fail("%" + value.name + ": scales and zero points differ in number");
    std::size_t expected = 1;
    if (q.axis) {
      if (*q.axis < 0 || static_cast<std::size_t>(*q.axis) >= type.rank())
        fail("%" + value.name + ": axis out of range");
      expected = static_cast<std::size_t>(type.shape[static_cast<std::size_t>(*q.axis)]);
    }
    if (q.scales.size() != expected) {
      fail(fmt::format("%{} has {} scales, expected {}", value.name, q.scales.size(), expected));
    }
    for (std::size_t i = 0; i < expected; ++i) {
      if (!(q.scales[i] > 0) || std::isinf(q.scales[i])) fail("%" + value.name + " has a scale that is not positive");
      // Products and quotients of three scales stay finite.
      if (q.scales[i] < 1e-100 || q.scales[i] > 1e100) {
        fail(fmt::format("%{} has the scale {}, which is out of range", value.name, q.scales[i]));
      }
      if (q.zero_points[i] < q.qmin || q.zero_points[i] > q.qmax) fail("%" + value.name + ": zero point out of range");
    }
  }

  void check_node(const Node& node) {
    const auto who = [&] { return fmt::format("node '{}' ({})", node.name, node.op); };
    std::unordered_set<std::string_view> arguments;
    for (const NamedArgument& argument : node.args) {
      if (!arguments.insert(argument.name).second) fail(who() + " has two arguments named " + argument.name);
    }
    for (const Value* input : node.inputs()) {
      if (!owned_.contains(input)) fail(who() + " uses a value that is not in the graph");
      users_[input].insert(const_cast<Node*>(&node));  // only to be compared
      if (input->kind == ValueKind::scratch) {
        const auto [owner, is_new] = scratch_owner_.emplace(input, &node);
        if (!is_new && owner->second != &node) fail(who() + " shares scratch %" + input->name + " with another node");
      } else if (!defined_.contains(input)) {
        fail(who() + " uses %" + input->name + " before it is defined");
      }
    }
    if (node.results.empty()) fail(who() + " has no result");
    for (const Value* result : node.results) {
      if (!owned_.contains(result) || result->producer != &node) fail(who() + " does not own its result");
      if (!defined_.insert(result).second) fail(who() + " defines %" + result->name + " a second time");
    }
  }

  void check_update(const Update& update) {
    if (!owned_.contains(update.state) || update.state->kind != ValueKind::state)
      fail("an update of a value that is not state");
    if (!updated_.insert(update.state).second) fail("state %" + update.state->name + " is updated twice");
    if (!defined_.contains(update.value))
      fail("what state %" + update.state->name + " is updated with is never defined");
    if (update.value->type != update.state->type) {
      fail(fmt::format("state %{} is updated with %{}, which has a different type", update.state->name,
                       update.value->name));
    }
  }

  const Graph& graph_;
  std::string_view stage_;
  std::unordered_set<const Value*> owned_, defined_, updated_;
  std::unordered_set<std::string_view> names_;
  std::unordered_map<const Value*, const Node*> scratch_owner_;
  std::unordered_map<const Value*, std::unordered_set<Node*>> users_;
};

}  // namespace

void verify(const Graph& graph, std::string_view stage) { Verifier(graph, stage).run(); }

}  // namespace cormorant::ir
