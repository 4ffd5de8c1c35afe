// SPDX-License-Identifier: Apache-2.0
#include "formats/npy/header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "base/diagnostic.h"

namespace cormorant::npy {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxRank = 64;  // NumPy's own limit

struct TypeName {
  std::string_view name;
  DType dtype;
};
constexpr std::array kTypeNames = {
    TypeName{"b1", DType::boolean}, TypeName{"u1", DType::u8},  TypeName{"i1", DType::i8},
    TypeName{"i2", DType::i16},     TypeName{"i4", DType::i32}, TypeName{"i8", DType::i64},
    TypeName{"f2", DType::f16},     TypeName{"f4", DType::f32}, TypeName{"f8", DType::f64},
};

[[noreturn]] void fail(const std::string& file, std::string problem, std::string advice) {
  throw InputError({.problem = std::move(problem), .advice = std::move(advice), .file = file});
}

// What a header says is quoted in messages; a hostile one must not fill the terminal or send it control characters.
std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text.substr(0, 60)) result += c >= 0x20 && c < 0x7f ? c : '?';
  return result + (text.size() > 60 ? "...'" : "'");
}

// Reads the few Python literals of a header from left to right.
class Literal {
 public:
  Literal(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  [[noreturn]] void malformed(std::string_view expected) const {
    fail(file_, fmt::format("the array's header is malformed: expected {} at {}", expected, quoted(rest())),
         "write the file again with numpy.save");
  }

  bool accept(char c) {
    skip_space();
    if (rest().empty() || rest().front() != c) return false;
    ++position_;
    return true;
  }

  void expect(char c) {
    if (!accept(c)) malformed(fmt::format("'{}'", c));
  }

  [[nodiscard]] char peek() {
    skip_space();
    return rest().empty() ? '\0' : rest().front();
  }

  std::string_view string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed("a string");
    const std::size_t end = text_.find(quote, position_ + 1);
    if (end == std::string_view::npos) malformed("a closing quote");
    const std::string_view value = text_.substr(position_ + 1, end - position_ - 1);
    position_ = end + 1;
    return value;
  }

  bool boolean() {
    skip_space();
    for (const bool value : {true, false}) {
      const std::string_view word = value ? "True" : "False";
      if (rest().starts_with(word)) {
        position_ += word.size();
        return value;
      }
    }
    malformed("True or False");
  }

  // (), (3,), (3, 4)
  std::vector<std::int64_t> shape() {
    std::vector<std::int64_t> sizes;
    expect('(');
    while (!accept(')')) {
      sizes.push_back(size());
      if (sizes.size() > kMaxRank) fail(file_, fmt::format("the array has more than {} dimensions", kMaxRank), "");
      if (!accept(',') && peek() != ')') malformed("',' or ')'");
    }
    return sizes;
  }

  void end() {
    skip_space();
    if (!rest().empty()) malformed("the end");
  }

 private:
  [[nodiscard]] std::string_view rest() const { return text_.substr(position_); }

  void skip_space() {
    while (!rest().empty() && (rest().front() == ' ' || rest().front() == '\n')) ++position_;
  }

  std::int64_t size() {
    skip_space();
    const std::string_view digits = rest();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::invalid_argument) malformed("a size");
    if (error == std::errc::result_out_of_range || value < 0) {
      fail(file_, fmt::format("the array has an impossible size at {}", quoted(digits)), "");
    }
    position_ += static_cast<std::size_t>(end - digits.data());
    if (peek() == 'L') ++position_;  // Python 2 wrote 3L
    return value;
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t position_ = 0;
};

DType parse_descr(Literal& literal, const std::string& file) {
  if (literal.peek() == '[') {
    fail(file, "the array is structured (records with named fields)", "save each field as an array of its own");
  }
  const std::string_view descr = literal.string();
  if (descr.starts_with("|O") || descr == "O") {
    fail(file, "the array contains Python objects, which would need unpickling, and pickles are never loaded",
         "save it with a number type, e.g. numpy.save(file, array.astype('float32'))");
  }
  const std::string_view name = descr.empty() ? descr : descr.substr(1);
  for (const TypeName& known : kTypeNames) {
    if (name != known.name) continue;
    // One byte has no byte order: NumPy writes '|', but any mark is right.
    const std::string_view orders = size_of(known.dtype) == 1 ? "|<>=" : "<=";
    if (orders.find(descr.front()) != std::string_view::npos) return known.dtype;
    if (descr.front() == '>') {
      fail(file, fmt::format("the array is big-endian ({})", quoted(descr)),
           "save it as little-endian: numpy.save(file, array.astype(array.dtype.newbyteorder('<')))");
    }
  }
  fail(file, fmt::format("the array has the unsupported element type {}", quoted(descr)),
       "convert it with array.astype(...) to bool, uint8, int8, int16, int32, int64, float16, float32 or float64");
}

std::size_t data_bytes(const Header& header, const std::string& file) {
  // Zeros count as one here: strides of an empty array must not overflow either.
  std::uint64_t product = size_of(header.dtype);
  bool empty = false;
  for (const std::int64_t size : header.shape) {
    empty |= size == 0;
    const auto factor = static_cast<std::uint64_t>(std::max<std::int64_t>(size, 1));
    if (__builtin_mul_overflow(product, factor, &product) ||
        product > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      fail(file, "the array's dimensions multiply to more bytes than any machine has",
           "the header is damaged or hostile");
    }
  }
  return empty ? 0 : product;
}

}  // namespace

Header parse_header(std::span<const std::byte> bytes, const std::string& file) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic)) {
    fail(file, "this is not a .npy file", "a .npy file is written by numpy.save and begins with \\x93NUMPY");
  }
  const auto byte_at = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(text[i])); };
  if (text.size() < 8) fail(file, "the file ends inside the header", "it is truncated: copy or write it again");
  const std::size_t version = byte_at(6);
  if (version < 1 || version > 3)
    fail(file, fmt::format("unknown .npy version {}", version), "versions 1 to 3 are read");
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  const std::size_t begin = kMagic.size() + 2 + length_bytes;
  if (text.size() < begin) fail(file, "the file ends inside the header", "it is truncated: copy or write it again");
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_bytes; ++i) length |= byte_at(8 + i) << (8 * i);
  if (length > kMostHeaderBytes) {
    fail(file, fmt::format("the header claims to be {} bytes long", length), "write the file again with numpy.save");
  }
  if (text.size() - begin < length) {
    fail(file, "the file ends inside the header", "it is truncated: copy or write it again");
  }

  Literal literal(text.substr(begin, length), file);
  std::optional<DType> dtype;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
  literal.expect('{');
  while (!literal.accept('}')) {
    const std::string_view key = literal.string();
    literal.expect(':');
    if (key == "descr") {
      dtype = parse_descr(literal, file);
    } else if (key == "fortran_order") {
      fortran_order = literal.boolean();
    } else if (key == "shape") {
      shape = literal.shape();
    } else {
      fail(file, fmt::format("the header has the unknown key {}", quoted(key)), "write the file with numpy.save");
    }
    if (!literal.accept(',') && literal.peek() != '}') literal.malformed("',' or '}'");
  }
  literal.end();
  if (!dtype || !fortran_order || !shape) {
    fail(file, "the header lacks descr, fortran_order or shape", "write the file again with numpy.save");
  }
  Header header{.dtype = *dtype, .fortran_order = *fortran_order, .shape = *std::move(shape)};
  header.data_offset = begin + length;
  header.data_bytes = data_bytes(header, file);
  return header;
}

std::string format_header(DType dtype, const std::vector<std::int64_t>& shape, const std::string& file) {
  const auto* known = std::find_if(kTypeNames.begin(), kTypeNames.end(), [&](auto& t) { return t.dtype == dtype; });
  if (known == kTypeNames.end()) {
    fail(file, fmt::format("NumPy has no element type for {}", name_of(dtype)), "convert the array to float32");
  }
  std::string sizes;
  for (const std::int64_t size : shape) sizes += fmt::format("{},{}", size, shape.size() > 1 ? " " : "");
  if (shape.size() > 1) sizes.resize(sizes.size() - 2);
  std::string text = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}",
                                 size_of(dtype) == 1 ? '|' : '<', known->name, sizes);
  const std::size_t prefix = kMagic.size() + 4;  // version 1: two bytes of version, two of length
  text.append(63 - (prefix + text.size()) % 64, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {'\1', '\0', static_cast<char>(text.size() & 0xffU), static_cast<char>(text.size() >> 8U)};
  return header + text;
}

}  // namespace cormorant::npy
