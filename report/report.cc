// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "program/files.h"
#include "report/memory_picture.h"
#include "report/script.h"
#include "report/style.h"

namespace cormorant {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) { return json.get<std::string>(); }

void write_settings(Html& html, const Report& report) {
  html.element("h1", fmt::format("{} on {}", std::filesystem::path(report.model).filename().string(),
                                 text_of(report.figures["target"])));
  const auto table = html.in("table", {{"class", "settings"}});
  for (const auto& [name, value] : report.settings) {
    const auto row = html.in("tr");
    html.element("th", name);
    html.element("td", value);
  }
}

// "RAM 2,272 of 65,536 bytes, flash …"
std::string needs_text(const Report& report) {
  const Needs needs = needs_of(report.compiled, report.firmware);
  const auto text = [](const char* name, std::uint64_t bytes, const std::optional<std::uint64_t>& limit) {
    return limit ? fmt::format("{} {} of {} bytes", name, grouped(bytes), grouped(*limit))
                 : fmt::format("{} {} bytes", name, grouped(bytes));
  };
  return text("RAM", needs.ram, report.budget.ram) + ", " + text("flash", needs.flash, report.budget.flash);
}

void write_budget(Html& html, const Report& report) {
  const bool has_budget = report.budget.ram || report.budget.flash;
  if (report.over_budget) {
    html.element("li", "Over budget: " + report.over_budget->problem, {{"class", "bad"}});
  } else {
    html.element("li", fmt::format("{}{}", has_budget ? "Fits the budget: " : "Needs ", needs_text(report)),
                 {{"class", has_budget ? "good" : "plain"}});
  }
  if (report.firmware.facts) return;
  const char* const what = report.firmware.state_bytes ? "Code and stack" : "Code, state and stack";
  html.element("li",
               fmt::format("{} are not included, because they are unknown: {}", what, report.firmware.why_unknown),
               {{"class", "note"}});
}

void write_float_operators(Html& html, const Report& report) {
  const Json& left = report.figures["float_operators"];
  if (left.empty()) return;
  const auto scroll = html.in("div", {{"class", "scroll"}});
  const auto table = html.in("table", {{"id", "float"}, {"class", "wide"}});
  write_headings(html, {{"In float"}, {"Operator"}, {"Source"}, {"Why"}});
  for (const Json& op : left) {
    const auto row = html.in("tr");
    html.element("td", text_of(op["node"]), {{"class", "code"}});
    html.element("td", text_of(op["operator"]), {{"class", "code"}});
    html.element("td", text_of(op["source"]), {{"class", "code"}});
    html.element("td", text_of(op["reason"]));
  }
}

void write_verdict(Html& html, const Report& report) {
  {
    const auto list = html.in("ul", {{"class", "verdict"}});
    write_budget(html, report);
    const std::size_t left = report.figures["float_operators"].size();
    if (report.compiled.facts.decisions.empty()) {
      html.element("li", "Not quantized: the model computes in float", {{"class", "note"}});
    } else if (left == 0) {
      html.element("li", "Every operator computes with integers", {{"class", "good"}});
    } else {
      html.element("li", fmt::format("{} operator{} in float", left, left == 1 ? " stays" : "s stay"),
                   {{"class", "note"}});
    }
    for (const std::string& warning : report.compiled.facts.warnings) {
      html.element("li", "Warning: " + warning, {{"class", "note"}});
    }
  }
  write_float_operators(html, report);
}

void write_navigation(Html& html) {
  const auto nav = html.in("nav");
  for (const auto& [id, name] :
       {std::pair("contract", "Inputs and outputs"), std::pair("network", "Network"),
        std::pair("sizes", "Flash and RAM"), std::pair("memory", "Memory over time"), std::pair("layers", "Layers"),
        std::pair("quantization", "Quantization"), std::pair("compare", "Compare")}) {
    html.element("a", name, {{"href", fmt::format("#{}", id)}});
  }
}

void write_legend(Html& html, const emit::RegionFacts& region, bool by_rows) {
  std::set<memory::Buffer::Kind> kinds;
  for (const memory::Buffer& buffer : region.buffers) kinds.insert(buffer.kind);
  const auto legend = html.in("p", {{"class", "faint"}});
  for (const memory::Buffer::Kind kind : kinds) {
    html.element("span", "", {{"class", fmt::format("swatch {}", name_of(kind))}});
    html.text(name_of(kind));
  }
  const bool has_covers =
      std::ranges::any_of(region.buffers, [](const memory::Buffer& b) { return b.covers.has_value(); });
  const bool has_parts =
      std::ranges::any_of(region.buffers, [](const memory::Buffer& b) { return b.whole.has_value(); });
  if (has_covers) html.text(" · shaded: overwrites what the same operator reads for the last time");
  if (has_parts) html.text(" · dashed: part of another buffer");
  if (by_rows) html.text(" · steps by rows may overwrite rows that are no longer needed");
}

// The picture's tooltips as text, for print and screen readers.
void write_buffers(Html& html, const emit::RegionFacts& region, std::size_t steps) {
  const auto details = html.in("details");
  html.element("summary", fmt::format("All {} buffers", region.buffers.size()));
  const auto scroll = html.in("div", {{"class", "scroll"}});
  const auto table = html.in("table");
  write_headings(html, {{"Buffer"}, {"Kind"}, {"Type"}, {"Offset", true}, {"Bytes", true}, {"Steps", true}, {"Holds"}});
  for (const memory::Buffer& buffer : region.buffers) {
    const auto row = html.in("tr");
    html.element("td", buffer.name, {{"class", "code"}});
    html.element("td", fmt::format("{}{}", name_of(buffer.kind), buffer.whole ? ", part" : ""));
    html.element("td", buffer.type, {{"class", "code"}});
    write_number(html, buffer.offset);
    write_number(html, buffer.bytes);
    html.element("td", fmt::format("{} – {}", buffer.first, buffer.last == steps ? "end" : std::to_string(buffer.last)),
                 {{"class", "n"}});
    html.element("td", fmt::format("{}", fmt::join(buffer.values, ", ")), {{"class", "code"}});
  }
}

void write_memory(Html& html, const Report& report) {
  const compiler::Facts& facts = report.compiled.facts;
  html.element("h2", "Memory over time", {{"id", "memory"}});
  for (const emit::RegionFacts& region : facts.regions) {
    html.element("h3", region.name);
    if (region.buffers.empty() || region.bytes == 0) {
      html.element("p", "Nothing is here.");
      continue;
    }
    const auto bytes = static_cast<std::uint64_t>(region.bytes);
    const auto bound = static_cast<std::uint64_t>(region.lower_bound);
    html.element("p", bytes == bound
                          ? fmt::format("{} bytes: no plan could do with less for these buffers.", grouped(bytes))
                          : fmt::format("{} bytes; no plan could do with less than {} for these buffers.",
                                        grouped(bytes), grouped(bound)));
    draw_memory(html, region, facts.steps.size());
    write_legend(html, region, has_rows(facts));
    {
      const auto peak = html.in("p");
      html.element("b", "At the peak: ");
      std::vector<std::string> alive;
      for (const auto& [name, size] : region.at_peak) {
        alive.push_back(fmt::format("{} {}", name, grouped(static_cast<std::uint64_t>(size))));
      }
      html.text(fmt::format("{}", fmt::join(alive, ", ")));
    }
    write_buffers(html, region, facts.steps.size());
  }
}

// One line, so that comparisons of reports can skip it.
void write_seconds(Html& html, const Report& report) {
  std::vector<std::string> stages;
  for (const auto& [stage, seconds] : report.figures["seconds"].items()) {
    stages.push_back(fmt::format("{} {:.3f}", stage, seconds.get<double>()));
  }
  html.element("h2", "Seconds per stage of the compiler");
  html.element("p", fmt::format("{}", fmt::join(stages, ", ")), {{"class", "seconds"}});
  html.element("p", "The only line of this page that differs from run to run.", {{"class", "faint"}});
}

}  // namespace

void write_headings(Html& html, const std::vector<Column>& columns) {
  const auto row = html.in("tr");
  for (const Column& column : columns) {
    html.element("th", column.name, {{"class", column.is_number ? "n" : "text"}});
  }
}

void write_number(Html& html, std::uint64_t number) { html.element("td", grouped(number), {{"class", "n"}}); }

void write_share(Html& html, double share, double largest) {
  const auto cell = html.in("td", {{"class", "share"}});
  {
    const auto track = html.in("span", {{"class", "track"}});
    html.element("span", "", {{"class", "bar"}, {"style", fmt::format("width:{:.1f}%", 100 * share / largest)}});
  }
  html.text(share == 0 ? std::string() : fmt::format("{:.1f} %", 100 * share));
}

std::string report_page(const Report& report) {
  Html html;
  {
    const auto page = html.in("html", {{"lang", "en"}});
    {
      const auto head = html.in("head");
      html.empty("meta", {{"charset", "utf-8"}});
      html.empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}});
      html.element("title", "Cormorant: " + std::filesystem::path(report.model).filename().string());
      html.element("style", kReportStyle);
    }
    const auto body = html.in("body");
    write_settings(html, report);
    write_verdict(html, report);
    write_navigation(html);
    write_contract(html, report);
    write_network(html);
    write_sizes(html, report);
    write_memory(html, report);
    write_layers(html, report);
    write_quantization(html, report);
    write_comparison(html);
    write_seconds(html, report);
    write_script(html, report, kReportScript);
  }
  return html.str() + "\n";
}

}  // namespace cormorant
