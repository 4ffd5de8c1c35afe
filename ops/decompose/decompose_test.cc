// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/diagnostic.h"
#include "ops/host/build.h"
#include "ops/host/schema.h"
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
      {"aten.im2col.default",
       {{1, 2, 2, 4}},
       {{"kernel_size", Dims{2, 2}}, {"dilation", Dims{1, 1}}, {"padding", Dims{0, 0}}, {"stride", Dims{2, 2}}},
       {{{1, 8, 2}, {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15}}}},
      {"aten.col2im.default",
       {{1, 8, 2}},
       {{"output_size", Dims{2, 4}},
        {"kernel_size", Dims{2, 2}},
        {"dilation", Dims{1, 1}},
        {"padding", Dims{0, 0}},
        {"stride", Dims{2, 2}}},
       {{{1, 2, 2, 4}, {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15}}}},
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
      {"aten.stft.default",
       {{6}},
       {{"n_fft", std::int64_t{4}}, {"hop_length", std::int64_t{2}}},
       {{{3, 2, 2}, {6, 0, 14, 0, -2, 2, -2, 2, -2, 0, -2, 0}}}},
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
      {"aten.addbmm.default", {{2, 3}, {1, 2, 0}, {1, 0, 3}}, {}, {{{2, 3}, {0, 1, 2, 3, 4, 5}}}},
      {"aten.outer.default", {{2}, {3}}, {}, {{{2, 3}, {0, 0, 0, 2, 3, 4}}}},
      {"aten.kron.default", {{1, 2}, {2, 2}}, {}, {{{2, 4}, {0, 0, 2, 3, 0, 0, 4, 5}}}},
      {"aten.cross.default", {{3}, {3}}, {}, {{{3}, {-3, 6, -3}}}},
      {"aten.tensordot.default",
       {{2, 3}, {3, 2}},
       {{"dims_self", Dims{1}}, {"dims_other", Dims{0}}},
       {{{2, 2}, {28, 31, 100, 112}}}},
      {"aten.einsum.default", {{2, 2}, {2, 2}}, {{"equation", std::string("ij,jk->ki")}}, {{{2, 2}, {6, 26, 7, 31}}}},
      {"aten.einsum.default", {{2}, {3}}, {{"equation", std::string("i,j->ij")}}, {{{2, 3}, {0, 0, 0, 2, 3, 4}}}},
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
      {"aten._upsample_bilinear2d_aa.vec",
       {{1, 1, 1, 2}},
       {{"output_size", Dims{1, 4}}, {"align_corners", false}},
       {{{1, 1, 1, 4}, {0, 0.25, 0.75, 1}}}},
      {"aten.affine_grid_generator.default",
       {{1, 2, 3}},
       {{"size", Dims{1, 1, 2, 2}}, {"align_corners", true}},
       {{{1, 2, 2, 2}, {1, -2, 1, 4, 3, 6, 3, 12}}}},
      {"aten.affine_grid_generator.default",
       {{1, 2, 3}},
       {{"size", Dims{1, 1, 1, 2}}, {"align_corners", false}},
       {{{1, 1, 2, 2}, {2, 3.5, 2, 6.5}}}},
      {"aten._weight_norm.default", {{1, 2}, {1, 1}}, {}, {{{1, 2}, {0, 2}}}},
      {"aten._weight_norm.default", {{2, 1}, {1, 1}}, {{"dim", std::int64_t{1}}}, {{{2, 1}, {0, 2}}}},
      {"aten._weight_norm.default", {{1, 2}, {}}, {{"dim", std::int64_t{-1}}}, {{{1, 2}, {0, 2}}}},
      {"aten._weight_norm_interface.default", {{1, 2}, {1, 1}}, {}, {{{1, 2}, {0, 2}}, {{1, 1}, {1}}}},
      {"aten.norm_except_dim.default",
       {{2, 2}},
       {{"pow", std::int64_t{1}}, {"dim", std::int64_t{1}}},
       {{{1, 2}, {2, 4}}}},
      {"aten.linalg_diagonal.default", {{2, 2}}, {}, {{{2}, {0, 3}}}},
      {"aten.renorm.default",
       {{2, 2}},
       {{"p", std::int64_t{1}}, {"dim", std::int64_t{-1}}, {"maxnorm", 100.0}},
       {{{2, 2}, {0, 1, 2, 3}}}},
      {"aten.linalg_norm.default", {{1, 2}}, {}, {{{}, {1}}}},
      {"aten.linalg_norm.default", {{2, 3}}, {{"ord", std::int64_t{1}}}, {{{}, {7}}}},
      {"aten.linalg_norm.default",
       {{2, 3}},
       {{"ord", std::numeric_limits<double>::infinity()}, {"dim", Dims{0, 1}}},
       {{{}, {12}}}},
      {"aten.linalg_norm.default",
       {{2, 3}},
       {{"ord", std::int64_t{-1}}, {"dim", Dims{-1, 0}}, {"keepdim", true}},
       {{{1, 1}, {3}}}},
      {"aten.linalg_norm.default", {{2, 3}}, {{"ord", std::int64_t{1}}, {"dim", Dims{1}}}, {{{2}, {3, 12}}}},
      {"aten.linalg_norm.ord_str", {{1, 2}}, {{"ord", std::string("fro")}}, {{{}, {1}}}},
      {"aten.linalg_matrix_norm.default", {{2, 2, 3}}, {{"ord", 1.0}, {"dim", Dims{0, 2}}}, {{{2}, {10, 16}}}},
      {"aten.dist.default", {{2}, {2}}, {{"p", std::int64_t{1}}}, {{{}, {4}}}},
      {"aten.isclose.default", {{4}, {1}}, {{"rtol", 0.5}, {"atol", 0.0}}, {{{4}, {0, 0, 1, 1}}}},
      {"aten.mse_loss.default", {{2, 2}, {2, 2}}, {}, {{{}, {16}}}},
      {"aten.mse_loss.default", {{2}, {2}}, {{"reduction", std::int64_t{0}}}, {{{2}, {4, 4}}}},
      {"aten.l1_loss.default", {{2}, {2}}, {{"reduction", std::int64_t{2}}}, {{{}, {4}}}},
      {"aten.smooth_l1_loss.default",
       {{3}, {1}},
       {{"reduction", std::int64_t{0}}, {"beta", 2.0}},
       {{{3}, {2, 1, 0.25}}}},
      {"aten.smooth_l1_loss.default", {{3}, {1}}, {{"reduction", std::int64_t{0}}, {"beta", 0.0}}, {{{3}, {3, 2, 1}}}},
      {"aten.huber_loss.default", {{3}, {1}}, {{"reduction", std::int64_t{0}}, {"delta", 2.0}}, {{{3}, {4, 2, 0.5}}}},
      {"aten.margin_ranking_loss.default",
       {{2}, {2}, {2}},
       {{"margin", 1.0}, {"reduction", std::int64_t{0}}},
       {{{2}, {9, 11}}}},
      {"aten.triplet_margin_loss.default",
       {{2, 1}, {2, 1}, {2, 1}},
       {{"margin", 3.0}, {"p", 1.0}, {"eps", 0.0}, {"swap", true}, {"reduction", std::int64_t{2}}},
       {{{}, {6}}}},
  };
  const Operator op = decompose_operator();
  for (const auto& row : rows) conformance::expect_as_pytorch(op, row);
}

struct Constant {
  DType type;
  ir::Shape shape;
  std::vector<double> values;
};

// What becomes of a call whose tensors, in order, are these.
std::vector<float> result_of(const std::string& target, const std::vector<Constant>& tensors,
                             const std::vector<ir::NamedArgument>& given, const ir::TensorType& result) {
  const Operator op = decompose_operator();
  const auto form = std::ranges::find_if(
      op.forms, [&](const AtenForm& candidate) { return parse_schema(candidate.schema).target() == target; });
  if (form == op.forms.end()) return {};
  ir::Graph graph;
  ir::Node call;
  call.name = "call";
  call.op = target;
  Importer importer{&graph, &call, {result}};
  std::size_t used = 0;
  for (const SchemaArgument& argument : parse_schema(form->schema).arguments) {
    ir::Argument value = argument.fallback.value_or(ir::None{});
    if (argument.type == "Tensor" || (argument.type == "Tensor?" && used < tensors.size())) {
      const Constant& tensor = tensors.at(used++);
      value = Build(importer).constant(tensor.type, tensor.shape, tensor.values);
    }
    for (const ir::NamedArgument& named : given) {
      if (named.name == argument.name) value = named.value;
    }
    call.args.push_back({argument.name, value});
  }
  graph.add_output(form->import(importer).front());
  const evaluate::Tensor tensor = evaluate::evaluate_graph(graph, {})[0];
  return {tensor.values().begin(), tensor.values().end()};
}

TEST(DecomposeImport, OfConstantsIsPyTorchs) {
  const Constant scores{DType::f32, {2, 3}, {0, 1, 2, 3, 4, 5}};
  const Constant classes{DType::i64, {2}, {2, 0}};
  const Constant weights{DType::f32, {3}, {1, 2, 3}};
  const auto each = std::pair<const char*, std::int64_t>("reduction", 0);
  struct {
    std::string target;
    std::vector<Constant> tensors;
    std::vector<ir::NamedArgument> args;
    ir::TensorType type;
    std::vector<float> expected;
  } rows[] = {
      {"aten.nll_loss_nd.default", {scores, classes}, {}, ir::float_type({}), {-2.5F}},
      {"aten.nll_loss_nd.default", {scores, classes, weights}, {}, ir::float_type({}), {-2.25F}},
      {"aten.nll_loss_nd.default",
       {scores, classes},
       {{each.first, each.second}, {"ignore_index", std::int64_t{2}}},
       ir::float_type({2}),
       {0, -3}},
      {"aten.cross_entropy_loss.default",
       {{DType::f32, {1, 2}, {0, 0}}, {DType::i64, {1}, {1}}},
       {},
       ir::float_type({}),
       {0.6931472F}},
      {"aten.cross_entropy_loss.default",
       {{DType::f32, {1, 2}, {0, 0}}, {DType::f32, {1, 2}, {0.25, 0.75}}},
       {{"label_smoothing", 0.5}},
       ir::float_type({}),
       {0.6931472F}},
      {"aten.binary_cross_entropy.default",
       {{DType::f32, {2}, {0, 1}}, {DType::f32, {2}, {1, 0}}},
       {{each.first, each.second}},
       ir::float_type({2}),
       {100, 100}},
      {"aten.binary_cross_entropy_with_logits.default",
       {{DType::f32, {1}, {0}}, {DType::f32, {1}, {1}}},
       {},
       ir::float_type({}),
       {0.6931472F}},
      {"aten.hinge_embedding_loss.default",
       {{DType::f32, {2}, {0.25, 0.25}}, {DType::f32, {2}, {1, -1}}},
       {{each.first, each.second}},
       ir::float_type({2}),
       {0.25F, 0.75F}},
      {"aten.cosine_embedding_loss.default",
       {{DType::f32, {2, 1}, {2, 2}}, {DType::f32, {2, 1}, {-3, 3}}, {DType::i64, {2}, {1, -1}}},
       {{each.first, each.second}},
       ir::float_type({2}),
       {2, 1}},
      {"aten.kl_div.default",
       {{DType::f32, {2}, {1, 2}}, {DType::f32, {2}, {0, 1}}},
       {{each.first, each.second}},
       ir::float_type({2}),
       {0, -2}},
      {"aten.poisson_nll_loss.default",
       {{DType::f32, {2}, {0, 0}}, {DType::f32, {2}, {0, 2}}},
       {{"log_input", true}, {"full", true}, {"eps", 1e-8}, {each.first, each.second}},
       ir::float_type({2}),
       {1, 1.651806F}},
      {"aten.soft_margin_loss.default",
       {{DType::f32, {1}, {0}}, {DType::f32, {1}, {1}}},
       {},
       ir::float_type({}),
       {0.6931472F}},
      {"aten.one_hot.default",
       {{DType::i64, {2}, {0, 1}}},
       {{"num_classes", std::int64_t{3}}},
       {DType::i64, {2, 3}, {}, {}},
       {1, 0, 0, 0, 1, 0}},
      {"aten.masked_scatter.default",
       {{DType::f32, {4}, {0, 1, 2, 3}}, {DType::boolean, {4}, {0, 1, 0, 1}}, {DType::f32, {4}, {4, 5, 6, 7}}},
       {},
       ir::float_type({4}),
       {0, 4, 2, 5}},
      {"aten._upsample_bilinear2d_aa.vec",
       {{DType::f32, {1, 1, 1, 4}, {0, 1, 2, 3}}},
       {{"output_size", Dims{1, 2}}, {"align_corners", false}},
       ir::float_type({1, 1, 1, 2}),
       {0.7142857F, 2.2857144F}},
      {"aten._upsample_bicubic2d_aa.vec",
       {{DType::f32, {1, 1, 1, 4}, {0, 1, 2, 3}}},
       {{"output_size", Dims{1, 2}}, {"align_corners", false}},
       ir::float_type({1, 1, 1, 2}),
       {0.5867769F, 2.413223F}},
      {"aten.masked_select.default",
       {{DType::f32, {2, 2}, {0, 1, 2, 3}}, {DType::boolean, {2, 1}, {0, 1}}},
       {},
       ir::float_type({2}),
       {2, 3}},
      {"aten.nonzero.default", {{DType::f32, {2, 2}, {0, 5, 0, -1}}}, {}, {DType::i64, {2, 2}, {}, {}}, {0, 1, 1, 1}},
      {"aten.repeat_interleave.Tensor", {{DType::i64, {3}, {2, 0, 1}}}, {}, {DType::i64, {3}, {}, {}}, {0, 0, 2}},
      {"aten.renorm.default",
       {{DType::f32, {2, 2}, {0, 1, 2, 3}}},
       {{"p", std::int64_t{1}}, {"dim", std::int64_t{-1}}, {"maxnorm", 2.0}},
       ir::float_type({2, 2}),
       {0, 0.5F, 2, 1.5F}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.target);
    const std::vector<float> got = result_of(row.target, row.tensors, row.args, row.type);
    ASSERT_EQ(got.size(), row.expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], row.expected[i], 2e-6) << i;
  }
}

TEST(DecomposeImport, WhatDependsOnDataOrSingularValuesIsRefused) {
  const ir::TensorType number = ir::float_type({});
  EXPECT_THROW(result_of("aten.one_hot.default", {{DType::i64, {1}, {0}}}, {}, {DType::i64, {1, 1}, {}, {}}),
               InputError);
  EXPECT_THROW(
      result_of("aten.linalg_norm.ord_str", {{DType::f32, {1, 2}, {0, 1}}}, {{"ord", std::string("nuc")}}, number),
      InputError);
  EXPECT_THROW(result_of("aten.linalg_matrix_norm.default", {{DType::f32, {1, 2}, {0, 1}}}, {{"ord", 2.0}}, number),
               InputError);
}

// Offsets that are constants say which rows are in a bag: equally many of each, different numbers, none.
TEST(DecomposeImport, BagsThatAreKnownAreNotScattered) {
  struct {
    std::vector<double> offsets;
    std::int64_t mode;
    std::vector<float> expected;  // of torch.nn.functional.embedding_bag
  } rows[] = {{{0, 2}, 0, {2, 4, 10, 12}}, {{0, 2}, 1, {1, 2, 5, 6}},          {{0, 2}, 2, {2, 3, 6, 7}},
              {{0, 3}, 1, {2, 3, 6, 7}},   {{0, 1, 1}, 1, {0, 1, 0, 0, 4, 5}}, {{0, 1, 1}, 2, {0, 1, 0, 0, 6, 7}}};
  for (const auto& row : rows) {
    const auto bags = static_cast<std::int64_t>(row.offsets.size());
    ir::Graph graph;
    ir::Value* weight = graph.add_input("w", ir::float_type({4, 2}));
    ir::Node call;
    call.name = "call";
    Importer importer{&graph, &call, {ir::float_type({bags, 2})}};
    const Build b(importer);
    const std::vector<double> index = {0, 1, 2, 3};
    call.args = {{"weight", weight},
                 {"indices", b.constant(DType::i64, {4}, index)},
                 {"offsets", b.constant(DType::i64, {bags}, row.offsets)},
                 {"mode", row.mode},
                 {"per_sample_weights", ir::None{}}};
    for (const AtenForm& form : decompose_operator().forms) {
      if (form.schema.starts_with("embedding_bag.default")) graph.add_output(form.import(importer).front());
    }
    for (const ir::Node& node : graph.nodes()) EXPECT_EQ(node.op.find("scatter"), std::string::npos) << node.op;
    const evaluate::Tensor input({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
    const evaluate::Tensor got = evaluate::evaluate_graph(graph, {&input, 1}).at(0);
    EXPECT_EQ(std::vector<float>(got.values().begin(), got.values().end()), row.expected)
        << row.mode << " of " << row.offsets.size();
  }
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
  // Blocks side by side are only moved.
  EXPECT_EQ(operators_of("aten.col2im.default", {1, 8, 2}, {1, 2, 2, 4},
                         {{"output_size", Dims{2, 4}},
                          {"kernel_size", Dims{2, 2}},
                          {"dilation", Dims{1, 1}},
                          {"padding", Dims{0, 0}},
                          {"stride", Dims{2, 2}}}),
            (Names{"aten.view", "aten.permute", "aten.view"}));
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
