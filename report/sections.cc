// SPDX-License-Identifier: Apache-2.0
//
// The report's tables: what a device must provide, what every step costs, what became of every node.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "program/files.h"
#include "report/explain.h"
#include "report/report.h"

namespace cormorant {
namespace {

using Json = nlohmann::ordered_json;

double ratio(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(whole, 1));
}

// ---- flash and RAM ----------------------------------------------------------------------------------------------

// A row of a table of sizes. If bytes are unknown, the remark says why.
struct Size {
  std::string name;
  std::optional<std::uint64_t> bytes;
  std::string remark = {};
  std::string style = {};  // "total", or "inner" for what the row above consists of
};

Size size_of(std::string name, const Json& bytes, const std::string& why_unknown, std::string remark = {}) {
  if (bytes.is_null()) return {std::move(name), std::nullopt, "unknown: " + why_unknown};
  return {std::move(name), bytes.get<std::uint64_t>(), std::move(remark)};
}

void write_table(Html& html, std::string_view heading, const std::vector<Size>& sizes, std::uint64_t total) {
  const auto box = html.in("div");
  html.element("h3", heading);
  const auto scroll = html.in("div", {{"class", "scroll"}});
  const auto table = html.in("table");
  write_headings(html, {{"Part"}, {"Bytes", true}, {"Share"}, {"Remark"}});
  for (const Size& size : sizes) {
    const auto row = html.in("tr", {{"class", size.style}});
    html.element("td", size.name);
    if (size.bytes) {
      write_number(html, *size.bytes);
      write_share(html, ratio(*size.bytes, total));
    } else {
      html.element("td", "?", {{"class", "n"}});
      html.element("td", "");
    }
    html.element("td", size.remark);
  }
}

std::vector<Size> flash_sizes(const Report& report, const Needs& needs) {
  const Json& figures = report.figures;
  const auto model = figures["model_bytes"].get<std::uint64_t>();
  const auto constants = figures["constant_bytes"].get<std::uint64_t>();
  std::vector<Size> sizes = {{"model", model},
                             {"constants", constants, "weights, biases, tables", "inner"},
                             {"program", model - constants, "steps, shapes, the file's format", "inner"}};
  const Json& firmware = figures["firmware"];
  sizes.push_back(size_of("code", firmware["code"], report.firmware.why_unknown,
                          fmt::format("by {}", firmware["compiler"].get<std::string>())));
  for (const auto& [part, bytes] : firmware["code_parts"].items()) {
    sizes.push_back({part, bytes.get<std::uint64_t>(), "", "inner"});
  }
  const bool is_complete = report.firmware.facts.has_value();
  sizes.push_back({is_complete ? "flash" : "flash without code", needs.flash, "", "total"});
  return sizes;
}

Size stack_size(const Report& report) {
  const std::string measured =
      report.measured ? fmt::format("measured: {}", grouped(report.figures["measured"]["stack"].get<std::uint64_t>()))
                      : "";
  const Json& bound = report.figures["firmware"]["stack_bound"];
  if (bound.is_null()) {
    if (!report.firmware.facts) return {"stack", std::nullopt, "unknown: " + report.firmware.why_unknown};
    return {"stack", stack_needed(*report.firmware.facts),
            "seen; without a bound: " + report.firmware.facts->why_unbounded};
  }
  const auto part = [&](const char* key) { return grouped(bound[key].get<std::uint64_t>()); };
  return {"stack", bound["bytes"].get<std::uint64_t>(),
          fmt::format("at most: load {}, execute {}, plus main(); an interrupt adds {}{}{}", part("load"),
                      part("execute"), part("exception_frame"), measured.empty() ? "" : "; ", measured)};
}

std::vector<Size> ram_sizes(const Report& report, const Needs& needs) {
  std::vector<Size> sizes;
  const compiler::Facts& facts = report.compiled.facts;
  for (const emit::RegionFacts& region : facts.regions) {
    std::string remark = fmt::format("lower bound {}", grouped(static_cast<std::uint64_t>(region.lower_bound)));
    if (!region.peak_node.empty()) remark += "; peak at " + region.peak_node;
    sizes.push_back({facts.regions.size() == 1 && region.name == "arena" ? "arena" : "arena in " + region.name,
                     report.figures["arena_bytes"][region.name].get<std::uint64_t>(), std::move(remark)});
    if (region.constant_bytes == 0) continue;
    sizes.push_back({"copies of the constants", static_cast<std::uint64_t>(region.constant_bytes), "", "inner"});
  }
  sizes.push_back(size_of("state", report.figures["firmware"]["state"], report.firmware.why_unknown,
                          "what the runtime keeps per step"));
  sizes.push_back(stack_size(report));
  sizes.push_back({report.firmware.facts         ? "RAM"
                   : report.firmware.state_bytes ? "RAM without stack"
                                                 : "RAM without state and stack",
                   needs.ram, "", "total"});
  return sizes;
}

void write_stack_path(Html& html, const Json& bound) {
  if (bound.is_null()) return;
  const auto details = html.in("details");
  html.element("summary", "The stack's deepest point");
  const auto table = html.in("table");
  write_headings(html, {{"Function"}, {"Bytes", true}});
  for (const Json& frame : bound["path"]) {
    const auto row = html.in("tr");
    html.element("td", frame["function"].get<std::string>(), {{"class", "code"}});
    write_number(html, frame["bytes"].get<std::uint64_t>());
  }
}

// ---- layers -----------------------------------------------------------------------------------------------------

// What a step's share is of: estimated cycles, where the program was executed, else MACs.
struct Cost {
  explicit Cost(const Report& report) {
    const compiler::Facts& facts = report.compiled.facts;
    for (std::size_t i = 0; i < facts.steps.size(); ++i) {
      steps.push_back(report.measured ? report.firmware.facts->steps.at(i).cycles
                                      : static_cast<std::uint64_t>(facts.steps[i].macs));
    }
    all = report.measured ? report.firmware.facts->execute_cycles : static_cast<std::uint64_t>(facts.macs);
    if (!steps.empty()) largest = std::max<std::uint64_t>(1, std::ranges::max(steps));
  }

  std::vector<std::uint64_t> steps;
  std::uint64_t largest = 1, all = 0;
};

// Zero would be noise in most rows.
void write_number_if_any(Html& html, std::int64_t number) {
  html.element("td", number == 0 ? "" : grouped(static_cast<std::uint64_t>(number)), {{"class", "n"}});
}

void write_step(Html& html, const Report& report, const Cost& cost, std::size_t index, bool is_float) {
  const emit::Step& step = report.compiled.facts.steps[index];
  const auto row =
      html.in("tr", {{"id", fmt::format("step-{}", step.time)}, {"class", is_float ? "float" : "integer"}});
  html.element("td", std::to_string(step.time), {{"class", "n"}});
  html.element("td", step.op, {{"class", step.part_of ? "code whole rows" : "code whole"}});
  html.element("td", step.node, {{"class", "code"}});
  html.element("td", step.source, {{"class", "code"}});
  html.element("td", step.result, {{"class", "code whole"}});
  for (const std::int64_t number : {step.macs, step.constant_bytes, step.scratch_bytes}) {
    write_number_if_any(html, number);
  }
  if (report.measured) {
    write_number(html, report.firmware.facts->steps.at(index).instructions);
    write_number(html, report.firmware.facts->steps.at(index).cycles);
  }
  write_share(html, ratio(cost.steps[index], cost.all), ratio(cost.largest, cost.all));
}

void write_totals(Html& html, const Report& report) {
  const auto row = html.in("tr", {{"class", "total"}});
  html.element("td", "all", {{"colspan", "5"}});
  for (const char* const key : {"macs", "constant_bytes", "scratch_bytes"}) {
    write_number(html, report.figures[key].get<std::uint64_t>());
  }
  if (report.measured) {
    write_number(html, report.firmware.facts->execute_instructions);
    write_number(html, report.firmware.facts->execute_cycles);
  }
  html.element("td", "");
}

// ---- quantization -----------------------------------------------------------------------------------------------

std::string text_at(const Json& json, const char* key) { return json.value(key, std::string()); }

std::string range_text(const Json& node) {
  if (!node.contains("range")) return "";
  return fmt::format("{:.4g} … {:.4g}", node["range"][0].get<double>(), node["range"][1].get<double>());
}

std::string rule_text(const Json& node) {
  if (!node.contains("rule")) return "";
  const std::string rule = text_at(node, "rule");
  if (rule == "float") return "float: " + text_at(node, "reason");
  std::string text = rule;
  if (node.contains("observer")) text += " by " + text_at(node, "observer");
  if (node.contains("shares_with")) text += " with " + text_at(node, "shares_with");
  if (node.contains("bits")) text += "; " + bought(node["bits"]);
  return text;
}

std::string weights_text(const Json& node) {
  std::string text = text_at(node, "weights");
  if (node.contains("rounded_otherwise")) {
    text += fmt::format("; {} rounded away from the nearest integer",
                        grouped(node["rounded_otherwise"].get<std::uint64_t>()));
  }
  return text;
}

// Which stages took it, in their order: "prepack: cormorant.conv2d.mve_1x1".
std::string stages_text(const Json& node) {
  std::vector<std::string> stages;
  for (const Json& stage : node["stages"]) {
    const auto became = stage["became"].get<std::vector<std::string>>();
    stages.push_back(fmt::format("{}: {}", stage["stage"].get<std::string>(),
                                 became.empty() ? "part of others" : fmt::format("{}", fmt::join(became, ", "))));
  }
  return fmt::format("{}", fmt::join(stages, "; "));
}

void write_origin(Html& html, const Json& node) {
  for (const char* const key : {"node", "operator", "source"}) {
    html.element("td", text_at(node, key), {{"class", "code"}});
  }
}

void write_node(Html& html, const Json& node) {
  const bool is_float = text_at(node, "rule") == "float";
  const bool has_scale = node.contains("scale");
  const auto row = html.in("tr", {{"class", is_float ? "float" : "integer"}});
  write_origin(html, node);
  html.element("td", rule_text(node), {{"class", "text"}});
  html.element("td", range_text(node), {{"class", "n"}});
  html.element("td", has_scale ? fmt::format("{:.6g}", node["scale"].get<double>()) : "", {{"class", "n"}});
  html.element("td", has_scale ? node["zero_point"].dump() : "", {{"class", "n"}});
  html.element("td", weights_text(node), {{"class", "text"}});
  html.element("td", stages_text(node), {{"class", "text faint"}});
}

// Nodes with nothing left to decide.
void write_absorbed(Html& html, const std::vector<const Json*>& nodes) {
  if (nodes.empty()) return;
  const auto details = html.in("details");
  html.element("summary", fmt::format("{} nodes without parameters of their own", nodes.size()));
  const auto scroll = html.in("div", {{"class", "scroll"}});
  const auto table = html.in("table");
  write_headings(html, {{"Node"}, {"Operator"}, {"Source"}, {"Stages"}});
  for (const Json* node : nodes) {
    const auto row = html.in("tr");
    write_origin(html, *node);
    html.element("td", stages_text(*node), {{"class", "text faint"}});
  }
}

void write_equalized(Html& html, const Json& equalized) {
  if (equalized.empty()) return;
  html.element("h3", "Equalized layers");
  const auto scroll = html.in("div", {{"class", "scroll"}});
  const auto table = html.in("table");
  write_headings(html, {{"Layer"}, {"Source"}, {"Undone in"}, {"Outlier channels", true}, {"Largest factor", true}});
  for (const Json& layer : equalized) {
    const auto row = html.in("tr");
    for (const char* const key : {"node", "source", "next"}) {
      html.element("td", text_at(layer, key), {{"class", "code"}});
    }
    write_number(html, layer["channels"].get<std::uint64_t>());
    html.element("td", fmt::format("{:g}", layer["largest_factor"].get<double>()), {{"class", "n"}});
  }
}

void write_goal(Html& html, const Json& goal) {
  html.element("h3", fmt::format("Optimized for {}, compared with balanced", goal["name"].get<std::string>()));
  std::string text = fmt::format("Model {} bytes", grouped_signed(goal["model_bytes_added"].get<std::int64_t>()));
  if (goal.contains("code_bytes_added")) {
    text += fmt::format(", code {} bytes", grouped_signed(goal["code_bytes_added"].get<std::int64_t>()));
  }
  if (goal.contains("cycles_added")) {
    text += fmt::format(", {} cycles", grouped_signed(goal["cycles_added"].get<std::int64_t>()));
  }
  html.element("p", fmt::format("{}. Cycles are {}.", text, goal["cycles_are"].get<std::string>()));
  if (goal["layers"].empty()) return;
  const auto details = html.in("details");
  html.element("summary", fmt::format("{} layers differ", goal["layers"].size()));
  const auto scroll = html.in("div", {{"class", "scroll"}});
  const auto table = html.in("table");
  write_headings(html, {{"Node"}, {"Source"}, {"Operator"}, {"Balanced"}, {"Constants", true}, {"Cycles", true}});
  for (const Json& layer : goal["layers"]) {
    const auto row = html.in("tr");
    for (const char* const key : {"node", "source", "operator", "balanced_operator"}) {
      html.element("td", text_at(layer, key), {{"class", "code"}});
    }
    for (const char* const key : {"constant_bytes_added", "cycles_added"}) {
      html.element("td", layer.contains(key) ? grouped_signed(layer[key].get<std::int64_t>()) : "", {{"class", "n"}});
    }
  }
}

}  // namespace

void write_sizes(Html& html, const Report& report) {
  const Needs needs = needs_of(report.compiled, report.firmware);
  html.element("h2", "Flash and RAM", {{"id", "sizes"}});
  {
    const auto columns = html.in("div", {{"class", "columns"}});
    write_table(html, "Flash", flash_sizes(report, needs), needs.flash);
    write_table(html, "RAM", ram_sizes(report, needs), needs.ram);
  }
  write_stack_path(html, report.figures["firmware"]["stack_bound"]);
  if (report.figures.contains("optimize")) write_goal(html, report.figures["optimize"]);
}

bool has_rows(const compiler::Facts& facts) {
  return std::ranges::any_of(facts.steps, [](const emit::Step& step) { return step.part_of.has_value(); });
}

void write_layers(Html& html, const Report& report) {
  const compiler::Facts& facts = report.compiled.facts;
  std::set<std::string> left_in_float;
  for (const compiler::FloatOperator& op : facts.float_operators) left_in_float.insert(op.node);
  html.element("h2", "Layers", {{"id", "layers"}});
  std::vector<std::size_t> order(facts.steps.size());
  for (std::size_t i = 0; i < order.size(); ++i) order.at(facts.steps[i].time) = i;
  std::string about = "In the order of execution. ";
  if (has_rows(facts)) {
    about += "Indented steps are computed by rows: in turns, as often as the step after them needs their rows. ";
  }
  about += report.measured
               ? "Instructions are counted on the emulated board with zeros as inputs; cycles are estimated for memory "
                 "without wait states; shares are of the cycles."
               : "Shares are of the MACs; --measure counts instructions.";
  html.element("p", about, {{"class", "faint"}});
  const auto scroll = html.in("div", {{"class", "scroll"}});
  const auto table = html.in("table", {{"class", "wide steps"}});
  std::vector<Column> columns = {{"Step", true}, {"Operator"},        {"Node"},         {"Source"}, {"Output"},
                                 {"MACs", true}, {"Constants", true}, {"Scratch", true}};
  if (report.measured) columns.insert(columns.end(), {{"Instructions", true}, {"Cycles", true}});
  columns.push_back({"Share"});
  write_headings(html, columns);
  const Cost cost(report);
  for (const std::size_t i : order) {
    write_step(html, report, cost, i, left_in_float.contains(facts.steps[i].node));
  }
  write_totals(html, report);
}

void write_quantization(Html& html, const Report& report) {
  html.element("h2", "Quantization", {{"id", "quantization"}});
  html.element("p", "Every node of the model: which rule set its range, and what each compiler stage made of it.",
               {{"class", "faint"}});
  write_equalized(html, report.explanation["equalized"]);
  std::vector<const Json*> decided, absorbed;
  for (const Json& node : report.explanation["nodes"]) (node.contains("rule") ? decided : absorbed).push_back(&node);
  if (!decided.empty()) {
    const auto scroll = html.in("div", {{"class", "scroll"}});
    const auto table = html.in("table", {{"class", "wide nodes"}});
    write_headings(html, {{"Node"},
                          {"Operator"},
                          {"Source"},
                          {"Rule"},
                          {"Range seen", true},
                          {"Scale", true},
                          {"Zero point", true},
                          {"Weights"},
                          {"Stages"}});
    for (const Json* node : decided) write_node(html, *node);
  }
  write_absorbed(html, absorbed);
}

}  // namespace cormorant
