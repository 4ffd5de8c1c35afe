// SPDX-License-Identifier: Apache-2.0
//
// Combinations of options. Every pair gives a program that runs, or is in the table of refusals and is refused with a
// message that names one of the two. A new option is a line of the first table.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "formats/npy/npy.h"
#include "program/program_io.h"
#include "runner/process.h"
#include "tests/command.h"

namespace cormorant::tests {
namespace {

struct Aspect {
  const char* name;     // how messages may name it
  Arguments arguments;  // the first stands for it in the table of refusals
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
      {"runtime", {"--runtime=executorch-main"}},
      {"io", {"--io=int8"}},
      {"io", {"--io=uint8"}},
      {"io", {"--io=int16", "--scheme=8w16a"}},
      {"optimize", {"--optimize=speed"}},
      {"optimize", {"--optimize=size"}},
      {"optimize", {"--optimize=ram"}},
      {"feed", {"--feed=rows"}},
      {"recompute", {"--recompute=1.5", "--optimize=ram"}},
      {"scheme", {"--scheme=8w16a"}},
      {"scheme", {"--scheme=4w8a"}},
      {"scheme", {"--scheme=auto"}},
      {"min-sqnr", {"--min-sqnr=-90", "--calibrate", "windows.npz"}},
      {"memory", {"--memory=dtcm=100,sram=64K"}},
      {"weights-in", {"--weights-in=sram", "--memory=sram=64K"}},
      {"float-layers", {"--float-layers=second"}},
      {"layers", {"--layer-settings=layers.txt"}},
      {"bundle", {"--bundleio"}},
      {"method", {"--method=forward"}},
  };
  return all;
}

const std::set<std::string> kOfOurRuntime = {"--io=uint8",    "--io=int16",       "--optimize=ram",
                                             "--feed=rows",   "--recompute=1.5",  "--scheme=8w16a",
                                             "--scheme=auto", "--weights-in=sram"};
const std::map<std::string, std::set<std::string>> kRefusals = {
    {"--target=any",
     {"--isa=scalar", "--runtime=executorch", "--runtime=executorch-main", "--optimize=ram", "--feed=rows",
      "--recompute=1.5", "--scheme=auto"}},
    {"--runtime=executorch", kOfOurRuntime},
    {"--runtime=executorch-main", kOfOurRuntime},
    {"--feed=rows", {"--stream=2:2", "--stream-causal", "--io=int16"}},
    {"--scheme=8w16a", {"--io=int8", "--io=uint8"}},
};

bool is_refused(const Aspect& one, const Aspect& other) {
  const auto listed = [](const std::string& a, const std::string& b) {
    const auto row = kRefusals.find(a);
    return row != kRefusals.end() && row->second.contains(b);
  };
  return listed(one.arguments[0], other.arguments[0]) || listed(other.arguments[0], one.arguments[0]);
}

// Two values of one option do not combine.
bool share_an_option(const Aspect& one, const Aspect& other) {
  const auto option = [](const std::string& argument) { return argument.substr(0, argument.find('=')); };
  return std::ranges::any_of(one.arguments, [&](const std::string& a) {
    return a.starts_with("--") &&
           std::ranges::any_of(other.arguments, [&](const std::string& b) { return option(a) == option(b); });
  });
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

// Three methods, and data for each.
constexpr const char* kMethods = CORMORANT_SOURCE_DIR "/formats/pt2/testdata/methods.pt2";
constexpr const char* kMethodsData = CORMORANT_SOURCE_DIR "/formats/pt2/testdata/methods.npz";

// One linear layer; the batch is open.
constexpr const char* kDynamic = CORMORANT_SOURCE_DIR "/formats/pt2/testdata/dynamic.pt2";

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

  Ran compile(const std::vector<const Aspect*>& given, const char* base = "--quantize",
              const char* model = "model.txt") {
    Arguments arguments = {"compile", model, base, "--no-link", "-o", "model.pte"};
    for (const Aspect* aspect : given) {
      arguments.insert(arguments.end(), aspect->arguments.begin(), aspect->arguments.end());
    }
    for (const char* file : {"model.pte", "model.bpte"}) std::filesystem::remove(directory_.path() / file);
    return cormorant(directory_.path(), arguments);
  }

  void expect_refused(const Ran& ran, const std::vector<const Aspect*>& given) {
    SCOPED_TRACE(ran.command + "\n" + ran.err);
    EXPECT_TRUE(ran.status == 1 || ran.status == 2) << ran.status;
    EXPECT_TRUE(std::ranges::any_of(
        given, [&](const Aspect* aspect) { return ran.err.find(aspect->name) != std::string::npos; }));
  }

  // A program that the host executes.
  void expect_runs(const Ran& ran, const Arguments& methods = {""}) {
    ASSERT_EQ(ran.status, 0) << ran.command << "\n" << ran.err;
    const bool is_bundle = std::filesystem::exists(directory_.path() / "model.bpte");
    const std::string file = directory_.path() / (is_bundle ? "model.bpte" : "model.pte");
    for (const std::string& method : methods) {
      EXPECT_NO_THROW(execute(read_program(file, method), {Arrays{}}, {})) << ran.command << method;
    }
  }

  TemporaryDirectory directory_;
};

// A new option must be given here, too: in a table above, or below if no other option can mind it.
TEST_F(Combinations, AreOfAllOptionsThatChangeTheProgram) {
  std::set<std::string> given = {"--help", "--help-all", "--model_name", "--output", "--quantize",
                                 // How ranges and weights are chosen: the program has the same operators.
                                 "--observer", "--no-equalize", "--no-weight-rounding", "--no-bias-correction",
                                 // Of another model than the others' (below).
                                 "--shape",
                                 // What is done with the program when it is there.
                                 "--bundle", "--link", "--no-link", "--compiler", "--measure", "--delegate", "--quiet",
                                 "--json"};
  std::vector<Aspect> all = aspects();
  all.push_back(kOnlookers);
  for (const Aspect& aspect : all) {
    for (const std::string& argument : aspect.arguments) given.insert(argument.substr(0, argument.find('=')));
  }
  const Ran help = cormorant(directory_.path(), {"compile", "--help"});
  const std::regex option("\\n +(?:-[a-z],)?(--[a-z_-]+)");
  std::size_t count = 0;
  for (auto at = std::sregex_iterator(help.out.begin(), help.out.end(), option); at != std::sregex_iterator(); ++at) {
    EXPECT_TRUE(given.contains(at->str(1))) << at->str(1) << " is combined with no other option";
    ++count;
  }
  EXPECT_GT(count, 30U);
}

// Whatever works in pairs works in sets of pairs, too, so that a set tests many of them at once. Only if one does not
// are its pairs tried one by one.
TEST_F(Combinations, OfTwoOptionsWorkOrAreRefusedByName) {
  const std::vector<Aspect>& all = aspects();
  std::set<std::pair<std::size_t, std::size_t>> left;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = i + 1; k < all.size(); ++k) {
      if (share_an_option(all[i], all[k])) continue;
      if (is_refused(all[i], all[k])) {
        expect_refused(compile({&all[i], &all[k]}), {&all[i], &all[k]});
      } else {
        left.emplace(i, k);
      }
    }
  }
  const auto combine = [&](std::size_t a, std::size_t b) {
    return a != b && !share_an_option(all[a], all[b]) && !is_refused(all[a], all[b]);
  };
  const auto news_of = [&](const std::vector<std::size_t>& set, std::size_t one) {
    return std::ranges::count_if(set, [&](std::size_t other) { return left.contains(std::minmax(one, other)); });
  };
  std::size_t sets = 0;
  while (!left.empty()) {
    std::vector<std::size_t> set = {left.begin()->first, left.begin()->second};
    for (;;) {
      std::size_t best = all.size();
      for (std::size_t one = 0; one < all.size(); ++one) {
        if (!std::ranges::all_of(set, [&](std::size_t other) { return combine(one, other); })) continue;
        if (news_of(set, one) > (best == all.size() ? 0 : news_of(set, best))) best = one;
      }
      if (best == all.size()) break;
      set.push_back(best);
    }
    std::vector<const Aspect*> given;
    for (const std::size_t one : set) given.push_back(&all[one]);
    const Ran together = compile(given);
    if (together.status == 0) expect_runs(together);
    for (std::size_t a = 0; a < set.size(); ++a) {
      for (std::size_t b = a + 1; b < set.size(); ++b) {
        if (left.erase(std::minmax(set[a], set[b])) == 0 || together.status == 0) continue;
        expect_runs(compile({&all[set[a]], &all[set[b]]}));
      }
    }
    if (together.status != 0) expect_refused(together, given);
    ++sets;
  }
  EXPECT_LT(sets, 100U);  // or pairs are tested one by one
}

// In float, and together with everything that only looks on.
TEST_F(Combinations, OfOneOptionAndTheRestWorkOrAreRefusedByName) {
  for (const Aspect& aspect : aspects()) {
    for (const std::vector<const Aspect*>& given : {std::vector{&aspect}, std::vector{&aspect, &kOnlookers}}) {
      const Ran ran = compile(given, given.size() == 1 ? "--no-link" : "--quantize");
      if (ran.status == 0) {
        expect_runs(ran);
      } else {
        expect_refused(ran, given);
      }
    }
  }
}

// The aspects in as few sets as there can be: what does not go together is in different ones.
std::vector<std::vector<const Aspect*>> sets_of(const std::vector<const Aspect*>& aspects) {
  std::vector<std::vector<const Aspect*>> sets;
  for (const Aspect* aspect : aspects) {
    const auto set = std::ranges::find_if(sets, [&](const std::vector<const Aspect*>& others) {
      return std::ranges::none_of(
          others, [&](const Aspect* other) { return share_an_option(*aspect, *other) || is_refused(*aspect, *other); });
    });
    (set == sets.end() ? sets.emplace_back() : *set).push_back(aspect);
  }
  return sets;
}

// The same of dynamic dimensions, of which nothing is left when the model has been read.
TEST_F(Combinations, OfOneOptionAndAShapeWorkOrAreRefusedByName) {
  const std::map<std::string, std::string> refused = {{"--feed=rows", "rows"},
                                                      {"--float-layers=second", "no layer second"},
                                                      {"--layer-settings=layers.txt", "layers.txt"}};
  std::vector<Aspect> all = aspects();
  npy::write_npz((directory_.path() / "windows.npz").string(), {{"x", random_array({6, 4, 2})}});
  npy::write_npz((directory_.path() / "sequences.npz").string(), {{"x", random_array({2, 3, 4, 2})}});
  const Aspect shape = {"shape", {"--shape=input=4,2"}};
  std::vector<const Aspect*> working;
  for (Aspect& aspect : all) {
    for (std::string& argument : aspect.arguments) {
      if (argument == "--stream=2:2") argument = "--stream=0:2";
      if (argument == "--method=forward") argument = "--method=model";
    }
    const auto refusal = refused.find(aspect.arguments[0]);
    if (refusal == refused.end()) {
      working.push_back(&aspect);
      continue;
    }
    const Aspect named = {refusal->second.c_str(), aspect.arguments};
    expect_refused(compile({&named, &shape}, "--quantize", kDynamic), {&named});
  }
  for (std::vector<const Aspect*> set : sets_of(working)) {
    set.push_back(&shape);
    expect_runs(compile(set, "--quantize", kDynamic));
  }
}

// The same of a file with several methods, which become one program, each with what looks on.
TEST_F(Combinations, OfOneOptionAndSeveralMethodsWorkOrAreRefusedByName) {
  const std::map<std::string, std::string> refused = {{"--feed=rows", "--feed"},
                                                      {"--float-layers=second", "no layer second"},
                                                      {"--layer-settings=layers.txt", "layers.txt"},
                                                      {"--method=forward", "no method"}};
  std::vector<Aspect> all = aspects();
  npy::NamedArrays sequences = npy::read_npz(kMethodsData);
  for (auto& [name, array] : sequences) array.shape = {8, 4, 1, array.shape.at(1)};
  npy::write_npz((directory_.path() / "sequences.npz").string(), sequences);
  for (Aspect& aspect : all) {  // inputs are others, and there are states of three
    // What one of them keeps has no range without sequences.
    if (aspect.arguments[0] == "--min-sqnr=-90") {
      aspect.arguments = {"--min-sqnr=-90", "--sequence", "--calibrate", "sequences.npz"};
    }
    for (std::string& argument : aspect.arguments) {
      if (argument == "windows.npz") argument = kMethodsData;
      if (argument == "--stream=2:2") argument = "--stream=1:2";
      if (argument == "--memory=dtcm=100,sram=64K") argument = "--memory=dtcm=200,sram=64K";
    }
  }
  std::vector<const Aspect*> working;
  for (const Aspect& aspect : all) {
    const auto refusal = refused.find(aspect.arguments[0]);
    if (refusal == refused.end()) {
      working.push_back(&aspect);
      continue;
    }
    const Aspect named = {refusal->second.c_str(), aspect.arguments};
    expect_refused(compile({&named}, "--quantize", kMethods), {&named});
  }
  const Aspect onlookers = {"explain", {"--explain", "--intermediates=stages", "--budget=ram=64K,flash=64K"}};
  for (std::vector<const Aspect*> set : sets_of(working)) {
    set.push_back(&onlookers);
    expect_runs(compile(set, "--quantize", kMethods), {"encode", "decode", "follow"});
  }
  const Aspect report = {"--report", {"--report=report.html"}};
  expect_runs(compile({&report}, "--quantize", kMethods), {"encode", "decode", "follow"});
  for (const char* method : {"encode", "decode", "follow"}) {
    EXPECT_TRUE(std::filesystem::exists(directory_.path() / ("report." + std::string(method) + ".html"))) << method;
  }
}

}  // namespace
}  // namespace cormorant::tests
