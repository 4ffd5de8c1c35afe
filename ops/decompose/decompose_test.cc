// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/op.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/import_rows.h"

namespace cormorant::ops {

Operator decompose_operator();

namespace {

using Dims = std::vector<std::int64_t>;

// What PyTorch 2.15 made of each, integers and booleans as floats.
TEST(DecomposeImport, EverySpellingIsPyTorchs) {
  const conformance::ImportRow rows[] = {
      {"aten.tril.default", {{3, 3}}, {{"diagonal", std::int64_t{-1}}}, {{{3, 3}, {0, 0, 0, 3, 0, 0, 6, 7, 0}}}},
      {"aten.triu.default", {{2, 3}}, {{"diagonal", std::int64_t{1}}}, {{{2, 3}, {0, 1, 2, 0, 0, 5}}}},
      {"aten.diagonal.default",
       {{2, 3, 4}},
       {{"offset", std::int64_t{1}}, {"dim1", std::int64_t{0}}, {"dim2", std::int64_t{2}}},
       {{{3, 2}, {1, 14, 5, 18, 9, 22}}}},
      {"aten.diag_embed.default",
       {{2, 2}},
       {{"offset", std::int64_t{1}}, {"dim1", std::int64_t{2}}, {"dim2", std::int64_t{0}}},
       {{{3, 2, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 3, 0}}}},
      {"aten.diag.default",
       {{3}},
       {{"diagonal", std::int64_t{-1}}},
       {{{4, 4}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0}}}},
      {"aten.diagonal_scatter.default", {{3, 3}, {3}}, {}, {{{3, 3}, {9, 1, 2, 3, 10, 5, 6, 7, 11}}}},
      {"aten.trace.default", {{3, 3}}, {}, {{{}, {12}}}},
      {"aten.unfold.default",
       {{5, 2}},
       {{"dimension", std::int64_t{0}}, {"size", std::int64_t{3}}, {"step", std::int64_t{2}}},
       {{{2, 2, 3}, {0, 2, 4, 1, 3, 5, 4, 6, 8, 5, 7, 9}}}},
      {"aten.im2col.default",
       {{1, 1, 3, 3}},
       {{"kernel_size", Dims{2, 2}}, {"dilation", Dims{1, 1}}, {"padding", Dims{1, 0}}, {"stride", Dims{2, 1}}},
       {{{1, 4, 4}, {0, 0, 3, 4, 0, 0, 4, 5, 0, 1, 6, 7, 1, 2, 7, 8}}}},
      {"aten.col2im.default",
       {{1, 4, 4}},
       {{"output_size", Dims{3, 3}},
        {"kernel_size", Dims{2, 2}},
        {"dilation", Dims{1, 1}},
        {"padding", Dims{0, 0}},
        {"stride", Dims{1, 1}}},
       {{{1, 1, 3, 3}, {0, 5, 5, 10, 30, 20, 10, 25, 15}}}},
      {"aten.meshgrid.indexing",
       {{2}, {3}},
       {{"indexing", std::string("xy")}},
       {{{3, 2}, {0, 1, 0, 1, 0, 1}}, {{3, 2}, {2, 2, 3, 3, 4, 4}}}},
      {"aten.var.correction", {{2, 4}}, {{"dim", Dims{1}}, {"correction", std::int64_t{0}}}, {{{2}, {1.25, 1.25}}}},
      {"aten.std.correction",
       {{2, 3}},
       {{"dim", Dims{1}}, {"correction", std::int64_t{1}}, {"keepdim", true}},
       {{{2, 1}, {1, 1}}}},
      {"aten.prod.dim_int", {{2, 3}}, {{"dim", std::int64_t{1}}}, {{{2}, {0, 60}}}},
      {"aten.any.dim", {{2, 3}}, {{"dim", std::int64_t{0}}}, {{{3}, {1, 1, 1}}}},
      {"aten.all.dim", {{2, 3}}, {{"dim", std::int64_t{1}}}, {{{2}, {0, 1}}}},
      {"aten.count_nonzero.default", {{2, 3}}, {}, {{{}, {5}}}},
      {"aten.argmax.default", {{2, 3}}, {}, {{{}, {5}}}},
      {"aten.argmin.default", {{2, 3}}, {{"dim", std::int64_t{-1}}}, {{{2}, {0, 0}}}},
      {"aten.max.dim", {{2, 3}}, {{"dim", std::int64_t{0}}}, {{{3}, {3, 4, 5}}, {{3}, {1, 1, 1}}}},
      {"aten.linalg_vector_norm.default", {{2, 2}}, {{"ord", std::int64_t{1}}, {"dim", Dims{1}}}, {{{2}, {1, 5}}}},
      {"aten.cdist.default", {{2, 1}, {3, 1}}, {{"p", 2.0}}, {{{2, 3}, {2, 3, 4, 1, 2, 3}}}},
      {"aten.sort.default",
       {{2, 3}},
       {{"dim", std::int64_t{-1}}, {"descending", true}},
       {{{2, 3}, {2, 1, 0, 5, 4, 3}}, {{2, 3}, {2, 1, 0, 2, 1, 0}}}},
      {"aten.topk.default", {{5}}, {{"k", std::int64_t{2}}}, {{{2}, {4, 3}}, {{2}, {4, 3}}}},
      {"aten.kthvalue.default",
       {{2, 3}},
       {{"k", std::int64_t{2}}, {"dim", std::int64_t{0}}},
       {{{3}, {3, 4, 5}}, {{3}, {1, 1, 1}}}},
      {"aten.cumsum.default", {{2, 3}}, {{"dim", std::int64_t{1}}}, {{{2, 3}, {0, 1, 3, 3, 7, 12}}}},
      {"aten.cumprod.default", {{2, 3}}, {{"dim", std::int64_t{0}}}, {{{2, 3}, {0, 1, 2, 0, 4, 10}}}},
      {"aten.cummax.default", {{4}}, {{"dim", std::int64_t{0}}}, {{{4}, {0, 1, 2, 3}}, {{4}, {0, 1, 2, 3}}}},
      {"aten.diff.default", {{5}}, {{"n", std::int64_t{2}}}, {{{3}, {0, 0, 0}}}},
      {"aten.trapezoid.dx", {{2, 3}}, {{"dx", 2.0}}, {{{2}, {4, 16}}}},
      {"aten.eq.Scalar", {{4}}, {{"other", std::int64_t{2}}}, {{{4}, {0, 0, 1, 0}}}},
      {"aten.remainder.Scalar", {{5}}, {{"other", -3.0}}, {{{5}, {0, -2, -1, 0, -2}}}},
      {"aten.fmod.Tensor", {{4}, {4}}, {}, {{{4}, {0, 1, 2, 3}}}},
      {"aten.div.Tensor_mode", {{4}, {4}}, {{"rounding_mode", std::string("floor")}}, {{{4}, {0, 0, 0, 0}}}},
      {"aten.lerp.Scalar", {{2}, {2}}, {{"weight", 0.75}}, {{{2}, {1.5, 2.5}}}},
      {"aten.addcmul.default", {{2}, {2}, {2}}, {{"value", std::int64_t{2}}}, {{{2}, {16, 31}}}},
      {"aten.select_scatter.default",
       {{3, 2}, {2}},
       {{"dim", std::int64_t{0}}, {"index", std::int64_t{1}}},
       {{{3, 2}, {0, 1, 6, 7, 4, 5}}}},
      {"aten.slice_scatter.default",
       {{5}, {2}},
       {{"dim", std::int64_t{0}}, {"start", std::int64_t{0}}, {"end", std::int64_t{4}}, {"step", std::int64_t{2}}},
       {{{5}, {5, 1, 6, 3, 4}}}},
      {"aten.outer.default", {{2}, {3}}, {}, {{{2, 3}, {0, 0, 0, 2, 3, 4}}}},
      {"aten.kron.default", {{1, 2}, {2, 2}}, {}, {{{2, 4}, {0, 0, 2, 3, 0, 0, 4, 5}}}},
      {"aten.cross.default", {{3}, {3}}, {}, {{{3}, {-3, 6, -3}}}},
      {"aten.tensordot.default",
       {{2, 3}, {3, 2}},
       {{"dims_self", Dims{1}}, {"dims_other", Dims{0}}},
       {{{2, 2}, {28, 31, 100, 112}}}},
      {"aten.einsum.default", {{2, 2}, {2, 2}}, {{"equation", std::string("ij,jk->ki")}}, {{{2, 2}, {6, 26, 7, 31}}}},
      {"aten.einsum.default", {{2, 2}}, {{"equation", std::string("ii->i")}}, {{{2}, {0, 3}}}},
      {"aten.einsum.default", {{2, 2, 2}, {2}}, {{"equation", std::string("...i,i")}}, {{{2, 2}, {9, 43, 77, 111}}}},
      {"aten.bilinear.default", {{1, 2}, {1, 2}, {1, 2, 2}}, {}, {{{1, 1}, {33}}}},
      {"aten.upsample_linear1d.default",
       {{1, 1, 2}},
       {{"output_size", Dims{4}}, {"align_corners", false}},
       {{{1, 1, 4}, {0, 0.25, 0.75, 1}}}},
      {"aten.upsample_bilinear2d.default",
       {{1, 1, 2, 2}},
       {{"output_size", Dims{3, 3}}, {"align_corners", true}},
       {{{1, 1, 3, 3}, {0, 0.5, 1, 1, 1.5, 2, 2, 2.5, 3}}}},
  };
  const Operator op = decompose_operator();
  for (const auto& row : rows) conformance::expect_as_pytorch(op, row);
}

std::vector<std::string> operators_of(std::string_view target, const ir::Shape& input, const ir::Shape& output,
                                      const std::vector<ir::NamedArgument>& given) {
  return conformance::import_call(target, input, output, given).operators;
}

TEST(DecomposeImport, BecomesTheseNodes) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(operators_of("aten.tril.default", {3, 3}, {3, 3}, {}), Names{"aten.where.self_out"});
  EXPECT_EQ(operators_of("aten.topk.default", {2, 9}, {2, 3}, {{"k", std::int64_t{3}}}),
            (Names{"cormorant.argsort.any", "aten.slice", "aten.gather", "cormorant.convert.any"}));
  EXPECT_EQ(operators_of("aten.glu.default", {2, 8}, {2, 4}, {}),
            (Names{"aten.slice", "aten.slice", "aten.sigmoid", "aten.mul"}));
  EXPECT_EQ(operators_of("aten.var.correction", {2, 8}, {2}, {{"dim", Dims{1}}}),
            (Names{"aten.mean", "aten.add", "aten.mul", "aten.sum", "aten.div", "aten.view"}));
  EXPECT_EQ(operators_of("aten.upsample_bilinear2d.default", {1, 2, 3, 3}, {1, 2, 6, 6},
                         {{"output_size", Dims{6, 6}}, {"align_corners", false}}),
            (Names{"cormorant.taps.float", "cormorant.taps.float"}));
}

TEST(DecomposeImport, ConstantIndicesBecomeSlices) {
  struct {
    Dims index;
    int slices;
    int cats;
  } table[] = {{{1, 2, 3}, 1, 0}, {{0, 1, 3, 3}, 3, 1}, {{0, 1, 2, 3}, 0, 0}};
  for (const auto& t : table) {
    ir::Graph graph;
    ir::Value* x = graph.add_input("x", ir::float_type({2, 4}));
    ir::TensorType type{DType::i64, {static_cast<std::int64_t>(t.index.size())}, {}, {}};
    ir::Value* index = graph.add_constant("i", type, ir::Bytes::of(std::span<const std::int64_t>(t.index)));
    ir::Node call;
    call.args = {{"self", x}, {"dim", std::int64_t{1}}, {"index", index}};
    Importer importer{&graph, &call, {ir::float_type({2, type.shape[0]})}};
    const Operator op = decompose_operator();
    for (const AtenForm& form : op.forms) {
      if (!form.schema.starts_with("index_select")) continue;
      graph.add_output(form.import(importer).front());
    }
    EXPECT_EQ(graph.outputs().at(0)->type.shape, ir::Shape({2, type.shape[0]}));
    const evaluate::Tensor input({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7});
    const evaluate::Tensor got = evaluate::evaluate_graph(graph, {&input, 1})[0];
    for (std::size_t i = 0; i < got.values().size(); ++i) {
      const std::size_t count = t.index.size();
      EXPECT_EQ(got.values()[i], static_cast<float>(4 * (i / count)) + static_cast<float>(t.index[i % count]));
    }
    int slices = 0, cats = 0;
    for (const ir::Node& node : graph.nodes()) {
      slices += node.op == "aten.slice" ? 1 : 0;
      cats += node.op == "aten.cat" ? 1 : 0;
    }
    EXPECT_EQ(slices, t.slices);
    EXPECT_EQ(cats, t.cats);
  }
}

}  // namespace
}  // namespace cormorant::ops
