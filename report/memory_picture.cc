// SPDX-License-Identifier: Apache-2.0
#include "report/memory_picture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "program/files.h"

namespace cormorant {
namespace {

using memory::Buffer;

// In the outer units; the plot is inside the margins.
constexpr double kWidth = 1000, kLeft = 64, kRight = 10, kTop = 24, kPlotHeight = 360, kBottom = 38;
constexpr double kPlotWidth = kWidth - kLeft - kRight;
constexpr double kHeight = kTop + kPlotHeight + kBottom;
constexpr double kLetter = 5.6, kLine = 11;  // of labels: width and height

std::string number(double value) { return fmt::format("{:.1f}", value); }

class Picture {
 public:
  Picture(Html& html, const emit::RegionFacts& region, std::size_t steps)
      : html_(html), region_(region), bytes_(static_cast<std::uint64_t>(region.bytes)), columns_(steps + 1) {}

  void draw() {
    const auto outer = html_.in("svg", {{"class", "map"},
                                        {"viewBox", fmt::format("0 0 {} {}", kWidth, kHeight)},
                                        {"role", "img"},
                                        {"aria-label", fmt::format("{} over the steps of the program", region_.name)}});
    draw_axes();
    {
      const auto inner = html_.in("svg", {{"x", number(kLeft)},
                                          {"y", number(kTop)},
                                          {"width", number(kPlotWidth)},
                                          {"height", number(kPlotHeight)},
                                          {"viewBox", fmt::format("0 0 {} {}", columns_, bytes_)},
                                          {"preserveAspectRatio", "none"}});
      // Parts are drawn over their wholes.
      for (const bool parts : {false, true}) {
        for (std::size_t i = 0; i < region_.buffers.size(); ++i) {
          if (region_.buffers[i].whole.has_value() == parts) draw_buffer(i);
        }
      }
      for (const Buffer& buffer : region_.buffers) {
        if (buffer.covers) draw_cover(buffer, region_.buffers[*buffer.covers]);
      }
      html_.empty("rect", {{"class", "peak"},
                           {"x", std::to_string(region_.peak_step)},
                           {"y", "0"},
                           {"width", "1"},
                           {"height", std::to_string(bytes_)}});
    }
    for (const Buffer& buffer : region_.buffers) {
      if (!buffer.whole) label(buffer, is_covered(buffer));
    }
    name_peak();
  }

 private:
  [[nodiscard]] double x_of(double step) const { return kLeft + kPlotWidth * step / static_cast<double>(columns_); }
  [[nodiscard]] double y_of(std::uint64_t offset) const {
    return kTop + kPlotHeight * (1 - static_cast<double>(offset) / static_cast<double>(bytes_));
  }
  void write(double x, double y, const std::string& text, std::string_view style) {
    html_.element("text", text, {{"class", std::string(style)}, {"x", number(x)}, {"y", number(y)}});
  }

  void draw_axes() {
    std::uint64_t tick = 16;  // bytes
    while (bytes_ / tick > 8) tick *= 2;
    for (std::uint64_t at = 0; at <= bytes_; at += tick) {
      const std::string y = number(y_of(at));
      html_.empty("line", {{"x1", number(kLeft)}, {"x2", number(kWidth - kRight)}, {"y1", y}, {"y2", y}});
      const std::string size = tick < 1024 ? grouped(at) : at == 0 ? "0" : grouped(at / 1024) + " K";
      write(kLeft - 6, y_of(at) + 3.5, size, "left");
    }
    constexpr std::size_t kMostNumbers = 30;
    std::size_t every = 1;
    for (const std::size_t factor : {2U, 5U, 10U, 20U, 50U, 100U, 200U, 500U}) {
      if (columns_ / every > kMostNumbers) every = factor;
    }
    const double below = kTop + kPlotHeight + 13;
    for (std::size_t step = 0; step + 1 < columns_; step += every) {
      write(x_of(static_cast<double>(step) + 0.5), below, std::to_string(step), "step");
    }
    write(kLeft + kPlotWidth / 2, below + 18, "step of the program; the outputs are read after the last one", "step");
  }

  void draw_buffer(std::size_t index) {
    const Buffer& b = region_.buffers[index];
    if (b.kind == Buffer::Kind::value) is_odd_ = !is_odd_;  // so that neighbours can be distinguished
    const std::string kind = fmt::format("{}{}{}", name_of(b.kind), b.whole ? " part" : "", is_odd_ ? " odd" : "");
    const auto link = html_.in("a", {{"href", columns_ == 1 ? "#layers" : fmt::format("#step-{}", b.first)}});
    const auto rectangle = html_.in("rect", {{"class", kind},
                                             {"x", std::to_string(b.first)},
                                             {"y", std::to_string(bytes_ - b.offset - b.bytes)},
                                             {"width", std::to_string(b.last - b.first + 1)},
                                             {"height", std::to_string(b.bytes)},
                                             {"data-buffer", std::to_string(index)},
                                             {"data-whole", b.whole ? std::to_string(*b.whole) : ""},
                                             {"data-covers", b.covers ? std::to_string(*b.covers) : ""}});
    html_.element("title", title_of(b));
  }

  [[nodiscard]] std::string title_of(const Buffer& b) const {
    std::string text = fmt::format("{}\n{}{}{}\n{} bytes at {}\nsteps {} to {}", b.name, name_of(b.kind),
                                   b.type.empty() ? "" : " ", b.type, grouped(b.bytes), grouped(b.offset), b.first,
                                   b.last + 1 == columns_ ? "the end" : std::to_string(b.last));
    if (b.values.size() > 1) text += fmt::format("\nholds {}", fmt::join(b.values, ", "));
    if (b.whole) text += fmt::format("\npart of {}", region_.buffers[*b.whole].name);
    return text;
  }

  // Where an operator writes over what it reads.
  void draw_cover(const Buffer& above, const Buffer& below) {
    const std::uint64_t from = std::max(above.offset, below.offset);
    const std::uint64_t to = std::min(above.offset + above.bytes, below.offset + below.bytes);
    const auto rectangle = html_.in("rect", {{"class", "cover"},
                                             {"x", std::to_string(above.first)},
                                             {"y", std::to_string(bytes_ - to)},
                                             {"width", "1"},
                                             {"height", std::to_string(to - from)}});
    html_.element("title",
                  fmt::format("{} overwrites {}, which has been read for the last time there", above.name, below.name));
  }

  [[nodiscard]] bool is_covered(const Buffer& b) const {
    const auto covers_it = [&](const Buffer& other) { return other.covers && &region_.buffers[*other.covers] == &b; };
    return std::ranges::any_of(region_.buffers, covers_it);
  }

  // The name along the rectangle or upwards in it; its end if only that fits, for module paths differ there.
  void label(const Buffer& b, bool is_covered_at_last) {
    std::uint32_t first = b.first + (b.covers ? 1 : 0), end = b.last + (is_covered_at_last ? 0 : 1);
    if (first >= end) first = b.first, end = b.last + 1;
    const double left = x_of(first), right = x_of(end), top = y_of(b.offset + b.bytes), bottom = y_of(b.offset);
    const double width = right - left, height = bottom - top;
    const auto letters_in = [](double length) { return static_cast<std::size_t>(std::max(0.0, length - 4) / kLetter); };
    const bool upwards = letters_in(width) < b.name.size() && height > width;
    if (std::min(width, height) < kLine) return;
    const std::size_t letters = letters_in(upwards ? height : width);
    std::string text = b.name;
    if (text.size() > letters) {
      constexpr std::size_t kFewest = 4;
      if (letters < kFewest + 1) return;
      std::size_t from = text.size() - (letters - 1);
      while (from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0) == 0x80) ++from;  // inside a letter
      text = "…" + text.substr(from);
    }
    const std::string x = number((left + right) / 2), y = number((top + bottom) / 2);
    html_.element(
        "text", text,
        {{"class", "name"},
         {"transform", fmt::format("translate({} {}){} translate(0 3.5)", x, y, upwards ? " rotate(-90)" : "")}});
  }

  void name_peak() {
    const double middle = x_of(region_.peak_step + 0.5);
    const char* const side = middle < kWidth / 3 ? "peak right" : middle > kWidth * 2 / 3 ? "peak left" : "peak";
    write(middle, kTop - 8,
          fmt::format("peak: {} bytes at step {}{}{}", grouped(bytes_), region_.peak_step,
                      region_.peak_node.empty() ? "" : ", ", region_.peak_node),
          side);
  }

  Html& html_;
  const emit::RegionFacts& region_;
  std::uint64_t bytes_;
  std::size_t columns_;
  bool is_odd_ = false;
};

}  // namespace

void draw_memory(Html& html, const emit::RegionFacts& region, std::size_t steps) {
  Picture(html, region, steps).draw();
}

}  // namespace cormorant
