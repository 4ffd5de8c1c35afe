// SPDX-License-Identifier: Apache-2.0
#include "quantizer/bits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

#include "base/diagnostic.h"
#include "base/grouped.h"
#include "quantizer/convert.h"
#include "quantizer/copy.h"
#include "quantizer/layers.h"

namespace cormorant::quantizer {
namespace {

using ops::Precision;
using Noise = std::vector<double>;          // over signal, per output of the network
using Assignment = std::vector<Precision>;  // per layer
constexpr double kMayLose = 3;              // dB against 8w8a, unless a goal is given
constexpr double kNotWorth = 0.1;           // dB, for 16 bits
constexpr double kWideIsWorth = 1.1;        // times the flash: what they must save to be worth memory and time
constexpr std::size_t kProbes = 6;          // per direction
constexpr std::string_view kTask = "choosing bits";
const double kInfinity = std::numeric_limits<double>::infinity();

double decibels(const Noise& noise) {
  const double worst = noise.empty() ? 0 : std::ranges::max(noise);
  return worst > 0 ? -10 * std::log10(worst) : kInfinity;
}

void add(Noise& to, const Noise& what, double sign = 1) {
  for (std::size_t k = 0; k < to.size(); ++k) to[k] += sign * what[k];
}

// A quantized node that does more than move data.
struct Layer {
  const ir::Node* node;
  std::vector<std::size_t> readers;  // layers that read its result, directly or after it was moved
  bool may_narrow = false;           // 4 bits of weights
  bool may_widen = false;            // 16 bits of activations
  std::int64_t weights = 0;          // elements
  Noise in_8w8a, in_8w16a, in_4w8a;
};

// Layers that change together, and what that does to the outputs' noise.
struct Step {
  std::vector<std::size_t> layers;
  Noise noise;  // more of it with 4 bits, less of it with 16
  std::int64_t saved = 0;
};

bool is_sharing(const QuantizedNode& node) { return std::holds_alternative<ops::QuantRule::Share>(node.rule.output); }
bool has(const QuantizedNode& node, Precision precision) {
  return std::ranges::find(node.rule.precisions, precision) != node.rule.precisions.end();
}

class Search {
 public:
  Search(const BitsInputs& inputs, const QuantizeOptions& options)
      : in_(inputs),
        options_(options),
        goal_(*options.bits),
        few_(few_of(inputs.samples, goal_.samples)),
        yardstick_(inputs.real, few_, options.threads) {
    remember_observers();
    find_layers();
    const Assignment plain(layers_.size(), Precision::w8a8);
    measure_blame();
    find_steps();
    db_8w8a_ = db(plain);
    flash_8w8a_ = footprint(plain).flash;
  }

  ChosenBits run() {
    const Assignment best = goal_.flash ? within_flash() : least_flash();
    tell(options_.progress, kTask, most_measured(), most_measured());
    ChosenBits chosen = quantized(best);
    BitsReport& report = chosen.report;
    report.goal = goal_text();
    report.db = db(best);
    report.db_8w8a = db_8w8a_;
    report.flash = footprint(best).flash;
    report.flash_8w8a = flash_8w8a_;
    report.samples = few_.count;
    report.tried = measured_.size();
    for (std::size_t k = 0; k < layers_.size(); ++k) describe(layers_[k], best[k], report);
    return chosen;
  }

 private:
  // ---- what there is to choose --------------------------------------------------------------------------------------

  void remember_observers() {
    const Annotation plain = annotate(in_.graph, with(Precision::w8a8));
    for (const auto& [value, group] : plain.group_of) {
      if (const auto observer = parse_observer(in_.parameters.chosen_by[group])) observers_[value] = *observer;
    }
  }

  [[nodiscard]] QuantizeOptions with(Precision scheme) const {
    QuantizeOptions options = options_;
    options.bits.reset();
    options.precisions.clear();
    options.scheme = scheme;
    return options;
  }

  void find_layers() {
    const Annotation annotation = annotate(in_.graph, with(Precision::w8a8));
    // What a tensor is, or was before it was only moved: the result of layers, or an input.
    struct Origin {
      std::vector<std::size_t> layers;
      std::vector<std::string> sources;
    };
    std::unordered_map<const ir::Value*, Origin> origins;
    for (const ir::Node& node : in_.graph.nodes()) {
      const auto found = annotation.quantized.find(&node);
      if (found == annotation.quantized.end()) continue;
      Origin all;
      for (const ir::Value* input : found->second.activations) {
        const auto known = origins.find(input);
        if (known == origins.end()) {
          if (input->kind != ir::ValueKind::constant) all.sources.push_back(input->name);
          continue;
        }
        const auto& [layers, sources] = known->second;
        all.layers.insert(all.layers.end(), layers.begin(), layers.end());
        all.sources.insert(all.sources.end(), sources.begin(), sources.end());
      }
      if (is_sharing(found->second)) {
        for (const std::string& source : all.sources) movers_.emplace_back(node.name, source);
        for (const ir::Value* result : node.results) origins[result] = all;
        continue;
      }
      for (const std::size_t maker : all.layers) layers_[maker].readers.push_back(layers_.size());
      for (const std::string& source : all.sources) readers_of_sources_[source].push_back(layers_.size());
      for (const ir::Value* result : node.results) origins[result] = {{layers_.size()}, {}};
      layers_.push_back(layer_of(node, found->second));
    }
  }

  [[nodiscard]] Layer layer_of(const ir::Node& node, const QuantizedNode& how) const {
    Layer layer{.node = &node, .readers = {}, .in_8w8a = {}, .in_8w16a = {}, .in_4w8a = {}};
    const bool is_free = !settings_for(options_.layers, node.location.module).precision.has_value();
    for (const ops::QuantRule::Weight& weight : how.rule.weights) {
      if (!weight.is_bias && node.has(weight.argument)) layer.weights += node.tensor(weight.argument)->type.elements();
    }
    // Of a depthwise layer most bytes are not weights, and its kernels need room for all of them unpacked.
    const ops::Operator* op = ops::find(node);
    const bool is_depthwise = op != nullptr && op->name == "depthwise_conv2d";
    layer.may_narrow = is_free && has(how, Precision::w4a8) && layer.weights > 0 && !is_depthwise;
    layer.may_widen = is_free && has(how, Precision::w8a16) && goal_.may_widen && (goal_.min_db || goal_.flash);
    return layer;
  }

  void measure_blame() {
    const auto measure = [&](Precision precision) {
      Assignment all(layers_.size(), Precision::w8a8);
      for (std::size_t k = 0; k < all.size(); ++k) {
        const bool can = precision == Precision::w4a8 ? layers_[k].may_narrow : layers_[k].may_widen;
        if (can) all[k] = precision;
      }
      QuantizeOptions options = options_for(all);
      options.refine_alone = true;
      options.progress = {};
      const Trial trial = quantize_with(in_.real, parameters_for(options), in_.samples, options);
      return blame(trial.graph, in_.real, in_.samples, options_.threads, options_.progress);
    };
    const Noise none(in_.real.outputs().size(), 0.0);
    const auto of = [&](const Blame& all, const std::string& value) {
      const auto at = all.find(value);
      return at == all.end() ? none : at->second;
    };
    const Blame plain = measure(Precision::w8a8);
    const auto can = [&](auto which) { return std::ranges::any_of(layers_, which); };
    const Blame narrow = can(&Layer::may_narrow) ? measure(Precision::w4a8) : plain;
    const Blame wide = can(&Layer::may_widen) ? measure(Precision::w8a16) : plain;
    total_ = none;
    for (Layer& layer : layers_) {
      const std::string& name = layer.node->result()->name;
      layer.in_8w8a = of(plain, name);
      layer.in_4w8a = of(narrow, name);
      layer.in_8w16a = layer.may_widen ? of(wide, name) : layer.in_8w8a;
      add(total_, layer.in_8w8a);
    }
    for (const auto& [source, readers] : readers_of_sources_) {
      Noise noise = of(plain, source);
      add(total_, noise);
      add(noise, of(wide, source), -1);
      by_source_[source] = std::move(noise);
    }
  }

  // Over all outputs, each relative to its noise in 8w8a.
  [[nodiscard]] double weight_of(const Noise& noise) const {
    double sum = 0;
    for (std::size_t k = 0; k < noise.size(); ++k) sum += total_[k] > 0 ? noise[k] / total_[k] : 0;
    return sum;
  }

  void find_steps() {
    std::map<const ir::Value*, std::size_t> of_weights;  // layers with the same weights change together
    for (std::size_t k = 0; k < layers_.size(); ++k) {
      const Layer& layer = layers_[k];
      if (!layer.may_narrow) continue;
      const ir::Value* weight = layer.node->has("weight") ? layer.node->tensor("weight") : layer.node->result();
      const auto [at, is_new] = of_weights.try_emplace(weight, narrowing_.size());
      if (is_new) narrowing_.push_back({{}, Noise(total_.size(), 0.0), layer.weights / 2});
      Step& step = narrowing_[at->second];
      step.layers.push_back(k);
      add(step.noise, layer.in_4w8a);
      add(step.noise, layer.in_8w8a, -1);
    }
    std::ranges::sort(narrowing_, {}, [&](const Step& step) {
      const auto saved = static_cast<double>(std::max<std::int64_t>(step.saved, 1));
      return std::pair(weight_of(step.noise) / saved, step.layers.front());
    });
    // A tensor has 16 bits if it is computed and read with them.
    const auto add_widening = [&](std::vector<std::size_t> layers, Noise noise) {
      std::erase_if(layers, [&](std::size_t k) { return !layers_[k].may_widen; });
      if (!layers.empty()) widening_.push_back({std::move(layers), std::move(noise)});
    };
    for (const auto& [source, readers] : readers_of_sources_) add_widening(readers, by_source_.at(source));
    for (std::size_t k = 0; k < layers_.size(); ++k) {
      if (!layers_[k].may_widen) continue;
      std::vector<std::size_t> both = layers_[k].readers;
      both.push_back(k);
      Noise less = layers_[k].in_8w8a;
      add(less, layers_[k].in_8w16a, -1);
      add_widening(std::move(both), std::move(less));
    }
    std::ranges::sort(widening_, {}, [&](const Step& step) { return std::pair(-weight_of(step.noise), step.layers); });
  }

  // ---- assignments --------------------------------------------------------------------------------------------------

  // The first so many steps of either kind; four bits take precedence.
  [[nodiscard]] Assignment mixed(std::size_t narrowed, std::size_t widened) const {
    Assignment all(layers_.size(), Precision::w8a8);
    for (std::size_t k = 0; k < widened; ++k) {
      for (const std::size_t layer : widening_[k].layers) all[layer] = Precision::w8a16;
    }
    for (std::size_t k = 0; k < narrowed; ++k) {
      for (const std::size_t layer : narrowing_[k].layers) all[layer] = Precision::w4a8;
    }
    return all;
  }

  // As with --scheme=4w8a: first and last layers in 8 bits.
  [[nodiscard]] Assignment usual() const {
    const Annotation annotation = annotate(in_.graph, with(Precision::w4a8));
    Assignment all(layers_.size(), Precision::w8a8);
    for (std::size_t k = 0; k < all.size(); ++k) {
      const bool is_narrow = annotation.quantized.at(layers_[k].node).precision == Precision::w4a8;
      if (layers_[k].may_narrow && is_narrow) all[k] = Precision::w4a8;
    }
    return all;
  }

  [[nodiscard]] double predicted_db(const Assignment& all) const {
    Noise noise = total_;
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (all[k] != Precision::w4a8) continue;
      add(noise, layers_[k].in_4w8a);
      add(noise, layers_[k].in_8w8a, -1);
    }
    for (const Step& step : widening_) {
      const bool is_wide = std::ranges::all_of(step.layers, [&](std::size_t k) { return all[k] == Precision::w8a16; });
      if (is_wide) add(noise, step.noise, -1);
    }
    for (double& part : noise) part = std::max(part, 1e-12);
    return decibels(noise);
  }

  [[nodiscard]] double predicted_bytes(const Assignment& all) const {
    double bytes = 0;
    for (const Step& step : narrowing_) {
      if (all[step.layers.front()] == Precision::w4a8) bytes -= static_cast<double>(step.saved);
    }
    return bytes;
  }

  [[nodiscard]] QuantizeOptions options_for(const Assignment& all) const {
    QuantizeOptions options = with(Precision::w8a8);
    for (std::size_t k = 0; k < all.size(); ++k) options.precisions[layers_[k].node->name] = all[k];
    for (const auto& [node, source] : movers_) {
      const auto readers = readers_of_sources_.find(source);
      const bool is_wide = readers != readers_of_sources_.end() &&
                           std::ranges::any_of(readers->second, [&](auto k) { return all[k] == Precision::w8a16; });
      if (is_wide) options.precisions[node] = Precision::w8a16;
    }
    return options;
  }

  [[nodiscard]] Parameters parameters_for(const QuantizeOptions& options) const {
    return parameters_by(observers_, in_.graph, annotate(in_.graph, options), in_.observations, options);
  }

  [[nodiscard]] ChosenBits quantized(const Assignment& all) const {
    QuantizeOptions options = options_for(all);
    options.progress = {};
    Parameters parameters = parameters_for(options);
    Trial trial = quantize_with(in_.real, parameters, in_.samples, options);
    return {std::move(options), std::move(parameters), std::move(trial), {}};
  }

  double db(const Assignment& all) {
    const auto [at, is_new] = measured_.try_emplace(all, 0.0);
    if (is_new) {
      tell(options_.progress, kTask, std::min(measured_.size(), most_measured()) - 1, most_measured());
      const std::vector<double> outputs = yardstick_.output_db(quantized(all).trial.graph);
      at->second = outputs.empty() ? kInfinity : std::ranges::min(outputs);
    }
    return at->second;
  }

  // Which weights round up and which down does not change the size.
  Footprint footprint(const Assignment& all) {
    const auto [at, is_new] = footprints_.try_emplace(all, Footprint{});
    if (is_new) {
      const QuantizeOptions options = options_for(all);
      ir::Graph graph = copy_of(in_.real);
      convert(graph, annotate(graph, options), parameters_for(options).params, options);
      at->second = goal_.footprint(std::move(graph));
    }
    return at->second;
  }

  // Networks that the search quantizes and measures, about; often it needs fewer.
  [[nodiscard]] std::size_t most_measured() const {
    constexpr std::size_t kOthers = 4;
    return kOthers + (narrowing_.empty() ? 0 : kProbes) + (widening_.empty() ? 0 : 2 * kProbes);
  }

  bool fits_ram(const Assignment& all) { return !goal_.ram || footprint(all).ram <= *goal_.ram; }

  // ---- how far to go ------------------------------------------------------------------------------------------------

  // The most steps with which the SQNR is at least `wanted`; with none it is. It falls from step to step about as
  // predicted, and the predictions are off by nearly the same everywhere.
  template <class Make>
  std::size_t most_steps(std::size_t steps, const Make& make, double wanted) {
    std::size_t good = 0, bad = steps + 1;
    double off = db(make(0)) - predicted_db(make(0));
    for (std::size_t probe = 0; bad - good > 1 && probe < kProbes; ++probe) {
      if (!std::isfinite(off)) off = 0;
      std::size_t next = good;
      while (next + 1 < bad && predicted_db(make(next + 1)) + off >= wanted) ++next;
      next = std::max(next, good + 1);
      const double measured = db(make(next));
      (measured >= wanted ? good : bad) = next;
      off = measured - predicted_db(make(next));
    }
    return good;
  }

  // These layers in 4 bits, and so many steps of 16 bits elsewhere.
  [[nodiscard]] Assignment with_wide(const Assignment& narrow, std::size_t widened) const {
    Assignment all = mixed(0, widened);
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (narrow[k] == Precision::w4a8) all[k] = Precision::w4a8;
    }
    return all;
  }

  // As few 16-bit tensors as `wanted` allows, with these layers in 4 bits; none if all of them would not reach it.
  Assignment least_wide(const Assignment& narrow, double wanted) {
    const std::size_t all = widening_.size();
    const auto narrower = [&](std::size_t k) { return with_wide(narrow, all - k); };
    if (db(narrower(0)) < wanted) return narrow;
    return narrower(most_steps(all, narrower, wanted));
  }

  // Steps that were skipped although they would fit: those after the first that does not.
  Assignment with_later_steps(Assignment all, std::size_t from, double wanted) {
    const double off = db(all) - predicted_db(all);
    Assignment more = all;
    for (std::size_t k = from; k < narrowing_.size(); ++k) {
      Assignment next = more;
      for (const std::size_t layer : narrowing_[k].layers) next[layer] = Precision::w4a8;
      if (predicted_db(next) + off >= wanted) more = std::move(next);
    }
    return more != all && db(more) >= wanted ? more : all;
  }

  // The least flash with at least the goal's SQNR.
  Assignment least_flash() {
    const double wanted = goal_.min_db.value_or(goal_.db_8w8a.value_or(db_8w8a_) - kMayLose);
    const std::size_t all_wide = widening_.size();
    std::vector<Assignment> candidates;
    if (db_8w8a_ >= wanted) {
      const auto narrower = [&](std::size_t k) { return mixed(k, 0); };
      const std::size_t steps = most_steps(narrowing_.size(), narrower, wanted);
      candidates.push_back(with_later_steps(narrower(steps), steps + 1, wanted));
      candidates.push_back(narrower(0));
      if (db(usual()) >= wanted) candidates.push_back(usual());
      if (steps == narrowing_.size()) return smallest(candidates);
    }
    const Assignment widest = mixed(0, all_wide);
    if (all_wide != 0 && fits_ram(widest) && db(widest) >= wanted) {
      const std::size_t steps =
          most_steps(narrowing_.size(), [&](std::size_t k) { return mixed(k, all_wide); }, wanted);
      candidates.push_back(least_wide(mixed(steps, 0), wanted));
      candidates.push_back(widest);
      if (db_8w8a_ < wanted) candidates.push_back(least_wide(mixed(0, 0), wanted));
    }
    if (candidates.empty()) refuse_db(wanted);
    return smallest(candidates);
  }

  Assignment smallest(const std::vector<Assignment>& candidates) {
    return *std::ranges::min_element(candidates, {}, [&](const Assignment& a) {
      const bool is_wide = std::ranges::find(a, Precision::w8a16) != a.end();
      return static_cast<double>(footprint(a).flash) * (is_wide ? kWideIsWorth : 1);
    });
  }

  // The steps that save so many bytes for the least noise.
  [[nodiscard]] Assignment saving(double bytes) const {
    constexpr std::size_t kParts = 2000;
    double total = 0;
    for (const Step& step : narrowing_) total += static_cast<double>(step.saved);
    const double part = std::max(total / kParts, 1e-9);
    const auto wanted = static_cast<std::size_t>(std::clamp(std::ceil(bytes / part), 0.0, total / part));
    std::vector<double> least(wanted + 1, kInfinity);  // noise, by the parts saved
    std::vector<std::vector<bool>> takes(narrowing_.size(), std::vector<bool>(wanted + 1, false));
    least[0] = 0;
    const auto without = [&](std::size_t parts, std::size_t step) {
      const auto saved = static_cast<std::size_t>(static_cast<double>(narrowing_[step].saved) / part);
      return parts > saved ? parts - saved : 0;
    };
    for (std::size_t k = 0; k < narrowing_.size(); ++k) {
      const double noise = std::max(weight_of(narrowing_[k].noise), 0.0);
      for (std::size_t parts = wanted; parts > 0; --parts) {
        const double with = least[without(parts, k)] + noise;
        if (with >= least[parts]) continue;
        least[parts] = with;
        takes[k][parts] = true;
      }
    }
    Assignment all = mixed(0, 0);
    std::size_t parts = wanted;
    for (std::size_t k = narrowing_.size(); k-- > 0;) {
      if (!takes[k][parts]) continue;
      for (const std::size_t layer : narrowing_[k].layers) all[layer] = Precision::w4a8;
      parts = without(parts, k);
    }
    return all;
  }

  // 4 bits where they cost the least SQNR, as many as needed to fit; this many steps of 16 bits elsewhere. The smallest
  // assignment if nothing fits.
  Assignment fitting(std::size_t wide) {
    constexpr int kTries = 4;
    const Assignment all = mixed(narrowing_.size(), wide);
    // The savings without the code of the kernels for 4 bits.
    double bytes = static_cast<double>(footprint(all).flash) - static_cast<double>(*goal_.flash) - predicted_bytes(all);
    for (int k = 0; k < kTries; ++k) {
      const Assignment next = with_wide(saving(bytes), wide);
      const std::uint64_t flash = footprint(next).flash;
      if (flash <= *goal_.flash) return with_others_back(next);
      bytes += static_cast<double>(flash - *goal_.flash);
    }
    return with_others_back(all);
  }

  // The best SQNR within the goal's flash.
  Assignment within_flash() {
    std::vector<Assignment> candidates;
    for (const std::size_t wide : {std::size_t{0}, widening_.size()}) {
      const Assignment all = mixed(narrowing_.size(), wide);
      if (footprint(all).flash > *goal_.flash || (wide != 0 && !fits_ram(all))) continue;
      candidates.push_back(fitting(wide));
      if (wide == 0) continue;
      // 16 bits where they are worth it, if there is room for both kinds of kernels.
      const Assignment fewer = least_wide(candidates.back(), db(candidates.back()) - kNotWorth);
      if (footprint(fewer).flash <= *goal_.flash) candidates.back() = fewer;
    }
    if (footprint(usual()).flash <= *goal_.flash) candidates.push_back(with_others_back(usual()));
    // Without kernels for 4 bits.
    for (const Assignment& even : {mixed(0, 0), mixed(0, widening_.size())}) {
      if (footprint(even).flash <= *goal_.flash && (even == mixed(0, 0) || fits_ram(even))) candidates.push_back(even);
    }
    if (candidates.empty()) refuse_flash();
    Assignment best = *std::ranges::max_element(candidates, {}, [&](const Assignment& a) { return db(a); });
    if (goal_.min_db && db(best) < *goal_.min_db) refuse_both(db(best));
    return best;
  }

  // The remaining flash goes to those 4-bit layers that cost the most SQNR and fit in 8 bits.
  Assignment with_others_back(const Assignment& all) {
    double room = static_cast<double>(*goal_.flash) - static_cast<double>(footprint(all).flash);
    std::vector<const Step*> steps;
    for (const Step& step : narrowing_) {
      if (all[step.layers.front()] == Precision::w4a8) steps.push_back(&step);
    }
    std::ranges::sort(steps, {},
                      [&](const Step* step) { return std::pair(-weight_of(step->noise), step->layers.front()); });
    Assignment more = all;
    for (const Step* step : steps) {
      if (static_cast<double>(step->saved) > room) continue;
      room -= static_cast<double>(step->saved);
      for (const std::size_t layer : step->layers) more[layer] = Precision::w8a8;
    }
    return more != all && footprint(more).flash <= *goal_.flash && db(more) > db(all) ? more : all;
  }

  // ---- messages
  // ------------------------------------------------------------------------------------------------------

  [[nodiscard]] std::string goal_text() const {
    if (goal_.flash && goal_.min_db) {
      return fmt::format("the best SQNR within {} bytes of flash, at least {:.1f} dB", grouped(*goal_.flash),
                         *goal_.min_db);
    }
    if (goal_.flash) return fmt::format("the best SQNR within {} bytes of flash", grouped(*goal_.flash));
    if (goal_.min_db) return fmt::format("the least flash for {:.1f} dB", *goal_.min_db);
    return fmt::format(
        "the least flash for {:.1f} dB, {:.0f} less than 8w8a, with 8-bit activations; change this with --min-sqnr and "
        "--budget=flash=",
        goal_.db_8w8a.value_or(db_8w8a_) - kMayLose, kMayLose);
  }

  [[noreturn]] void refuse_db(double wanted) {
    const Assignment widest = mixed(0, widening_.size());
    const bool is_wide = !widening_.empty() && fits_ram(widest);
    const double most = is_wide ? std::max(db(widest), db_8w8a_) : db_8w8a_;
    std::size_t worst = 0;
    for (std::size_t k = 1; k < layers_.size(); ++k) {
      if (weight_of(layers_[k].in_8w16a) > weight_of(layers_[worst].in_8w16a)) worst = k;
    }
    const std::string layer = layers_.empty() ? "" : layers_[worst].node->location.module;
    throw InputError(
        {.problem = fmt::format(
             "--min-sqnr={:g} cannot be met: the best is {:.1f} dB, {}", wanted, most,
             is_wide && db(widest) > db_8w8a_ ? "with 16-bit activations wherever operators support them" : "in 8w8a"),
         .advice = fmt::format("ask for --min-sqnr={:.1f}{}", std::floor(most * 10) / 10,
                               layer.empty() ? "" : ", or keep the worst layers in float: --float-layers " + layer)});
  }

  [[noreturn]] void refuse_flash() {
    const Assignment least = mixed(narrowing_.size(), 0);
    const Assignment smaller = footprint(least).flash < flash_8w8a_ ? least : mixed(0, 0);
    throw InputError(
        {.problem =
             fmt::format("--scheme=auto cannot meet {} bytes of flash: the smallest program has {}, at {:.1f} dB",
                         grouped(*goal_.flash), grouped(footprint(smaller).flash), db(smaller)),
         .advice = fmt::format("raise it to --budget=flash={}, or make the model smaller", footprint(smaller).flash)});
  }

  [[noreturn]] void refuse_both(double best) {
    const std::uint64_t flash = footprint(least_flash()).flash;  // says what the most is, if there is none
    throw InputError({.problem = fmt::format("--min-sqnr={:g} needs {} bytes of flash; {} bytes allow {:.1f} dB",
                                             *goal_.min_db, grouped(flash), grouped(*goal_.flash), best),
                      .advice = fmt::format("raise it to --budget=flash={}, or ask for --min-sqnr={:.1f}", flash,
                                            std::floor(best * 10) / 10)});
  }

  static void describe(const Layer& layer, Precision precision, BitsReport& report) {
    if (!layer.may_narrow && !layer.may_widen) return;
    const bool is_narrow = precision == Precision::w4a8;
    const Noise& noise = is_narrow ? layer.in_4w8a : precision == Precision::w8a16 ? layer.in_8w16a : layer.in_8w8a;
    report.layers.push_back({layer.node->name, layer.node->op, layer.node->location.text(),
                             std::string(ops::name_of(precision)), decibels(noise), decibels(layer.in_8w8a),
                             is_narrow ? (layer.weights + 1) / 2 : layer.weights, layer.weights});
  }

  const BitsInputs& in_;
  const QuantizeOptions& options_;
  const BitsGoal& goal_;
  const Samples few_;
  const Yardstick yardstick_;
  Observers observers_;
  std::vector<Layer> layers_;
  // Inputs by name: which layers read them, and the nodes that only move them.
  std::map<std::string, std::vector<std::size_t>> readers_of_sources_;
  std::vector<std::pair<std::string, std::string>> movers_;  // the node, the source
  std::map<std::string, Noise> by_source_;                   // what 16 bits for it take away
  Noise total_;                                              // of 8w8a, by the sum of all blame
  std::vector<Step> narrowing_, widening_;                   // the best first
  double db_8w8a_ = 0;
  std::uint64_t flash_8w8a_ = 0;
  std::map<Assignment, double> measured_;
  std::map<Assignment, Footprint> footprints_;
};

}  // namespace

ChosenBits choose_bits(const BitsInputs& inputs, const QuantizeOptions& options) {
  return Search(inputs, options).run();
}

bool improves(BitsReport& report, const ir::Graph& quantized, const ir::Graph& real, const Samples& samples,
              const QuantizeOptions& options) {
  const BitsGoal& goal = *options.bits;
  const std::vector<double> outputs =
      Yardstick(real, few_of(samples, goal.samples), options.threads).output_db(quantized);
  const double db = outputs.empty() ? kInfinity : std::ranges::min(outputs);
  const Footprint footprint = goal.footprint(copy_of(quantized));
  const bool fits = footprint.flash <= goal.flash.value_or(report.flash) && (!goal.ram || footprint.ram <= *goal.ram);
  ++report.tried;
  if (!fits || db <= report.db) return false;
  report.db = db;
  report.flash = footprint.flash;
  return true;
}

}  // namespace cormorant::quantizer
