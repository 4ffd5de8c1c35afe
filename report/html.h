// SPDX-License-Identifier: Apache-2.0
//
// Writes HTML and SVG that is well-formed whatever the text in it: every element that is opened is closed at the end of
// its scope, and names, source lines and messages are escaped. Rows and blocks begin on lines of their own, so that two
// pages can be compared line by line.
//
//   Html html;
//   {
//     const auto row = html.in("tr");
//     html.element("td", node.name, {{"class", "node"}});
//   }
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace cormorant {

class Html {
 public:
  using Attributes = std::initializer_list<std::pair<std::string_view, std::string>>;

  // An element that is open as long as this object lives.
  class Element {
   public:
    Element(Html& html, std::string_view tag) : html_(html), tag_(tag) {}
    Element(const Element&) = delete;
    Element& operator=(const Element&) = delete;
    ~Element() { html_.close(tag_); }

   private:
    Html& html_;
    std::string_view tag_;
  };

  // Tags are literals.
  [[nodiscard]] Element in(std::string_view tag, Attributes attributes = {}) {
    open(tag, attributes, ">");
    return {*this, tag};
  }
  void element(std::string_view tag, std::string_view text, Attributes attributes = {});
  void empty(std::string_view tag, Attributes attributes = {}) { open(tag, attributes, "/>"); }  // <rect …/>
  void text(std::string_view text);
  // A script's text, which HTML does not escape; it must not hold the end of its element.
  void verbatim(std::string_view tag, std::string_view text, Attributes attributes = {});

  [[nodiscard]] const std::string& str() const { return out_; }

 private:
  void open(std::string_view tag, Attributes attributes, std::string_view end);
  void close(std::string_view tag);

  std::string out_ = "<!DOCTYPE html>";
};

}  // namespace cormorant
