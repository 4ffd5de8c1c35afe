// SPDX-License-Identifier: Apache-2.0
//
// A value or an Error. The errors are public (include/cormorant): grouped by who can fix them, so that a firmware
// engineer who sees only a number knows where to look.
#pragma once

#include <utility>

#include "cormorant/types.hpp"

namespace cormorant {

template <class T>
class [[nodiscard]] Result {
 public:
  constexpr Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor)
  constexpr Result(Error error) : error_(error) {}         // NOLINT(google-explicit-constructor)

  [[nodiscard]] constexpr bool ok() const { return error_ == Error::ok; }
  [[nodiscard]] constexpr Error error() const { return error_; }
  [[nodiscard]] constexpr const T& value() const { return value_; }
  [[nodiscard]] constexpr T& value() { return value_; }

 private:
  T value_{};
  Error error_ = Error::ok;
};

}  // namespace cormorant
