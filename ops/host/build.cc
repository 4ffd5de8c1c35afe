// SPDX-License-Identifier: Apache-2.0
#include "ops/host/build.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/element.h"
#include "ops/host/advice.h"
#include "ops/host/broadcast.h"
#include "ops/nodes.h"

namespace cormorant::ops {

DType promoted(DType a, DType b) {
  if (a == b) return a;
  if (is_float(a) || is_float(b)) return DType::f32;
  const auto rank = [](DType type) {
    switch (type) {
      case DType::boolean:
        return 0;
      case DType::u8:
      case DType::i8:
        return 1;
      case DType::i16:
        return 2;
      case DType::i32:
        return 3;
      default:
        return 4;
    }
  };
  if (rank(a) == 1 && rank(b) == 1) return DType::i16;
  return rank(a) < rank(b) ? b : a;
}

std::int64_t count_of(const ir::Shape& shape) { return ir::float_type(shape).elements(); }

float sampling_step(const Build& b, std::size_t i, std::int64_t size, std::int64_t results) {
  double factor = 0;
  if (b.given("scale_factors")) {
    if (const auto* list = std::get_if<std::vector<double>>(&b.call().get("scale_factors"))) factor = list->at(i);
    if (const auto* list = std::get_if<Dims>(&b.call().get("scale_factors"))) factor = static_cast<double>(list->at(i));
  }
  b.require(b.type().rank() > 2 && b.type().rank() < 6 && size > 0 && results > 0);
  const std::size_t spatial = b.type().rank() - 2;
  constexpr const char* kNames[] = {"scales_d", "scales_h", "scales_w"};
  const char* name = spatial == 1 ? "scales" : kNames[3 - spatial + i];
  if (b.given(name)) factor = b.call().number(name);
  const float step =
      factor > 0 ? static_cast<float>(1 / factor) : static_cast<float>(size) / static_cast<float>(results);
  constexpr float kLargest = 0x1p20F;  // so that places are numbers
  b.require(step <= kLargest && static_cast<float>(results) * step < 0x1p40F);
  return step;
}

bool may_be_minus_infinity(V value) {
  constexpr int kFurthest = 32;  // nodes that are followed
  std::vector<V> pending = {value};
  for (int followed = 0; !pending.empty(); ++followed) {
    V at = pending.back();
    pending.pop_back();
    if (followed == kFurthest) return true;
    if (at->type.dtype != DType::f32) continue;
    if (at->kind == ir::ValueKind::constant) {
      const auto numbers = at->data.as<float>();
      if (std::ranges::find(numbers, -std::numeric_limits<float>::infinity()) != numbers.end()) return true;
      continue;
    }
    if (at->producer == nullptr) return true;
    constexpr std::string_view kPass[] = {nodes::aten_where_self_out,
                                          nodes::aten_add,
                                          nodes::aten_mul,
                                          nodes::aten_view,
                                          nodes::aten_permute,
                                          nodes::aten_slice,
                                          nodes::aten_expand,
                                          nodes::aten_cat,
                                          nodes::aten_minimum,
                                          nodes::aten_maximum,
                                          nodes::aten_div,
                                          nodes::aten_flip,
                                          nodes::aten_gather,
                                          nodes::aten_pad,
                                          nodes::aten_index_select,
                                          nodes::aten_clone,
                                          nodes::aten_repeat_interleave,
                                          nodes::aten_scatter_src_out};
    const bool pads = at->producer->op == nodes::aten_pad && at->producer->has("value") &&
                      !std::isfinite(at->producer->number("value"));
    if (at->producer->op == "aten.log" || pads) return true;
    if (std::ranges::find(kPass, at->producer->op) == std::end(kPass)) continue;
    for (ir::Value* input : at->producer->inputs()) pending.push_back(input);
  }
  return false;
}

Dims all_dims(std::size_t rank) {
  Dims dims(rank);
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

// ---- the exported call ----------------------------------------------------------------------------------------------

bool Build::given(std::string_view argument) const {
  return std::ranges::any_of(call().args, [&](const auto& arg) {
    return arg.name == argument && !std::holds_alternative<ir::None>(arg.value);
  });
}

V Build::operand(std::string_view argument, std::optional<DType> type) const {
  const ir::Argument& value = call().get(argument);
  if (std::holds_alternative<V>(value)) return type ? to(std::get<V>(value), *type) : std::get<V>(value);
  if (const auto* flag = std::get_if<bool>(&value)) return number(*flag ? 1 : 0, type.value_or(DType::boolean));
  const bool whole = std::holds_alternative<std::int64_t>(value);
  return number(call().number(argument), type.value_or(whole ? DType::i64 : DType::f32));
}

std::int64_t Build::dim(std::string_view argument, std::size_t rank) const {
  return dim_argument(importer_, call().integer(argument), std::max<std::size_t>(rank, 1));
}

Dims Build::dims(std::string_view argument, std::size_t rank) const {
  if (rank == 0) return {};
  Dims result;
  if (given(argument)) {
    const ir::Argument& value = call().get(argument);
    const auto* one = std::get_if<std::int64_t>(&value);
    result = one != nullptr ? Dims{*one} : call().integers(argument);
  }
  for (std::int64_t& at : result) at = dim_argument(importer_, at, rank);
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result.empty() ? all_dims(rank) : result;
}

void Build::reject(std::string problem, std::string advice) const {
  importer_.reject(std::move(problem), std::move(advice));
}

V Build::finish(V value, std::size_t i) const {
  const ir::TensorType& wanted = type(i);
  value = to(value, wanted.dtype);
  if (value->type.shape == wanted.shape) return value;
  if (value->type.elements() == wanted.elements()) return view(value, wanted.shape);
  return expand(value, wanted.shape);
}

void Build::require(bool fits) const {
  if (!fits) reject("its arguments are inconsistent", kInconsistent);
}

// ---- nodes and constants --------------------------------------------------------------------------------------------

V Build::node(const std::string& op, std::vector<ir::NamedArgument> args, DType type) const {
  ir::Node* made = importer_.node(op, std::move(args), {{type, {}, {}, std::nullopt}});
  made->result()->type = ops::find(*made)->infer(*made).front();
  return made->result();
}

void Build::require_moderate(const ir::TensorType& type) const {
  constexpr std::int64_t kMostBytes = 64 << 20;
  if (type.is_possible() && type.bytes() <= kMostBytes) return;
  reject("the model creates a constant of more than 64 MiB", "make it smaller, or make it an input");
}

V Build::constant(DType type, ir::Shape shape, std::span<const double> values) const {
  ir::TensorType made{type, std::move(shape), {}, std::nullopt};
  require_moderate(made);
  std::vector<std::byte> bytes(static_cast<std::size_t>(made.bytes()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::uint32_t>(i);
    if (type == DType::f32) {
      set_element(bytes.data(), at, static_cast<float>(values[i]));
    } else {
      const double limited =
          std::isnan(values[i]) ? 0 : std::clamp(values[i], -9.2233720368547748e18, 9.2233720368547748e18);
      set_integer(type, bytes.data(), at, static_cast<std::int64_t>(limited));
    }
  }
  return importer_.graph->add_constant(call().name + "_constant", std::move(made), ir::Bytes::own(std::move(bytes)));
}

V Build::number(double value, DType type) const { return constant(type, {}, {{value}}); }

V Build::filled(double value, const ir::TensorType& like) const {
  require_moderate(like);
  return constant(like.dtype, like.shape, std::vector<double>(static_cast<std::size_t>(like.elements()), value));
}

V Build::indices(const std::vector<std::int64_t>& values) const {
  return importer_.graph->add_constant(call().name + "_indices",
                                       {DType::i64, {static_cast<std::int64_t>(values.size())}, {}, std::nullopt},
                                       ir::Bytes::of(std::span<const std::int64_t>(values)));
}

V Build::floats(ir::Shape shape, const std::vector<float>& values) const {
  return importer_.graph->add_constant(call().name + "_constant", ir::float_type(std::move(shape)),
                                       ir::Bytes::of(std::span<const float>(values)));
}

std::optional<std::vector<double>> Build::numbers_of(V value) const {
  if (value->kind != ir::ValueKind::constant) return std::nullopt;
  std::vector<double> numbers(static_cast<std::size_t>(value->type.elements()));
  const std::byte* data = value->data.bytes.data();
  const DType type = value->type.dtype;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto at = static_cast<std::uint32_t>(i);
    numbers[i] = type == DType::f32 ? static_cast<double>(element<float>(data, at))
                                    : static_cast<double>(integer_at(type, data, at));
  }
  return numbers;
}

// ---- elements -------------------------------------------------------------------------------------------------------

V Build::to(V x, DType type) const {
  if (x->type.dtype == type) return x;
  if (type == DType::boolean) return truth(x);
  if (x->kind == ir::ValueKind::constant && x->type.elements() == 1) {
    const auto values = numbers_of(x).value();
    return constant(type, x->type.shape, values);
  }
  return node(nodes::cormorant_convert_any, {{"self", x}}, type);
}

V Build::truth(V x) const { return x->type.dtype == DType::boolean ? x : ne(x, number(0, x->type.dtype)); }

V Build::f(const char* function, V x, std::vector<ir::NamedArgument> parameters) const {
  std::vector<ir::NamedArgument> args = {{"self", real(x)}};
  args.insert(args.end(), parameters.begin(), parameters.end());
  return node("aten." + std::string(function), std::move(args));
}

V Build::map(const char* op, V a, V b) const {
  const DType type = promoted(a->type.dtype, b->type.dtype);
  return node(op, {{"self", to(a, type)}, {"other", to(b, type)}}, type);
}

V Build::map(const char* op, V a) const { return node(op, {{"self", a}}, a->type.dtype); }

// For floats the operator of its own folder, for integers that of the folder map.
V Build::arithmetic(const char* real, const char* any, V a, V b) const {
  const DType type = promoted(a->type.dtype, b->type.dtype);
  a = to(a, type);
  b = to(b, type);
  if (type != DType::f32) return map(any, a, b);
  std::vector<ir::NamedArgument> args = {{"self", a}, {"other", b}};
  if (std::string_view(real) == nodes::aten_add) args.push_back({"alpha", 1.0});
  return node(real, std::move(args));
}

V Build::add(V a, V b) const { return arithmetic(nodes::aten_add, nodes::cormorant_add_any, a, b); }
V Build::sub(V a, V b) const {
  const DType type = promoted(a->type.dtype, b->type.dtype);
  if (type != DType::f32) return map(nodes::cormorant_sub_any, a, b);
  return node(nodes::aten_add, {{"self", to(a, type)}, {"other", to(b, type)}, {"alpha", -1.0}});
}
V Build::mul(V a, V b) const { return arithmetic(nodes::aten_mul, nodes::cormorant_mul_any, a, b); }
V Build::div(V a, V b) const { return node(nodes::aten_div, {{"self", real(a)}, {"other", real(b)}}); }
V Build::minimum(V a, V b) const { return arithmetic(nodes::aten_minimum, nodes::cormorant_minimum_any, a, b); }
V Build::maximum(V a, V b) const { return arithmetic(nodes::aten_maximum, nodes::cormorant_maximum_any, a, b); }

V Build::eq(V a, V b) const { return map(nodes::aten_eq_Tensor_out, a, b); }
V Build::ne(V a, V b) const { return map(nodes::aten_ne_Tensor_out, a, b); }
V Build::lt(V a, V b) const { return map(nodes::aten_lt_Tensor_out, a, b); }
V Build::gt(V a, V b) const { return map(nodes::aten_gt_Tensor_out, a, b); }
V Build::le(V a, V b) const { return map(nodes::aten_le_Tensor_out, a, b); }
V Build::ge(V a, V b) const { return map(nodes::aten_ge_Tensor_out, a, b); }
V Build::where(V condition, V a, V b) const {
  const DType type = promoted(a->type.dtype, b->type.dtype);
  return node(nodes::aten_where_self_out,
              {{"condition", truth(condition)}, {"self", to(a, type)}, {"other", to(b, type)}}, type);
}

// ---- movement -------------------------------------------------------------------------------------------------------

V Build::view(V x, ir::Shape shape) const {
  ir::TensorType type = x->type;
  type.shape = shape;
  require(type.is_possible() && type.elements() == x->type.elements());
  return mover_.view(x, std::move(shape));
}

V Build::permute(V x, Dims dims) const {
  require(dims.size() == x->type.rank() && std::ranges::is_permutation(dims, all_dims(dims.size())));
  return mover_.permute(x, std::move(dims));
}

V Build::slice(V x, std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step) const {
  require(start >= 0 && start <= end && end <= size_at(x, dim) && step > 0);
  return mover_.slice(x, dim, start, end, step);
}

V Build::expand(V x, ir::Shape shape) const {
  require(shape.size() >= x->type.rank() && broadcast(x->type.shape, shape) == shape);
  return mover_.expand(x, std::move(shape));
}

V Build::swap(V x, std::int64_t a, std::int64_t b) const {
  Dims order = all_dims(x->type.rank());
  std::swap(order.at(static_cast<std::size_t>(a)), order.at(static_cast<std::size_t>(b)));
  return permute(x, std::move(order));
}

V Build::cat(std::vector<V> tensors, std::int64_t dim) const {
  require(!tensors.empty());
  DType type = tensors.front()->type.dtype;
  for (const V tensor : tensors) type = promoted(type, tensor->type.dtype);
  for (V& tensor : tensors) tensor = to(tensor, type);
  return mover_.cat(std::move(tensors), dim);
}

V Build::unsqueeze(V x, std::int64_t dim) const {
  require(dim >= 0 && dim <= rank_of(x));
  ir::Shape shape = x->type.shape;
  shape.insert(shape.begin() + dim, 1);
  return view(x, std::move(shape));
}

V Build::squeeze(V x, std::int64_t dim) const {
  require(dim >= 0 && dim < rank_of(x));
  ir::Shape shape = x->type.shape;
  shape.erase(shape.begin() + dim);
  return view(x, std::move(shape));
}

V Build::index_select(V x, std::int64_t dim, V index) const {
  return node(nodes::aten_index_select, {{"self", x}, {"dim", dim}, {"index", index}}, x->type.dtype);
}

// Runs of neighbours are slices, which cost nothing or a plain copy; a few of them are cheaper than an index.
V Build::index_select(V x, std::int64_t dim, const std::vector<std::int64_t>& places) const {
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  for (const std::int64_t place : places) {
    if (!runs.empty() && runs.back().second == place) {
      ++runs.back().second;
    } else {
      runs.emplace_back(place, place + 1);
    }
  }
  constexpr std::size_t kMostSlices = 4;
  if (runs.empty() || runs.size() > kMostSlices) return index_select(x, dim, indices(places));
  std::vector<V> slices;
  for (const auto& [start, end] : runs) slices.push_back(slice(x, dim, start, end));
  return cat(std::move(slices), dim);
}

V Build::gather(V x, std::int64_t dim, V index) const {
  return node(nodes::aten_gather, {{"self", x}, {"dim", dim}, {"index", index}, {"sparse_grad", false}}, x->type.dtype);
}

V Build::scatter(const char* op, V x, std::int64_t dim, V index, V src) const {
  return node(op, {{"self", x}, {"dim", dim}, {"index", index}, {"src", to(src, x->type.dtype)}}, x->type.dtype);
}

V Build::index_copy(V x, std::int64_t dim, V index, V source) const {
  return node(nodes::aten_index_copy,
              {{"self", x}, {"dim", dim}, {"index", index}, {"source", to(source, x->type.dtype)}}, x->type.dtype);
}

// By concatenation: pads may be of any type, rank and sign.
V Build::pad(V x, Dims pads, double value) const {
  for (std::size_t i = 0; i * 2 + 1 < pads.size(); ++i) {
    const std::int64_t dim = rank_of(x) - 1 - static_cast<std::int64_t>(i);
    const std::int64_t before = pads[2 * i], after = pads[2 * i + 1], size = size_at(x, dim);
    x = slice(x, dim, std::max<std::int64_t>(-before, 0), size - std::max<std::int64_t>(-after, 0));
    const auto border = [&](std::int64_t width) {
      ir::TensorType type = x->type;
      type.shape[static_cast<std::size_t>(dim)] = width;
      return filled(value, type);
    };
    std::vector<V> parts;
    if (before > 0) parts.push_back(border(before));
    parts.push_back(x);
    if (after > 0) parts.push_back(border(after));
    x = cat(std::move(parts), dim);
  }
  return x;
}

// ---- along dimensions -----------------------------------------------------------------------------------------------

V Build::reduce(const char* real, const char* any, V x, Dims dims, double empty) const {
  if (x->type.rank() == 0 || dims.empty()) return x;
  if (x->type.elements() == 0) {
    ir::TensorType type = x->type;
    for (const std::int64_t dim : dims) type.shape.at(static_cast<std::size_t>(dim)) = 1;
    return filled(empty, type);
  }
  const bool is_real = x->type.dtype == DType::f32 && real != nullptr;
  return node(is_real ? real : any, {{"self", x}, {"dim", std::move(dims)}}, x->type.dtype);
}

V Build::sum(V x, Dims dims) const {
  if (x->type.dtype != DType::f32) x = to(x, DType::i64);
  return reduce(nodes::aten_sum, nodes::cormorant_sum_any, x, std::move(dims), 0);
}
V Build::mean(V x, Dims dims) const {
  return reduce(nodes::aten_mean, nullptr, real(x), std::move(dims), std::numeric_limits<double>::quiet_NaN());
}
V Build::amax(V x, Dims dims) const {
  return reduce(nodes::aten_amax, nodes::cormorant_amax_any, x, std::move(dims), 0);
}
V Build::amin(V x, Dims dims) const {
  return reduce(nodes::aten_amin, nodes::cormorant_amin_any, x, std::move(dims), 0);
}
V Build::prod(V x, Dims dims) const {
  if (x->type.dtype != DType::f32) x = to(x, DType::i64);
  return reduce(nullptr, nodes::cormorant_prod_any, x, std::move(dims), 1);
}
V Build::any(V x, Dims dims) const { return reduce(nullptr, nodes::cormorant_amax_any, truth(x), std::move(dims), 0); }
V Build::all(V x, Dims dims) const { return reduce(nullptr, nodes::cormorant_amin_any, truth(x), std::move(dims), 1); }

V Build::arg(bool largest, V x, std::int64_t dim) const {
  if (x->type.rank() == 0) return number(0, DType::i64);
  return node(largest ? nodes::aten_argmax : nodes::aten_argmin, {{"self", x}, {"dim", dim}, {"keepdim", true}},
              DType::i64);
}

V Build::argsort(V x, std::int64_t dim, bool descending) const {
  return node(nodes::cormorant_argsort_any, {{"self", x}, {"dim", dim}, {"descending", descending}}, DType::i64);
}

V Build::softmax(V x, std::int64_t dim) const {
  if (x->type.rank() == 0) return filled(1, x->type);
  return node(nodes::aten_softmax, {{"self", real(x)}, {"dim", dim}});
}

V Build::matmul(V a, V b) const {
  require(a->type.rank() >= 2 && b->type.rank() >= 2);
  if (a->type.shape.back() == 0) {  // sums of nothing
    const auto leading = [](V x) { return ir::Shape(x->type.shape.begin(), x->type.shape.end() - 2); };
    auto shape = broadcast(leading(a), leading(b));
    require(shape.has_value() && size_at(b, rank_of(b) - 2) == 0);
    shape->push_back(size_at(a, rank_of(a) - 2));
    shape->push_back(size_at(b, rank_of(b) - 1));
    return filled(0, ir::float_type(*shape));
  }
  return node(nodes::aten_bmm, {{"self", real(a)}, {"mat2", real(b)}, {"transposed", false}, {"scale", 1.0}});
}

}  // namespace cormorant::ops
