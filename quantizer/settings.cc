// SPDX-License-Identifier: Apache-2.0
#include "quantizer/settings.h"

namespace cormorant::quantizer {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (std::size_t skipped = 0; skipped <= text.size(); ++skipped) {
      if (matches(pattern.substr(1), text.substr(skipped))) return true;
    }
    return false;
  }
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) && matches(pattern.substr(1), text.substr(1));
}

template <class T>
void take(std::optional<T>& setting, const std::optional<T>& later) {
  if (later) setting = later;
}

}  // namespace

bool LayerSettings::covers(std::string_view module) const {
  while (!module.empty()) {
    if (matches(path, module)) return true;
    const std::size_t dot = module.rfind('.');
    module = module.substr(0, dot == std::string_view::npos ? 0 : dot);
  }
  return false;
}

LayerSettings settings_for(const std::vector<LayerSettings>& all, std::string_view module) {
  LayerSettings result;
  for (const LayerSettings& settings : all) {
    if (!settings.covers(module)) continue;
    if (settings.keep_float || settings.precision) {
      result.path = settings.path;
      result.where = settings.where;
    }
    take(result.keep_float, settings.keep_float);
    take(result.precision, settings.precision);
    take(result.observer, settings.observer);
    take(result.range, settings.range);
    take(result.equalize, settings.equalize);
    take(result.round_weights, settings.round_weights);
    take(result.correct_bias, settings.correct_bias);
    if (settings.range) result.observer.reset();  // of range and observer, the later counts, too
    if (settings.observer && !settings.range) result.range.reset();
  }
  return result;
}

}  // namespace cormorant::quantizer
