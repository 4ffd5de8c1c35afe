// SPDX-License-Identifier: Apache-2.0
//
// ExecuTorch's compiler can make layout explicit (`--cortex-m-explicit-layout`): images are then logically N, H, W, C,
// row by row, and its spatial operators have twins whose name ends with `_nhwc`. The bytes are those of a channels-last
// tensor whose logical order is N, C, H, W, so a twin is the same kernel: its load() looks at the tensors through
// NhwcTensors, the other's through TensorsAsGiven.
#pragma once

#include "runtime/kernel.h"

namespace cormorant::ops {

struct TensorsAsGiven {
  TensorsAsGiven(const Call& /*call*/, const Tensor& /*input*/, const Tensor& /*out*/) {}
  static constexpr bool fit() { return true; }
};

// Must outlive all use of the tensors' sizes: it lives while the call is loaded.
class NhwcTensors {
 public:
  NhwcTensors(Call& call, Tensor& input, Tensor& out)
      : fit_(look_at(call, input, sizes_[0]) && look_at(call, out, sizes_[1])) {}
  NhwcTensors(const NhwcTensors&) = delete;
  NhwcTensors& operator=(const NhwcTensors&) = delete;
  [[nodiscard]] bool fit() const { return fit_; }

 private:
  static bool look_at(Call& call, Tensor& tensor, std::int32_t (&sizes)[4]) {
    static constexpr std::uint8_t kChannelsLast[4] = {0, 2, 3, 1};
    call.require(tensor.rank == 4 && tensor.is_contiguous(), Error::unsupported);
    if (call.error() != Error::ok) return false;
    const std::int32_t* const given = tensor.sizes;
    sizes[0] = given[0];
    sizes[1] = given[3];
    sizes[2] = given[1];
    sizes[3] = given[2];
    tensor.sizes = sizes;
    tensor.dim_order = kChannelsLast;
    return true;
  }

  std::int32_t sizes_[2][4] = {};
  bool fit_;
};

}  // namespace cormorant::ops
