// SPDX-License-Identifier: Apache-2.0
//
// The plan of a layer norm, for every variant's execute().
#pragma once

#include "ops/layer_norm/layer_norm.h"
#include "runtime/kernel.h"

namespace cormorant::ops::layer_norm {

template <class Element>
struct PlanOf {
  static constexpr std::uint32_t kStateBytes = 16;
  const Element* input;
  const std::byte* packed;
  Element* out;
  std::uint32_t outer;

  [[nodiscard]] const Header& header() const { return *reinterpret_cast<const Header*>(packed); }
  [[nodiscard]] const std::int32_t* gammas() const {
    return reinterpret_cast<const std::int32_t*>(packed + sizeof(Header));
  }
};

using Plan = PlanOf<std::int8_t>;
using WordsPlan = PlanOf<std::int16_t>;

Error load(Call& call);
Error load_words(Call& call);

}  // namespace cormorant::ops::layer_norm
