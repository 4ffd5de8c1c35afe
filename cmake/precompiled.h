// SPDX-License-Identifier: Apache-2.0
// Read once for a whole build instead of once per source: what most sources include, directly or not. Every source
// still includes what it uses, because other builds do without this.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/diagnostic.h"
#include "evaluate/graph.h"
#include "formats/pt2/graph.h"
#include "kernels/loops.h"
#include "ops/host/broadcast.h"
#include "ops/host/build.h"
#include "ops/host/float_form.h"
#include "ops/host/multiplier.h"
#include "ops/host/words.h"
#include "ops/op.h"
#include "runtime/host.h"
#include "runtime/kernel.h"
#include "tests/conformance/conformance.h"

// Instantiated once, here, for all: this header is only ever read to be precompiled.
template class std::vector<bool>;
template class std::vector<std::byte>;
template class std::vector<std::int8_t>;
template class std::vector<std::uint8_t>;
template class std::vector<std::int16_t>;
template class std::vector<std::int32_t>;
template class std::vector<std::uint32_t>;
template class std::vector<std::int64_t>;
template class std::vector<std::size_t>;
template class std::vector<float>;
template class std::vector<double>;
template class std::vector<std::string>;
template class std::vector<std::string_view>;
template class std::vector<std::vector<std::int64_t>>;
template class std::vector<cormorant::ir::NamedArgument>;
template class std::vector<cormorant::ir::Node*>;
template class std::vector<cormorant::ir::TensorType>;
template class std::vector<cormorant::ir::Value*>;
template class std::vector<const cormorant::ir::Value*>;
template class std::vector<cormorant::conformance::Case>;
template class std::vector<cormorant::evaluate::Tensor>;
template class std::vector<cormorant::ops::AtenForm>;
template class std::vector<cormorant::ops::ListedKernel>;
template class std::map<std::string, std::string>;
template class std::unordered_map<const cormorant::ir::Node*, std::size_t>;
template class std::unordered_map<const cormorant::ir::Value*, std::size_t>;

namespace cormorant::precompiled {

// What is copied, moved and compared nearly everywhere.
inline bool use(ir::Argument& to, ir::Argument from) {
  to = from;
  to = std::move(from);
  return to == ir::Argument{};
}
inline bool use(pt2::Argument& to, pt2::Argument from) {
  to = from;
  to = std::move(from);
  return to.is_none();
}

}  // namespace cormorant::precompiled
