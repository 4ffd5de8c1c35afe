// SPDX-License-Identifier: Apache-2.0
#include "driver/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "program/json.h"
#include "report/explain.h"

namespace cormorant::driver {
namespace {

// MACs executed divided by the model's.
double recompute_of(const compiler::Facts& facts) {
  if (!facts.rows || facts.macs == 0) return 1;
  return 1 + static_cast<double>(facts.rows->extra_macs) / static_cast<double>(facts.macs);
}

nlohmann::ordered_json rows_json(const compiler::RowsFacts& rows, bool with_curve) {
  nlohmann::ordered_json json = {{"groups", rows.groups},
                                 {"operators", rows.nodes},
                                 {"bytes", rows.groups != 0 ? rows.bytes : rows.bytes_by_layer},
                                 {"bytes_by_layer", rows.bytes_by_layer},
                                 {"extra_cycles", rows.extra},
                                 {"extra_percent", percent_more(rows, rows.extra)}};
  if (!with_curve) return json;
  json["curve"] = nlohmann::ordered_json::array();
  for (const compiler::RowsPoint& point : rows.curve) {
    json["curve"].push_back({{"bytes", point.bytes},
                             {"extra_cycles", point.extra},
                             {"extra_percent", percent_more(rows, point.extra)},
                             {"operators", point.nodes}});
  }
  return json;
}

}  // namespace

double percent_more(const compiler::RowsFacts& rows, std::int64_t extra) {
  return rows.work_by_layer == 0 ? 0 : 100.0 * static_cast<double>(extra) / static_cast<double>(rows.work_by_layer);
}

nlohmann::ordered_json figures_of(const compiler::Compiled& compiled, const compiler::Options& options,
                                  const Firmware& firmware, bool measured, const std::optional<Goal>& goal) {
  const compiler::Facts& facts = compiled.facts;
  nlohmann::ordered_json json;
  json["target"] = options.config.target.name();
  json["isa"] = options.config.target.is_any() ? "any" : name_of(options.config.target.isa);
  json["scheme"] = options.bits ? "auto" : ops::name_of(options.scheme);
  if (facts.bits) json["bits"] = bits_json(*facts.bits);
  json["operators"] = facts.operators;
  json["float_operators"] = nlohmann::json::array();
  for (const compiler::FloatOperator& op : facts.float_operators) {
    json["float_operators"].push_back(
        {{"node", op.node}, {"operator", op.op}, {"source", op.source}, {"reason", op.reason}});
  }
  json["model_bytes"] = compiled.program.size();
  json["constant_bytes"] = facts.constant_bytes;
  std::int64_t lower_bound = 0;
  json["arena_bytes"] = nlohmann::ordered_json::object();
  json["peaks"] = nlohmann::ordered_json::object();
  for (const emit::RegionFacts& region : facts.regions) {
    json["arena_bytes"][region.name] = region.bytes;
    json["peaks"][region.name] = region.peak_node;
    lower_bound += region.lower_bound;
  }
  json["arena_lower_bound"] = lower_bound;
  if (options.constants_in) json["weights_in"] = facts.regions[*options.constants_in].name;
  json["scratch_bytes"] = facts.scratch_bytes;
  json["buffer_bytes"] = facts.buffer_bytes;
  json["integer_buffers"] = nlohmann::ordered_json::object();
  for (const auto& [name, dtype] : facts.counters) json["integer_buffers"][name] = name_of(dtype);
  json["macs"] = facts.macs;
  json["recompute"] = recompute_of(facts);
  if (facts.window_macs) json["window_macs"] = *facts.window_macs;
  if (facts.whole_window) {
    json["whole_window"] = {{"node", facts.whole_window->node},
                            {"source", facts.whole_window->source},
                            {"operators", facts.whole_window->nodes}};
  }
  if (options.stream && options.stream->causal) {
    json["causal_sqnr_db"] = nlohmann::json::array();
    for (const double db : facts.causal_db) {
      json["causal_sqnr_db"].emplace_back(number_or_null(db));
    }
  }
  json["dropped_channels"] = facts.dropped_channels;
  if (facts.rows) json["rows"] = rows_json(*facts.rows, options.curve);
  json["firmware"] = firmware_json(firmware, options.config.target);
  if (measured && firmware.facts) {
    json["measured"] = {{"code", firmware.facts->code_bytes},
                        {"state", firmware.facts->state_bytes},
                        {"stack", firmware.facts->stack_bytes}};
  }
  if (goal) json["optimize"] = goal_json(*goal, name_of(options.config.target.optimize));
  for (const auto& [stage, seconds] : facts.seconds) json["seconds"][stage] = seconds;
  return json;
}

nlohmann::json output_db_json(const compiler::Facts& facts) {
  nlohmann::json outputs = nlohmann::json::array();
  if (!facts.comparison) return outputs;
  for (const double db : facts.comparison->output_db) {
    outputs.emplace_back(number_or_null(db));
  }
  return outputs;
}

std::optional<double> worst_db(const compiler::Facts& facts) {
  if (!facts.comparison || facts.comparison->output_db.empty()) return std::nullopt;
  const double worst = std::ranges::min(facts.comparison->output_db);
  return std::isfinite(worst) ? std::optional(worst) : std::nullopt;
}

std::string compared_text(const compiler::Comparison& comparison, std::size_t steps) {
  const char* const output = comparison.output_db.size() == 1 ? "output" : "worst output";
  if (comparison.samples == 1)
    return fmt::format("dB for the {} (only one sample: of the whole output, not of what varies)", output);
  return fmt::format("dB for the {}, over {} of these {}", output, comparison.samples, steps > 1 ? "steps" : "samples");
}

std::string comparison_text(const compiler::Facts& facts, std::size_t steps) {
  const auto worst = worst_db(facts);
  return worst && facts.comparison ? fmt::format("{:.1f} {}", *worst, compared_text(*facts.comparison, steps))
                                   : "not known";
}

}  // namespace cormorant::driver
