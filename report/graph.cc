// SPDX-License-Identifier: Apache-2.0
//
// The report's network: what its script draws, as data in the page, and the contract of inputs and outputs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "program/files.h"
#include "program/program_io.h"
#include "report/report.h"

namespace cormorant {
namespace {

using Json = nlohmann::ordered_json;

std::uint64_t bytes_of(const ProgramTensor& tensor) { return tensor.element_count() * size_of(tensor.dtype); }

std::string type_text(const ProgramTensor& tensor) {
  return fmt::format("{}[{}]", name_of(tensor.dtype), fmt::join(tensor.shape, ","));
}

// Which dimension is outermost in memory, where that is not the logical order.
std::string order_text(const ProgramTensor& tensor) {
  bool is_plain = true;
  for (std::size_t i = 0; i < tensor.dim_order.size(); ++i) is_plain = is_plain && tensor.dim_order[i] == i;
  if (is_plain) return "as the shape says";
  const bool is_channels_last = tensor.dim_order == std::vector<std::uint8_t>{0, 2, 3, 1};
  return is_channels_last ? "channels last (NHWC)" : fmt::format("dimensions {}", fmt::join(tensor.dim_order, ", "));
}

std::string real_value(const ProgramTensor& tensor) {
  if (tensor.zero_point == 0) return fmt::format("{:.8g} · integer", *tensor.scale);
  return fmt::format("{:.8g} · (integer {} {})", *tensor.scale, tensor.zero_point < 0 ? "+" : "−",
                     std::abs(std::int64_t{tensor.zero_point}));
}

void write_tensor(Html& html, const char* kind, const ProgramTensor& tensor) {
  const auto row = html.in("tr");
  html.element("td", kind);
  html.element("td", tensor.name, {{"class", "code"}});
  html.element("td", type_text(tensor), {{"class", "code whole"}});
  html.element("td", order_text(tensor));
  write_number(html, bytes_of(tensor));
  html.element("td", tensor.scale ? real_value(tensor) : "the element itself");
}

Json tensor_json(const ProgramTensor& tensor) {
  Json json = {{"name", tensor.name}, {"type", type_text(tensor)}, {"bytes", bytes_of(tensor)}};
  if (tensor.scale) {
    json["scale"] = *tensor.scale;
    json["zero_point"] = tensor.zero_point;
  }
  return json;
}

// Bytes that are in use while a step runs: results may overlap their operands.
std::vector<std::uint64_t> alive_bytes(const compiler::Facts& facts) {
  std::vector<std::uint64_t> alive(facts.steps.size());
  for (const emit::RegionFacts& region : facts.regions) {
    for (std::size_t i = 0; i < alive.size(); ++i) {
      std::vector<std::pair<std::uint64_t, std::uint64_t>> stretches;
      for (const memory::Buffer& buffer : region.buffers) {
        if (buffer.first <= i && i <= buffer.last) stretches.emplace_back(buffer.offset, buffer.offset + buffer.bytes);
      }
      std::ranges::sort(stretches);
      std::uint64_t end = 0;
      for (const auto& [first, last] : stretches) {
        if (last <= end) continue;
        alive[i] += last - std::max(first, end);
        end = last;
      }
    }
  }
  return alive;
}

// What quantization decided about the node that a step comes from.
void add_decision(const std::map<std::string, const Json*>& nodes, const std::string& node, Json& step) {
  const auto at = nodes.find(node);
  if (at == nodes.end()) return;
  for (const char* const key : {"precision", "rule", "range", "scale", "zero_point", "weights"}) {
    if (at->second->contains(key)) step[key] = (*at->second)[key];
  }
}

Json steps_json(const Report& report) {
  const compiler::Facts& facts = report.compiled.facts;
  const std::vector<std::uint64_t> alive = alive_bytes(facts);
  std::map<std::string, const Json*> nodes;
  for (const Json& node : report.explanation["nodes"]) nodes.emplace(node["node"].get<std::string>(), &node);
  Json steps = Json::array();
  for (std::size_t i = 0; i < facts.steps.size(); ++i) {
    const emit::Step& from = facts.steps[i];
    Json step = {{"op", from.op},
                 {"node", from.node},
                 {"source", from.source},
                 {"result", from.result},
                 {"macs", from.macs},
                 {"constants", from.constant_bytes},
                 {"scratch", from.scratch_bytes},
                 {"alive", alive[from.time]},
                 {"time", from.time},
                 {"from", from.from}};
    if (from.part_of) step["rows"] = true;
    if (report.measured) {
      step["instructions"] = report.firmware.facts->steps.at(i).instructions;
      step["cycles"] = report.firmware.facts->steps.at(i).cycles;
    }
    if (facts.comparison) {
      const auto db = facts.comparison->node_db.find(from.node);
      if (db != facts.comparison->node_db.end()) {
        step["db"] = std::isfinite(db->second) ? Json(std::round(db->second * 100) / 100) : Json();
      }
    }
    add_decision(nodes, from.node, step);
    steps.push_back(std::move(step));
  }
  return steps;
}

// For the script, and for reports that are compared with this one.
Json page_facts(const Report& report, const ProgramFile& program) {
  const compiler::Facts& facts = report.compiled.facts;
  const Needs needs = needs_of(report.compiled, report.firmware);
  Json json = {{"model", report.model}, {"target", report.figures["target"]}};
  json["totals"] = {{"flash", needs.flash},
                    {"ram", needs.ram},
                    {"arena", compiler::arena_bytes(facts)},
                    {"macs", facts.macs},
                    {"steps", facts.steps.size()}};
  if (report.measured) json["totals"]["cycles"] = report.firmware.facts->execute_cycles;
  json["inputs"] = Json::array();
  for (const ProgramTensor& tensor : program.inputs) json["inputs"].push_back(tensor_json(tensor));
  json["outputs"] = Json::array();
  for (std::size_t k = 0; k < program.outputs.size(); ++k) {
    Json tensor = tensor_json(program.outputs[k]);
    tensor["from"] = k < facts.outputs_from.size() ? Json(facts.outputs_from[k]) : Json::array();
    json["outputs"].push_back(std::move(tensor));
  }
  json["steps"] = steps_json(report);
  return json;
}

void write_tools(Html& html) {
  const auto tools = html.in("p", {{"class", "tools"}});
  for (const auto& [id, text, what] : {std::tuple("zoom-out", "−", "Smaller"), std::tuple("zoom-in", "+", "Larger"),
                                       std::tuple("zoom-fit", "all", "All of it")}) {
    html.element("button", text, {{"id", id}, {"type", "button"}, {"title", what}, {"aria-label", what}});
  }
  html.element("span", "", {{"id", "zoom"}, {"class", "faint"}});
  {
    const auto label = html.in("label");
    html.text("Colour by ");
    const auto select = html.in("select", {{"id", "colour"}});
    for (const char* const metric : {"time", "memory", "constants", "error"}) {
      html.element("option", metric, {{"value", metric}});
    }
  }
  html.element("span", "", {{"id", "scale"}, {"class", "faint"}});
  html.empty("input",
             {{"id", "search"}, {"type", "search"}, {"placeholder", "Find layers"}, {"aria-label", "Find layers"}});
  html.element("span", "", {{"id", "hits"}, {"class", "faint"}});
}

}  // namespace

void write_contract(Html& html, const Report& report) {
  const ProgramFile program = program_from(report.compiled.program, report.model);
  html.element("h2", "Inputs and outputs", {{"id", "contract"}});
  const auto scroll = html.in("div", {{"class", "scroll"}});
  const auto table = html.in("table", {{"class", "contract"}});
  write_headings(html, {{""}, {"Name"}, {"Type"}, {"In memory"}, {"Bytes", true}, {"Real value"}});
  for (const ProgramTensor& tensor : program.inputs) write_tensor(html, "input", tensor);
  for (const ProgramTensor& tensor : program.outputs) write_tensor(html, "output", tensor);
}

void write_network(Html& html) {
  const auto section = html.in("section", {{"id", "network"}, {"hidden", "hidden"}});
  html.element("h2", "Network");
  write_tools(html);
  const auto columns = html.in("div", {{"class", "network"}});
  html.element("div", "", {{"id", "pane"}, {"tabindex", "0"}, {"aria-label", "The network, to scroll"}});
  html.element("div", "Select a layer to see its details here.", {{"id", "chosen"}});
}

void write_comparison(Html& html) {
  html.element("h2", "Compare with another report", {{"id", "compare"}});
  {
    const auto line = html.in("p");
    const auto label = html.in("label");
    html.text("The other report's file: ");
    html.empty("input", {{"id", "other"}, {"type", "file"}, {"accept", ".html"}});
  }
  html.element("div", "", {{"id", "comparison"}});
}

void write_script(Html& html, const Report& report, std::string_view script) {
  std::string facts = page_facts(report, program_from(report.compiled.program, report.model))
                          .dump(-1, ' ', true, Json::error_handler_t::replace);
  for (std::size_t at = facts.find('<'); at != std::string::npos; at = facts.find('<', at))
    facts.replace(at, 1, "\\u003c");
  html.verbatim("script", facts, {{"type", "application/json"}, {"id", "facts"}});
  html.verbatim("script", script);
}

}  // namespace cormorant
