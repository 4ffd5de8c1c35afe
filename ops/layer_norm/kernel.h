// SPDX-License-Identifier: Apache-2.0
//
// The plan of a layer norm, for every variant's execute().
#pragma once

#include "ops/layer_norm/layer_norm.h"
#include "runtime/kernel.h"

namespace cormorant::ops::layer_norm {

struct Plan {
  const std::int8_t* input;
  const std::byte* packed;
  std::int8_t* out;
  std::uint32_t outer;

  [[nodiscard]] const Header& header() const { return *reinterpret_cast<const Header*>(packed); }
  [[nodiscard]] const std::int32_t* gammas() const {
    return reinterpret_cast<const std::int32_t*>(packed + sizeof(Header));
  }
};

Error load(Call& call);

}  // namespace cormorant::ops::layer_norm
