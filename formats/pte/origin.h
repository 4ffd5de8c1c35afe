// SPDX-License-Identifier: Apache-2.0
//
// What our compiler records about a program, beyond the format's own fields: its first value is a string that no
// instruction refers to,
//
//   cormorant CPU ISA [rows=224] [memory=dtcm,sram] [named] [quantized] [constants]
//
// and each of the last three words announces values that follow the string, in this order:
//
//   constants  a tensor: where the constants are that are read from RAM. They are planned tensors with an initial
//              value, all of them in one stretch of one memory
//   quantized  a list of doubles: scale and zero point of each input, then of each output; scale 0 where it has none
//   named      a string for each input, then for each output: an argument's name, a key of the returned dictionary
//
// With rows= the program's input is one row of an image with that many rows (cormorant_push_rows).
//
// Other compilers' programs have none of it. To ExecuTorch these are values like any other.
#pragma once

#include <cstring>
#include <string_view>

#include "formats/pte/reader.h"

namespace cormorant::pte {

inline constexpr std::string_view kOurs = "cormorant ";
inline constexpr std::string_view kForExecuTorch = "cormorant/executorch ";  // not from our compiler
inline constexpr std::string_view kAnyCpu = "any ";
inline constexpr std::string_view kRows = " rows=";
inline constexpr std::string_view kMemories = " memory=";  // names of the regions, in the order of memory ids
inline constexpr std::string_view kNamed = " named";
inline constexpr std::string_view kQuantized = " quantized";
inline constexpr std::string_view kConstantsInRam = " constants";
inline constexpr std::int32_t kCopies = 1;  // the value that says where constants are in RAM

// The library's versions use substr, which throws: link-time optimization would pull in exceptions for it.
inline bool begins_with(std::string_view text, std::string_view head) {
  return text.size() >= head.size() && std::memcmp(text.data(), head.data(), head.size()) == 0;
}
inline bool ends_with(std::string_view text, std::string_view tail) {
  return text.size() >= tail.size() &&
         std::memcmp(text.data() + (text.size() - tail.size()), tail.data(), tail.size()) == 0;
}

// Whether it is there; `origin` is the text after "cormorant ".
inline bool find_origin(const MethodView& method, std::string_view& origin) {
  const auto text = method.string(0);
  if (!text.ok() || !begins_with(text.value(), kOurs)) return false;
  origin = text.value();
  origin.remove_prefix(kOurs.size());
  return true;
}
inline bool is_for_one_cpu(std::string_view origin) { return !begins_with(origin, kAnyCpu); }
inline bool has_constants_in_ram(std::string_view origin) { return ends_with(origin, kConstantsInRam); }

// Which values follow the string, 0 for those that do not. Inputs and outputs are numbered together, inputs first.
struct Notes {
  std::int32_t quantization = 0;
  std::int32_t names = 0;          // of the first
  std::string_view memories = {};  // "dtcm,sram"
  std::uint32_t rows = 0;          // of the whole image, if the program's input is one row
};
// The number that a text begins with; 0 if there is none, or none that a program can have.
inline std::uint32_t read_count(std::string_view text) {
  constexpr std::uint32_t kMost = 0xffff;
  std::uint32_t count = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') break;
    count = 10 * count + static_cast<std::uint32_t>(c - '0');
    if (count > kMost) return 0;
  }
  return count;
}
inline Notes find_notes(const MethodView& method) {
  const auto text = method.string(0);
  if (!text.ok() || !(begins_with(text.value(), kOurs) || begins_with(text.value(), kForExecuTorch))) return {};
  std::string_view rest = text.value();
  const auto take = [&](std::string_view word) {
    if (!ends_with(rest, word)) return false;
    rest.remove_suffix(word.size());
    return true;
  };
  std::int32_t next = 1;
  Notes notes;
  if (take(kConstantsInRam)) ++next;
  if (take(kQuantized)) notes.quantization = next++;
  if (take(kNamed)) notes.names = next;
  if (const std::size_t rows = rest.find(kRows); rows != std::string_view::npos) {
    std::string_view number = rest;
    number.remove_prefix(rows + kRows.size());
    notes.rows = read_count(number);
  }
  const std::size_t memories = rest.find(kMemories);
  if (memories != std::string_view::npos) {
    rest.remove_prefix(memories + kMemories.size());  // not substr, which would bring exceptions
    notes.memories = rest;
  }
  return notes;
}

// Scale 0 if the program does not say. bad_value for numbers that no tensor can have.
struct ScaleAndZeroPoint {
  double scale = 0;
  std::int32_t zero_point = 0;
};
inline Result<ScaleAndZeroPoint> read_quantization(const MethodView& method, const Notes& notes, std::size_t number) {
  if (notes.quantization == 0) return ScaleAndZeroPoint{};
  const auto list = method.double_list(notes.quantization);
  if (!list.ok()) return list.error();
  if (list.value().size() / 2 <= number) return Error::bad_value;
  const double scale = list.value()[2 * number], zero_point = list.value()[2 * number + 1];
  // Written so that NaN fails too.
  // NOLINTNEXTLINE(readability-simplify-boolean-expr)
  if (!(scale >= 0 && scale <= 3e38 && zero_point >= -65536 && zero_point <= 65536)) return Error::bad_value;
  return ScaleAndZeroPoint{scale, static_cast<std::int32_t>(zero_point)};
}

inline Result<std::string_view> read_name(const MethodView& method, const Notes& notes, std::size_t number) {
  if (notes.names == 0) return std::string_view{};
  return method.string(notes.names + static_cast<std::int32_t>(number));
}

}  // namespace cormorant::pte
