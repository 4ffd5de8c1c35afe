// SPDX-License-Identifier: Apache-2.0
#include "formats/pt2/json.h"

#include <fmt/format.h>

#include <limits>

#include "base/diagnostic.h"

namespace cormorant::pt2 {
namespace {

constexpr std::size_t kMaxDocumentBytes = 256U << 20U;  // a model of a thousand operators has half a megabyte
constexpr std::size_t kQuotedBytes = 80;

std::string quoted(const simdjson::dom::element& element) {
  std::string text = simdjson::minify(element);
  if (text.size() <= kQuotedBytes) return text;
  std::size_t end = kQuotedBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80) --end;  // not inside a character
  return text.substr(0, end) + "...";
}

}  // namespace

void Json::fail(std::string_view problem, std::string advice) const {
  if (advice.empty()) advice = "save the model again with torch.export.save";
  throw InputError({.problem = fmt::format("{} is malformed: {} in {}", origin_->entry, problem, quoted(element_)),
                    .advice = std::move(advice),
                    .file = origin_->file});
}

Json Json::operator[](std::string_view key) const {
  const std::optional<Json> found = find(key);
  if (!found) fail(fmt::format("\"{}\" is missing", key));
  return *found;
}

std::optional<Json> Json::find(std::string_view key) const {
  simdjson::dom::object object;
  if (element_.get_object().get(object) != simdjson::SUCCESS) fail("an object was expected");
  simdjson::dom::element value;
  if (object.at_key(key).get(value) != simdjson::SUCCESS || value.is_null()) return std::nullopt;
  return Json(value, origin_);
}

std::vector<std::pair<std::string_view, Json>> Json::members() const {
  simdjson::dom::object object;
  if (element_.get_object().get(object) != simdjson::SUCCESS) fail("an object was expected");
  std::vector<std::pair<std::string_view, Json>> members;
  for (const auto& field : object) members.emplace_back(field.key, Json(field.value, origin_));
  return members;
}

std::pair<std::string_view, Json> Json::alternative() const {
  const auto all = members();
  if (all.size() != 1) fail("an object with one member was expected");
  return all.front();
}

std::vector<Json> Json::items() const {
  simdjson::dom::array array;
  if (element_.get_array().get(array) != simdjson::SUCCESS) fail("a list was expected");
  std::vector<Json> items;
  for (const simdjson::dom::element item : array) items.emplace_back(item, origin_);
  return items;
}

std::string Json::string() const {
  std::string_view value;
  if (element_.get_string().get(value) != simdjson::SUCCESS) fail("a string was expected");
  return std::string(value);
}

std::int64_t Json::integer() const {
  std::int64_t value = 0;
  // To simdjson, neither a bool nor 1.0 is an integer; a number beyond int64 fails too.
  if (!element_.is_int64() || element_.get_int64().get(value) != simdjson::SUCCESS) fail("an integer was expected");
  return value;
}

double Json::floating() const {
  double value = 0;
  if (element_.get_double().get(value) == simdjson::SUCCESS) return value;  // converts integers
  std::string_view word;
  if (element_.get_string().get(word) == simdjson::SUCCESS) {
    if (word == "Infinity") return std::numeric_limits<double>::infinity();
    if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  fail("a number was expected");
}

bool Json::boolean() const {
  bool value = false;
  if (element_.get_bool().get(value) != simdjson::SUCCESS) fail("true or false was expected");
  return value;
}

JsonDocument::JsonDocument(std::string_view text, JsonOrigin origin) : origin_(std::move(origin)) {
  const auto fail = [&](std::string problem) {
    throw InputError({.problem = fmt::format("{} {}", origin_.entry, problem),
                      .advice = "save the model again with torch.export.save",
                      .file = origin_.file});
  };
  if (text.size() > kMaxDocumentBytes) fail(fmt::format("is larger than {} MiB", kMaxDocumentBytes >> 20U));
  const simdjson::error_code error = parser_.parse(text.data(), text.size()).get(root_);
  if (error == simdjson::DEPTH_ERROR) fail("is nested too deeply");
  if (error == simdjson::MEMALLOC) throw std::bad_alloc();
  if (error != simdjson::SUCCESS) fail(fmt::format("is not JSON: {}", simdjson::error_message(error)));
}

}  // namespace cormorant::pt2
