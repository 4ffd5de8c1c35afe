// SPDX-License-Identifier: Apache-2.0
//
// Programs that take and give uint8: the same numbers as in int8, from bytes whose highest bit is the other; and
// models that normalize pixels themselves.
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "formats/npy/npy.h"
#include "program/program_io.h"
#include "runner/process.h"
#include "target/parse.h"
#include "tests/command.h"

namespace cormorant::tests {
namespace {

// (x · factor − mean) / deviation, and a padded convolution.
std::string model(const char* input, const std::string& before, const char* factor) {
  return std::string("graph forward\ninput %x : ") + input + "[1,2,5,6]\n" + "const %unit : f32[1] = [" + factor + R"(]
const %mean : f32[2,1,1] = [0.45, 0.25]
const %dev : f32[1,2,1,1] = [4.0, 2.0]
const %w : f32[2,2,3,3] = [0.5, -0.25, 0.125, 0.75, -0.5, 0.25, 1.0, -1.0, 0.5, 0.25, 0.125, -0.75, 0.5, 0.25, -0.5, 0.125, 0.75, 0.5, -1.0, 1.0, 0.5, 0.25, 0.125, 0.75, 0.5, -0.5, 0.25, 0.5, 1.0, -0.125, 0.5, -0.25, 0.125, 0.75, -0.5, 0.25]
)" + before +
         R"(node "scale" "" "m.py:1"
  %a : f32[1,2,5,6] = aten.mul(self=%)" +
         (before.empty() ? "x" : "f") + R"(, other=%unit)
node "centre" "" "m.py:2"
  %b : f32[1,2,5,6] = aten.add(self=%a, other=%mean, alpha=-1.0)
node "spread" "" "m.py:3"
  %c : f32[1,2,5,6] = aten.mul(self=%b, other=%dev)
node "conv" "first" "m.py:4"
  %y : f32[1,2,5,6] = aten.conv2d(input=%c, weight=%w, bias=none, stride=[1, 1], padding=[1, 1], dilation=[1, 1], groups=1)
output %y
)";
}

constexpr std::int64_t kSamples = 8;

class Pixels : public testing::Test {
 protected:
  void SetUp() override {
    std::mt19937 random(1);
    for (std::int64_t i = 0; i < kSamples * 2 * 5 * 6; ++i) bytes_.push_back(static_cast<std::uint8_t>(random() % 256));
    bytes_[0] = 0;
    bytes_[1] = 255;
    write("unit.npz", 1 / 255.0F);
    write("levels.npz", 1.0F);
  }
  void write(const char* name, float factor) {
    npy::Array array{DType::f32, {kSamples, 1, 2, 5, 6}, std::vector<std::byte>(bytes_.size() * sizeof(float))};
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      reinterpret_cast<float*>(array.data.data())[i] = static_cast<float>(bytes_[i]) * factor;
    }
    npy::write_npz((directory_.path() / name).string(), {{"x", array}});
  }

  ProgramFile compiled(const std::string& text, const char* data, const char* io, std::string* out = nullptr) {
    std::ofstream(directory_.path() / "model.txt") << text;
    const Ran ran = cormorant(directory_.path(), {"compile", "model.txt", "--calibrate", data, io, "--no-link",
                                                  "--strict", "-o", "model.pte"});
    EXPECT_EQ(ran.status, 0) << ran.err;
    if (out != nullptr) *out = ran.out + ran.err;
    return read_program((directory_.path() / "model.pte").string());
  }

  // The first sample's bytes, with that bit changed.
  [[nodiscard]] npy::Array first(DType type, int flip) const {
    npy::Array array{type, {1, 2, 5, 6}, {}};
    for (std::size_t i = 0; i < 60; ++i) array.data.push_back(static_cast<std::byte>(bytes_[i] ^ flip));
    return array;
  }

  static std::vector<int> numbers(const npy::Array& array) {
    std::vector<int> all;
    for (const std::byte byte : array.data) {
      all.push_back(array.dtype == DType::u8 ? static_cast<std::uint8_t>(byte) : static_cast<std::int8_t>(byte) + 128);
    }
    return all;
  }

  TemporaryDirectory directory_;
  std::vector<std::uint8_t> bytes_;
};

TEST_F(Pixels, AreTheNumbersOfInt8WithAnotherSign) {
  std::string out;
  const ProgramFile bytes = compiled(model("f32", "", "1.0"), "unit.npz", "--io=uint8", &out);
  ASSERT_EQ(bytes.inputs[0].dtype, DType::u8);
  ASSERT_EQ(bytes.outputs[0].dtype, DType::u8);
  EXPECT_EQ(bytes.inputs[0].scale, 1.0 / 255);
  EXPECT_EQ(bytes.inputs[0].zero_point, 0);
  EXPECT_NE(out.find("pixel values 0 to 255 represent 0 to 1"), std::string::npos) << out;
  EXPECT_NE(out.find("a border of"), std::string::npos) << out;
  const auto on_host = execute(bytes, {{first(DType::u8, 0)}}, {}).outputs[0];
  ExecuteOn board;
  board.target = parse_target("cortex-m55");
  const auto on_board = execute(bytes, {{first(DType::u8, 0)}}, board).outputs[0];
  EXPECT_EQ(numbers(on_host[0]), numbers(on_board[0]));

  const ProgramFile int8 = compiled(model("f32", "", "1.0"), "unit.npz", "--io=int8");
  ASSERT_EQ(int8.inputs[0].dtype, DType::i8);
  // Its scale by calibration is the same: the data has all levels.
  EXPECT_EQ(int8.inputs[0].zero_point, -128);
  EXPECT_NEAR(*int8.inputs[0].scale, 1.0 / 255, 1e-9);
  const auto signed_ones = execute(int8, {{first(DType::i8, 0x80)}}, {}).outputs[0];
  EXPECT_EQ(numbers(signed_ones[0]), numbers(on_host[0]));
}

TEST_F(Pixels, KeepTheirLevels) {
  std::string out;
  const ProgramFile levels = compiled(model("f32", "", "0.003921569"), "levels.npz", "--io=uint8", &out);
  EXPECT_EQ(levels.inputs[0].scale, 1.0);
  EXPECT_NE(out.find("pixel values 0 to 255 unchanged"), std::string::npos) << out;
  EXPECT_EQ(out.find("look like pixels"), std::string::npos) << out;  // the model divides them
}

TEST_F(Pixels, OfAModelThatTakesThemStayIntegers) {
  const char* const to_float = "node \"to\" \"\" \"m.py:0\"\n  %f : f32[1,2,5,6] = cormorant.convert.any(self=%x)\n";
  const ProgramFile program = compiled(model("u8", to_float, "0.003921569"), "levels.npz", "--io=int8");
  EXPECT_EQ(program.inputs[0].dtype, DType::u8);
  EXPECT_EQ(program.outputs[0].dtype, DType::i8);
  const ProgramFile other = compiled(model("f32", "", "0.003921569"), "levels.npz", "--io=uint8");
  EXPECT_EQ(numbers(execute(program, {{first(DType::u8, 0)}}, {}).outputs[0][0]),
            numbers(execute(other, {{first(DType::u8, 0)}}, {}).outputs[0][0]));
}

}  // namespace
}  // namespace cormorant::tests
