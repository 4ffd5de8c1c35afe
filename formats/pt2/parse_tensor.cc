// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/diagnostic.h"
#include "formats/pt2/parse.h"

namespace cormorant::pt2 {
namespace {

struct ScalarTypeName {
  int code;
  std::string_view name;
  std::optional<DType> dtype;
};

constexpr std::array kScalarTypes = {
    ScalarTypeName{0, "unknown", {}},           ScalarTypeName{1, "uint8", DType::u8},
    ScalarTypeName{2, "int8", DType::i8},       ScalarTypeName{3, "int16", DType::i16},
    ScalarTypeName{4, "int32", DType::i32},     ScalarTypeName{5, "int64", DType::i64},
    ScalarTypeName{6, "float16", DType::f16},   ScalarTypeName{7, "float32", DType::f32},
    ScalarTypeName{8, "float64", DType::f64},   ScalarTypeName{9, "complex32", {}},
    ScalarTypeName{10, "complex64", {}},        ScalarTypeName{11, "complex128", {}},
    ScalarTypeName{12, "bool", DType::boolean}, ScalarTypeName{13, "bfloat16", DType::bf16},
    ScalarTypeName{28, "uint16", {}},           ScalarTypeName{29, "float8_e4m3fn", {}},
    ScalarTypeName{30, "float8_e5m2", {}},      ScalarTypeName{31, "float8_e4m3fnuz", {}},
    ScalarTypeName{32, "float8_e5m2fnuz", {}},  ScalarTypeName{33, "float8_e8m0fnu", {}},
    ScalarTypeName{34, "uint32", {}},           ScalarTypeName{35, "uint64", {}},
};

const ScalarTypeName& find_scalar_type(const Json& json) {
  const std::int64_t code = json.integer();
  const auto* found =
      std::find_if(kScalarTypes.begin(), kScalarTypes.end(), [&](const auto& type) { return type.code == code; });
  if (found == kScalarTypes.end()) json.fail("the code of the element type is unknown");
  return *found;
}

// "Symbol('s31', positive=True, integer=True)" -> "s31"; longer expressions stay as they are.
std::string plain_symbol(const std::string& expression) {
  constexpr std::string_view kOpen = "Symbol('";
  if (!expression.starts_with(kOpen)) return expression;
  const std::size_t end = expression.find('\'', kOpen.size());
  const bool whole = end != std::string::npos && expression.find('(', end) == std::string::npos;
  return whole ? expression.substr(kOpen.size(), end - kOpen.size()) : expression;
}

[[noreturn]] void fail_dynamic(const Extent& extent, std::string_view what, std::string_view name,
                               const ParseContext& context) {
  const std::string symbol = plain_symbol(extent.expression);
  const auto range = context.ranges.find(symbol);
  throw InputError({.problem = fmt::format("the tensor '{}' has a dynamic shape: its {} is {}{}", name, what, symbol,
                                           range == context.ranges.end() ? "" : " (" + range->second.text() + ")"),
                    .advice =
                        "memory is planned at compile time, so sizes must be fixed: give the input's shape with "
                        "--shape NAME=D,D,…, or call torch.export.export without dynamic_shapes; let no size depend "
                        "on data",
                    .file = context.file});
}

std::vector<std::int64_t> parse_extents(const Json& json, std::string_view what, std::string_view name,
                                        const ParseContext& context) {
  constexpr std::size_t kMaxRank = 64;
  std::vector<std::int64_t> values;
  for (const Json& item : json.items()) {
    const Extent extent = parse_extent(item, context);
    if (!extent.expression.empty()) fail_dynamic(extent, fmt::format("{} {}", what, values.size()), name, context);
    if (extent.value < 0) item.fail(fmt::format("a {} is negative", what));
    values.push_back(extent.value);
  }
  if (values.size() > kMaxRank) json.fail(fmt::format("there are more than {} dimensions", kMaxRank));
  return values;
}

// Neither the dense size in bytes nor the position of the last element may overflow, even if a size is zero.
bool overflows(const TensorMeta& meta) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(meta.dtype));
  std::int64_t last = meta.storage_offset;
  for (std::size_t i = 0; i < meta.sizes.size(); ++i) {
    const std::int64_t size = std::max<std::int64_t>(meta.sizes[i], 1);
    std::int64_t step = 0;
    if (__builtin_mul_overflow(bytes, size, &bytes) || __builtin_mul_overflow(size - 1, meta.strides[i], &step) ||
        __builtin_add_overflow(last, step, &last)) {
      return true;
    }
  }
  return last > std::numeric_limits<std::int64_t>::max() / 16;  // so that it can be counted in bytes as well
}

}  // namespace

ScalarType parse_scalar_type(const Json& json) {
  const ScalarTypeName& type = find_scalar_type(json);
  return {.code = type.code, .dtype = type.dtype};
}

Extent parse_extent(const Json& json, const ParseContext& context) {
  const auto [key, value] = json.alternative();
  if (key == "as_int") return {.value = value.integer(), .expression = {}};
  if (key != "as_expr") json.fail("as_int or as_expr was expected");
  Extent extent{.value = 0, .expression = value["expr_str"].string()};
  if (extent.expression.empty()) value.fail("the expression is empty");
  if (const auto known = context.symbols.value(extent.expression)) return {.value = *known, .expression = {}};
  return extent;
}

TensorMeta parse_tensor_meta(const Json& json, std::string_view name, const ParseContext& context) {
  const ScalarTypeName& type = find_scalar_type(json["dtype"]);
  if (!type.dtype) {
    throw InputError({.problem = fmt::format("the tensor '{}' has the unsupported element type {}", name, type.name),
                      .advice = "use bool, integers of at most 64 bits (unsigned: 8) or real floating-point numbers",
                      .file = context.file});
  }
  const std::optional<Json> layout = json.find("layout");
  if (layout && layout->integer() != static_cast<std::int64_t>(Layout::strided)) {
    throw InputError({.problem = fmt::format("the tensor '{}' is sparse or in another special layout", name),
                      .advice = "convert it with to_dense() before the export",
                      .file = context.file});
  }
  TensorMeta meta{.dtype = *type.dtype, .sizes = {}, .strides = {}, .storage_offset = 0};
  meta.sizes = parse_extents(json["sizes"], "size", name, context);
  meta.strides = parse_extents(json["strides"], "stride", name, context);
  const Extent offset = parse_extent(json["storage_offset"], context);
  if (!offset.expression.empty()) fail_dynamic(offset, "offset", name, context);
  meta.storage_offset = offset.value;
  if (meta.strides.size() != meta.sizes.size()) json.fail("sizes and strides do not have the same length");
  if (meta.storage_offset < 0) json.fail("the offset is negative");
  if (overflows(meta)) json.fail("the sizes or strides are larger than any memory");
  return meta;
}

}  // namespace cormorant::pt2
