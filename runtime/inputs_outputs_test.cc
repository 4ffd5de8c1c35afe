// SPDX-License-Identifier: Apache-2.0
//
// What a program says of its inputs and outputs: by number, with names and scales where the compiler has noted them,
// and without a fault where the file is wrong.
#include <gtest/gtest.h>

#include <limits>

#include "formats/pte/origin.h"
#include "formats/pte/writer.h"
#include "runtime/host.h"
#include "runtime/test_load.h"

namespace cormorant {
namespace {

// x, mask -> y: toy::sum(x) = y, with what the test notes at the beginning.
std::vector<std::byte> program_with(std::vector<pte::Value> notes) {
  pte::Plan plan;
  plan.values = std::move(notes);
  const auto tensor = [&](std::uint64_t offset) {
    return plan.add(pte::Tensor{
        .dtype = DType::i8, .sizes = {1, 2, 1, 3}, .dim_order = {0, 2, 3, 1}, .place = pte::Place{1, offset}});
  };
  plan.inputs = {tensor(0), tensor(16)};
  plan.outputs = {tensor(32)};
  const std::int32_t out = plan.outputs[0];
  plan.calls = {{plan.intern_operator("toy::sum", "out"), {plan.inputs[0], out, out}}};
  plan.memory_sizes = {0, 48};
  return pte::write({.plans = {plan}});
}

const std::vector<pte::Value> kNotes = {std::string("cormorant cortex-m4 dsp named quantized"),
                                        pte::DoubleList{{0.5, -3, 0, 0, 0.25, 127}}, std::string("x"),
                                        std::string("mask"), std::string("scores")};

TEST(InputsAndOutputs, HaveTypeShapeOrderAndPlace) {
  const test::Loaded loaded = test::load(program_with(kNotes));
  ASSERT_TRUE(loaded.program.ok());
  const Program& program = loaded.program.value();
  ASSERT_EQ(program.input_count(), 2U);
  ASSERT_EQ(program.output_count(), 1U);
  const IoTensor mask = program.input(1);
  EXPECT_EQ(mask.data(), loaded.arena.span().data() + 16);
  EXPECT_EQ(mask.bytes(), 6U);
  EXPECT_EQ(mask.type(), DType::i8);
  EXPECT_EQ(std::vector<std::int32_t>(mask.sizes().begin(), mask.sizes().end()),
            std::vector<std::int32_t>({1, 2, 1, 3}));
  EXPECT_EQ(std::vector<std::uint8_t>(mask.order().begin(), mask.order().end()),
            std::vector<std::uint8_t>({0, 2, 3, 1}));
  EXPECT_EQ(mask.as<std::int8_t>().size(), 6U);
}

TEST(InputsAndOutputs, HaveTheNamesAndScalesThatAreNoted) {
  const test::Loaded loaded = test::load(program_with(kNotes));
  const Program& program = loaded.program.value();
  EXPECT_STREQ(program.input_name(0), "x");
  EXPECT_STREQ(program.input_name(1), "mask");
  EXPECT_STREQ(program.output_name(0), "scores");
  EXPECT_EQ(program.input_quantization(0).scale, 0.5F);
  EXPECT_EQ(program.input_quantization(0).zero_point, -3);
  EXPECT_EQ(program.input_quantization(1).scale, 0);
  EXPECT_EQ(program.output_quantization(0).scale, 0.25F);
  EXPECT_EQ(program.output_quantization(0).zero_point, 127);
  cormorant_quantization none;
  EXPECT_EQ(cormorant_output_quantization(&program.c(), 1, &none), CORMORANT_BAD_INPUT);
  EXPECT_STREQ(program.output_name(1), "");
}

TEST(InputsAndOutputs, OfOtherCompilersHaveNeither) {
  const test::Loaded loaded = test::load(program_with({}));
  const Program& program = loaded.program.value();
  EXPECT_STREQ(program.input_name(0), "");
  cormorant_quantization quantization = {1, 1};
  EXPECT_EQ(cormorant_input_quantization(&program.c(), 0, &quantization), CORMORANT_OK);
  EXPECT_EQ(quantization.scale, 0);
}

// A foreign string that looks like the old notes, or an argument of an operator, is not a scale.
TEST(InputsAndOutputs, TakeNothingFromStringsElsewhere) {
  const test::Loaded loaded = test::load(program_with({std::string("input 0 scale 0.5 zero_point 3")}));
  EXPECT_EQ(loaded.program.value().input_quantization(0).scale, 0);
}

TEST(InputsAndOutputs, AreRefusedWhereTheNotesAreWrong) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<pte::Value, cormorant_error>> cases = {
      {pte::DoubleList{{0.5}}, CORMORANT_BAD_VALUE},       {pte::DoubleList{{kNan, 0}}, CORMORANT_BAD_VALUE},
      {pte::DoubleList{{-1, 0}}, CORMORANT_BAD_VALUE},     {pte::DoubleList{{1e300, 0}}, CORMORANT_BAD_VALUE},
      {pte::DoubleList{{0.5, kNan}}, CORMORANT_BAD_VALUE}, {pte::DoubleList{{0.5, 1e9}}, CORMORANT_BAD_VALUE},
      {std::string("no list"), CORMORANT_BAD_VALUE},
  };
  for (const auto& [value, error] : cases) {
    const test::Loaded loaded =
        test::load(program_with({std::string("cormorant cortex-m4 dsp named quantized"), value, std::int64_t{7}}));
    ASSERT_TRUE(loaded.program.ok());
    cormorant_quantization quantization;
    EXPECT_EQ(cormorant_input_quantization(&loaded.program.value().c(), 0, &quantization), error);
    EXPECT_STREQ(loaded.program.value().input_name(0), "");  // a number
  }
}

}  // namespace
}  // namespace cormorant
