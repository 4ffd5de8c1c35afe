// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/conformance/conformance.h"

namespace cormorant::ops {
namespace {

using conformance::Case;

// Out of order and with repetitions, so that no pass makes slices of them.
ir::Value* indices(ir::Graph& graph, DType type, const ir::Shape& shape, std::int64_t limit) {
  const ir::TensorType made{type, shape, {}, std::nullopt};
  std::vector<std::int64_t> places(static_cast<std::size_t>(made.elements()));
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<std::int64_t>(7 * i + i / 3) % limit;
  if (type == DType::i64)
    return graph.add_constant("index", made, ir::Bytes::of(std::span<const std::int64_t>(places)));
  if (type == DType::i16) {
    const std::vector<std::int16_t> half(places.begin(), places.end());
    return graph.add_constant("index", made, ir::Bytes::of(std::span<const std::int16_t>(half)));
  }
  const std::vector<std::int32_t> narrow(places.begin(), places.end());
  return graph.add_constant("index", made, ir::Bytes::of(std::span<const std::int32_t>(narrow)));
}

constexpr double kScale = 0.1;

ir::Value* input(ir::Graph& graph, bool wide, const ir::Shape& shape) {
  return wide ? conformance::words_input(graph, shape, kScale) : conformance::int8_input(graph, shape, kScale, 3);
}

ir::Value* add(ir::Graph& graph, bool wide, const std::string& op, std::vector<ir::NamedArgument> args,
               const ir::Shape& shape) {
  return wide ? conformance::add_words(graph, op, std::move(args), shape, kScale)
              : conformance::add_quantized(graph, op, std::move(args), shape, kScale, 3);
}

std::vector<Case> cases() {
  std::vector<Case> cases;
  for (const bool wide : {false, true}) {
    const std::string of = wide ? " of words" : " of int8";
    for (const std::int64_t dim : {0, 1, 2}) {
      const DType type = dim == 0 ? DType::i64 : dim == 1 ? DType::i32 : DType::i16;
      cases.push_back({"index_select along " + std::to_string(dim) + of, [=](ir::Graph& g) {
                         const ir::Shape shape = {5, 6, 9};
                         ir::Shape selected = shape;
                         selected[static_cast<std::size_t>(dim)] = 11;
                         ir::Value* x = input(g, wide, shape);
                         ir::Value* index = indices(g, type, {11}, shape[static_cast<std::size_t>(dim)]);
                         return add(g, wide, "aten.index_select", {{"self", x}, {"dim", dim}, {"index", index}},
                                    selected);
                       }});
      cases.push_back({"gather along " + std::to_string(dim) + of, [=](ir::Graph& g) {
                         const ir::Shape shape = {5, 6, 9}, gathered = {4, 5, 7};
                         ir::Value* x = input(g, wide, shape);
                         ir::Value* index = indices(g, type, gathered, shape[static_cast<std::size_t>(dim)]);
                         return add(g, wide, "aten.gather",
                                    {{"self", x}, {"dim", dim}, {"index", index}, {"sparse_grad", false}}, gathered);
                       }});
    }
  }
  // An embedding: rows of a constant table, at indices that are computed.
  cases.push_back({"embedding", [](ir::Graph& g) {
                     ir::Value* x = conformance::int8_input(g, {4, 6}, kScale, 3);
                     ir::Value* index = g.add_node("largest", "aten.argmax",
                                                   {{"self", x}, {"dim", std::int64_t{1}}, {"keepdim", false}},
                                                   {{DType::i32, {4}, {}, std::nullopt}})
                                            ->result();
                     std::vector<std::int8_t> rows;
                     for (int i = 0; i < 6 * 5; ++i) rows.push_back(static_cast<std::int8_t>(37 * i - 128));
                     ir::Value* table =
                         g.add_constant("table", ir::quantized_type({6, 5}, ir::per_tensor_i8(kScale, 3)),
                                        ir::Bytes::of(std::span<const std::int8_t>(rows)));
                     return add(g, false, "aten.index_select",
                                {{"self", table}, {"dim", std::int64_t{0}}, {"index", index}}, {4, 5});
                   }});
  return cases;
}

TEST(Gather, IntegersAreMovedAsTheyAre) { conformance::expect_near_float_semantics(cases(), 0); }

TEST(Gather, EveryCpuEqualsTheReference) { conformance::expect_same_bits_everywhere(cases(), 2); }

}  // namespace
}  // namespace cormorant::ops
