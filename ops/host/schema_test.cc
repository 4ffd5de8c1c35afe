// SPDX-License-Identifier: Apache-2.0
#include "ops/host/schema.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "ops/op.h"
#include "runtime/kernel.h"

namespace cormorant::ops {
namespace {

TEST(Schema, ReadsPyTorchsNotation) {
  const Schema s = parse_schema(
      "conv2d.default(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=1, SymInt[2] padding=[0, 2], "
      "*, float eps=1e-05, bool flag=False, str mode='constant', Scalar? max=None, int[] none=[]) -> Tensor");
  EXPECT_EQ(s.target(), "aten.conv2d.default");
  ASSERT_EQ(s.arguments.size(), 10U);
  EXPECT_FALSE(s.arguments[0].fallback.has_value());
  EXPECT_EQ(s.arguments[2].type, "Tensor?");
  EXPECT_TRUE(std::holds_alternative<ir::None>(*s.arguments[2].fallback));
  EXPECT_EQ(s.arguments[3].type, "int[2]");
  EXPECT_EQ(*s.arguments[3].fallback, ir::Argument(std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(*s.arguments[4].fallback, ir::Argument(std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(*s.arguments[5].fallback, ir::Argument(1e-5));
  EXPECT_EQ(*s.arguments[6].fallback, ir::Argument(false));
  EXPECT_EQ(*s.arguments[7].fallback, ir::Argument(std::string("constant")));
  EXPECT_EQ(*s.arguments[9].fallback, ir::Argument(std::vector<std::int64_t>{}));
}

TEST(Schema, KnowsOtherNamespaces) {
  EXPECT_EQ(parse_schema("quantized_decomposed::quantize_per_tensor.default(Tensor input)").target(),
            "quantized_decomposed.quantize_per_tensor.default");
}

TEST(Nodes, OfTheHeaderAreOperators) {
  std::ifstream header(std::string(CORMORANT_SOURCE_DIR) + "/ops/nodes.h");
  const std::regex constant("inline constexpr const char\\* ([A-Za-z0-9_]+) =\\s*\"([^\"]+)\";");
  const std::string text{std::istreambuf_iterator<char>(header), {}};
  std::size_t count = 0;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), constant); at != std::sregex_iterator();
       ++at, ++count) {
    const std::string name = at->str(2);
    const bool is_beginning = name.ends_with('.');  // of several names
    const bool is_in_place = name.ends_with('_');   // only in programs of other compilers, without a signature
    EXPECT_TRUE(is_beginning || is_in_place || find_canonical(name) != nullptr || find_signature(name) != nullptr)
        << name << " is no operator's node";
    std::string identifier = name;
    std::ranges::replace(identifier, '.', '_');
    EXPECT_EQ(at->str(1), identifier);
  }
  EXPECT_GT(count, 50U);
}

TEST(Schema, EveryOperatorsFormsAreReadable) {
  for (const Operator& op : all_operators()) {
    for (const AtenForm& form : op.forms) EXPECT_NO_THROW(parse_schema(form.schema)) << form.schema;
  }
}

// facts: the schemas of ExecuTorch 1.5.1's Cortex-M operators that this project lowers to.
TEST(Signature, MatchesExecuTorchsSchemas) {
  const char* const expected[] = {
      "cortex_m::quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, "
      "ScalarType dtype)",
      "cortex_m::dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, "
      "ScalarType dtype)",
      "cortex_m::quantized_add(Tensor self, int self_zero_point, int self_multiplier, int self_shift, Tensor other, "
      "int other_zero_point, int other_multiplier, int other_shift, int output_zero_point, int output_multiplier, "
      "int output_shift, int activation_min, int activation_max)",
      "cortex_m::quantized_linear(Tensor input, Tensor weights, Tensor? bias, Tensor? kernel_sum, int input_offset, "
      "int filter_offset, int output_offset, int[] requantize_multipliers, int[] requantize_shifts, int "
      "activation_max, "
      "int activation_min)",
      "cortex_m::softmax(Tensor input, int dim, int input_zero_point, int output_zero_point, int input_multiplier, "
      "int input_shift, int diff_min)",
      "cortex_m::transpose(Tensor input, int[] perm)",
      "cortex_m::pad(Tensor input, int[] pre_pad, int[] post_pad, int pad_value)",
      "cortex_m::quantized_conv2d(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] "
      "dilation, "
      "int input_offset, int output_offset, Tensor requantize_multipliers, Tensor requantize_shifts, int "
      "activation_min, "
      "int activation_max, Tensor scratch)",
      "cortex_m::quantized_depthwise_conv2d(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
      "int[] dilation, int depth_multiplier, int input_offset, int output_offset, Tensor requantize_multipliers, "
      "Tensor requantize_shifts, int activation_min, int activation_max, Tensor scratch)",
      "cortex_m::quantized_avg_pool2d(Tensor input, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, "
      "int zero_point, int multiplier, int shift, Tensor scratch)",
  };
  for (const char* text : expected) {
    const std::string name = graph_name(std::string(text, std::string_view(text).find('(')) + ".out");
    const Signature* signature = find_signature(name);
    ASSERT_NE(signature, nullptr) << name;
    EXPECT_EQ(signature->text(), text);
    EXPECT_EQ(signature->outs, 1U) << name;
  }
}

TEST(Operators, EveryProgramNameHasAReferenceKernelForTheHost) {
  for (const Operator& op : all_operators()) {
    for (const ListedKernel& listed : op.kernels) {
      EXPECT_EQ(listed.host->name, listed.name);
      EXPECT_EQ(std::ranges::count(op.kernels, listed.name, &ListedKernel::name), 1) << listed.name;
    }
  }
}

}  // namespace
}  // namespace cormorant::ops
