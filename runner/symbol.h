// SPDX-License-Identifier: Apache-2.0
//
// From an operator's name in a program to the symbol of its kernel in the archives: the rule of CORMORANT_KERNEL
// (runtime/kernel.h). "::" and "." become "_"; an operator that is not ours does not say the instruction set in its
// name, so the symbol does:
//
//   cormorant::conv2d.mve_1x1           cormorant_conv2d_mve_1x1
//   cortex_m::quantized_add.out, mve    cortex_m_quantized_add_out_mve
#pragma once

#include <string>
#include <string_view>

#include "target/target.h"

namespace cormorant {

// The name ends up in a file that is assembled: an untrusted program must not be able to write arbitrary text there.
constexpr bool is_operator_name(std::string_view name) {
  if (name.empty()) return false;
  for (const char c : name) {
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!is_word && c != ':' && c != '.') return false;
  }
  return true;
}

inline std::string kernel_symbol(std::string_view operator_name, Isa isa) {
  std::string symbol;
  for (std::size_t i = 0; i < operator_name.size(); ++i) {
    if (operator_name.substr(i, 2) == "::") {
      symbol += '_';
      ++i;
    } else {
      symbol += operator_name[i] == '.' ? '_' : operator_name[i];
    }
  }
  if (!operator_name.starts_with("cormorant::")) symbol.append("_").append(name_of(isa));
  return symbol;
}

}  // namespace cormorant
