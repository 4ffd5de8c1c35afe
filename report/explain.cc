// SPDX-License-Identifier: Apache-2.0
#include "report/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "program/files.h"
#include "program/json.h"

namespace cormorant {
namespace {

// What became of every node: the parameters that quantization gave it or why it stays in float, and which stage made
// which operator of it. In the order of the graph that was quantized; what was folded into others before comes first.
struct Explained {
  std::string op, source;
  const quantizer::Decision* decision = nullptr;
  std::vector<const compiler::Change*> changes;
};
std::vector<std::pair<std::string, Explained>> explained(const compiler::Facts& facts) {
  std::vector<std::pair<std::string, Explained>> all;
  std::map<std::string, std::size_t> index;
  const auto find = [&](const std::string& node, const std::string& op, const std::string& source) -> Explained& {
    const auto [at, is_new] = index.try_emplace(node, all.size());
    if (is_new) all.push_back({node, {op, source, nullptr, {}}});
    return all[at->second].second;
  };
  for (const compiler::Change& change : facts.changes) {
    if (change.became.empty() && change.stage != "clean_up") find(change.node, change.op, change.source);
  }
  for (const quantizer::Decision& decision : facts.decisions) {
    find(decision.node, decision.op, decision.source).decision = &decision;
  }
  for (const compiler::Change& change : facts.changes) {
    find(change.node, change.op, change.source).changes.push_back(&change);
  }
  return all;
}

void describe(const quantizer::Decision& decision, nlohmann::ordered_json& json) {
  json["rule"] = decision.rule;
  if (decision.rule == "float") {
    json["reason"] = decision.reason;
    return;
  }
  if (!decision.precision.empty()) json["precision"] = decision.precision;
  if (!decision.instead.empty()) json["instead"] = decision.instead;
  if (decision.seen) json["range"] = {decision.seen->first, decision.seen->second};
  json["scale"] = decision.scale;
  json["zero_point"] = decision.zero_point;
  if (!decision.observer.empty()) json["observer"] = decision.observer;
  if (!decision.shares.empty()) json["shares_with"] = decision.shares;
  if (!decision.weights.empty()) json["weights"] = decision.weights;
  if (decision.rounded_otherwise) json["rounded_otherwise"] = *decision.rounded_otherwise;
}

nlohmann::ordered_json layer_bits_json(const quantizer::LayerBits& layer) {
  return {{"node", layer.node},
          {"operator", layer.op},
          {"source", layer.source},
          {"precision", layer.precision},
          {"alone_db", number_or_null(layer.alone_db)},
          {"alone_db_8w8a", number_or_null(layer.alone_db_8w8a)},
          {"weight_bytes", layer.weight_bytes},
          {"weight_bytes_8w8a", layer.weight_bytes_8w8a}};
}

void print_decision(const nlohmann::ordered_json& node) {
  const auto rule = node.at("rule").get<std::string>();
  if (rule == "float") {
    const auto reason = node.at("reason").get<std::string>();
    // What has no reason computes with integers or booleans, or moves what it is given as it is.
    fmt::print("  {}\n",
               reason.empty() ? "is not quantized: it has the type of what it is given" : "stays in float: " + reason);
    return;
  }
  const std::string precision = node.value("precision", "8w8a");
  fmt::print("  {}, {}", precision == "8w16a" ? "int16" : "int8", rule);
  if (node.contains("observer")) fmt::print(" by {}", node.at("observer").get<std::string>());
  if (node.contains("range")) {
    fmt::print(": {:.4g} to {:.4g} seen", node.at("range").at(0).get<double>(), node.at("range").at(1).get<double>());
  }
  fmt::print(", scale {:.6g}, zero point {}\n", node.at("scale").get<double>(), node.at("zero_point").get<int>());
  if (node.contains("instead")) fmt::print("  {}: {}\n", precision, node.at("instead").get<std::string>());
  if (node.contains("bits")) fmt::print("  {}\n", bought(node.at("bits")));
  if (node.contains("shares_with"))
    fmt::print("  shares its range with {}\n", node.at("shares_with").get<std::string>());
  if (!node.contains("weights")) return;
  fmt::print("  weights {}", node.at("weights").get<std::string>());
  if (node.contains("rounded_otherwise")) {
    fmt::print("; {} rounded away from the nearest integer for the layer's sums",
               node.at("rounded_otherwise").get<std::size_t>());
  }
  fmt::print("\n");
}

}  // namespace

nlohmann::ordered_json equalized_json(const std::vector<quantizer::EqualizedLayer>& equalized) {
  nlohmann::ordered_json layers = nlohmann::json::array();
  for (const quantizer::EqualizedLayer& layer : equalized) {
    layers.push_back({{"node", layer.node},
                      {"source", layer.source},
                      {"next", layer.next},
                      {"channels", layer.channels},
                      {"largest_factor", layer.largest_factor}});
  }
  return layers;
}

std::string bought(const nlohmann::ordered_json& layer) {
  const auto db = [](const nlohmann::ordered_json& value) {
    return value.is_null() ? std::string("no noise") : fmt::format("{:.1f} dB", value.get<double>());
  };
  const auto precision = layer.at("precision").get<std::string>();
  const auto saved = layer.at("weight_bytes_8w8a").get<std::int64_t>() - layer.at("weight_bytes").get<std::int64_t>();
  const std::string plain = db(layer.at("alone_db_8w8a"));
  if (precision == "8w8a") return fmt::format("8w8a as chosen: alone it leaves {}", plain);
  return fmt::format("{} as chosen: {}alone it leaves {}, in 8w8a {}", precision,
                     saved > 0 ? fmt::format("saves {} bytes, ", grouped(static_cast<std::uint64_t>(saved))) : "",
                     db(layer.at("alone_db")), plain);
}

nlohmann::ordered_json bits_json(const quantizer::BitsReport& bits) {
  nlohmann::ordered_json json = {
      {"goal", bits.goal},   {"sqnr_db", number_or_null(bits.db)}, {"sqnr_db_8w8a", number_or_null(bits.db_8w8a)},
      {"flash", bits.flash}, {"flash_8w8a", bits.flash_8w8a},      {"samples", bits.samples},
      {"tried", bits.tried}};
  json["layers"] = nlohmann::json::array();
  for (const quantizer::LayerBits& layer : bits.layers) json["layers"].push_back(layer_bits_json(layer));
  return json;
}

void print_bits(const quantizer::BitsReport& bits) {
  std::map<std::string, std::size_t> layers;
  for (const quantizer::LayerBits& layer : bits.layers) ++layers[layer.precision];
  std::string counts;
  for (const auto& [precision, count] : layers) {
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", precision, count);
  }
  fmt::print("  bits        {:>11.1f} dB in {} bytes of flash; 8w8a: {:.1f} dB in {}\n", bits.db, grouped(bits.flash),
             bits.db_8w8a, grouped(bits.flash_8w8a));
  fmt::print("              {:>11} layers: {}\n", bits.layers.size(), counts);
  fmt::print("              chosen: {}\n", bits.goal);
}

nlohmann::ordered_json explanation_json(const compiler::Facts& facts) {
  nlohmann::ordered_json nodes = nlohmann::json::array();
  for (const auto& [name, node] : explained(facts)) {
    nlohmann::ordered_json json = {{"node", name}, {"operator", node.op}, {"source", node.source}};
    if (node.decision != nullptr) describe(*node.decision, json);
    if (facts.bits) {
      const auto layer = std::ranges::find(facts.bits->layers, name, &quantizer::LayerBits::node);
      if (layer != facts.bits->layers.end()) json["bits"] = layer_bits_json(*layer);
    }
    json["stages"] = nlohmann::json::array();
    for (const compiler::Change* change : node.changes) {
      json["stages"].push_back({{"stage", change->stage}, {"why", change->why}, {"became", change->became}});
    }
    nodes.push_back(std::move(json));
  }
  return {{"nodes", std::move(nodes)}, {"equalized", equalized_json(facts.equalized)}};
}

void print_explanation(const nlohmann::ordered_json& explanation) {
  for (const auto& node : explanation.at("nodes")) {
    fmt::print("{}  {}  {}\n", node.at("node").get<std::string>(), node.at("operator").get<std::string>(),
               node.at("source").get<std::string>());
    if (node.contains("rule")) print_decision(node);
    for (const auto& change : node.at("stages")) {
      const auto became = change.at("became").get<std::vector<std::string>>();
      fmt::print("  {}: {} ({})\n", change.at("stage").get<std::string>(),
                 became.empty() ? "no operator of its own" : fmt::format("{}", fmt::join(became, ", ")),
                 change.at("why").get<std::string>());
    }
  }
  for (const auto& layer : explanation.at("equalized")) {
    fmt::print("equalized: {} outlier channels of {} by up to {}, undone in {}\n",
               layer.at("channels").get<std::size_t>(), layer.at("node").get<std::string>(),
               layer.at("largest_factor").get<double>(), layer.at("next").get<std::string>());
  }
  fmt::print("\n");
}

}  // namespace cormorant
