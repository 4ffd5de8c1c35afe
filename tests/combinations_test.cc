// SPDX-License-Identifier: Apache-2.0
//
// Combinations of options. Every pair gives a program that runs, or is refused with a message that names one of the
// two. A new option is a line of the table.
#include <gtest/gtest.h>

#include <fstream>

#include "formats/npy/npy.h"
#include "program/program_io.h"
#include "runner/process.h"
#include "tests/command.h"

namespace cormorant::tests {
namespace {

struct Aspect {
  const char* name;  // how messages may name it
  Arguments arguments;
};

// What changes the program.
const std::vector<Aspect>& aspects() {
  static const std::vector<Aspect> all = {
      {"calibrate", {"--calibrate", "windows.npz"}},
      {"sequence", {"--sequence", "--calibrate", "sequences.npz"}},
      {"stream", {"--stream=2:2"}},
      {"causal", {"--stream-causal", "--stream=2:2"}},
      {"target", {"--target=cortex-m0"}},
      {"any", {"--target=any"}},
      {"isa", {"--isa=scalar"}},
      {"runtime", {"--runtime=executorch"}},
      {"io", {"--io=int8"}},
      {"io", {"--io=uint8"}},
      {"optimize", {"--optimize=speed"}},
      {"optimize", {"--optimize=size"}},
      {"optimize", {"--optimize=ram"}},
      {"feed", {"--feed=rows"}},
      {"recompute", {"--recompute=1.5", "--optimize=ram"}},
      {"scheme", {"--scheme=8w16a"}},
      {"scheme", {"--scheme=4w8a"}},
      {"scheme", {"--scheme=auto"}},
      {"min-sqnr", {"--min-sqnr=-90"}},
      {"memory", {"--memory=dtcm=100,sram=64K"}},
      {"weights-in", {"--memory=sram=64K", "--weights-in=sram"}},
      {"float-layers", {"--float-layers=second"}},
      {"layers", {"--layers=layers.txt"}},
      {"bundle", {"--bundleio"}},
  };
  return all;
}

// What looks at it: all at once, with each of the others.
const Aspect kOnlookers = {"strict",
                           {"--strict", "--report=report.html", "--intermediates=stages", "--explain", "--no-names",
                            "--budget=ram=64K,flash=64K"}};

constexpr const char* kModel = R"(graph forward
input %x : f32[1,2,12,1]
const %w : f32[2,2,3,1] = [0.5, -0.25, 0.125, 0.75, -0.5, 0.25, 1.0, -1.0, 0.5, 0.25, 0.125, -0.75]
const %v : f32[3,2,3,1] = [0.5, 0.25, -0.5, 0.125, 0.75, 0.5, -1.0, 1.0, 0.5, 0.25, 0.125, 0.75, 0.5, -0.5, 0.25, 0.5, 1.0, -0.125]
node "conv" "first" "m.py:1"
  %a : f32[1,2,10,1] = aten.conv2d(input=%x, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=1)
node "relu" "" "m.py:2"
  %b : f32[1,2,10,1] = aten.clamp(self=%a, min=0.0, max=none)
node "conv_1" "second" "m.py:3"
  %c : f32[1,3,4,1] = aten.conv2d(input=%b, weight=%v, bias=none, stride=[2, 1], padding=[0, 0], dilation=[1, 1], groups=1)
output %c
)";

npy::Array random_array(std::vector<std::int64_t> shape) {
  std::size_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::size_t>(size);
  npy::Array array{DType::f32, std::move(shape), std::vector<std::byte>(count * sizeof(float))};
  auto* values = reinterpret_cast<float*>(array.data.data());
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 37 % 101) / 50.0F - 1.0F;
  return array;
}

class Combinations : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(directory_.path() / "model.txt") << kModel;
    std::ofstream(directory_.path() / "layers.txt") << "second observer=minmax\n";
    npy::write_npz((directory_.path() / "windows.npz").string(), {{"x", random_array({6, 1, 2, 12, 1})}});
    npy::write_npz((directory_.path() / "sequences.npz").string(), {{"x", random_array({2, 3, 1, 2, 12, 1})}});
  }

  // A program that runs on the host, or a refusal that names one of the aspects.
  void expect_sound(const std::vector<const Aspect*>& given, const char* base = "--quantize") {
    Arguments arguments = {"compile", "model.txt", base, "--no-link", "-o", "model.pte"};
    for (const Aspect* aspect : given) {
      arguments.insert(arguments.end(), aspect->arguments.begin(), aspect->arguments.end());
    }
    const Ran ran = cormorant(directory_.path(), arguments);
    SCOPED_TRACE(ran.command + "\n" + ran.err);
    if (ran.status != 0) {
      EXPECT_LE(ran.status, 2);
      const bool is_named = std::ranges::any_of(
          given, [&](const Aspect* aspect) { return ran.err.find(aspect->name) != std::string::npos; });
      EXPECT_TRUE(is_named);
      ++refused_;
      return;
    }
    EXPECT_NO_THROW(execute(read_program((directory_.path() / "model.pte").string()), {Arrays{}}, {}));
    ++working_;
  }

  TemporaryDirectory directory_;
  int working_ = 0, refused_ = 0;
};

TEST_F(Combinations, OfTwoOptionsWorkOrAreRefusedByName) {
  const std::vector<Aspect>& all = aspects();
  for (std::size_t i = 0; i < all.size(); ++i) {
    expect_sound({&all[i]}, "--no-link");  // in float
    expect_sound({&all[i], &kOnlookers});
    for (std::size_t k = i + 1; k < all.size(); ++k) {
      // Two values of one option do not combine.
      const bool are_one = all[i].arguments.front().substr(0, 7) == all[k].arguments.front().substr(0, 7);
      if (!are_one) expect_sound({&all[i], &all[k]});
    }
  }
  std::cout << working_ << " work, " << refused_ << " are refused\n";
  EXPECT_GT(working_, refused_);
}

}  // namespace
}  // namespace cormorant::tests
