// SPDX-License-Identifier: Apache-2.0
//
// JSON from an untrusted file: every access says what it expects, and anything else is an InputError that quotes the
// place. simdjson does the parsing: it validates, limits the depth, and is fast enough not to matter.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cormorant::pt2 {

// Where a document came from, for diagnostics.
struct JsonOrigin {
  std::string file;
  std::string entry;  // within the archive
};

// A value in a document, valid as long as the document is. Cheap to copy.
class Json {
 public:
  Json(simdjson::dom::element element, const JsonOrigin* origin) : element_(element), origin_(origin) {}

  // Members of an object. `find` takes null for absence: torch writes null where an optional field has no value.
  [[nodiscard]] Json operator[](std::string_view key) const;
  [[nodiscard]] std::optional<Json> find(std::string_view key) const;
  [[nodiscard]] std::vector<std::pair<std::string_view, Json>> members() const;
  // Torch writes unions as objects with one member, the name of the alternative.
  [[nodiscard]] std::pair<std::string_view, Json> alternative() const;

  [[nodiscard]] std::vector<Json> items() const;  // of an array
  [[nodiscard]] std::string string() const;
  [[nodiscard]] std::int64_t integer() const;
  [[nodiscard]] double floating() const;  // integers too, and the strings that torch writes for infinities and NaN
  [[nodiscard]] bool boolean() const;

  // Throws an InputError about this value.
  [[noreturn]] void fail(std::string_view problem, std::string advice = "") const;

 private:
  simdjson::dom::element element_;
  const JsonOrigin* origin_;
};

class JsonDocument {
 public:
  JsonDocument(std::string_view text, JsonOrigin origin);
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  [[nodiscard]] Json root() const { return {root_, &origin_}; }

 private:
  JsonOrigin origin_;
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

}  // namespace cormorant::pt2
