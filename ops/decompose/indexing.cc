// SPDX-License-Identifier: Apache-2.0
//
// Everything that is selected or written by indices becomes a selection, gather or scatter along one dimension: several
// indexed dimensions are counted through as if they were one.
#include <algorithm>

#include "ops/decompose/forms.h"
#include "ops/host/advice.h"
#include "ops/host/broadcast.h"
#include "ops/host/known.h"
#include "ops/nodes.h"

namespace cormorant::ops {
namespace {

// An index that may be negative, as a position; computed now if it is constant.
V wrapped(const Build& b, V index, std::int64_t size) {
  if (auto numbers = b.numbers_of(index)) {
    for (double& at : *numbers) at = at < 0 ? at + static_cast<double>(size) : at;
    return b.constant(DType::i64, index->type.shape, *numbers);
  }
  const DType type = index->type.dtype == DType::i64 ? DType::i64 : DType::i32;
  V places = b.to(index, type);
  V from_end = b.lt(places, b.number(0, type));
  V wrapped = b.add(places, static_cast<double>(size));
  return b.where(from_end, wrapped, places);
}

// A number counts as having one dimension when it is indexed.
V at_least_one(const Build& b, V x) { return x->type.rank() == 0 ? b.view(x, {1}) : x; }

// Each truth of a constant mask as an index per dimension.
std::vector<V> places_of_mask(const Build& b, V mask) {
  const auto known = known_value(mask);
  if (!known) {
    b.reject("elements are selected by a mask that is not constant, so the result's shape depends on data",
             "use torch.where, or a mask that is a constant of the model");
  }
  const std::span<const float> numbers = known->values();
  const ir::Shape& shape = mask->type.shape;
  std::vector<std::vector<std::int64_t>> places(shape.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == 0) continue;
    auto rest = static_cast<std::int64_t>(i);
    for (std::size_t d = shape.size(); d-- > 0;) {
      places[d].push_back(rest % shape[d]);
      rest /= shape[d];
    }
  }
  std::vector<V> indices;
  for (const auto& list : places) indices.push_back(b.indices(list));
  return indices;
}

// self[:, i, j, :] with the indexed dimensions made one.
struct Indexed {
  V merged;            // self, permuted and viewed
  Dims order;          // of the permutation
  ir::Shape permuted;  // the shape before the view
  std::int64_t dim;    // the one
  V places;            // into it
  ir::Shape index_shape;
};

Indexed merge_indexed(const Build& b, V self, const std::vector<V>& given) {
  std::vector<V> indices;
  for (const V index : given) {
    const bool is_mask = index != nullptr && (index->type.dtype == DType::boolean || index->type.dtype == DType::u8);
    if (!is_mask) {
      indices.push_back(index);
      continue;
    }
    for (const V place : places_of_mask(b, index)) indices.push_back(place);
  }
  Dims indexed, others;
  for (std::int64_t d = 0; d < rank_of(self); ++d) {
    const bool is_indexed = d < static_cast<std::int64_t>(indices.size()) && indices[static_cast<std::size_t>(d)];
    (is_indexed ? indexed : others).push_back(d);
  }
  if (indexed.empty()) b.reject("an index without indices", "");
  Indexed result{};
  const bool adjacent = indexed.back() - indexed.front() + 1 == static_cast<std::int64_t>(indexed.size());
  result.dim = adjacent ? indexed.front() : 0;
  result.order = others;
  result.order.insert(result.order.begin() + result.dim, indexed.begin(), indexed.end());
  V permuted = b.permute(self, result.order);
  result.permuted = permuted->type.shape;
  ir::Shape merged;
  std::int64_t size = 1;
  for (const std::int64_t d : indexed) size *= size_at(self, d);
  for (const std::int64_t d : others) merged.push_back(size_at(self, d));
  merged.insert(merged.begin() + result.dim, size);
  result.merged = b.view(permuted, merged);
  std::int64_t step = size;
  for (const std::int64_t d : indexed) {
    V index = indices[static_cast<std::size_t>(d)];
    const auto shape = broadcast(result.index_shape, index->type.shape);
    if (!shape) b.reject("the shapes of the indices do not match", kInconsistent);
    result.index_shape = *shape;
    step /= std::max<std::int64_t>(size_at(self, d), 1);
    V part = b.mul(wrapped(b, index, size_at(self, d)), static_cast<double>(step));
    result.places = result.places == nullptr ? part : b.add(result.places, part);
  }
  result.places = b.view(b.expand(result.places, result.index_shape), {count_of(result.index_shape)});
  return result;
}

std::vector<V> index_list(const Build& b) {
  const ir::Argument& value = b.call().get("indices");
  if (const auto* list = std::get_if<std::vector<V>>(&value)) return *list;
  return {};
}

Values import_index(Importer& importer) {
  const Build b(importer);
  if (b.type().elements() == 0) return {b.filled(0, b.type())};
  const Indexed x = merge_indexed(b, b.tensor("self"), index_list(b));
  return {b.finish(b.index_select(x.merged, x.dim, x.places))};
}

// The places of what is not zero: a row for each, or a list for each dimension.
Values import_nonzero(Importer& importer) {
  const Build b(importer);
  std::vector<V> columns;
  for (const V places : places_of_mask(b, b.tensor("self"))) columns.push_back(b.unsqueeze(places, 1));
  if (columns.empty()) return {b.filled(0, b.type())};  // of a number: a place without coordinates
  return {b.finish(b.cat(columns, 1))};
}
Values lists_of_places(const Build& b, V mask) {
  Values lists = places_of_mask(b, at_least_one(b, mask));
  b.require(lists.size() == b.results());
  for (std::size_t i = 0; i < lists.size(); ++i) lists[i] = b.finish(lists[i], i);
  return lists;
}
Values import_nonzero_lists(Importer& importer) {
  const Build b(importer);
  return lists_of_places(b, b.tensor("self"));
}
Values import_where_true(Importer& importer) {
  const Build b(importer);
  return lists_of_places(b, b.tensor("condition"));
}

Values import_masked_select(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  V mask = b.tensor("mask");
  const auto shape = broadcast(self->type.shape, mask->type.shape);
  if (!shape) b.reject("the shape of the mask does not match", kInconsistent);
  if (b.type().elements() == 0) return {b.filled(0, b.type())};
  const Indexed x =
      merge_indexed(b, at_least_one(b, b.expand(self, *shape)), {at_least_one(b, b.expand(mask, *shape))});
  return {b.finish(b.index_select(x.merged, x.dim, x.places))};
}

// self[:, index] = values with an index of at most one dimension, as caches are written: whole rows go to their
// positions. Null if it is something else.
V put_along_one(const Build& b, V self, const std::vector<V>& indices, V values) {
  const auto is_given = [](V index) { return index != nullptr; };
  if (std::ranges::count_if(indices, is_given) != 1) return nullptr;
  const auto at = std::ranges::find_if(indices, is_given);
  V index = *at;
  const bool is_mask = index->type.dtype == DType::boolean || index->type.dtype == DType::u8;
  if (is_mask || index->type.rank() > 1 || index->type.elements() == 0) return nullptr;
  const std::int64_t dim = at - indices.begin();
  if (dim >= rank_of(self)) return nullptr;
  ir::Shape wide = self->type.shape;  // as values broadcast
  wide[static_cast<std::size_t>(dim)] = index->type.elements();
  ir::Shape given = wide;
  if (index->type.rank() == 0) given.erase(given.begin() + dim);
  V places = b.view(index, {index->type.elements()});
  V source = b.view(b.expand(values, given), wide);
  return b.index_copy(self, dim, places, source);
}

Values import_index_put(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  V values = b.to(b.tensor("values"), self->type.dtype);
  const bool accumulate = b.call().boolean("accumulate");
  const std::vector<V> indices = index_list(b);
  const bool is_mask =
      indices.size() == 1 && indices.front() != nullptr && indices.front()->type.dtype == DType::boolean;
  if (is_mask && values->type.elements() == 1 && indices.front()->kind != ir::ValueKind::constant) {
    V mask = indices.front();
    while (mask->type.rank() < self->type.rank()) mask = b.unsqueeze(mask, rank_of(mask));
    V value = b.view(values, {});
    return {b.finish(b.where(mask, accumulate ? b.add(self, value) : value, self))};
  }
  if (!accumulate) {
    if (V copied = put_along_one(b, self, indices, values)) return {b.finish(copied)};
  }
  const Indexed x = merge_indexed(b, self, indices);
  if (x.places->type.elements() == 0) return {self};
  ir::Shape wide = x.merged->type.shape;  // with the index's own dimensions, as values broadcast to them
  wide.erase(wide.begin() + x.dim);
  ir::Shape flat = wide;
  wide.insert(wide.begin() + x.dim, x.index_shape.begin(), x.index_shape.end());
  flat.insert(flat.begin() + x.dim, x.places->type.elements());
  ir::Shape along(flat.size(), 1);
  along[static_cast<std::size_t>(x.dim)] = x.places->type.elements();
  V index = b.expand(b.view(x.places, along), flat);
  V written = b.scatter(accumulate ? nodes::aten_scatter_add : nodes::aten_scatter_src_out, x.merged, x.dim, index,
                        b.view(b.expand(values, wide), flat));
  Dims back(x.order.size());
  for (std::size_t i = 0; i < x.order.size(); ++i)
    back[static_cast<std::size_t>(x.order[i])] = static_cast<std::int64_t>(i);
  return {b.finish(b.permute(b.view(written, x.permuted), back))};
}

// ---- along one dimension --------------------------------------------------------------------------------------------

Values import_index_select(Importer& importer) {
  const Build b(importer);
  V self = at_least_one(b, b.tensor("self"));
  V index = at_least_one(b, b.tensor("index"));
  const std::int64_t dim = b.dim("dim", self->type.rank());
  if (b.type().elements() == 0) return {b.filled(0, b.type())};
  if (const auto numbers = b.numbers_of(index)) {
    for (const double at : *numbers) {
      if (at < 0 || at >= static_cast<double>(size_at(self, dim))) b.reject("a selected index is out of range", {});
    }
    return {b.finish(b.index_select(self, dim, std::vector<std::int64_t>(numbers->begin(), numbers->end())))};
  }
  return {b.finish(b.index_select(self, dim, index))};
}
Values import_gather(Importer& importer) {
  const Build b(importer);
  V self = at_least_one(b, b.tensor("self"));
  if (b.type().elements() == 0) return {b.filled(0, b.type())};
  return {b.finish(b.gather(self, b.dim("dim", self->type.rank()), at_least_one(b, b.tensor("index"))))};
}
V take(const Build& b, V self, V index) {
  V all = b.view(self, {self->type.elements()});
  return b.index_select(all, 0, b.view(wrapped(b, index, self->type.elements()), {index->type.elements()}));
}
Values import_take(Importer& importer) {
  const Build b(importer);
  if (b.type().elements() == 0) return {b.filled(0, b.type())};
  return {b.finish(take(b, b.tensor("self"), b.tensor("index")))};
}
Values import_take_along_dim(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  V index = b.tensor("indices");
  if (!b.given("dim")) return {b.finish(take(b, self, index))};
  const std::int64_t dim = b.dim("dim", self->type.rank());
  ir::Shape own = self->type.shape, other = index->type.shape;
  own[static_cast<std::size_t>(dim)] = 1;
  other[static_cast<std::size_t>(dim)] = 1;
  const auto shape = broadcast(own, other);
  if (!shape) b.reject("the shape of the indices does not match", kInconsistent);
  own = other = *shape;
  own[static_cast<std::size_t>(dim)] = size_at(self, dim);
  other[static_cast<std::size_t>(dim)] = size_at(index, dim);
  V places = wrapped(b, b.expand(index, other), size_at(self, dim));
  return {b.finish(b.gather(b.expand(self, own), dim, places))};
}
Values import_embedding(Importer& importer) {
  const Build b(importer);
  V index = b.tensor("indices");
  if (b.type().elements() == 0) return {b.filled(0, b.type())};
  return {b.finish(b.index_select(b.tensor("weight"), 0, b.view(index, {index->type.elements()})))};
}

Values import_one_hot(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const std::int64_t classes = b.call().integer("num_classes");
  if (classes <= 0) {
    b.reject("the number of classes depends on data", "give one_hot the number: num_classes=…");
  }
  std::vector<double> counting;
  b.require_moderate({self->type.dtype, {classes}, {}, std::nullopt});
  for (std::int64_t c = 0; c < classes; ++c) counting.push_back(static_cast<double>(c));
  return {b.finish(b.eq(b.unsqueeze(self, rank_of(self)), b.constant(self->type.dtype, {classes}, counting)))};
}
// The source's elements go, in order, to where the mask is true: each place counts the truths before it.
Values import_masked_scatter(Importer& importer) {
  const Build b(importer);
  const ir::Shape& shape = b.type().shape;
  V self = b.expand(b.tensor("self"), shape);
  V mask = b.expand(b.truth(b.tensor("mask")), shape);
  V source = b.tensor("source");
  if (source->type.elements() == 0) return {b.finish(self)};
  V counted = b.to(b.view(mask, {count_of(shape)}), DType::i32);
  V places =
      b.node(nodes::aten_cumsum, {{"self", counted}, {"dim", std::int64_t{0}}, {"dtype", ir::None{}}}, DType::i32);
  places = b.maximum(b.sub(places, 1), b.number(0, DType::i32));
  V taken = b.index_select(b.view(source, {source->type.elements()}), 0, places);
  return {b.finish(b.where(mask, b.view(taken, shape), self))};
}

// A one-dimensional index next to a source of several dimensions.
V spread(const Build& b, V index, std::int64_t dim, const ir::Shape& shape) {
  ir::Shape along(shape.size(), 1);
  along.at(static_cast<std::size_t>(dim)) = index->type.elements();
  return b.expand(b.view(index, along), shape);
}

V written(const Build& b, V self, std::int64_t dim, V index, V src, const std::string& reduce, bool include_self) {
  if (index->type.elements() == 0) return self;
  if (reduce == "sum" || reduce == "add" || reduce == "mean") {
    const bool is_mean = reduce == "mean";
    V ones = b.filled(1, {DType::f32, index->type.shape, {}, std::nullopt});
    V count = nullptr;
    if (is_mean || !include_self) {
      count = b.scatter(nodes::aten_scatter_add, b.filled(0, ir::float_type(self->type.shape)), dim, index, ones);
    }
    V base = include_self ? self : b.where(b.gt(count, b.number(0)), 0.0, self);
    V sum = b.scatter(nodes::aten_scatter_add, base, dim, index, src);
    if (!is_mean) return sum;
    return b.div(sum, include_self ? b.add(count, 1) : b.maximum(count, b.number(1)));
  }
  const bool is_product = reduce == "prod" || reduce == "multiply";
  if (!include_self) {
    const double first = is_product ? 1 : (reduce == "amax" ? -kInfinity : kInfinity);
    V neutral = b.filled(first, {self->type.dtype, index->type.shape, {}, std::nullopt});
    self = b.scatter(nodes::aten_scatter_src_out, self, dim, index, neutral);
  }
  const char* op = is_product
                       ? nodes::cormorant_scatter_prod_any
                       : (reduce == "amax" ? nodes::cormorant_scatter_amax_any : nodes::cormorant_scatter_amin_any);
  return b.scatter(op, self, dim, index, src);
}

Values import_scatter(Importer& importer) {
  const Build b(importer);
  V self = at_least_one(b, b.tensor("self"));
  V index = at_least_one(b, b.tensor("index"));
  const std::int64_t dim = b.dim("dim", self->type.rank());
  if (index->type.elements() == 0) return {b.finish(self)};
  V src = nullptr;
  if (b.given("src")) {
    src = at_least_one(b, b.tensor("src"));
  } else {
    src = b.filled(b.call().number("value"), {self->type.dtype, index->type.shape, {}, std::nullopt});
  }
  if (b.given("reduce")) return {b.finish(written(b, self, dim, index, src, b.call().string("reduce"), true))};
  return {b.finish(b.scatter(nodes::aten_scatter_src_out, self, dim, index, src))};
}
Values import_scatter_add(Importer& importer) {
  const Build b(importer);
  V self = at_least_one(b, b.tensor("self"));
  V index = at_least_one(b, b.tensor("index"));
  if (index->type.elements() == 0) return {b.finish(self)};
  return {b.finish(b.scatter(nodes::aten_scatter_add, self, b.dim("dim", self->type.rank()), index,
                             at_least_one(b, b.tensor("src"))))};
}
Values import_scatter_reduce(Importer& importer) {
  const Build b(importer);
  V self = at_least_one(b, b.tensor("self"));
  V index = at_least_one(b, b.tensor("index"));
  return {b.finish(written(b, self, b.dim("dim", self->type.rank()), index, at_least_one(b, b.tensor("src")),
                           b.call().string("reduce"), b.call().boolean("include_self")))};
}
Values import_index_add(Importer& importer) {
  const Build b(importer);
  V self = at_least_one(b, b.tensor("self"));
  V source = at_least_one(b, b.tensor("source"));
  const std::int64_t dim = b.dim("dim", self->type.rank());
  if (source->type.elements() == 0) return {b.finish(self)};
  source = b.mul(source, b.operand("alpha", source->type.dtype));
  V index = spread(b, b.tensor("index"), dim, source->type.shape);
  return {b.finish(b.scatter(nodes::aten_scatter_add, self, dim, index, source))};
}
Values import_index_copy(Importer& importer) {
  const Build b(importer);
  V self = at_least_one(b, b.tensor("self"));
  V source = b.tensor("source");
  const std::int64_t dim = b.dim("dim", self->type.rank());
  ir::Shape shape = self->type.shape;
  shape[static_cast<std::size_t>(dim)] = b.tensor("index")->type.elements();
  if (count_of(shape) == 0) return {b.finish(self)};
  V index = b.view(b.tensor("index"), {b.tensor("index")->type.elements()});
  return {b.finish(b.index_copy(self, dim, index, b.view(source, shape)))};
}
Values import_index_fill(Importer& importer) {
  const Build b(importer);
  V self = at_least_one(b, b.tensor("self"));
  const std::int64_t dim = b.dim("dim", self->type.rank());
  ir::Shape shape = self->type.shape;
  shape[static_cast<std::size_t>(dim)] = b.tensor("index")->type.elements();
  if (count_of(shape) == 0) return {b.finish(self)};
  V places = wrapped(b, b.tensor("index"), size_at(self, dim));
  V value = b.expand(b.view(b.operand("value", self->type.dtype), {}), shape);
  return {b.finish(b.scatter(nodes::aten_scatter_src_out, self, dim, spread(b, places, dim, shape), value))};
}
Values import_index_reduce(Importer& importer) {
  const Build b(importer);
  V self = at_least_one(b, b.tensor("self"));
  V source = at_least_one(b, b.tensor("source"));
  const std::int64_t dim = b.dim("dim", self->type.rank());
  if (source->type.elements() == 0) return {b.finish(self)};
  V index = spread(b, b.tensor("index"), dim, source->type.shape);
  return {b.finish(written(b, self, dim, index, source, b.call().string("reduce"), b.call().boolean("include_self")))};
}

// ---- bags of embeddings ---------------------------------------------------------------------------------------------

enum : std::int64_t { kSum, kMean, kMax };  // modes of bags

// A row for each bag where it is known which rows are in it: from its bound to the next one's.
V of_known_bags(const Build& b, V rows, std::span<const std::int64_t> bounds, std::int64_t mode) {
  const std::int64_t width = size_at(rows, 1), first = bounds[1] - bounds[0];
  const auto bags = static_cast<std::int64_t>(bounds.size()) - 1;
  const auto reduced = [&](V bag) {  // [bags, rows, width]
    V one = mode == kSum ? b.sum(bag, {1}) : mode == kMean ? b.mean(bag, {1}) : b.amax(bag, {1});
    return b.view(one, {size_at(bag, 0), width});
  };
  bool are_equal = first > 0;
  for (std::size_t i = 1; i < bounds.size(); ++i) are_equal = are_equal && bounds[i] - bounds[i - 1] == first;
  if (are_equal) return reduced(b.view(b.slice(rows, 0, bounds[0], bounds.back()), {bags, first, width}));
  std::vector<V> parts;
  for (std::size_t i = 1; i < bounds.size(); ++i) {
    const std::int64_t size = bounds[i] - bounds[i - 1];
    parts.push_back(size == 0 ? b.filled(0, ir::float_type({1, width}))
                              : reduced(b.view(b.slice(rows, 0, bounds[i - 1], bounds[i]), {1, size, width})));
  }
  return b.cat(parts, 0);
}

// Where bags begin and end, if offsets are known. Many bags of different sizes would be many nodes.
std::vector<std::int64_t> known_bounds(V offsets, std::int64_t bags, std::int64_t count) {
  constexpr std::int64_t kMany = 32;
  const auto known = known_value(offsets);
  if (!known || bags < 1 || static_cast<std::int64_t>(known->values().size()) < bags) return {};
  std::vector<std::int64_t> bounds;
  for (const float at : known->values().first(static_cast<std::size_t>(bags))) {
    bounds.push_back(static_cast<std::int64_t>(at));
  }
  bounds.push_back(count);
  std::int64_t sizes = 1;  // different ones, one after another
  for (std::size_t i = 1; i < bounds.size(); ++i) {
    if (bounds[i] < bounds[i - 1] || bounds[i - 1] < 0) return {};
    sizes += i > 1 && bounds[i] - bounds[i - 1] != bounds[i - 1] - bounds[i - 2] ? 1 : 0;
  }
  return sizes > 1 && bags > kMany ? std::vector<std::int64_t>() : bounds;
}

Values import_embedding_bag(Importer& importer) {
  const Build b(importer);
  V weight = b.tensor("weight");
  V index = b.view(b.tensor("indices"), {b.tensor("indices")->type.elements()});
  V offsets = b.tensor("offsets");
  const std::int64_t count = index->type.elements(), width = size_at(weight, 1);
  const std::int64_t mode = b.call().integer("mode");
  Values results(b.results(), nullptr);
  const ir::TensorType& type = b.type();
  if (count == 0) {
    results[0] = b.filled(0, type);
    return results;
  }
  const bool has_padding = b.given("padding_idx") && b.call().integer("padding_idx") >= 0;
  if (const auto bounds = known_bounds(offsets, type.shape.at(0), count); !bounds.empty() && !has_padding) {
    V rows = b.index_select(weight, 0, index);
    if (b.given("per_sample_weights")) rows = b.mul(rows, b.view(b.tensor("per_sample_weights"), {count, 1}));
    results[0] = b.finish(of_known_bags(b, rows, bounds, mode));
    return results;
  }
  std::vector<std::int64_t> counting(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < counting.size(); ++i) counting[i] = static_cast<std::int64_t>(i);
  const std::int64_t bags = type.shape.at(0);
  offsets = b.slice(offsets, 0, 0, bags);
  V bag = b.node(nodes::cormorant_searchsorted_any,
                 {{"sorted", b.to(offsets, DType::i64)}, {"values", b.indices(counting)}, {"right", true}}, DType::i64);
  bag = b.sub(bag, 1);
  V rows = b.index_select(weight, 0, index);
  if (b.given("per_sample_weights")) {
    rows = b.mul(rows, b.view(b.tensor("per_sample_weights"), {count, 1}));
  }
  V counts_in = b.filled(1, ir::float_type({count, 1}));
  if (has_padding) {
    V is_padding = b.view(b.eq(index, b.number(b.call().number("padding_idx"), index->type.dtype)), {count, 1});
    counts_in = b.where(is_padding, 0.0, counts_in);
    rows = b.where(is_padding, mode == kMax ? -kInfinity : 0.0, rows);
  }
  V along = b.expand(b.view(bag, {count, 1}), {count, width});
  V size =
      b.scatter(nodes::aten_scatter_add, b.filled(0, ir::float_type({bags, 1})), 0, b.view(bag, {count, 1}), counts_in);
  if (mode == kMax) {
    V largest = b.scatter(nodes::cormorant_scatter_amax_any, b.filled(-kInfinity, ir::float_type({bags, width})), 0,
                          along, rows);
    results[0] = b.finish(b.where(b.eq(size, b.number(0)), 0.0, largest));
    return results;
  }
  V sum = b.scatter(nodes::aten_scatter_add, b.filled(0, ir::float_type({bags, width})), 0, along, rows);
  results[0] = b.finish(mode == kMean ? b.div(sum, b.maximum(size, b.number(1))) : sum);
  return results;
}

// ---- parts that are replaced ----------------------------------------------------------------------------------------

Values import_select_scatter(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const std::int64_t dim = b.dim("dim", self->type.rank()), size = size_at(self, dim);
  std::int64_t at = b.call().integer("index");
  if (at < 0) at += size;
  V src = b.to(b.unsqueeze(b.tensor("src"), dim), self->type.dtype);
  std::vector<V> parts;
  if (at > 0) parts.push_back(b.slice(self, dim, 0, at));
  parts.push_back(src);
  if (at + 1 < size) parts.push_back(b.slice(self, dim, at + 1, size));
  return {b.finish(b.cat(parts, dim))};
}
Values import_slice_scatter(Importer& importer) {
  const Build b(importer);
  V self = b.tensor("self");
  const std::int64_t dim = b.dim("dim", self->type.rank()), size = size_at(self, dim);
  const auto bound = [&](const char* name, std::int64_t otherwise) {
    const std::int64_t at = b.given(name) ? b.call().integer(name) : otherwise;
    return std::clamp(at < 0 ? at + size : at, std::int64_t{0}, size);
  };
  const std::int64_t start = bound("start", 0), end = bound("end", size), step = b.call().integer("step");
  b.require(step > 0);
  V src = b.to(b.tensor("src"), self->type.dtype);
  if (src->type.elements() == 0) return {self};
  if (step == 1) {
    std::vector<V> parts;
    if (start > 0) parts.push_back(b.slice(self, dim, 0, start));
    parts.push_back(src);
    b.require(start <= end);
    if (end < size) parts.push_back(b.slice(self, dim, end, size));
    return {b.finish(b.cat(parts, dim))};
  }
  std::vector<std::int64_t> places;
  for (std::int64_t at = start; at < end; at += step) places.push_back(at);
  return {b.finish(
      b.scatter(nodes::aten_scatter_src_out, self, dim, spread(b, b.indices(places), dim, src->type.shape), src))};
}

}  // namespace

std::vector<AtenForm> indexing_forms() {
  return {
      {"index.Tensor(Tensor self, Tensor?[] indices)", import_index},
      {"_unsafe_index.Tensor(Tensor self, Tensor?[] indices)", import_index},
      {"index_put.default(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False)", import_index_put},
      {"_unsafe_index_put.default(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False)",
       import_index_put},
      {"index_select.default(Tensor self, int dim, Tensor index)", import_index_select},
      {"gather.default(Tensor self, int dim, Tensor index, *, bool sparse_grad=False)", import_gather},
      {"nonzero.default(Tensor self)", import_nonzero},
      {"argwhere.default(Tensor self)", import_nonzero},
      {"nonzero_numpy.default(Tensor self)", import_nonzero_lists},
      {"where.default(Tensor condition)", import_where_true},
      {"masked_select.default(Tensor self, Tensor mask)", import_masked_select},
      {"one_hot.default(Tensor self, int num_classes=-1)", import_one_hot},
      {"masked_scatter.default(Tensor self, Tensor mask, Tensor source)", import_masked_scatter},
      {"take.default(Tensor self, Tensor index)", import_take},
      {"take_along_dim.default(Tensor self, Tensor indices, int? dim=None)", import_take_along_dim},
      {"embedding.default(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, "
       "bool sparse=False)",
       import_embedding},
      {"embedding_bag.default(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, "
       "int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False)",
       import_embedding_bag},
      {"embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, "
       "bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx)",
       import_embedding_bag},
      {"_embedding_bag.default(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, "
       "int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, "
       "int padding_idx=-1)",
       import_embedding_bag},
      {"_embedding_bag_forward_only.default(Tensor weight, Tensor indices, Tensor offsets, "
       "bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
       "bool include_last_offset=False, int padding_idx=-1)",
       import_embedding_bag},
      {"scatter.src(Tensor self, int dim, Tensor index, Tensor src)", import_scatter},
      {"scatter.value(Tensor self, int dim, Tensor index, Scalar value)", import_scatter},
      {"scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce)", import_scatter},
      {"scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce)", import_scatter},
      {"scatter_add.default(Tensor self, int dim, Tensor index, Tensor src)", import_scatter_add},
      {"scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True)",
       import_scatter_reduce},
      {"index_add.default(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1)", import_index_add},
      {"index_copy.default(Tensor self, int dim, Tensor index, Tensor source)", import_index_copy},
      {"index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value)", import_index_fill},
      {"index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value)", import_index_fill},
      {"index_reduce.default(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, "
       "bool include_self=True)",
       import_index_reduce},
      {"select_scatter.default(Tensor self, Tensor src, int dim, SymInt index)", import_select_scatter},
      {"slice_scatter.default(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, "
       "SymInt step=1)",
       import_slice_scatter},
  };
}

}  // namespace cormorant::ops
