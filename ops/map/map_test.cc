// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/conformance/conformance.h"

namespace cormorant::ops {
namespace {

// The mask repeats, is as large as the image, or is larger than what it chooses from.
conformance::Case where_case(const char* name, ir::Shape mask, ir::Shape other) {
  return {name, [=](ir::Graph& g) {
            const ir::Shape shape = {1, 5, 3, 7};
            ir::Value* x = conformance::int8_input(g, shape, 0.1, 3);
            ir::TensorType type{DType::boolean, mask, {}, std::nullopt};
            std::vector<std::uint8_t> truth(static_cast<std::size_t>(type.elements()));
            for (std::size_t i = 0; i < truth.size(); ++i) truth[i] = i * 5 % 3 == 0 ? 1 : 0;
            ir::Value* m = g.add_constant("m", type, ir::Bytes::of(std::span<const std::uint8_t>(truth)));
            ir::TensorType filled = ir::quantized_type(other, ir::per_tensor_i8(0.1, 3));
            std::vector<std::int8_t> levels(static_cast<std::size_t>(filled.elements()));
            for (std::size_t i = 0; i < levels.size(); ++i) levels[i] = static_cast<std::int8_t>(i * 37 + 11);
            ir::Value* y = g.add_constant("y", filled, ir::Bytes::of(std::span<const std::int8_t>(levels)));
            return conformance::add_quantized(g, "aten.where.self_out", {{"condition", m}, {"self", x}, {"other", y}},
                                              shape, 0.1, 3);
          }};
}

std::vector<conformance::Case> cases() {
  return {where_case("a mask of pixels", {1, 1, 3, 7}, {1}), where_case("a mask of channels", {5, 1, 1}, {1, 5, 3, 7}),
          where_case("a mask of all", {1, 5, 3, 7}, {1, 5, 1, 1})};
}

TEST(Where, EveryCpuEqualsTheReference) { conformance::expect_same_bits_everywhere(cases()); }

TEST(Where, EqualsTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 0); }

}  // namespace
}  // namespace cormorant::ops
