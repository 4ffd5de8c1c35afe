// SPDX-License-Identifier: Apache-2.0
//
// The names of a model's outputs for its caller. PyTorch flattens whatever forward() returns and describes the nesting
// in a string of JSON: [version, {"type", "context", "children_spec"}], where a leaf has no type and a dictionary's
// context is the list of its keys, again as a string of JSON.
#include "base/diagnostic.h"
#include "formats/pt2/parse.h"

namespace cormorant::pt2 {
namespace {

std::vector<std::string> dictionary_keys(const Json& tree) {
  const std::optional<Json> type = tree.find("type");
  const std::optional<Json> context = tree.find("context");
  std::vector<std::string> keys;
  if (!type || !context) return keys;
  const std::string name = type->string();
  if (name != "builtins.dict" && name != "collections.OrderedDict") return keys;
  const JsonDocument list(context->string(), {});
  for (const Json& key : list.root().items()) keys.push_back(key.string());
  return keys;
}

// Names of all leaves below. Outside any dictionary there are none: a tuple's outputs are known by their number.
void collect(const Json& tree, const std::string& prefix, bool in_dictionary, std::vector<std::string>& keys) {
  if (!tree.find("type")) {
    keys.push_back(in_dictionary ? prefix : "");
    return;
  }
  const std::vector<std::string> own = dictionary_keys(tree);
  const std::vector<Json> children = tree["children_spec"].items();
  for (std::size_t i = 0; i < children.size(); ++i) {
    const bool is_named = i < own.size();
    const std::string part = is_named ? own[i] : std::to_string(i);
    collect(children[i], prefix.empty() ? part : prefix + "." + part, in_dictionary || is_named, keys);
  }
}

}  // namespace

std::vector<std::string> parse_output_keys(const Json& module) {
  // The names are optional: nesting from another version, or keys that are not strings, must not make the model fail.
  try {
    const std::vector<Json> calls = module["module_call_graph"].items();
    if (calls.empty()) return {};
    const JsonDocument document(calls.front()["signature"]["out_spec"].string(), {});
    const std::vector<Json> specification = document.root().items();
    std::vector<std::string> keys;
    if (specification.size() == 2) collect(specification[1], "", false, keys);
    return keys;
  } catch (const InputError&) {
    return {};
  }
}

}  // namespace cormorant::pt2
