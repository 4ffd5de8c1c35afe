// SPDX-License-Identifier: Apache-2.0
#include "report/html.h"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace cormorant {
namespace {

// Several of these go on one line.
bool is_inline(std::string_view tag) {
  constexpr std::array<std::string_view, 12> kInline = {"td",    "th", "b",      "code",  "span",   "title",
                                                        "small", "a",  "button", "label", "option", "select"};
  return std::ranges::find(kInline, tag) != kInline.end();
}

void escape(std::string_view text, std::string& out) {
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default: {
        const bool is_control = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
        out += is_control ? "\xef\xbf\xbd" : std::string(1, c);  // no HTML may hold them: U+FFFD instead
      }
    }
  }
}

}  // namespace

void Html::open(std::string_view tag, Attributes attributes, std::string_view end) {
  if (!is_inline(tag)) out_ += '\n';
  out_ += '<';
  out_ += tag;
  for (const auto& [name, value] : attributes) {
    out_ += ' ';
    out_ += name;
    out_ += "=\"";
    escape(value, out_);
    out_ += '"';
  }
  out_ += end;
}

void Html::close(std::string_view tag) {
  out_ += "</";
  out_ += tag;
  out_ += '>';
}

void Html::element(std::string_view tag, std::string_view text, Attributes attributes) {
  const Element element = in(tag, attributes);
  escape(text, out_);
}

void Html::verbatim(std::string_view tag, std::string_view text, Attributes attributes) {
  if (text.find("</") != std::string_view::npos) throw std::logic_error("a script ends before its end");
  const Element element = in(tag, attributes);
  out_ += text;
}

void Html::text(std::string_view text) { escape(text, out_); }

}  // namespace cormorant
