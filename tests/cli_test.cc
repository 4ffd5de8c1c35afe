// SPDX-License-Identifier: Apache-2.0
//
// The command line that scripts rely on: exit status, which stream says what, the fields of --json, and errors that say
// what is at fault.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <set>
#include <utility>

#include "fmt/format.h"
#include "formats/npy/npy.h"
#include "program/files.h"
#include "runner/process.h"
#include "target/target.h"
#include "tests/command.h"

namespace cormorant::tests {
namespace {

constexpr int kDone = 0;
constexpr int kInputAtFault = 1;
constexpr int kCommandLineAtFault = 2;

npy::Array array(DType dtype, std::vector<std::int64_t> shape) {
  std::size_t bytes = size_of(dtype);
  for (const std::int64_t size : shape) bytes *= static_cast<std::size_t>(size);
  return {dtype, std::move(shape), std::vector<std::byte>(bytes)};
}

npy::Array floats(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {DType::f32, std::move(shape), {bytes.begin(), bytes.end()}};
}

std::string foreign(const std::string& name) { return CORMORANT_SOURCE_DIR "/tests/executorch/" + name; }

// A folder with files of every kind, made once.
class CommandLine : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::make_unique<TemporaryDirectory>();
    few_samples(path(), "digits");
    ASSERT_EQ(cormorant(path(), {"compile", "digits", "--calibrate", "digits_few.npz", "--io=int8", "-o", "digits.pte"})
                  .status,
              0);
    write_text(path() / "cut.pt2", read_text(zoo("digits.pt2")).substr(0, 50'000));
    write_text(path() / "cut.pte", read_text(path() / "digits.pte").substr(0, 5'000));
    write_text(path() / "empty.pt2", "");
    write_text(path() / "empty.pte", "");
    write_text(path() / "garbage.pt2", std::string(1000, '\xa5'));
    write_text(path() / "garbage.pte", std::string(1000, '\xa5'));
    write_text(path() / "garbage.bpte", "....BP08" + std::string(1000, '\xa5'));
    std::string foreign_text = read_text(foreign("ds_cnn.pte"));
    write_text(path() / "segments.pte", foreign_text.substr(0, foreign_text.size() / 2));  // constants are at the end
    write_text(path() / "version.pte", foreign_text.replace(4, 4, "ET13"));
    write_text(path() / "version.bpte", read_text(foreign("keyword_net_m55.bpte")).replace(4, 4, "BP07"));
    write_text(path() / "garbage.npy", std::string(1000, '\xa5'));
    write_text(path() / "bad.txt",
               "graph forward\ninput %x : f32[1,2]\nnode \"n\" \"\" \"\"\n  %y : f32[1,2] = "
               "aten.relu(self=%nobody)\noutput %y\n");
    write_text(path() / "rejected.txt",
               "graph forward\ninput %x : f32[1,5000]\nnode \"soft\" \"head.soft\" \"net.py:7\"\n"
               "  %y : f32[1,5000] = aten.softmax(self=%x, dim=1)\noutput %y\n");
    npy::write_npz(path() / "rejected.npz", {{"x", array(DType::f32, {2, 1, 5000})}});
    npy::write_npy(path() / "x.npy", array(DType::f32, {1, 1, 28, 28}));
    npy::write_npy(path() / "x_i32.npy", array(DType::i32, {1, 1, 28, 28}));
    npy::write_npy(path() / "kws.npy", array(DType::f32, {1, 1, 49, 10}));
    npy::write_npz(path() / "names.npz",
                   {{"left", array(DType::f32, {2, 1, 28, 28})}, {"right", array(DType::f32, {2, 1, 28, 28})}});
    npy::write_npz(path() / "one.npz", {{"x", array(DType::f32, {1, 1, 28, 28})}});
    npy::write_npz(path() / "labels.npz", {{"x", array(DType::f32, {2, 1, 28, 28})}, {"y", array(DType::i64, {2, 3})}});
  }
  static void TearDownTestSuite() { directory_.reset(); }

  static const std::filesystem::path& path() { return directory_->path(); }

 private:
  inline static std::unique_ptr<TemporaryDirectory> directory_;
};

// ---- mistakes ---------------------------------------------------------------------------------------------------

struct Mistake {
  Arguments arguments;
  int status;
  std::vector<std::string> told;  // all of it, on stderr
};

std::string every_target() {
  std::string text;
  for (const Cpu& cpu : kCpus) text += std::string(cpu.name) + ", ";
  return text + "any";
}

std::vector<Mistake> mistakes() {
  const std::string digits = zoo("digits.pt2");
  const std::string small = CORMORANT_SOURCE_DIR "/tests/testdata/small.pt2";  // where all of it is compiled
  return {
      // The command itself.
      {{}, kCommandLineAtFault, {"compile, run, inspect or evaluate"}},
      {{"compose"}, kCommandLineAtFault, {"compose", "--help"}},
      {{"compile"}, kCommandLineAtFault, {"required", "cormorant compile --help"}},
      {{"compile", digits, "--calibate", "x"}, kCommandLineAtFault, {"--calibate", "cormorant compile --help"}},
      {{"compile", digits, "-q", "--io=int16"}, kCommandLineAtFault, {"int16", "int8"}},
      {{"compile", digits, "-q", "--runtime=tflm"}, kCommandLineAtFault, {"tflm", "executorch"}},
      {{"run", "digits.pte", "--compiler=msvc"}, kCommandLineAtFault, {"msvc", "clang"}},
      {{"run", "digits.pte", "--timeout=-1"}, kCommandLineAtFault, {"--timeout", "-1"}},
      {{"evaluate", "digits.pte"}, kCommandLineAtFault, {"--data is required"}},
      // Targets.
      {{"compile", digits, "-q", "--target=cortex-m4", "--isa=mve"},
       kCommandLineAtFault,
       {"cortex-m4 cannot execute mve", "scalar, dsp"}},
      {{"compile", digits, "-q", "--target=cortex-m23", "--isa=dsp"},
       kCommandLineAtFault,
       {"cortex-m23 cannot execute dsp", "supports scalar"}},
      {{"compile", digits, "-q", "--isa=neon"}, kCommandLineAtFault, {"neon", "scalar, dsp or mve"}},
      {{"compile", digits, "-q", "--target=cortex-m9"}, kCommandLineAtFault, {"cortex-m9", every_target()}},
      {{"compile", digits, "-q", "--target=cortex-m55+int8"}, kCommandLineAtFault, {"--target=cortex-m55 --quantize"}},
      {{"compile", digits, "-q", "--target=any", "--isa=dsp"}, kCommandLineAtFault, {"any", "name a CPU"}},
      {{"run", "digits.pte", "--target=cortex-m4", "--isa=mve"}, kCommandLineAtFault, {"scalar, dsp"}},
      {{"run", "digits.pte", "--target=any"}, kCommandLineAtFault, {"name a CPU"}},
      {{"run", "digits.pte", "--target=m44"}, kCommandLineAtFault, {every_target()}},
      // Options that go together.
      {{"compile", digits, "--io=int8"}, kCommandLineAtFault, {"--calibrate", "--quantize"}},
      {{"compile", digits, "-q", "--memory=dtcm"}, kCommandLineAtFault, {"dtcm", "NAME=SIZE"}},
      {{"compile", digits, "-q", "--report", "stdout.txt/r.html", "-o", "unreported.pte"},
       kInputAtFault,
       {"stdout.txt/r.html: cannot write the file"}},
      {{"compile", digits, "-q", "--report", ".", "-o", "unreported.pte"}, kInputAtFault, {"cannot write the file"}},
      {{"compile", digits, "-q", "--optimize=fast"}, kCommandLineAtFault, {"speed", "size", "balanced"}},
      {{"compile", digits, "-q", "--float-layers", "classifier,stam.conv"},
       kInputAtFault,
       {"no layer stam.conv", "stem.conv"}},
      {{"compile", digits, "--float-layers", "classifier"}, kCommandLineAtFault, {"--calibrate", "--quantize"}},
      {{"compile", digits, "-q", "--budget=rom=64K"}, kCommandLineAtFault, {"ram and flash, not 'rom'"}},
      {{"compile", digits, "-q", "--budget=ram"}, kCommandLineAtFault, {"ram"}},
      {{"compile", small, "-q", "--budget=ram=1K"}, kInputAtFault, {"1,024 bytes", "too many. The largest: "}},
      {{"compile", small, "-q", "--budget=flash=1K"}, kInputAtFault, {"1,024 bytes", "too many. The largest: "}},
      {{"compile", digits, "-q", "--weights-in=sram"}, kCommandLineAtFault, {"there is flash", "--memory=sram="}},
      {{"compile", digits, "-q", "--memory=dtcm=64K,sram=1M", "--weights-in=ram"},
       kCommandLineAtFault,
       {"there is flash, dtcm, sram"}},
      {{"compile", small, "-q", "--memory=dtcm=64K,sram=1K", "--weights-in=sram"},
       kInputAtFault,
       {"constants", "'sram' has 1024 bytes", " too few"}},
      {{"run", "digits.pte", "--input", "x.npy", "--input", "x.npy"}, kCommandLineAtFault, {"has 1 input, fewer"}},
      {{"evaluate", digits, "--data", zoo("digits_expected.npz"), "--target=cortex-m4"},
       kCommandLineAtFault,
       {"compile it first"}},
      // Models.
      {{"compile", "-m", "mobilenet", "-q"}, kCommandLineAtFault, {"'mobilenet'", "ad, digits, fashion, kws, vww"}},
      {{"compile", "missing.pt2", "-q"}, kInputAtFault, {"missing.pt2", "No such file"}},
      {{"compile", ".", "-q"}, kInputAtFault, {"not a file"}},
      {{"compile", "cut.pt2", "-q"}, kInputAtFault, {"cut.pt2", "truncated"}},
      {{"compile", "empty.pt2", "-q"}, kInputAtFault, {"empty.pt2", "the file is empty"}},
      {{"compile", "garbage.pt2", "-q"}, kInputAtFault, {"garbage.pt2", "not a .pt2 model", "torch.export.save"}},
      {{"compile", "digits.pte"}, kCommandLineAtFault, {"digits.pte", "would overwrite the model"}},
      {{"compile", "x.npy", "-q"}, kInputAtFault, {"x.npy", "NumPy array"}},
      {{"compile", zoo("README.md"), "-q"}, kInputAtFault, {"README.md", "a text file"}},
      {{"compile", "bad.txt", "-q"}, kInputAtFault, {"bad.txt", "nobody"}},
      {{"compile", "rejected.txt", "--method=train"}, kInputAtFault, {"rejected.txt", "no method 'train'", "forward"}},
      {{"compile", "rejected.txt", "--calibrate", "rejected.npz", "--strict"},
       kInputAtFault,
       {"rejected.txt", "soft", "head.soft", "net.py:7", "4095"}},
      {{"compile", small, "-q", "--memory=dtcm=1K"},
       kInputAtFault,
       {"small.pt2", "'dtcm' has 1024 bytes", "are needed"}},
      {{"compile", digits, "-q", "-o", "stdout.txt/x.pte"}, kInputAtFault, {"stdout.txt/x.pte", "cannot write"}},
      // Calibration data.
      {{"compile", digits, "--calibrate", "missing.npz"}, kInputAtFault, {"missing.npz", "no such file"}},
      {{"compile", digits, "--calibrate", "garbage.npy"}, kInputAtFault, {"garbage.npy"}},
      {{"compile", digits, "--calibrate", "names.npz"}, kInputAtFault, {"names.npz", "input 'x'", "left, right"}},
      {{"compile", digits, "--calibrate", zoo("kws_calibration.npz")},
       kInputAtFault,
       {"[16, 1, 49, 10]", "[1, 1, 28, 28]"}},
      // Bundles.
      {{"compile", digits, "-q", "--bundle", "missing.npz"}, kInputAtFault, {"missing.npz"}},
      {{"compile", digits, "-q", "--bundle", "labels.npz"}, kInputAtFault, {"y of labels.npz", "[3]", "[1, 10]"}},
      {{"run", "garbage.bpte"}, kInputAtFault, {"garbage.bpte", "damaged"}},
      {{"inspect", "garbage.bpte"}, kInputAtFault, {"garbage.bpte", "damaged"}},
      // Programs.
      {{"run", "missing.pte"}, kInputAtFault, {"missing.pte", "No such file"}},
      {{"run", "."}, kInputAtFault, {"folder"}},
      {{"run", "cut.pte"}, kInputAtFault, {"cut.pte", "not a .pte program, or cut short"}},
      {{"run", "cut.pte", "--target=host"}, kInputAtFault, {"cut.pte", "not a .pte program, or cut short"}},
      {{"run", "empty.pte"}, kInputAtFault, {"empty.pte", "not a .pte program"}},
      {{"run", "garbage.pte"}, kInputAtFault, {"garbage.pte", "not a .pte program"}},
      {{"run", digits}, kInputAtFault, {"digits.pt2", "compile it first"}},
      {{"run", "digits.pte", "--target=cortex-m0"},
       kInputAtFault,
       {"cormorant::conv2d.mve_1x1", "cormorant::linear.mve", "--target=cortex-m0"}},
      // Programs of ExecuTorch's compiler that cannot run here, on the host and on a board.
      {{"run", foreign("xnnpack_delegate.pte"), "--target=host"}, kInputAtFault, {"delegate", "XnnpackBackend"}},
      {{"run", foreign("ethosu_delegate.pte")}, kInputAtFault, {"ethosu_delegate.pte", "delegate", "EthosUBackend"}},
      {{"run", foreign("xnnpack_delegate.pte")}, kInputAtFault, {"xnnpack_delegate.pte", "delegate", "XnnpackBackend"}},
      {{"run", foreign("external_data.pte"), "--target=host"}, kInputAtFault, {".ptd", "l.bias, l.weight"}},
      {{"run", foreign("external_data.pte")}, kInputAtFault, {"external_data.pte", ".ptd", "l.bias, l.weight"}},
      {{"run", foreign("unknown_operators.pte"), "--target=host"},
       kInputAtFault,
       {"unknown_operators.pte", "aten::rand.out", "aten::randn.out", "cormorant operators", "exported as .pt2"}},
      {{"run", foreign("unknown_operators.pte")},
       kInputAtFault,
       {"unknown_operators.pte", "aten::rand.out", "aten::randn.out", "cormorant operators", "exported as .pt2"}},
      {{"run", "version.pte", "--target=host"}, kInputAtFault, {"version.pte", "version ET13"}},
      {{"run", "version.pte"}, kInputAtFault, {"version.pte", "version ET13"}},
      {{"run", "version.bpte"}, kInputAtFault, {"version.bpte", "BP08"}},
      {{"run", "segments.pte", "--target=host"}, kInputAtFault, {"segments.pte", "cut short"}},
      {{"run", "segments.pte"}, kInputAtFault, {"segments.pte", "cut short"}},
      {{"inspect", "cut.pte"}, kInputAtFault, {"cut.pte"}},
      {{"inspect", "cut.pt2"}, kInputAtFault, {"cut.pt2", "truncated"}},
      {{"inspect", "missing.pte"}, kInputAtFault, {"missing.pte", "No such file"}},
      // Inputs and outputs.
      {{"run", "digits.pte", "--target=host", "--input", "missing.npy"}, kInputAtFault, {"missing.npy"}},
      {{"run", "digits.pte", "--target=host", "--input", "garbage.npy"},
       kInputAtFault,
       {"garbage.npy", "not a .npy file"}},
      {{"run", "digits.pte", "--target=host", "--input", "kws.npy"},
       kInputAtFault,
       {"kws.npy", "[1, 1, 49, 10]", "[1, 1, 28, 28]"}},
      {{"run", "digits.pte", "--target=host", "--input", "x_i32.npy"}, kInputAtFault, {"x_i32.npy", "i32", "i8"}},
      {{"run", "digits.pte", "--target=host", "--output", "stdout.txt/y.npy"}, kInputAtFault, {"stdout.txt/y.npy"}},
      {{"evaluate", "digits.pte", "--data", "missing.npz"}, kInputAtFault, {"missing.npz"}},
      {{"evaluate", "digits.pte", "--data", zoo("kws_expected.npz")}, kInputAtFault, {"[1, 49, 10]", "[1, 1, 28, 28]"}},
      {{"evaluate", "digits.pte", "--data", "labels.npz"}, kInputAtFault, {"6 labels for 2 samples"}},
      {{"evaluate", "missing.pte", "--data", "one.npz"}, kInputAtFault, {"missing.pte"}},
  };
}

TEST_F(CommandLine, TellsWhoIsAtFaultAndWhatToDo) {
  for (const Mistake& mistake : mistakes()) {
    const Ran ran = cormorant(path(), mistake.arguments);
    SCOPED_TRACE(ran.command);
    EXPECT_EQ(ran.status, mistake.status) << ran.err;
    std::string_view told = ran.err;  // warnings may come before it
    while (told.starts_with("warning: ") || told.starts_with("float: ")) told.remove_prefix(told.find('\n') + 1);
    EXPECT_TRUE(told.starts_with("error: ")) << ran.err;
    for (const std::string& part : mistake.told) EXPECT_TRUE(has(ran.err, part));
    EXPECT_EQ(ran.out, "");
  }
}

TEST_F(CommandLine, HasHelpOnEverything) {
  const struct {
    Arguments word;
    std::vector<std::string> parts;
  } cases[] = {
      {{}, {"compile", "run", "inspect", "evaluate"}},
      {{"compile"},
       {"-q,--quantize",
        "--calibrate",
        "--isa",
        "--io",
        "--runtime",
        "--memory",
        "-i,--intermediates",
        "--bundle",
        "--report",
        "--strict",
        "--optimize",
        "--float-layers",
        "--budget",
        "--weights-in",
        "--json",
        "-m,",
        "-t,--target",
        "-o,--output",
        "--bundleio",
        "--delegate",
        "--observer",
        "--layer-settings",
        "--explain",
        "--no-equalize",
        "--no-weight-rounding",
        "--no-bias-correction"}},
      {{"run"}, {"-t,--target", "--input", "--output", "--profile", "--compiler", "--json", "--elf", "--timeout"}},
      {{"inspect"}, {"--json", "--explain"}},
      {{"evaluate"}, {"--data", "-t,--target", "--float", "--json"}},
  };
  for (const auto& [word, parts] : cases) {
    Arguments arguments = word;
    arguments.emplace_back("--help");
    const Ran ran = cormorant(path(), arguments);
    SCOPED_TRACE(ran.command);
    EXPECT_EQ(ran.status, kDone);
    EXPECT_EQ(ran.err, "");
    for (const std::string& part : parts) EXPECT_TRUE(has(ran.out, part));
  }
}

TEST_F(CommandLine, ShowsExamplesInHelp) {
  EXPECT_TRUE(has(cormorant(path(), {"--help"}).out, "cormorant run model.pte"));
  const Ran compile = cormorant(path(), {"compile", "--help"});
  EXPECT_TRUE(has(compile.out, "cormorant compile -m mv2"));
  EXPECT_FALSE(has(compile.out, "REQUIRED")) << "the model is given as an argument or by -m";
}

TEST_F(CommandLine, AsksWhatWasMeant) {
  const std::pair<Arguments, std::string> cases[] = {
      {{"complie"}, "did you mean 'compile'?"},
      {{"compile", "m.pt2", "--traget=cortex-m55"}, "unknown option --traget; did you mean '--target'?"},
      {{"compile", "m.pt2", "--clock=160MHz"}, "--clock is not an option of compile but of run"},
      {{"compile", "m.pt2", "--target=cortx-m55", "-q"}, "did you mean 'cortex-m55'?"},
      {{"run", "m.pte", "--zebra"}, "unknown option --zebra\n"},
  };
  for (const auto& [arguments, told] : cases) {
    const Ran ran = cormorant(path(), arguments);
    EXPECT_EQ(ran.status, kCommandLineAtFault);
    EXPECT_TRUE(has(ran.err, told)) << ran.err;
  }
}

TEST_F(CommandLine, TellsAboutItself) {
  EXPECT_TRUE(cormorant(path(), {"--version"}).out.starts_with("cormorant "));
  const Ran targets = cormorant(path(), {"targets"});
  for (const char* const part : {"cortex-m0 ", "cortex-m85", "mve", "mps3-an547", "any"}) {
    EXPECT_TRUE(has(targets.out, part));
  }
  EXPECT_EQ(cormorant(path(), {"targets", "--json"}).json()["targets"].size(), kCpus.size());
  const nlohmann::json operators = cormorant(path(), {"operators", "--json"}).json()["operators"];
  const auto conv = std::ranges::find_if(operators, [](const auto& op) { return op["operator"] == "conv2d"; });
  ASSERT_NE(conv, operators.end());
  EXPECT_EQ((*conv)["precisions"][0], "8w8a");
  EXPECT_EQ(std::ranges::count((*conv)["spellings"], "aten.conv2d"), 1);
}

// The shell itself says what it would offer.
TEST_F(CommandLine, CompletesInBash) {
  const Ran script = cormorant(path(), {"completion", "bash"});
  ASSERT_EQ(script.status, kDone);
  std::ofstream(path() / "completion.bash") << script.out;
  const auto offers = [&](const std::string& words, int at) {
    const std::string ask = fmt::format(
        ". ./completion.bash; COMP_WORDS=({}); COMP_CWORD={}; _cormorant; echo ${{COMPREPLY[@]}} >offers.txt", words,
        at);
    EXPECT_EQ(std::system(fmt::format("cd '{}' && bash -c '{}'", path().string(), ask).c_str()), 0);
    std::ifstream file(path() / "offers.txt");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_EQ(offers("cormorant comp", 1), "compile completion\n");
  EXPECT_EQ(offers("cormorant compile --calib", 2), "--calibrate\n");
  EXPECT_EQ(offers("cormorant run --target = cortex-m8", 4), "cortex-m85\n");
  EXPECT_EQ(cormorant(path(), {"completion", "zsh"}).out.rfind("#compdef cormorant", 0), 0U);
}

// ---- compile ----------------------------------------------------------------------------------------------------

std::set<std::string> keys(const nlohmann::json& object) {
  std::set<std::string> names;
  for (const auto& item : object.items()) names.insert(item.key());
  return names;
}

TEST_F(CommandLine, CompileTellsItsFiguresAsJson) {
  const Ran ran = cormorant(path(), {"compile", zoo("ad.pt2"), "--calibrate", zoo("ad_calibration.npz"),
                                     "--target=cortex-m4", "-o", "ad.pte", "--json"});
  ASSERT_EQ(ran.status, kDone) << ran.err;
  EXPECT_EQ(ran.err, "");
  const nlohmann::json json = ran.json();
  EXPECT_EQ(keys(json), (std::set<std::string>{"target", "isa", "scheme", "operators", "float_operators", "model_bytes",
                                               "constant_bytes", "arena_bytes", "peaks", "arena_lower_bound",
                                               "scratch_bytes", "buffer_bytes", "integer_buffers", "macs", "recompute",
                                               "dropped_channels", "firmware", "seconds", "calibration"}));
  EXPECT_EQ(json["calibration"]["samples"], 16);
  EXPECT_EQ(json["calibration"]["inputs"][0]["min"], -4.0);
  EXPECT_EQ(json["calibration"]["inputs"][0]["max"], 4.0625);
  EXPECT_GT(json["calibration"]["sqnr_db"][0].get<double>(), 15);
  EXPECT_EQ(json["target"], "cortex-m4");
  EXPECT_EQ(json["isa"], "dsp");
  EXPECT_EQ(json["float_operators"], nlohmann::json::array());
  EXPECT_EQ(json["model_bytes"], std::filesystem::file_size(path() / "ad.pte"));
  EXPECT_GE(json["constant_bytes"], 264'192);  // a byte per weight
  EXPECT_LT(json["constant_bytes"], json["model_bytes"]);
  EXPECT_EQ(json["macs"], 2 * 640 * 128 + 6 * 128 * 128 + 2 * 128 * 8);  // the encoder and its mirror image
  ASSERT_EQ(json["arena_bytes"].size(), 1U);
  EXPECT_GE(json["arena_bytes"].begin().value(), json["arena_lower_bound"]);
  EXPECT_GE(json["arena_lower_bound"], 640 * 4);  // float in, int8 over it
  EXPECT_TRUE(json["seconds"].contains("import") && json["seconds"].contains("quantize") &&
              json["seconds"].contains("emit"));
  int operators = 0;
  for (const auto& [name, count] : json["operators"].items()) {
    EXPECT_TRUE(has(name, "::"));
    operators += count.get<int>();
  }
  EXPECT_EQ(operators, 12);  // ten layers with their ReLUs, quantize, dequantize
}

TEST_F(CommandLine, OptimizingForRamNeverNeedsMore) {
  const std::string model = std::string(CORMORANT_SOURCE_DIR) + "/tests/testdata/small.pt2";
  for (const char* const target : {"cortex-m4", "cortex-m55"}) {
    const auto arena = [&](const std::string& goal) {
      const Ran ran = cormorant(path(), {"compile", model, "-q", "--target", target, "--optimize=" + goal, "--no-link",
                                         "-o", goal + ".pte", "--json"});
      return ran.json()["arena_bytes"]["arena"].get<int>();
    };
    EXPECT_LE(arena("ram"), arena("balanced")) << target;
  }
}

// Its memory costs at most an eighth of the time; who has less RAM says so, and waits longer.
TEST_F(CommandLine, ABudgetGetsLessMemoryThanOptimizingForRam) {
  const auto arena = [&](const Arguments& more) {
    Arguments arguments = {"compile",        "kws",       "-q",     "--io=int8", "--target=cortex-m55",
                           "--optimize=ram", "--no-link", "--json", "-o",        "kws.pte"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return cormorant(path(), arguments).json()["arena_bytes"]["arena"].get<int>();
  };
  const int freely = arena({});
  const int limited = arena({"--budget=ram=" + std::to_string(freely - 1)});
  EXPECT_LT(limited, freely);
  EXPECT_GT(limited, 0);
}

// A recurrent layer is several instructions of one node, none of which differs.
TEST_F(CommandLine, CompileSaysWhereThereIsNothingToBuy) {
  const Ran ran = cormorant(path(), {"compile", zoo("state/lstm.pt2"), "-q", "--target=cortex-m55", "--optimize=speed",
                                     "--no-link", "-o", "lstm.pte"});
  EXPECT_TRUE(has(ran.out, "nothing to buy: the program is the same as balanced")) << ran.out << ran.err;
}

// A linear layer takes less code as a convolution only if a kernel for it is there anyway: that of groups is another.
TEST_F(CommandLine, OptimizingForSizeNeverNeedsMoreFlash) {
  write_text(path() / "groups.txt", R"(graph forward
input %x : f32[1,4,2,2]
const %w : f32[4,2,1,1] = [0.5, -0.25, 0.125, 0.75, -0.5, 0.25, 1.0, -1.0]
const %v : f32[2,16] = [0.5, 0.25, -0.5, 0.125, 0.75, 0.5, -1.0, 1.0, 0.5, 0.25, 0.125, 0.75, 0.5, -0.5, 0.25, 0.5, 1.0, -0.125, 0.5, 0.25, -0.5, 0.125, 0.75, 0.5, -1.0, 1.0, 0.5, 0.25, 0.125, 0.75, 0.5, -0.5]
node "conv" "first" "m.py:1"
  %a : f32[1,4,2,2] = aten.conv2d(input=%x, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, 1], groups=2)
node "flatten" "" "m.py:2"
  %b : f32[1,16] = aten.view(self=%a, size=[1, 16])
node "linear" "second" "m.py:3"
  %c : f32[1,2] = aten.linear(input=%b, weight=%v, bias=none)
output %c
)");
  const auto flash = [&](const std::string& model, const std::string& goal) {
    const Ran ran = cormorant(path(), {"compile", model, "-q", "--link", "--target=cortex-m3", "--io=int8",
                                       "--optimize=" + goal, "-o", goal + ".pte", "--json"});
    const nlohmann::json json = ran.json();
    if (goal == "size") {
      EXPECT_TRUE(json["optimize"].contains("code_bytes_added")) << json["optimize"];
    }
    return json["firmware"]["code"].get<int>() + json["model_bytes"].get<int>();
  };
  EXPECT_EQ(flash("groups.txt", "size"), flash("groups.txt", "balanced"));
  EXPECT_LT(flash(zoo("digits.pt2"), "size"), flash(zoo("digits.pt2"), "balanced") - 1000);
}

// Speed costs flash: for every layer, and compared with the program without it.
TEST_F(CommandLine, CompileTellsWhatSpeedCosts) {
  const auto arguments = [](const std::string& goal) -> Arguments {
    return {"compile",    zoo("digits.pt2"),    "--calibrate",        "digits_few.npz",
            "--io=int8",  "--target=cortex-m4", "--optimize=" + goal, "-o",
            goal + ".pte"};
  };
  const auto json_of = [&](const std::string& goal) {
    Arguments all = arguments(goal);
    all.emplace_back("--json");
    return cormorant(path(), all).json();
  };
  const nlohmann::json balanced = json_of("balanced");
  const nlohmann::json speed = json_of("speed");
  EXPECT_FALSE(balanced.contains("optimize"));
  const nlohmann::json& told = speed["optimize"];
  EXPECT_EQ(told["name"], "speed");
  EXPECT_EQ(told["cycles_are"], "estimated");
  EXPECT_EQ(speed["model_bytes"].get<int>() - told["model_bytes_added"].get<int>(), balanced["model_bytes"]);
  ASSERT_FALSE(told["layers"].empty());
  for (const nlohmann::json& layer : told["layers"]) {
    EXPECT_TRUE(has(layer["operator"], "_wide") && !has(layer["balanced_operator"], "_wide")) << layer;
    EXPECT_GT(layer["constant_bytes_added"], 0) << layer;
    EXPECT_LT(layer["cycles_added"], 0) << layer;
  }
  Arguments measured = arguments("speed");
  measured.emplace_back("--measure");
  const Ran ran = cormorant(path(), measured);
  EXPECT_EQ(ran.status, kDone) << ran.err;
  for (const char* line : {"optimized for speed; compared with balanced, cycles measured", "  model  ", "  code  ",
                           "  execute  ", " cycles (-"}) {
    EXPECT_TRUE(has(ran.out, line)) << line << ran.out;
  }
}

TEST_F(CommandLine, PythonsOperatorsOnBooleansAreKnown) {
  const std::string base = std::string(CORMORANT_SOURCE_DIR) + "/tests/testdata/logic";
  ASSERT_EQ(cormorant(path(), {"compile", base + ".pt2", "--target=cortex-m4", "-o", "logic.pte"}).status, kDone);
  const Ran ran = cormorant(path(), {"evaluate", "logic.pte", "--data", base + "_test.npz", "--target=host", "--json"});
  EXPECT_EQ(ran.status, kDone) << ran.err;
  EXPECT_EQ(ran.json()["outputs"][0]["rmse"], 0) << ran.out;
  // A program runs on the CPU that it was compiled for unless told otherwise.
  EXPECT_TRUE(has(cormorant(path(), {"run", "logic.pte"}).out, "ran on cortex-m4, ISA dsp"));
  // A CPU that there is not is the file's fault.
  std::string bytes = read_text(path() / "logic.pte");
  bytes.replace(bytes.find("cortex-m4"), 9, "cortex-mX");
  write_text(path() / "other.pte", bytes);
  const Ran other = cormorant(path(), {"run", "other.pte"});
  EXPECT_EQ(other.status, 1) << other.err;
  EXPECT_TRUE(has(other.err, "other.pte: it was compiled for 'cortex-mX dsp'")) << other.err;
}

TEST_F(CommandLine, CompileWithoutDataWarnsAndStillPrintsOnlyJson) {
  const Ran ran = cormorant(path(), {"compile", zoo("kws.pt2"), "-q", "--delegate", "-o", "kws.pte", "--json"});
  EXPECT_EQ(ran.status, kDone) << ran.err;
  EXPECT_EQ(ran.json()["target"], "cortex-m55");
  EXPECT_TRUE(has(ran.err, "warning: no calibration data"));
  EXPECT_TRUE(has(ran.err, "not representative"));
  EXPECT_TRUE(has(ran.err, "warning: --delegate is ignored"));
}

TEST_F(CommandLine, CompileIsDeterministicAndKnowsExecuTorchsSpellings) {
  std::filesystem::create_directories(path() / "folder");
  const std::vector<std::pair<Arguments, std::string>> spellings = {
      {{"compile", zoo("ad.pt2"), "--target=cortex-m4", "--quantize", "-o", "a.pte"}, "a.pte"},
      {{"compile", "-m", zoo("ad.pt2"), "-t", "cortex-m4", "-q", "--output", "b.pte"}, "b.pte"},
      {{"compile", "--model_name=ad", "--target", "cortex-m4", "-q", "--output=folder", "-i", "stages"},
       "folder/ad.pte"},
      {{"compile", "-q", "ad", "-t", "cortex-m4", "--isa=dsp", "--io=float", "--runtime=cormorant"}, "ad.pte"},
  };
  for (const auto& [given, file] : spellings) {
    std::filesystem::remove(path() / file);
    Arguments arguments = given;
    arguments.emplace_back("--no-link");
    const Ran ran = cormorant(path(), arguments);
    EXPECT_EQ(ran.status, kDone) << ran.command << ran.err;
    EXPECT_TRUE(has(ran.out, "compiled for cortex-m4, ISA dsp\n"));
    EXPECT_TRUE(read_text(path() / file) == read_text(path() / "a.pte")) << ran.command;
  }
  EXPECT_TRUE(std::filesystem::exists(path() / "stages" / "00-import.txt"));
}

// How long a compilation may take is for the benchmark to say: here only that its parts are known.
TEST_F(CommandLine, CompileTellsWhereItsTimeGoes) {
  const Ran ran = cormorant(path(), {"compile", zoo("digits.pt2"), "-q", "-o", "timed.pte", "--no-link", "--json"});
  ASSERT_EQ(ran.status, kDone) << ran.err;
  const nlohmann::json json = ran.json();
  double sum = 0;
  for (const auto& [stage, seconds] : json["seconds"].items()) sum += seconds.get<double>();
  for (const char* stage : {"import", "quantize", "lower", "emit"}) EXPECT_TRUE(json["seconds"].contains(stage));
  EXPECT_LE(sum, ran.seconds);
}

// Whatever stage the text is from, compiling continues from there to the same program.
TEST_F(CommandLine, CompilesTheTextOfEveryStageToTheSameBytes) {
  const std::string model = CORMORANT_SOURCE_DIR "/docs/tutorial/wave";  // small: it is calibrated many times
  const Arguments data = {"--calibrate", model + "_calibration.npz"};
  Arguments arguments = {"compile", model + ".pt2", "--intermediates", "texts", "-o", "direct.pte", "--no-link"};
  arguments.insert(arguments.end(), data.begin(), data.end());
  ASSERT_EQ(cormorant(path(), arguments).status, kDone);
  std::set<std::filesystem::path> texts;
  for (const auto& entry : std::filesystem::directory_iterator(path() / "texts")) {
    if (entry.path().extension() == ".txt") texts.insert(entry.path());
  }
  ASSERT_GE(texts.size(), 8U);
  bool is_quantized = false;
  std::string before;  // most stages have nothing to do here
  for (const std::filesystem::path& text : texts) {
    is_quantized = is_quantized || text.stem().string().ends_with("-quantize");
    const std::string graph = read_text(text) + read_text(text.string() + ".data");
    if (std::exchange(before, graph) == graph) continue;
    Arguments again = {"compile", text.string(), "-o", "again.pte", "--no-link"};
    if (!is_quantized) again.insert(again.end(), data.begin(), data.end());
    const Ran ran = cormorant(path(), again);
    EXPECT_EQ(ran.status, kDone) << ran.command << ran.err;
    EXPECT_TRUE(read_text(path() / "again.pte") == read_text(path() / "direct.pte")) << text;
  }
  EXPECT_TRUE(is_quantized);
}

// ---- run, inspect, evaluate -------------------------------------------------------------------------------------

TEST_F(CommandLine, RunTellsItsFiguresAsJson) {
  const Ran ran =
      cormorant(path(), {"run", "digits.pte", "--target=cortex-m55", "--profile", "--json", "--elf", "kept.elf"});
  ASSERT_EQ(ran.status, kDone) << ran.err;
  EXPECT_EQ(ran.err, "");
  const nlohmann::json json = ran.json();
  EXPECT_EQ(keys(json), (std::set<std::string>{"target", "isa", "instructions", "cycles", "flash", "ram", "stack_bound",
                                               "code_parts", "operators"}));
  EXPECT_EQ(json["target"], "cortex-m55");
  EXPECT_EQ(json["isa"], "mve");
  EXPECT_EQ(keys(json["instructions"]), (std::set<std::string>{"load", "execute"}));
  EXPECT_EQ(keys(json["cycles"]), (std::set<std::string>{"load", "execute"}));
  EXPECT_EQ(keys(json["flash"]), (std::set<std::string>{"code", "model"}));
  EXPECT_EQ(keys(json["ram"]), (std::set<std::string>{"arena", "state", "stack"}));
  EXPECT_EQ(json["flash"]["model"], std::filesystem::file_size(path() / "digits.pte"));
  std::uint64_t in_operators = 0, cycles_in_operators = 0;
  for (const nlohmann::json& op : json["operators"]) {
    EXPECT_EQ(keys(op), (std::set<std::string>{"name", "node", "source", "instructions", "cycles"}));
    in_operators += op["instructions"].get<std::uint64_t>();
    cycles_in_operators += op["cycles"].get<std::uint64_t>();
  }
  const auto execute = json["instructions"]["execute"].get<std::uint64_t>();
  EXPECT_LT(in_operators, execute);
  EXPECT_GT(in_operators, execute * 9 / 10);
  const auto cycles = json["cycles"]["execute"].get<std::uint64_t>();
  EXPECT_LT(cycles_in_operators, cycles);
  EXPECT_GT(cycles_in_operators, cycles * 9 / 10);
  EXPECT_GT(cycles, execute / 2);
  EXPECT_LT(cycles, execute * 3);
  EXPECT_TRUE(std::filesystem::exists(path() / "kept.elf"));

  const nlohmann::json shown = cormorant(path(), {"inspect", "digits.pte", "--json"}).json();
  EXPECT_EQ(shown["methods"][0]["arena_bytes"][0], json["ram"]["arena"]);
  EXPECT_EQ(shown["methods"][0]["instructions"].size(), json["operators"].size());
  // int8 outputs come with their meaning: probabilities are 0 to 255/256.
  EXPECT_EQ(shown["methods"][0]["outputs"][0]["scale"], 1.0 / 256);
  EXPECT_EQ(shown["methods"][0]["outputs"][0]["zero_point"], -128);
}

// Names of nodes and source lines are next to the program, and are used only if they are this program's.
TEST_F(CommandLine, ProfileNamesNodesAndSourceLines) {
  const Arguments profile = {"run", "named.pte", "--profile", "--json"};
  ASSERT_EQ(cormorant(path(), {"compile", "digits", "-q", "-o", "named.pte"}).status, kDone);
  const nlohmann::json named = cormorant(path(), profile).json()["operators"];
  ASSERT_FALSE(named.empty());
  for (const nlohmann::json& op : named) {
    EXPECT_NE(op["node"], "");
    EXPECT_TRUE(has(op["source"].get<std::string>(), ".py:"));
  }
  EXPECT_TRUE(has(named[1]["source"].get<std::string>(), "(train.py:"));

  const std::string names = read_text(path() / "named.pte.names.json");
  ASSERT_EQ(cormorant(path(), {"compile", "digits", "-q", "--io=int8", "--no-names", "-o", "named.pte"}).status, kDone);
  EXPECT_EQ(read_text(path() / "named.pte.names.json"), names);
  for (const std::string& text : {names, std::string("[]"), std::string("{\"program\": 1")}) {
    write_text(path() / "named.pte.names.json", text);
    const Ran ran = cormorant(path(), profile);
    EXPECT_EQ(ran.status, kDone);
    EXPECT_TRUE(has(ran.err, "named.pte.names.json"));
    EXPECT_EQ(ran.json()["operators"][0]["node"], nullptr);
  }
}

TEST_F(CommandLine, RunTakesFilesByNameAndMakesFolders) {
  const Arguments start = {"run", "digits.pte", "--target=host"};
  const auto with = [&](Arguments more) {
    more.insert(more.begin(), start.begin(), start.end());
    return cormorant(path(), more);
  };
  const std::string name = "x";
  ASSERT_EQ(with({"--input", name + "=x.npy", "--output", "deep/er/y.npy"}).status, kDone);
  ASSERT_EQ(with({"--input", "x.npy", "--output", "z.npy"}).status, kDone);
  EXPECT_EQ(npy::read_npy(path() / "deep/er/y.npy"), npy::read_npy(path() / "z.npy"));
  const Ran unknown = with({"--input", name + "s=x.npy"});
  EXPECT_EQ(unknown.status, kCommandLineAtFault);
  EXPECT_TRUE(has(unknown.err, "did you mean '" + name + "'?")) << unknown.err;
  EXPECT_EQ(with({"--input", name + "=x.npy", "x.npy"}).status, kCommandLineAtFault);
}

TEST_F(CommandLine, RunWritesTheOutputInTheModelsShape) {
  for (const std::string target : {"host", "cortex-m55"}) {
    const Ran ran =
        cormorant(path(), {"run", "--input", "x.npy", "--output", target + ".npy", "--target", target, "digits.pte"});
    EXPECT_EQ(ran.status, kDone) << ran.err;
    const npy::Array y = npy::read_npy(path() / (target + ".npy"));
    EXPECT_EQ(y.dtype, DType::i8);
    EXPECT_EQ(y.shape, (std::vector<std::int64_t>{1, 10}));
  }
  EXPECT_EQ(npy::read_npy(path() / "host.npy"), npy::read_npy(path() / "cortex-m55.npy"));
}

// Constants are no memory that a program writes, but its outputs are.
TEST_F(CommandLine, AConstantCanBeAnOutput) {
  write_text(path() / "constant.txt", R"(graph forward
input %x : f32[1,2]
const %c : f32[1,2] = [3.0, -4.0]
node "add" "" "here.py:1"
  %y : f32[1,2] = aten.add(self=%x, other=%x, alpha=1.0)
output %y
output %c
)");
  npy::write_npy(path() / "two.npy", floats({1, 2}, {1, 2}));
  for (const std::string target : {"cortex-m55", "any"}) {
    const Ran compiled = cormorant(path(), {"compile", "constant.txt", "--no-link", "--target", target});
    ASSERT_EQ(compiled.status, kDone) << compiled.err;
    const Ran ran = cormorant(path(), {"run", "constant.pte", "--target=host", "--input", "two.npy", "--output",
                                       "y.npy", "--output", "c.npy"});
    ASSERT_EQ(ran.status, kDone) << ran.err;
    EXPECT_EQ(npy::read_npy(path() / "y.npy"), floats({1, 2}, {2, 4}));
    EXPECT_EQ(npy::read_npy(path() / "c.npy"), floats({1, 2}, {3, -4}));
  }
}

// Runtimes expect one name, whatever a text calls its graph.
TEST_F(CommandLine, AGraphMayHaveAnotherNameThanForward) {
  write_text(path() / "step.txt", R"(graph step
input %x : f32[1,2]
node "add" "" "here.py:1"
  %y : f32[1,2] = aten.add(self=%x, other=%x, alpha=1.0)
output %y
)");
  ASSERT_EQ(cormorant(path(), {"compile", "step.txt", "--no-link"}).status, kDone);
  EXPECT_EQ(cormorant(path(), {"inspect", "step.pte", "--json"}).json()["methods"][0]["name"], "forward");
  npy::write_npy(path() / "two.npy", floats({1, 2}, {1, 2}));
  for (const std::string target : {"host", "cortex-m55"}) {
    const Ran ran =
        cormorant(path(), {"run", "step.pte", "--target", target, "--input", "two.npy", "--output", "y.npy"});
    ASSERT_EQ(ran.status, kDone) << ran.err;
    EXPECT_EQ(npy::read_npy(path() / "y.npy"), floats({1, 2}, {2, 4}));
  }
}

TEST_F(CommandLine, InspectShowsEveryKindOfFile) {
  ASSERT_EQ(cormorant(path(), {"compile", "digits", "-q", "--bundleio", "-o", "d.pte"}).status, kDone);
  const struct {
    std::string file, format;
    std::set<std::string> fields;
    std::vector<std::string> text;
  } cases[] = {
      {zoo("digits.pt2"),
       "pt2",
       {"format", "inputs", "outputs", "operators", "nodes"},
       {"input %x : f32[1,1,28,28]", "aten.conv2d"}},
      {"digits.pte",
       "pte",
       {"format", "file_bytes", "flatbuffer_bytes", "constant_bytes", "methods"},
       {"i8[1,1,28,28]", "cormorant::conv2d.mve_1x1", "arena"}},
      {"d.bpte",
       "bpte",
       {"format", "file_bytes", "flatbuffer_bytes", "constant_bytes", "methods", "test_cases", "tested_method"},
       {"1 test case", "f32[1,1,28,28]", "cormorant::conv2d.mve_1x1"}},
  };
  for (const auto& [file, format, fields, text] : cases) {
    SCOPED_TRACE(file);
    const Ran ran = cormorant(path(), {"inspect", file});
    EXPECT_EQ(ran.status, kDone) << ran.err;
    for (const std::string& part : text) EXPECT_TRUE(has(ran.out, part));
    const nlohmann::json json = cormorant(path(), {"inspect", file, "--json"}).json();
    EXPECT_EQ(json["format"], format);
    EXPECT_EQ(keys(json), fields);
  }
}

TEST_F(CommandLine, EvaluateTellsItsScoresAsJson) {
  const std::set<std::string> fields = {"samples", "accuracy",       "float_accuracy", "agreement",
                                        "sqnr_db", "output_sqnr_db", "outputs",        "notes"};
  const Ran board = cormorant(path(), {"evaluate", "digits.pte", "--data", zoo("digits_expected.npz"),
                                       "--target=cortex-m55", "--float", "digits", "--json"});
  EXPECT_EQ(board.status, kDone) << board.err;
  const nlohmann::json on_board = board.json();
  EXPECT_EQ(keys(on_board), fields);
  EXPECT_EQ(on_board["samples"], 8);
  EXPECT_EQ(on_board["accuracy"], nullptr);  // its y are outputs, not labels
  EXPECT_EQ(on_board["agreement"], 1.0);
  const Ran host = cormorant(
      path(), {"evaluate", "digits.pte", "--data", zoo("digits_expected.npz"), "--float", "digits", "--json"});
  EXPECT_EQ(host.json(), on_board);
  const Ran alone = cormorant(path(), {"evaluate", zoo("digits.pt2"), "--data", zoo("digits_expected.npz"), "--json"});
  EXPECT_EQ(keys(alone.json()), fields);
  EXPECT_EQ(alone.json()["agreement"], nullptr);
}

// ---- the kinds of data, and what they are compared with ---------------------------------------------------------

// Two inputs' sum, as a map of two classes at three places, and one number.
constexpr const char* kMap = R"(graph forward
input %a : f32[1,2,3]
node "add" "first" "here.py:1"
  %map : f32[1,2,3] = aten.add(self=%a, other=%a, alpha=1.0)
node "amax" "second" "here.py:2"
  %top : f32[1,1,1] = aten.amax(self=%a, dim=[1,2])
output %map "map"
output %top "top"
)";

TEST_F(CommandLine, EvaluateComparesWhatTheModelIs) {
  write_text(path() / "map.txt", kMap);
  ASSERT_EQ(cormorant(path(), {"compile", "map.txt", "--no-link", "-o", "map.pte"}).status, kDone);
  const std::vector<float> x = {0, 5, 1, 2, 3, 4, 7, 1, 1, 0, 2, 0};  // classes 1 0 1, 0 1 0
  const npy::Array inputs = floats({2, 2, 3}, x);
  npy::write_npz((path() / "map.npz").string(), {{"a", inputs},
                                                 {"y0", floats({2, 3}, {1, 0, 1, 0, 1, 1})},
                                                 {"y1", floats({2}, {5, 6})},
                                                 {"z", floats({2, 1}, {0, 0})}});
  const nlohmann::json json =
      cormorant(path(), {"evaluate", "map.pte", "--data", "map.npz", "--float", "map.txt", "--json"}).json();
  EXPECT_EQ(json["agreement"], 1.0);
  EXPECT_EQ(json["outputs"][0]["task"], "dense classifier");
  EXPECT_NEAR(json["outputs"][0]["accuracy"].get<double>(), 5.0 / 6, 1e-9);
  EXPECT_EQ(json["outputs"][1]["task"], "numbers");
  EXPECT_EQ(json["outputs"][1]["agreement"], nullptr);
  EXPECT_NEAR(json["outputs"][1]["rmse"].get<double>(), std::sqrt(0.5), 1e-6);
  EXPECT_TRUE(has(json["notes"].dump(), "not used: z"));
  // Without labels nothing says that it classifies: two outputs, one of them a map.
  npy::write_npz((path() / "plain.npz").string(), {{"a", inputs}});
  const nlohmann::json plain =
      cormorant(path(), {"evaluate", "map.pte", "--data", "plain.npz", "--float", "map.txt", "--json"}).json();
  EXPECT_EQ(plain["agreement"], nullptr);
  const Ran text = cormorant(path(), {"evaluate", "map.pte", "--data", "map.npz", "--float", "map.txt"});
  for (const char* const part : {"output 0, map", "accuracy (map)", "83.33 %", "output 1, top", "RMSE", "worst SQNR"}) {
    EXPECT_TRUE(has(text.out, part));
  }
  const Ran named = cormorant(path(), {"run", "map.pte", "--target=host"});
  EXPECT_TRUE(has(named.out, "output 0, map ") && has(named.out, "output 1, top ")) << named.out;
  EXPECT_EQ(cormorant(path(), {"run", "map.pte", "--target=host", "--quiet"}).out, "");
  npy::write_npz((path() / "bad.npz").string(), {{"a", inputs}, {"y0", floats({2, 3}, {1, 0, 2, 0, 1, 1})}});
  const Ran bad = cormorant(path(), {"evaluate", "map.pte", "--data", "bad.npz"});
  EXPECT_EQ(bad.status, kInputAtFault);
  EXPECT_TRUE(has(bad.err, "labels must be between 0 and 1"));
}

// A warning may be what explains the error.
TEST_F(CommandLine, CompileWarnsEvenWhereItEndsInAnError) {
  const std::string few = "warning: only 1 calibration sample";
  const std::string open = CORMORANT_SOURCE_DIR "/formats/pt2/testdata/dynamic.pt2";
  const struct {
    Arguments arguments;
    std::string error, warning;
  } cases[] = {
      {{"digits", "--calibrate", "one.npz", "--min-sqnr=99"}, "--min-sqnr=99 is not met", few},
      {{"rejected.txt", "-q", "--strict"}, "one operator stays in float", "warning: no calibration data"},
      {{"rejected.txt", "-q", "--strict"}, "one operator stays in float", "float: soft (aten.softmax) at head.soft"},
      {{"digits", "--calibrate", "one.npz", "--memory=sram=1K"}, "'sram' has 1024 bytes", few},
      {{open, "--calibrate", "one.npz"}, "does not fit the model's input", "batch size is dynamic and is set to 1"},
  };
  for (const auto& [given, error, warning] : cases) {
    Arguments arguments = {"compile", "--no-link", "-o", "warned.pte"};
    arguments.insert(arguments.end(), given.begin(), given.end());
    const Ran ran = cormorant(path(), arguments);
    EXPECT_EQ(ran.status, kInputAtFault) << ran.command;
    EXPECT_TRUE(has(ran.err, error));
    EXPECT_TRUE(has(ran.err, warning)) << ran.command;
    EXPECT_LT(ran.err.find(warning), ran.err.find("error: ")) << ran.err;
    arguments.emplace_back("--quiet");
    EXPECT_TRUE(cormorant(path(), arguments).err.starts_with("error: ")) << ran.command;
  }
}

// The batch of this model is open, of 2 to 8.
TEST_F(CommandLine, OpenDimensionsAreTheProgramsOrThoseOfShape) {
  const std::string open = CORMORANT_SOURCE_DIR "/formats/pt2/testdata/dynamic.pt2";
  ASSERT_EQ(cormorant(path(), {"compile", open, "--shape=input=5,2", "--no-link", "-o", "five.pte"}).status, kDone);
  std::vector<float> x(30);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 7) - 3;
  npy::write_npz((path() / "five.npz").string(), {{"x", floats({3, 5, 2}, x)}});
  const auto ran = [&](const std::string& what, Arguments more) {
    Arguments arguments = {what};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return cormorant(path(), arguments);
  };
  const Ran compared = ran("evaluate", {"five.pte", "--data", "five.npz", "--float", open, "--json"});
  ASSERT_EQ(compared.status, kDone) << compared.err;
  EXPECT_EQ(compared.json()["samples"], 3);
  EXPECT_EQ(compared.json()["notes"], nlohmann::json::array());
  const Ran wrong = ran("evaluate", {"five.pte", "--data", "five.npz", "--float", open, "--shape=input=4,2"});
  EXPECT_EQ(wrong.status, kInputAtFault);
  EXPECT_TRUE(has(wrong.err, "'input' of shape [4, 2]")) << wrong.err;

  for (const Arguments& options : {Arguments{"--json"}, {"--layers", "--json"}}) {
    Arguments given = {open, "--data", "five.npz"};
    given.insert(given.end(), options.begin(), options.end());
    EXPECT_TRUE(has(ran("evaluate", given).err, "'input' of shape [1, 2]"));
    given.push_back("--shape=input=5,2");
    const Ran fits = ran("evaluate", given);
    EXPECT_EQ(fits.status, kDone) << fits.err;
  }
  const nlohmann::json five = ran("inspect", {open, "--shape=model.input=5,2", "--json"}).json();
  EXPECT_EQ(five["inputs"][0]["shape"], nlohmann::json({5, 2}));
  const Ran one = ran("inspect", {open, "--json"});
  EXPECT_EQ(one.json()["inputs"][0]["shape"], nlohmann::json({1, 2}));
  EXPECT_TRUE(has(one.err, "warning: the model's batch size is dynamic and is set to 1")) << one.err;

  // Of a file whose shapes are fixed.
  for (const Arguments& given : {Arguments{"evaluate", "five.pte", "--data", "five.npz"}, {"inspect", "five.pte"}}) {
    const Ran fixed = ran(given[0], [&] {
      Arguments more(given.begin() + 1, given.end());
      more.push_back("--shape=input=5,2");
      return more;
    }());
    EXPECT_EQ(fixed.status, kCommandLineAtFault);
    EXPECT_TRUE(has(fixed.err, "--shape is for a .pt2")) << fixed.err;
  }
  const Ran text = ran("compile", {"bad.txt", "--shape=x=1,2"});
  EXPECT_EQ(text.status, kInputAtFault);
  EXPECT_TRUE(has(text.err, "--shape is for dynamic dimensions")) << text.err;
}

TEST_F(CommandLine, CompileWarnsOfDataThatCannotBeMeant) {
  const npy::NamedArrays good = npy::read_npz(zoo("digits_calibration.npz"));
  const auto samples = good.front().second.as<float>().first(28 * 28 * 20);
  const auto compile_with = [&](const std::function<float(float)>& change, std::int64_t count) {
    std::vector<float> values(samples.begin(), samples.begin() + 28 * 28 * count);
    std::ranges::transform(values, values.begin(), change);
    npy::write_npz((path() / "data.npz").string(), {{"x", floats({count, 1, 28, 28}, values)}});
    return cormorant(path(), {"compile", "digits", "--calibrate", "data.npz", "--no-link", "--no-weight-rounding", "-o",
                              "warned.pte"});
  };
  EXPECT_EQ(compile_with([](float v) { return v; }, 20).err, "");
  const std::vector<std::tuple<std::function<float(float)>, std::int64_t, const char*>> cases = {
      {[](float v) { return std::round(v * 255); }, 20, "look like pixels"},
      {[](float) { return 0.5F; }, 20, "every element of the calibration data for 'x' is 0.5"},
      {[](float v) { return v * 1e9F; }, 20, "implausible for a normalized input"},
      {[](float v) { return v; }, 3, "3 calibration samples"},
      {[](float v) { return v * 60 - 30; }, 20, "far from what the model was trained on"},
  };
  for (const auto& [change, count, warning] : cases) {
    const Ran ran = compile_with(change, count);
    EXPECT_EQ(ran.status, kDone) << ran.err;
    EXPECT_TRUE(has(ran.err, warning));
  }
}

// Where another program than the first is taken, all that is told is told of that one.
TEST_F(CommandLine, WhatIsExplainedIsWhatIsWritten) {
  write_text(path() / "convolutions.txt", convolutions());
  const auto compile = [&](const std::string& option) {
    std::filesystem::remove_all(path() / "taken");
    const Ran ran = cormorant(path(), {"compile", "convolutions.txt", "-q", "--io=int8", "--no-link", "--explain",
                                       "--json", "--intermediates", "taken", "-o", "taken.pte", option});
    EXPECT_EQ(ran.status, kDone) << ran.err;
    return ran.json();
  };
  // The operator that a node became in the end.
  const auto kernel_of = [](const nlohmann::json& json, const std::string& name) {
    std::string kernel;
    for (const nlohmann::json& node : json["nodes"]) {
      if (node["node"] == name) kernel = node["stages"].back()["became"].front();
    }
    return kernel.replace(kernel.find('.'), 1, "::");
  };
  const auto is_by_rows = [&] {
    std::size_t files = 0;
    bool has_group = false;
    for (const auto& file : std::filesystem::directory_iterator(path() / "taken")) {
      ++files;
      if (file.path().string().ends_with("-clean_up.txt"))
        has_group = read_text(file.path()).find("cormorant.rows.group") != std::string::npos;
    }
    return std::pair(files, has_group);
  };
  const nlohmann::json layers = compile("--optimize=balanced");
  const auto [files, has_group] = is_by_rows();
  EXPECT_FALSE(has_group);
  EXPECT_EQ(layers["rows"]["groups"], 0);
  const std::string of_layers = kernel_of(layers, "conv1");
  EXPECT_TRUE(layers["operators"].contains(of_layers)) << of_layers;

  const nlohmann::json rows = compile("--budget=ram=7500");
  EXPECT_EQ(rows["rows"]["groups"], 1);
  EXPECT_EQ(is_by_rows(), std::pair(files, true));
  EXPECT_FALSE(rows["operators"].contains(of_layers)) << "the model should have a kernel for rows alone";
  EXPECT_TRUE(rows["operators"].contains(kernel_of(rows, "conv1"))) << kernel_of(rows, "conv1");
  EXPECT_GT(rows["seconds"]["quantize"], 0);
}

TEST_F(CommandLine, InspectShowsAGroupWithItsStages) {
  write_text(path() / "convolutions.txt", convolutions());
  const Ran compiled = cormorant(
      path(), {"compile", "convolutions.txt", "-q", "--io=int8", "--no-link", "--optimize=ram", "-o", "stages.pte"});
  ASSERT_EQ(compiled.status, kDone) << compiled.err;
  const nlohmann::json rows =
      cormorant(path(), {"inspect", "stages.pte", "--json"}).json()["methods"][0]["instructions"];
  std::size_t group = 0;
  while (group < rows.size() && rows[group]["operator"] != "cormorant::rows.mve") ++group;
  ASSERT_LT(group, rows.size());
  EXPECT_FALSE(rows[group].contains("part_of"));
  EXPECT_EQ(rows.back()["part_of"], group);
  const std::string shown = cormorant(path(), {"inspect", "stages.pte"}).out;
  const std::size_t at = shown.find("cormorant::rows.mve");
  ASSERT_NE(at, std::string::npos) << shown;
  const std::string next = shown.substr(shown.find('\n', at) + 1);
  EXPECT_TRUE(has(next.substr(0, next.find('\n')), "   cormorant::conv2d.mve_"));  // indented
}

TEST_F(CommandLine, StateIsShown) {
  const Ran compiled = cormorant(path(), {"compile", zoo("state/delays.pt2"), "-q", "--no-link", "-o", "state.pte"});
  ASSERT_EQ(compiled.status, kDone) << compiled.err;
  EXPECT_TRUE(has(compiled.out, " of them for the model's state, which persists between executions"));
  EXPECT_TRUE(has(cormorant(path(), {"inspect", "state.pte"}).out, "\n  state "));
  std::uint64_t bytes = 0;
  const nlohmann::json shown = cormorant(path(), {"inspect", "state.pte", "--json"}).json()["methods"][0]["states"];
  for (const nlohmann::json& state : shown) {
    bytes += state["bytes"].get<std::uint64_t>();
    EXPECT_TRUE(state.contains("offset") && state.contains("initially")) << state;
  }
  const nlohmann::json figures =
      cormorant(path(), {"compile", zoo("state/delays.pt2"), "-q", "--no-link", "--json", "-o", "state.pte"}).json();
  EXPECT_EQ(bytes, figures["buffer_bytes"]);
  EXPECT_FALSE(cormorant(path(), {"inspect", "digits.pte", "--json"}).json()["methods"][0].contains("states"));
}

// Only 8-bit activations can be, and --optimize=ram asked for it.
TEST_F(CommandLine, SaysWhyNothingIsComputedByRows) {
  write_text(path() / "convolutions.txt", convolutions());
  const auto warnings = [&](const char* scheme) {
    return cormorant(path(),
                     {"compile", "convolutions.txt", "-q", "--no-link", "--optimize=ram", scheme, "-o", "r.pte"})
        .err;
  };
  EXPECT_TRUE(has(warnings("--scheme=8w16a"), "--optimize=ram has no effect"));
  EXPECT_TRUE(has(warnings("--scheme=8w16a"), "16-bit activations (--scheme=8w16a)"));
  EXPECT_FALSE(has(warnings("--scheme=4w8a"), "no effect"));
}

TEST_F(CommandLine, ABudgetOfFlashIsMetByFewerBitsOfWeights) {
  write_text(path() / "convolutions.txt", convolutions());
  const auto compile = [&](const std::string& option) {
    return cormorant(path(),
                     {"compile", "convolutions.txt", "-q", "--io=int8", "--no-link", "--json", "-o", "r.pte", option});
  };
  const auto bytes = compile("--scheme=4w8a").json()["model_bytes"].get<int>();
  const Ran ran = compile("--budget=flash=" + std::to_string(bytes));
  EXPECT_EQ(ran.status, kInputAtFault);
  EXPECT_TRUE(has(ran.err, "it fits with --scheme=4w8a (RAM "));
  EXPECT_TRUE(has(ran.err, "flash " + grouped(static_cast<std::uint64_t>(bytes))));
  EXPECT_FALSE(has(compile("--budget=ram=1K").err, "4w8a"));
}

TEST_F(CommandLine, AnExceededBudgetNamesWhatWouldMeetIt) {
  const Arguments calibrated = {
      "compile", "ad",        "--calibrate", zoo("ad_calibration.npz"), "--no-link", "--no-weight-rounding",
      "-o",      "budget.pte"};
  const auto ram_of = [&](const Arguments& more) {
    Arguments arguments = calibrated;
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.emplace_back("--json");
    const nlohmann::json json = cormorant(path(), arguments).json();
    return json["arena_bytes"]["arena"].get<std::uint64_t>() + json["firmware"]["state"].get<std::uint64_t>();
  };
  const std::uint64_t as_float = ram_of({}), as_int8 = ram_of({"--io=int8"});
  ASSERT_LT(as_int8, as_float);
  Arguments arguments = calibrated;
  arguments.push_back("--budget=ram=" + std::to_string(as_int8));
  const Ran met = cormorant(path(), arguments);
  EXPECT_EQ(met.status, kInputAtFault);
  EXPECT_TRUE(has(met.err, "with --io=int8 (RAM "));
  arguments.back() = "--budget=ram=512";
  const Ran not_met = cormorant(path(), arguments);
  EXPECT_EQ(not_met.status, kInputAtFault);
  EXPECT_TRUE(has(not_met.err, "no single option meets it; tried: --io=int8 (RAM "));
}

TEST_F(CommandLine, QuietPrintsErrorsOnly) {
  const Ran ran = cormorant(path(), {"compile", "digits", "-q", "--no-link", "--quiet", "-o", "quiet.pte"});
  EXPECT_EQ(ran.status, kDone);
  EXPECT_EQ(ran.out + ran.err, "");
  EXPECT_TRUE(std::filesystem::exists(path() / "quiet.pte"));
}

// Names of ExecuTorch's compiler: those that PyTorch here could export, and those that it could not.
TEST_F(CommandLine, NamesThatOnlyPyTorchHasSaySo) {
  const Ran exported = cormorant(path(), {"compile", "-m", "mv2", "-q", "-o", "mv2.pte"}, {"CORMORANT_PYTHON=false"});
  EXPECT_EQ(exported.status, kCommandLineAtFault);
  EXPECT_TRUE(has(exported.err, "error: mv2 has to be exported by PyTorch, which is not available: false says"));
  const Ran nowhere = cormorant(path(), {"compile", "-m", "mv2_untrained"}, {"CORMORANT_PYTHON=/nowhere/python3"});
  EXPECT_EQ(nowhere.status, kCommandLineAtFault);
  EXPECT_TRUE(has(nowhere.err, "/nowhere/python3 says\nnothing: it is not installed"));
  EXPECT_TRUE(has(nowhere.err, "pip install . torch torchvision; CORMORANT_PYTHON names the interpreter"));
  for (const char* const name : {"add", "mobilebert", "w2l", "ic4"}) {
    const Ran elsewhere = cormorant(path(), {"compile", "-m", name, "-q"}, {"CORMORANT_PYTHON=false"});
    EXPECT_EQ(elsewhere.status, kCommandLineAtFault);
    EXPECT_TRUE(has(elsewhere.err, fmt::format("error: '{}' is a model of ExecuTorch's examples, which is not in "
                                               "torchvision",
                                               name)));
  }
}

// On a terminal, long work says how far it is, except where nothing but the result is wanted.
TEST_F(CommandLine, TerminalsShowProgress) {
  const auto on_terminal = [&](const std::string& arguments) {
    const std::string command =
        fmt::format("cd '{}' && ASAN_OPTIONS=detect_leaks=0 script -qec '{} {}' typescript >said.txt 2>&1",
                    path().string(), binary(), arguments);
    EXPECT_EQ(std::system(command.c_str()), 0) << arguments;
    return read_text(path() / "said.txt");
  };
  const std::string data = " --data " + zoo("digits_expected.npz");
  const std::string both = on_terminal("evaluate digits.pte --float digits" + data);
  EXPECT_TRUE(has(both, "running 8/8"));
  EXPECT_TRUE(has(both, "running in float 8/8"));
  EXPECT_TRUE(has(on_terminal("evaluate digits --layers --calibrate digits_few.npz" + data), "measuring layers 8/8"));
  EXPECT_TRUE(has(on_terminal("run digits.pte --target=host --input x.npy"), "running 1/1"));
  const std::string quiet = on_terminal("evaluate digits.pte --float digits --quiet" + data);
  EXPECT_FALSE(has(quiet, "running")) << quiet;
  EXPECT_TRUE(has(quiet, "worst SQNR"));
}

TEST_F(CommandLine, TheManualNamesEveryOption) {
  const Ran manual = cormorant(path(), {"manual"});
  EXPECT_EQ(manual.status, kDone);
  for (const char* const part :
       {".TH CORMORANT 1", ".SH COMPILE", "\\-\\-calibrate", ".SH EXIT STATUS", "\\-\\-clock"}) {
    EXPECT_TRUE(has(manual.out, part));
  }
}

// ---- bundles ----------------------------------------------------------------------------------------------------

TEST_F(CommandLine, EvaluateTellsWhatEveryLayerCosts) {
  const Ran ran = cormorant(path(), {"evaluate", "digits", "--layers", "--data", zoo("digits_expected.npz"),
                                     "--calibrate", "digits_few.npz", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const nlohmann::json json = ran.json();
  EXPECT_GT(json.at("outputs").at(0).at("sqnr_db").get<double>(), 20);
  ASSERT_GE(json.at("layers").size(), 10U);
  double before = 0;
  for (const nlohmann::json& layer : json.at("layers")) {
    for (const char* key : {"value", "node", "operator", "source", "precision", "sqnr_db", "own_db", "inherited_db",
                            "range", "scale", "zero_point", "clipped_share"}) {
      EXPECT_TRUE(layer.contains(key)) << key;
    }
    if (layer.at("alone_db").is_null()) continue;
    EXPECT_GE(layer.at("alone_db").get<double>(), before);
    before = layer.at("alone_db").get<double>();
  }
  const Ran program = cormorant(path(), {"evaluate", "digits.pte", "--layers", "--data", zoo("digits_expected.npz")});
  EXPECT_EQ(program.status, 2);
  EXPECT_TRUE(has(program.err, "give the .pt2"));
  // The data, and what the compiler does with it, are warned of as in compile.
  write_text(path() / "absorbed.txt", "stem.bn no-equalize\n");
  const Ran warned = cormorant(path(), {"evaluate", "digits", "--layers", "--data", zoo("digits_expected.npz"),
                                        "--calibrate", "one.npz", "--layer-settings=absorbed.txt"});
  EXPECT_TRUE(has(warned.err, "warning: only 1 calibration sample")) << warned.err;
  EXPECT_TRUE(has(warned.err, "absorbed.txt:1: nothing of stem.bn is left to change")) << warned.err;
  const Ran quiet = cormorant(path(), {"evaluate", "digits", "--layers", "--quiet", "--data",
                                       zoo("digits_expected.npz"), "--calibrate", "one.npz"});
  EXPECT_EQ(quiet.err, "");
  // What a layer computes with.
  write_text(path() / "layers.txt", "stem.conv 8w16a\nblocks.1.conv 4w8a\n");
  const Ran mixed = cormorant(path(), {"evaluate", "digits", "--layers", "--layer-settings=layers.txt", "--data",
                                       zoo("digits_expected.npz"), "--calibrate", "digits_few.npz"});
  EXPECT_TRUE(has(mixed.out, " 8w16a     conv2d aten.conv2d")) << mixed.err;
  EXPECT_TRUE(has(mixed.out, " 4w8a      conv2d_2 aten.conv2d"));
  EXPECT_TRUE(has(mixed.out, " 8w8a      conv2d_4 aten.conv2d"));
}

TEST_F(CommandLine, CompileExplainsEveryNode) {
  const Ran ran = cormorant(
      path(), {"compile", "digits", "--calibrate", "digits_few.npz", "--explain", "--json", "-o", "explained.pte"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const nlohmann::json json = ran.json();
  const auto find = [&](const std::string& name) {
    for (const nlohmann::json& node : json.at("nodes")) {
      if (node.at("node") == name) return node;
    }
    return nlohmann::json();
  };
  EXPECT_EQ(find("conv2d").at("rule"), "own range");
  EXPECT_FALSE(find("conv2d").at("observer").get<std::string>().empty());
  EXPECT_GT(find("conv2d_1").at("rounded_otherwise").get<int>(), 0);
  EXPECT_GT(find("conv2d").at("scale").get<double>(), 0);
  EXPECT_TRUE(has(find("conv2d").at("weights").get<std::string>(), "int8 per channel"));
  EXPECT_EQ(find("batch_norm").at("stages").at(0).at("stage"), "fold_batch_norm");
  EXPECT_EQ(find("flatten").at("rule"), "shared range");
  EXPECT_EQ(find("softmax").at("rule"), "known range");
}

TEST_F(CommandLine, InspectTellsWhatCompileDecided) {
  const auto node = [](const nlohmann::json& json, const std::string& name) {
    for (const nlohmann::json& other : json.at("explanation").at("nodes")) {
      if (other.at("node") == name) return other;
    }
    return nlohmann::json();
  };
  const std::string calibration = "digits_few.npz";
  ASSERT_EQ(cormorant(path(), {"compile", "digits", "--calibrate", calibration, "-o", "told.pte"}).status, kDone);
  const nlohmann::json program = cormorant(path(), {"inspect", "told.pte", "--explain", "--json"}).json();
  const nlohmann::json model =
      cormorant(path(), {"inspect", "digits", "--explain", "--calibrate", calibration, "--json"}).json();
  EXPECT_EQ(node(program, "conv2d"), node(model, "conv2d"));
  EXPECT_EQ(node(program, "conv2d").at("rule"), "own range");
  const nlohmann::json softmax = program.at("methods").at(0).at("instructions").back();
  EXPECT_EQ(softmax.at("operator"), "cortex_m::dequantize_per_tensor.out");
  EXPECT_EQ(softmax.at("parameters").at("zero_point"), -128);
  EXPECT_FALSE(softmax.at("node").get<std::string>().empty());

  // Without the file next to it, only the program's operators are known.
  std::filesystem::remove(path() / "told.pte.names.json");
  const Ran alone = cormorant(path(), {"inspect", "told.pte", "--explain"});
  EXPECT_EQ(alone.status, kDone);
  EXPECT_TRUE(has(alone.err, "told.pte.names.json is missing")) << alone.err;
  EXPECT_TRUE(has(alone.out, "zero_point=-128"));
}

TEST_F(CommandLine, ExceptionsForLayersComeFromAFile) {
  write_text(path() / "layers.txt", "classifier float\nblocks.* observer=minmax\nstem range=0..8\n");
  const std::vector<std::string> compile = {"compile", "digits", "--calibrate", "digits_few.npz", "-o", "x.pte"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), compile.begin(), compile.end());
    return cormorant(path(), more);
  };
  const Ran ran = with({"--layers=layers.txt", "--float-layers", "blocks.7", "--explain", "--json"});
  ASSERT_EQ(ran.status, kDone) << ran.err;
  const nlohmann::json json = ran.json();
  const nlohmann::json& left = json.at("float_operators");
  ASSERT_EQ(left.size(), 2U);
  EXPECT_TRUE(has(left[0].at("reason"), "as requested for layer blocks.7"));
  EXPECT_TRUE(has(left[1].at("reason"), "as requested for layer classifier in layers.txt:1"));
  for (const nlohmann::json& node : json.at("nodes")) {
    if (node.at("node") == "conv2d") {
      EXPECT_NEAR(node.at("scale").get<double>(), 8 / 255.0, 1e-6);
    }
    if (node.at("node") == "conv2d_2") {
      EXPECT_EQ(node.at("observer"), "minmax");
    }
  }

  write_text(path() / "wrong.txt", "# one line\nblokcs.1 float\n");
  const Ran wrong = with({"--layers", "wrong.txt"});
  EXPECT_EQ(wrong.status, kInputAtFault);
  EXPECT_TRUE(has(wrong.err, "wrong.txt:2: the model has no layer blokcs.1")) << wrong.err;
  EXPECT_TRUE(has(wrong.err, "blocks.1")) << wrong.err;
}

TEST_F(CommandLine, BundledProgramChecksItself) {
  // Expected outputs from PyTorch; the program's are a little off.
  ASSERT_EQ(cormorant(path(), {"compile", "digits", "--calibrate", "digits_few.npz", "--bundle",
                               zoo("digits_expected.npz"), "-o", "tested.bpte"})
                .status,
            kDone);
  for (const std::string target : {"--target=host", "--target=cortex-m55"}) {
    const Ran passed = cormorant(path(), {"run", "tested.bpte", target});
    EXPECT_EQ(passed.status, kDone) << passed.err;
    EXPECT_TRUE(has(passed.out, "Test_result: PASS\n"));
    const Ran failed = cormorant(path(), {"run", "tested.bpte", target, "--atol=1e-6", "--rtol=1e-6"});
    EXPECT_EQ(failed.status, kInputAtFault);
    EXPECT_TRUE(has(failed.out, "Test_result: FAIL\n"));
    EXPECT_TRUE(has(failed.out, "output 0, element "));
  }
  const Ran json = cormorant(path(), {"run", "tested.bpte", "--target=host", "--json"});
  EXPECT_EQ(json.json()["test_result"], "PASS");
  const Ran with_input = cormorant(path(), {"run", "tested.bpte", "--input", "x.npy"});
  EXPECT_EQ(with_input.status, kCommandLineAtFault);
}

TEST_F(CommandLine, ExecuTorchsBundlesCheckThemselves) {
  for (const std::string target : {"--target=host", "--target=cortex-m55"}) {
    const Ran passed = cormorant(path(), {"run", foreign("keyword_net_m55.bpte"), target, "--output", "y.npy"});
    EXPECT_EQ(passed.status, kDone) << passed.err;
    EXPECT_TRUE(has(passed.out, "Test_result: PASS\n"));
  }
  // What it expects has the same bits; another number among them is a failure.
  const npy::Array y = npy::read_npy((path() / "y.npy").string());
  const std::string expected(reinterpret_cast<const char*>(y.data.data()), y.data.size());
  std::string bundle = read_text(foreign("keyword_net_m55.bpte"));
  const std::size_t at = bundle.find(expected);
  ASSERT_NE(at, std::string::npos);
  const float wrong = 1000;
  bundle.replace(at + 2 * sizeof(float), sizeof(float), reinterpret_cast<const char*>(&wrong), sizeof(float));
  write_text(path() / "wrong.bpte", bundle);
  const Ran failed = cormorant(path(), {"run", "wrong.bpte", "--target=host"});
  EXPECT_EQ(failed.status, kInputAtFault);
  EXPECT_TRUE(has(failed.out, "Test_result: FAIL\n"));
  EXPECT_TRUE(has(failed.out, "case 0, output 0, element 2: "));
  EXPECT_TRUE(has(failed.out, "expected 1000"));
}

// The element that is named is the one outside its tolerance, not one that is farther off and may be.
TEST_F(CommandLine, BundleNamesTheElementOutsideOfItsTolerance) {
  write_text(path() / "same.txt",
             "graph forward\ninput %x : f32[2]\nnode \"n\" \"\" \"\"\n  %y : f32[2] = "
             "aten.neg(self=%x)\noutput %y\n");
  const std::vector<float> x = {1000, 1}, y = {-1001, -1.5F};
  const auto bytes = [](const std::vector<float>& values) {
    const auto raw = std::as_bytes(std::span(values));
    return std::vector<std::byte>(raw.begin(), raw.end());
  };
  npy::write_npz(path() / "same.npz", {{"x", {DType::f32, {1, 2}, bytes(x)}}, {"y", {DType::f32, {1, 2}, bytes(y)}}});
  ASSERT_EQ(cormorant(path(), {"compile", "same.txt", "--bundle", "same.npz", "-o", "same.bpte"}).status, kDone);
  const Ran failed = cormorant(path(), {"run", "same.bpte", "--target=host", "--rtol=0.01", "--atol=0"});
  EXPECT_EQ(failed.status, kInputAtFault);
  EXPECT_TRUE(has(failed.out, "element 1: -1, expected -1.5")) << failed.out;
  const Ran passed = cormorant(path(), {"run", "same.bpte", "--target=host", "--rtol=0.01", "--atol=1"});
  EXPECT_EQ(passed.status, kDone);
  EXPECT_TRUE(has(passed.out, "element 0: -1000, expected -1001")) << passed.out;
}

TEST_F(CommandLine, InspectShowsDelegatesAndDataElsewhere) {
  const Ran delegate = cormorant(path(), {"inspect", foreign("xnnpack_delegate.pte")});
  EXPECT_EQ(delegate.status, kDone) << delegate.err;
  EXPECT_TRUE(has(delegate.out, "XnnpackBackend"));
  const Ran elsewhere = cormorant(path(), {"inspect", foreign("external_data.pte"), "--json"});
  EXPECT_EQ(elsewhere.status, kDone) << elsewhere.err;
  EXPECT_TRUE(has(elsewhere.out, "l.weight"));
}

TEST_F(CommandLine, BundledIntegersMustBeEqual) {
  npy::Array y = array(DType::i8, {1, 1, 10});
  npy::write_npz(path() / "tampered.npz", {{"x", array(DType::f32, {1, 1, 28, 28})}, {"y", y}});
  ASSERT_EQ(cormorant(path(), {"compile", "digits", "--calibrate", "digits_few.npz", "--io=int8", "--bundle",
                               "tampered.npz", "-o", "tampered.bpte"})
                .status,
            kDone);
  const Ran failed = cormorant(path(), {"run", "tampered.bpte", "--target=host"});
  EXPECT_EQ(failed.status, kInputAtFault);
  EXPECT_TRUE(has(failed.out, "Test_result: FAIL\n"));
  ASSERT_EQ(cormorant(path(), {"compile", "digits", "-q", "--io=int8", "--bundleio", "-o", "random.bpte"}).status,
            kDone);
  EXPECT_TRUE(has(cormorant(path(), {"run", "random.bpte", "--target=host"}).out, "Test_result: PASS\n"));
}

}  // namespace
}  // namespace cormorant::tests
