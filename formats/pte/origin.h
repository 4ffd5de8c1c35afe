// SPDX-License-Identifier: Apache-2.0
//
// What our compiler says of a program: its first value is a string that no instruction refers to, "cormorant CPU ISA".
// Constants that are to be read from RAM are planned tensors with an initial value, all of them in one stretch of one
// memory. If there are any the string ends with " constants", and the second value is a tensor that says where.
#pragma once

#include "formats/pte/reader.h"

namespace cormorant::pte {

inline constexpr std::string_view kOurs = "cormorant ";
inline constexpr std::string_view kForExecuTorch = "cormorant/executorch ";  // not ours to hold to anything
inline constexpr std::string_view kAnyCpu = "any ";
inline constexpr std::string_view kConstantsInRam = " constants";
inline constexpr std::int32_t kCopies = 1;  // the value that says where

// Whether it is there; `origin` is what stands behind "cormorant ".
inline bool find_origin(const MethodView& method, std::string_view& origin) {
  const auto text = method.string(0);
  if (!text.ok() || !text.value().starts_with(kOurs)) return false;
  origin = text.value();
  origin.remove_prefix(kOurs.size());
  return true;
}
inline bool is_for_one_cpu(std::string_view origin) { return !origin.starts_with(kAnyCpu); }
inline bool has_constants_in_ram(std::string_view origin) { return origin.ends_with(kConstantsInRam); }

}  // namespace cormorant::pte
