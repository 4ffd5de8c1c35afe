// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/op.h"
#include "passes/passes.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/import_rows.h"

namespace cormorant::ops {

Operator flip_operator();

namespace {

using Dims = std::vector<std::int64_t>;

TEST(FlipImport, EverySpellingIsPyTorchs) {
  const conformance::ImportRow rows[] = {
      {"aten.flip.default", {{2, 3}}, {{"dims", Dims{-1}}}, {{{2, 3}, {2, 1, 0, 5, 4, 3}}}},
      {"aten.flip.default", {{2, 3}}, {{"dims", Dims{0, 1}}}, {{{2, 3}, {5, 4, 3, 2, 1, 0}}}},
      {"aten.flip.default", {{1, 3}}, {{"dims", Dims{0}}}, {{{1, 3}, {0, 1, 2}}}},
      {"aten.fliplr.default", {{2, 2}}, {}, {{{2, 2}, {1, 0, 3, 2}}}},
      {"aten.flipud.default", {{2, 2}}, {}, {{{2, 2}, {2, 3, 0, 1}}}},
      {"aten.rot90.default", {{2, 3}}, {{"k", std::int64_t{-1}}}, {{{3, 2}, {3, 0, 4, 1, 5, 2}}}},
      {"aten.rot90.default", {{2, 3}}, {{"k", std::int64_t{0}}}, {{{2, 3}, {0, 1, 2, 3, 4, 5}}}},
      {"aten.rot90.default", {{2, 3}}, {{"k", std::int64_t{1}}}, {{{3, 2}, {2, 5, 1, 4, 0, 3}}}},
      {"aten.rot90.default", {{2, 3}}, {{"k", std::int64_t{2}}}, {{{2, 3}, {5, 4, 3, 2, 1, 0}}}},
      {"aten.rot90.default", {{2, 3}}, {{"k", std::int64_t{3}}}, {{{3, 2}, {3, 0, 4, 1, 5, 2}}}},
      {"aten.rot90.default",
       {{2, 2, 2}},
       {{"k", std::int64_t{1}}, {"dims", Dims{2, 0}}},
       {{{2, 2, 2}, {4, 0, 6, 2, 5, 1, 7, 3}}}},
  };
  const Operator op = flip_operator();
  for (const auto& row : rows) conformance::expect_as_pytorch(op, row);
}

conformance::Case flip_case(ir::Shape shape, Dims dims) {
  std::string name = "flip of";
  for (const std::int64_t n : shape) name += " " + std::to_string(n);
  name += " along";
  for (const std::int64_t n : dims) name += " " + std::to_string(n);
  return {name, [=](ir::Graph& g) {
            ir::Value* x = conformance::int8_input(g, shape, 0.1, -5);
            return conformance::add_quantized(g, "aten.flip", {{"self", x}, {"dims", dims}}, shape, 0.1, -5);
          }};
}

std::vector<conformance::Case> cases() {
  std::vector<conformance::Case> all = {
      flip_case({300}, {0}),
      flip_case({7, 33}, {1}),
      flip_case({7, 33}, {0}),
      flip_case({7, 33}, {0, 1}),
      flip_case({3, 4, 5}, {1}),
      flip_case({3, 4, 5}, {0, 2}),
      flip_case({2, 3, 4, 5, 3}, {3, 1}),
      flip_case({2, 3, 2, 3, 2, 3}, {0, 2, 4}),
      flip_case({5, 1}, {1}),
  };
  for (const std::int64_t channels : {1, 3, 5, 17}) {
    for (std::int64_t dim = 1; dim < 4; ++dim) all.push_back(flip_case({1, channels, 3, 4}, {dim}));
  }
  return all;
}

TEST(Flip, EveryVariantEqualsTheReference) { conformance::expect_same_bits_everywhere(cases(), 1); }

TEST(Flip, EqualsTheFloatSemantics) { conformance::expect_near_float_semantics(cases(), 0.0, 2); }

ir::TensorType i8(ir::Shape shape) { return {DType::i8, std::move(shape), {}, {}}; }

TEST(Flip, LoadRefusesWhatDoesNotFit) {
  const auto flip = [](Dims dims, const ir::TensorType& out) {
    return conformance::loads("aten.flip", i8({2, 3}), {{"dims", std::move(dims)}}, out);
  };
  EXPECT_TRUE(flip({-1, 0}, i8({2, 3})));
  EXPECT_FALSE(flip({1, -1}, i8({2, 3})));
  EXPECT_FALSE(flip({2}, i8({2, 3})));
  EXPECT_FALSE(flip({0, 1, 0, 1, 0, 1, 0, 1}, i8({2, 3})));
  EXPECT_FALSE(flip({0}, i8({3, 2})));
  EXPECT_FALSE(flip({0}, i8({6})));
  EXPECT_FALSE(flip({0}, {DType::u8, {2, 3}, {}, {}}));
}

}  // namespace
}  // namespace cormorant::ops
