// SPDX-License-Identifier: Apache-2.0
#include "runner/glue.h"

#include <set>
#include <sstream>

#include "base/diagnostic.h"
#include "gtest/gtest.h"
#include "runner/model_header.h"
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

// One kernel per operator, by the types that the program gives it. A name that ends like a symbol is not an operator.
TEST(ChooseKernels, TakesTheKernelOfAllTypesWhereIntegersAre) {
  const std::vector<std::string> defined = {"aten_a_out_scalar", "aten_a_out_numbers_scalar", "aten_b_out_mve"};
  const auto kernels = choose_kernels({"aten::a.out", "aten::b.out"}, kM55, defined, {"aten::b.out", "aten::a.out"});
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].operator_name, "aten::a.out");
  EXPECT_EQ(kernels[0].symbol, "aten_a_out_numbers_scalar");
  EXPECT_EQ(kernels[1].symbol, "aten_b_out_mve");
  EXPECT_EQ(choose_kernels({"aten::a.out"}, kM55, defined)[0].symbol, "aten_a_out_scalar");
  EXPECT_THROW(choose_kernels({"aten::a.out_numbers"}, kM55, defined), InputError);
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
  EXPECT_EQ(placed[0].section, ".arena.dtcm");
  EXPECT_EQ(placed[1].section, ".arena.dtcm");
  EXPECT_EQ(placed[2].section, ".arena.sram");
  EXPECT_EQ(placed[3].section, ".arena.ddr");
}

TEST(PlaceArenas, TakesTheMemoryThatTheProgramNames) {
  const Board& board = *find_board("mps3-an547");
  const auto placed = place_arenas({100, 100, 3 * kMiB, 100}, board, {"sram", "tcm", "sram", "ddr"});
  ASSERT_EQ(placed.size(), 4U);
  EXPECT_EQ(placed[0].section, ".arena.sram");
  EXPECT_EQ(placed[1].section, ".arena.dtcm");  // the board has no such memory
  EXPECT_EQ(placed[2].section, ".arena.ddr");   // has too little
  EXPECT_EQ(placed[3].section, ".arena.ddr");
}

TEST(PlaceArenas, SaysWhenNothingHasRoom) {
  EXPECT_THROW(place_arenas({5 * kMiB}, *find_board("mps2-an385")), InputError);
  EXPECT_THROW(place_arenas({~std::uint64_t{0} >> 1}, *find_board("mps3-an547")), InputError);
}

ProgramFacts facts_of(std::vector<std::uint64_t> bytes, std::vector<std::string> names = {}) {
  ProgramFacts facts;
  facts.arena_bytes = std::move(bytes);
  facts.arena_names = std::move(names);
  return facts;
}

TEST(OwnArenas, KeepTheUsersNamesForMemories) {
  const auto arenas = own_arenas(facts_of({100, 200}, {"DTCM", "AXI"}), "kws");
  ASSERT_EQ(arenas.size(), 2U);
  EXPECT_EQ(arenas[0].section, ".arena.DTCM");
  EXPECT_EQ(arenas[1].section, ".arena.AXI");
  EXPECT_EQ(own_arenas(facts_of({100}), "kws")[0].section, ".bss.kws_arena_0");
}

// They come from the program's file and end up in one that is assembled.
TEST(OwnArenas, RefusesNamesThatAreMoreThanAName) {
  for (const char* const name : {"x, \"aw\"\n    .incbin \"/etc/passwd\"\n#", "a b", "a.b", "a\"", "\x80"}) {
    EXPECT_THROW(own_arenas(facts_of({100}, {name}), "kws"), InputError) << name;
  }
}

TEST(SharedArenas, AreAsLargeAsTheLargest) {
  const auto shared = shared_arenas({facts_of({100, 10}), facts_of({60, 20}), facts_of({70})}, "shared");
  ASSERT_EQ(shared.size(), 2U);
  EXPECT_EQ(shared[0].bytes, 100U);
  EXPECT_EQ(shared[1].bytes, 20U);
  EXPECT_EQ(shared[0].symbol, "shared_arena_0");
  EXPECT_THROW(shared_arenas({facts_of({1}, {"DTCM"}), facts_of({1}, {"AXI"})}, "shared"), InputError);
}

TEST(SharedArenas, AreNotForModelsThatKeepSomethingThere) {
  ProgramFacts facts = facts_of({100});
  EXPECT_NO_THROW(require_sharable(facts, "net.pte", "shared"));
  const auto refusal = [](const KeptFacts& kept) -> std::string {
    ProgramFacts facts = facts_of({100});
    facts.kept = kept;
    try {
      require_sharable(facts, "net.pte", "shared");
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refusal({.state = true}),
            "net.pte: it has state, which would be lost in 'shared', the memory that it shares with other models\n"
            "  give it an arena of its own, without ARENA or --arena");
  EXPECT_EQ(
      refusal({.constants = true}),
      "net.pte: it has constants in RAM (--weights-in), which would be lost in 'shared', the memory that it shares "
      "with other models\n"
      "  compile it without --weights-in, or give it an arena of its own, without ARENA or --arena");
}

TEST(Assembly, OfTwoModelsHasNoSymbolInCommon) {
  const auto symbols_of = [](const std::string& name) {
    const std::string text = assembly({.name = name,
                                       .model = "m.pte",
                                       .method = "forward",
                                       .kernels = {},
                                       .arenas = own_arenas(facts_of({16}), name),
                                       .state_bytes = 100});
    std::set<std::string> symbols;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.ends_with(':')) symbols.insert(line);
    }
    EXPECT_TRUE(symbols.contains(name + "_memory:")) << text;
    return symbols;
  };
  const auto first = symbols_of("kws"), second = symbols_of("vad");
  EXPECT_GE(first.size(), 8U);
  for (const std::string& symbol : first) EXPECT_FALSE(second.contains(symbol)) << symbol;
}

TEST(ModelHeader, MakesIdentifiersOfAnyName) {
  EXPECT_EQ(identifier("boxes.0"), "boxes_0");
  EXPECT_EQ(identifier("0"), "_0");
  EXPECT_EQ(identifier("größe"), "gr____e");
}

TEST(ModelHeader, TellsWhatFirmwareMustKnow) {
  ProgramFacts facts = facts_of({512}, {"DTCM"});
  facts.kept = {.state = true, .buffer_bytes = 40};
  facts.inputs = {{.name = "x",
                   .dtype = DType::i8,
                   .sizes = {1, 3, 8, 8},
                   .order = {0, 2, 3, 1},
                   .memory_id = 1,
                   .offset = 64,
                   .bytes = 192,
                   .scale = 0.5,
                   .zero_point = -128}};
  facts.outputs = {{.name = "", .dtype = DType::f32, .sizes = {1, 2}, .order = {0, 1}, .memory_id = 1, .bytes = 8},
                   {.name = "*/ evil\n", .dtype = DType::f32, .sizes = {1}, .order = {0}, .memory_id = 1, .bytes = 4}};
  const std::string text = model_header({"net", "net.pte", facts, 1000, 300});
  for (const char* const line :
       {"#define NET_MODEL_BYTES 1000\n", "#define NET_STATE_BYTES 300\n", "#define NET_BUFFER_BYTES 40\n",
        "#define NET_ARENA_DTCM_BYTES 512\n", "#define NET_RAM_BYTES 844\n",
        "/* Input 0, x: i8 [1, 3, 8, 8], in memory [1, 8, 8, 3]; q stands for 0.5 * (q + 128). */\n",
        "#define NET_INPUT_X_SCALE 0.5f\n", "#define NET_INPUT_X_ZERO_POINT (-128)\n", "#define NET_OUTPUT_0_BYTES 8\n",
        "program->arenas[0].data + 64"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
  EXPECT_EQ(text.find("*/ evil"), text.find("\"*/ evil\\012\"") + 1);  // in its string, and in no comment
}

// In C99 "??/" is a backslash, which would end the string before its time.
TEST(ModelHeader, QuotesWhatOnlyC99Replaces) {
  ProgramFacts facts = facts_of({16});
  facts.inputs = {{.name = std::string("?") + "?/\" evil //",
                   .dtype = DType::i8,
                   .sizes = {1},
                   .order = {0},
                   .memory_id = 1,
                   .bytes = 1}};
  const std::string text = model_header({"net", "net.pte", facts, 1000, 300});
  EXPECT_NE(text.find(R"("\?\?/\" evil //")"), std::string::npos) << text;
}

// The file is preprocessed: a line that begins with # would be a directive.
TEST(Assembly, HasNoLinesOfTheMethodsName) {
  const std::string text =
      assembly({.model = "m.pte", .method = "x\n#include </etc/passwd>\n", .kernels = {}, .arenas = {}});
  EXPECT_NE(text.find(R"(.asciz "x\012#include </etc/passwd>\012")"), std::string::npos) << text;
}

TEST(Assembly, QuotesAPathThatNeedsIt) {
  const std::string text = assembly({.model = "a\"b\\c.pte", .method = "forward", .kernels = {}, .arenas = {}});
  EXPECT_NE(text.find(R"(.incbin "a\"b\\c.pte")"), std::string::npos) << text;
}

}  // namespace
}  // namespace cormorant
