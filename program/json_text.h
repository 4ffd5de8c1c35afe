// SPDX-License-Identifier: Apache-2.0
//
// JSON as text. Names in it may come from a file that holds any bytes: those that are not UTF-8 become U+FFFD.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cormorant {

inline std::string json_text(const nlohmann::ordered_json& json, int indent = -1) {
  return json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace cormorant
