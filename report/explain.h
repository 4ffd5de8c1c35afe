// SPDX-License-Identifier: Apache-2.0
//
// What `--explain` reports about every node: the parameters that quantization gave it or why it stays in float, and
// which stage made which operator of it. `compile` also writes it next to the program, so that `inspect` can show it
// later.
#pragma once

#include <nlohmann/json.hpp>

#include "compiler/compile.h"

namespace cormorant {

// {"nodes": […], "equalized": […]}, from facts recorded with compiler::Options::explain.
[[nodiscard]] nlohmann::ordered_json explanation_json(const compiler::Facts& facts);
[[nodiscard]] nlohmann::ordered_json equalized_json(const std::vector<quantizer::EqualizedLayer>& equalized);
void print_explanation(const nlohmann::ordered_json& explanation);

// What layers got where the compiler chose their bits, and what it bought.
[[nodiscard]] nlohmann::ordered_json bits_json(const quantizer::BitsReport& bits);
void print_bits(const quantizer::BitsReport& bits);
// For one node with "bits": "4w8a as chosen: saves 2,048 bytes, alone it leaves 35.1 dB, in 8w8a 48.0 dB".
[[nodiscard]] std::string bought(const nlohmann::ordered_json& layer);

}  // namespace cormorant
