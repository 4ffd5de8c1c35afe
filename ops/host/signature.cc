// SPDX-License-Identifier: Apache-2.0
#include "ops/host/signature.h"

namespace cormorant::ops {

std::string graph_name(std::string_view program_name) {
  std::string name(program_name);
  if (const std::size_t colons = name.find("::"); colons != std::string::npos) name.replace(colons, 2, ".");
  if (name.ends_with(".out")) name.resize(name.size() - 4);
  return name;
}

std::string program_name(std::string_view graph_name) {
  std::string name(graph_name);
  const std::size_t dot = name.find('.');
  name.replace(dot, 1, "::");
  if (name.find('.') == std::string::npos) name += ".out";
  return name;
}

std::string Signature::text() const {
  std::string text = name.substr(0, name.rfind('.')) + "(";
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string& type = parameters[i].type;
    text += (i > 0 ? ", " : "") + (type == "scratch" ? std::string("Tensor") : type) + " " + parameters[i].name;
  }
  return text + ")";
}

}  // namespace cormorant::ops
