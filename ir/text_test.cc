// SPDX-License-Identifier: Apache-2.0
#include "ir/text.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/diagnostic.h"

namespace cormorant::ir {
namespace {

constexpr const char* kGraph = R"(graph forward
input %x : f32[1,1,4,4]
const %w : i8[2,1,1,1] quant(axis 0, range -127 127, [0.5, 0.25], [0, 0]) = [1, -2]
const %b : i32[2] quant(axis 0, [0.125, 0.0625], [0, 0]) = [100, -100]
const %f : f32[3] = [0.1, -1e+20, 3.0]
state %memory : i8[2] = [0, 0]
scratch %room : u8[12]
node "conv" "stem.conv" "digits.py:12"
  %conv : i8[1,2,4,4] order(0,2,3,1) quant([0.02], [-5]) = aten.conv2d(input=%x, weight=%w, bias=%b, stride=[1, 1], groups=1, eps=1e-05, flag=true, name="a\"b", none=none, many={%x, %w}, type=dtype.i8, factors=floats[1.0, 2.5])
output %conv
)";

TEST(IrText, PrintsWhatItParsed) { EXPECT_EQ(print(parse(kGraph, "t")), kGraph); }

TEST(IrText, ParsesTheTypesItPrints) {
  const Graph graph = parse(kGraph, "t");
  const Node& node = graph.nodes().front();
  EXPECT_EQ(node.location.text(), "stem.conv (digits.py:12)");
  EXPECT_EQ(node.result()->type.quant->zero_point(), -5);
  EXPECT_EQ(node.result()->type.dim_order, kChannelsLast);
  EXPECT_EQ(node.tensor("weight")->type.quant->qmin, -127);
  EXPECT_EQ(node.tensor("weight")->data.as<std::int8_t>()[1], -2);
  EXPECT_EQ(node.number("eps"), 1e-5);
  EXPECT_TRUE(node.boolean("flag"));
  EXPECT_FALSE(node.has("none"));
}

TEST(IrText, LargeConstantsGoToTheBlobAndComeBack) {
  Graph graph;
  std::vector<float> data(100);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i) * 0.1F;
  graph.add_constant("c", float_type({100}), Bytes::of(std::span<const float>(data)));
  std::vector<std::byte> blob;
  const std::string text = print(graph, &blob);
  EXPECT_NE(text.find("data 0 400"), std::string::npos) << text;
  const Graph back = parse(text, "t", Bytes::own(blob));
  const auto values = back.values().front().data.as<float>();
  EXPECT_TRUE(std::equal(values.begin(), values.end(), data.begin(), data.end()));
}

// People copy the comment in text.h.
TEST(IrText, TheExampleInTheHeaderParses) {
  std::ifstream header(CORMORANT_SOURCE_DIR "/ir/text.h");
  std::string text;
  for (std::string line; std::getline(header, line);) {
    if (line.starts_with("//   ")) text += line.substr(5) + "\n";
  }
  const Graph graph = parse(text, "text.h", Bytes::own(std::vector<std::byte>(16384)));
  EXPECT_EQ(graph.nodes().size(), 1U);
  EXPECT_EQ(graph.nodes().front().location.module, "stem.conv");
}

TEST(IrText, DataThatIsNotAlignedIsCopied) {
  const Graph graph = parse("graph g\nconst %c : f32[1] = data 1 4\n", "t", Bytes::own(std::vector<std::byte>(8)));
  EXPECT_EQ(graph.values().front().data.as<float>()[0], 0.0F);
}

TEST(IrText, MistakesNameTheLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"graph g\ninput %x : f33[1]\n", "unknown element type 'f33'"},
      {"graph g\noutput %y\n", "%y is used before it is defined"},
      {"graph g\ninput %x : f32[1]\ninput %x : f32[1]\n", "%x is defined twice"},
      {"graph g\nconst %c : i8[3] = [1, 2]\n", "2 bytes of data, its type needs 3"},
      {"graph g\nconst %c : i8[3] = data 0 3\n", "which has 0"},
      {"graph g\nnonsense\n", "not 'nonsense'"},
      {"graph g\ninput %x : f32[-1]\n", "a dimension is negative"},
      {"graph g\ninput %x : i8[65536,65536]\n", "2 GB or more"},
      {"graph g\ninput %x : i8[4611686018427387904,4611686018427387904]\n", "2 GB or more"},
      {"graph g\nconst %c : i8[1] = [200]\n", "200 is outside -128 to 127"},
      {"graph g\nconst %c : u8[1] = [-1]\n", "-1 is outside 0 to 255"},
      {"graph g\nconst %c : i32[1] = [3000000000]\n", "3000000000 is outside"},
      {"graph g\nscratch %s : f32[3]\n", "scratch must be bytes"},
  };
  for (const auto& [text, problem] : cases) {
    try {
      parse(text, "model.txt");
      ADD_FAILURE() << text;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(problem), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("model.txt:"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace cormorant::ir
