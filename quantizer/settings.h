// SPDX-License-Identifier: Apache-2.0
//
// Exceptions for layers by module path, which override the options for the whole model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/op.h"
#include "quantizer/range.h"

namespace cormorant::quantizer {

// For the nodes of a module and everything inside it. What is not set stays as it is.
struct LayerSettings {
  std::string path;   // "blocks.2.conv"; * stands for any characters, ? for one
  std::string where;  // "layers.txt:3" or "--float-layers": for messages
  std::optional<bool> keep_float = {};
  std::optional<ops::Precision> precision = {};  // instead of the scheme's
  std::optional<Observer> observer = {};
  std::optional<std::pair<double, double>> range = {};  // instead of an observed one
  std::optional<bool> equalize = {}, round_weights = {}, correct_bias = {};

  // Whether a node of this module, "blocks.2.conv.0", is meant.
  [[nodiscard]] bool covers(std::string_view module) const;
};

// All settings that cover the module as one; if two of them set the same, the later one counts. `path` and `where` are
// those of the one that decided between float and integers, or the number of bits.
[[nodiscard]] LayerSettings settings_for(const std::vector<LayerSettings>& all, std::string_view module);

}  // namespace cormorant::quantizer
