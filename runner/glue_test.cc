// SPDX-License-Identifier: Apache-2.0
#include "runner/glue.h"

#include "base/diagnostic.h"
#include "gtest/gtest.h"
#include "runner/symbol.h"

namespace cormorant {
namespace {

const Target kM55 = {&kCpus[9], Isa::mve};

TEST(KernelSymbol, FollowsTheNamingRule) {
  const struct {
    const char* name;
    Isa isa;
    const char* symbol;
  } cases[] = {
      {"cormorant::conv2d.mve_1x1", Isa::mve, "cormorant_conv2d_mve_1x1"},
      {"cormorant::conv2d.mve_1x1", Isa::scalar, "cormorant_conv2d_mve_1x1"},  // its name says the ISA
      {"cortex_m::quantized_add.out", Isa::mve, "cortex_m_quantized_add_out_mve"},
      {"aten::view_copy.out", Isa::dsp, "aten_view_copy_out_dsp"},
      {"aten::relu", Isa::scalar, "aten_relu_scalar"},
  };
  for (const auto& c : cases) EXPECT_EQ(kernel_symbol(c.name, c.isa), c.symbol);
}

TEST(KernelSymbol, RefusesNamesThatAreMoreThanAName) {
  EXPECT_TRUE(is_operator_name("cortex_m::pad.out"));
  for (const char* name : {"", "a b", "a\n.incbin \"/etc/passwd\"", "a;b", "a\"b", "é"}) {
    EXPECT_FALSE(is_operator_name(name)) << name;
  }
}

TEST(ChooseKernels, TakesTheTargetsIsaOrElseTheNextSimplerOne) {
  const std::vector<std::string> defined = {"aten_a_out_mve",    "aten_a_out_dsp",    "aten_b_out_dsp",
                                            "aten_b_out_scalar", "aten_c_out_scalar", "cormorant_d_mve"};
  const auto kernels = choose_kernels({"aten::a.out", "aten::b.out", "aten::c.out", "cormorant::d.mve"}, kM55, defined);
  ASSERT_EQ(kernels.size(), 4U);
  EXPECT_EQ(kernels[0].symbol, "aten_a_out_mve");
  EXPECT_EQ(kernels[1].symbol, "aten_b_out_dsp");
  EXPECT_EQ(kernels[2].symbol, "aten_c_out_scalar");
  EXPECT_EQ(kernels[3].symbol, "cormorant_d_mve");
}

TEST(ChooseKernels, NeverTakesMoreThanTheTargetsIsa) {
  const Target scalar = {&kCpus[9], Isa::scalar};
  EXPECT_THROW(choose_kernels({"aten::a.out"}, scalar, {"aten_a_out_mve"}), InputError);
}

TEST(ChooseKernels, NamesAllOperatorsWithoutAKernelAtOnce) {
  try {
    choose_kernels({"aten::here.out", "aten::fft.out", "x; y", "aten::sort.out"}, kM55, {"aten_here_out_mve"});
    FAIL() << "nothing was reported";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostic().problem,
              "no kernel for cortex-m55 with mve instructions: aten::fft.out, x; y, aten::sort.out");
  }
}

TEST(PlaceArenas, FillsTheFastestMemoryFirstAndSpills) {
  const Board& board = *find_board("mps3-an547");
  const auto placed = place_arenas({300 * kKiB, 100 * kKiB, 100 * kKiB, 3 * kMiB}, board);
  ASSERT_EQ(placed.size(), 4U);
  EXPECT_EQ(placed[0].region, "dtcm");
  EXPECT_EQ(placed[1].region, "dtcm");
  EXPECT_EQ(placed[2].region, "sram");
  EXPECT_EQ(placed[3].region, "ddr");
}

TEST(PlaceArenas, TakesTheMemoryThatTheProgramNames) {
  const Board& board = *find_board("mps3-an547");
  const auto placed = place_arenas({100, 100, 3 * kMiB, 100}, board, {"sram", "tcm", "sram", "ddr"});
  ASSERT_EQ(placed.size(), 4U);
  EXPECT_EQ(placed[0].region, "sram");
  EXPECT_EQ(placed[1].region, "dtcm");  // the board has no such memory
  EXPECT_EQ(placed[2].region, "ddr");   // has too little
  EXPECT_EQ(placed[3].region, "ddr");
}

TEST(PlaceArenas, SaysWhenNothingHasRoom) {
  EXPECT_THROW(place_arenas({5 * kMiB}, *find_board("mps2-an385")), InputError);
  EXPECT_THROW(place_arenas({~std::uint64_t{0} >> 1}, *find_board("mps3-an547")), InputError);
}

TEST(Assembly, QuotesAPathThatNeedsIt) {
  const std::string text = assembly({.model = "a\"b\\c.pte", .method = "forward", .kernels = {}, .arenas = {}});
  EXPECT_NE(text.find(R"(.incbin "a\"b\\c.pte")"), std::string::npos) << text;
}

}  // namespace
}  // namespace cormorant
