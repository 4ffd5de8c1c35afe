// SPDX-License-Identifier: Apache-2.0
//
// The command line with malicious files, with names that would overwrite a user's files, and on machines that are full
// or deny access: an error that says so (exit status 1, or 2 for the command line itself), and existing files are
// intact.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "fmt/format.h"
#include "formats/npy/npy.h"
#include "runner/process.h"
#include "tests/command.h"

namespace cormorant::tests {
namespace {

namespace fs = std::filesystem;

constexpr int kDone = 0;
constexpr int kInputAtFault = 1;
constexpr int kCommandLineAtFault = 2;

std::string hostile(const std::string& name) { return CORMORANT_SOURCE_DIR "/tests/hostile_models/" + name; }

// x -> relu -> y, and whatever else is in the graph.
std::string relu_graph(const std::string& name = "forward") {
  return "graph " + name +
         "\ninput %x : f32[1,4]\nnode \"n\" \"\" \"\"\n  %y : f32[1,4] = aten.clamp(self=%x, min=0.0, "
         "max=none)\noutput %y\n";
}

class Hostile : public testing::Test {
 protected:
  [[nodiscard]] const fs::path& path() const { return directory_.path(); }
  [[nodiscard]] Ran run(const Arguments& arguments, const Environment& environment = {}) const {
    return cormorant(path(), arguments, environment);
  }
  // Everything in the folder but the two streams of the command.
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(path())) {
      const std::string name = entry.path().filename().string();
      if (name != "stdout.txt" && name != "stderr.txt") names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
  }

 private:
  TemporaryDirectory directory_;
};

TEST_F(Hostile, FilesAreRefusedWithAReason) {
  write_text(path() / "stride_zero.txt", read_text(hostile("stride_zero.txt")));
  write_text(path() / "stride_zero.txt.data", std::string(8736, '\0'));
  write_text(path() / "stride.txt",
             "graph forward\ninput %x : f32[1,1,1,4]\nconst %w : f32[1,1,1,2] = [0.5, 0.25]\nnode \"n\" \"\" \"\"\n"
             "  %y : f32[1,1,1,3] = aten.conv2d(input=%x, weight=%w, bias=none, stride=[65536, 1], padding=[0, 0], "
             "dilation=[1, 1], groups=1)\noutput %y\n");
  write_text(path() / "large.txt",
             "graph forward\ninput %x : f32[1,536870000]\nnode \"n\" \"\" \"\"\n"
             "  %y : f32[1,536870000] = aten.clamp(self=%x, min=0.0, max=none)\noutput %y\n");
  write_text(path() / "order.txt", "graph forward\ninput %x : f32[1,2,3,4] order(0,2,3,3)\noutput %x\n");
  const struct {
    Arguments command;
    const char* says;
  } rows[] = {
      {{"compile", "stride.txt"}, "aten.conv2d in float with a stride of more than"},
      {{"compile", "stride.txt", "-q"}, "aten.conv2d in float with a stride of more than"},
      {{"compile", "order.txt"}, "an order has each dimension once"},
      {{"compile", "large.txt"}, "large.txt: its tensors need 2147480000 bytes at a time, more than 1 GiB"},
      {{"compile", hostile("heap.pt2"), "-q"},
       "argument 'stride' of aten.conv_transpose2d.input does not fit in 32 bits"},
      {{"compile", hostile("heap.pt2")}, "up2 (architectures.py:94)"},
      {{"compile", hostile("fpe.pt2"), "-q"}, "stride and dilation must be positive"},
      {{"compile", hostile("fpe.pt2")}, "stride and dilation must be positive"},
      {{"compile", "stride_zero.txt"}, "stride and dilation must be positive"},
      {{"compile", "stride_zero.txt", "-q"}, "stride and dilation must be positive"},
      {{"run", hostile("bundle_1.bpte"), "--target=host"}, "the program is damaged"},
      {{"run", hostile("bundle_2.bpte"), "--target=host"}, "neither a planned address nor data"},
      {{"run", hostile("bundle_3.bpte"), "--target=host"}, "the program is damaged"},
      {{"inspect", hostile("misaligned.pte")}, "not a .pte program, or cut short"},
      {{"run", hostile("arenas.pte"), "--target=host"}, "more than 1 GiB in all"},
      {{"compile", zoo("ad.pt2"), "--calibrate", hostile("inflates.npz")}, "more than 64-fold"},
  };
  for (const auto& row : rows) {
    Arguments command = row.command;
    if (command[0] == "compile") command.insert(command.end(), {"-o", "made.pte"});
    const Ran ran = run(command);
    EXPECT_EQ(ran.status, kInputAtFault) << ran.command << "\n" << ran.err;
    EXPECT_TRUE(has(ran.err, row.says)) << ran.command;
  }
  EXPECT_EQ(files(), std::vector<std::string>(
                         {"large.txt", "order.txt", "stride.txt", "stride_zero.txt", "stride_zero.txt.data"}));
}

// JSON is UTF-8, names of a file are any bytes. No terminal gets its control characters.
TEST_F(Hostile, NamesThatAreNoTextAreShown) {
  for (const Arguments& command :
       {Arguments{"inspect", hostile("utf8.pte"), "--json"}, Arguments{"inspect", hostile("utf8.pte")},
        Arguments{"run", hostile("utf8.pte"), "--target=host", "--json"}}) {
    const Ran ran = run(command);
    EXPECT_EQ(ran.status, kDone) << ran.command << "\n" << ran.err;
    EXPECT_FALSE(has(ran.out, "\x1b")) << ran.command;
  }
}

// What compile writes next to a program can be written by anybody.
TEST_F(Hostile, ExplanationsThatAreNoneAreRefused) {
  write_text(path() / "m.txt", relu_graph());
  ASSERT_EQ(run({"compile", "m.txt", "-o", "m.pte", "--no-link"}).status, kDone);
  const std::string names = read_text(path() / "m.pte.names.json");
  const std::string digest = names.substr(names.find("\"program\": \"") + 12, 16);
  const std::string parts[] = {
      R"("explanation": true)",
      R"("explanation": [1])",
      R"("explanation": {"nodes": [{}], "equalized": []})",
      R"("explanation": {"nodes": 1, "equalized": []})",
      R"("explanation": {"nodes": []})",
      R"("explanation": {"nodes": [{"node": "n", "operator": "o", "source": "", "rule": 1}]})",
      R"("explanation": {"nodes": [{"node": "n", "operator": "o", "source": 1, "stages": []}]})"};
  for (const std::string& part : parts) {
    write_text(path() / "m.pte.names.json", "{\"program\": \"" + digest + "\", \"steps\": [], " + part + "}");
    const Ran ran = run({"inspect", "m.pte", "--explain"});
    EXPECT_EQ(ran.status, kInputAtFault) << part << "\n" << ran.err;
    EXPECT_TRUE(has(ran.err, "m.pte.names.json")) << part << "\n" << ran.err;
  }
}

TEST_F(Hostile, OutputsDoNotOverwriteInputs) {
  write_text(path() / "m.txt", relu_graph());
  npy::write_npz(path() / "x.npz", {{"x", {DType::f32, {2, 1, 4}, std::vector<std::byte>(32)}}});
  npy::write_npy(path() / "x.npy", {DType::f32, {1, 4}, std::vector<std::byte>(16)});
  write_text(path() / "layers.json", "layer float\n");
  fs::create_symlink("m.txt", path() / "link.txt");
  ASSERT_EQ(run({"compile", "m.txt", "-o", "m.pte", "--no-link"}).status, kDone);
  const std::string program = read_text(path() / "m.pte");
  const Arguments rows[] = {
      {"compile", "m.txt", "-o", "m.txt", "--no-link"},
      {"compile", "m.txt", "-o", "./m.txt", "--no-link"},
      {"compile", "m.txt", "-o", "link.txt", "--no-link"},
      {"compile", "m.txt", "--calibrate", "x.npz", "-o", "x.npz", "--no-link"},
      {"compile", "m.txt", "-o", "n.pte", "--report", "m.txt", "--no-link"},
      {"compile", "m.txt", "-o", "n.pte", "--report", "n.pte", "--no-link"},
      {"compile", "m.txt", "-q", "--layers", "layers.json", "-o", "layers.json", "--no-link"},
      {"run", "m.pte", "--target=host", "--input", "x.npy", "--output", "x.npy"},
      {"run", "m.pte", "--target=host", "--output", "m.pte"},
  };
  for (const Arguments& row : rows) {
    const Ran ran = run(row);
    EXPECT_EQ(ran.status, kCommandLineAtFault) << ran.command << "\n" << ran.err;
    EXPECT_TRUE(has(ran.err, "would overwrite")) << ran.command;
  }
  EXPECT_EQ(read_text(path() / "m.txt"), relu_graph());
  EXPECT_EQ(read_text(path() / "m.pte"), program);
}

TEST_F(Hostile, AnEnvironmentThatForbidsIsNamed) {
  write_text(path() / "m.txt", relu_graph());
  ASSERT_EQ(run({"compile", "m.txt", "-o", "m.pte"}).status, kDone);
  const struct {
    Arguments command;
    Environment environment;
    const char* says;
  } rows[] = {
      {{"compile", "m.txt", "-o", "m.txt/m.pte", "--no-link"},
       {},
       "m.txt/m.pte: cannot write the file: Not a directory"},
      {{"compile", "m.txt", "-o", "/dev/full", "--no-link", "--no-names"}, {}, "No space left on device"},
      {{"compile", "m.txt", "-o", "m.pte", "--no-link", "-i", "m.txt/x"},
       {},
       "cannot create the folder: Not a directory"},
      {{"run", "m.pte", "--target=cortex-m55"}, {"TMPDIR=/nowhere"}, "cannot create a temporary folder: No such file"},
  };
  for (const auto& row : rows) {
    const Ran ran = run(row.command, row.environment);
    EXPECT_EQ(ran.status, kInputAtFault) << ran.command << "\n" << ran.err;
    EXPECT_TRUE(has(ran.err, row.says)) << ran.command;
  }
}

// By a shell, which can point standard output at a device that takes nothing.
TEST_F(Hostile, ResultsThatDoNotArriveAreAnError) {
  write_text(path() / "m.txt", relu_graph());
  for (const char* arguments :
       {"compile m.txt -o m.pte --no-link", "compile m.txt -o m.pte --no-link --json", "inspect m.txt", "--help"}) {
    const ProcessResult ran = run_process({"sh", "-c", fmt::format("{} {} > /dev/full", binary(), arguments)}, path(),
                                          std::chrono::minutes(1));
    EXPECT_EQ(ran.status, kInputAtFault) << arguments << "\n" << ran.output;
  }
}

// A board that would run for a minute is interrupted: neither folder nor process is left.
TEST_F(Hostile, ASignalRemovesWhatIsTemporary) {
  const fs::path temporary = path() / "temporary";
  fs::create_directories(temporary);
  ASSERT_EQ(run({"compile", zoo("vww.pt2"), "-o", "vww.pte", "--no-link"}).status, kDone);  // in float: slow
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(path().c_str()) != 0 || freopen("/dev/null", "w", stdout) == nullptr) _exit(99);
    setenv("TMPDIR", temporary.c_str(), 1);
    execl(binary().c_str(), "cormorant", "run", "vww.pte", "--target=cortex-m0", nullptr);
    _exit(99);
  }
  int status = 0;
  while (fs::is_empty(temporary) && waitpid(child, &status, WNOHANG) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_FALSE(fs::is_empty(temporary));
  kill(child, SIGINT);
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) << status;
  EXPECT_TRUE(fs::is_empty(temporary));
}

TEST_F(Hostile, AGraphOfAnyNameRuns) {
  write_text(path() / "m.txt", relu_graph("other"));
  ASSERT_EQ(run({"compile", "m.txt", "-o", "m.pte", "--no-link"}).status, kDone);
  const Ran ran = run({"run", "m.pte", "--target=host"});
  EXPECT_EQ(ran.status, kDone) << ran.err;
}

TEST_F(Hostile, ACompiledProgramIsCompiledAgainButNotQuantized) {
  write_text(path() / "m.txt", relu_graph());
  ASSERT_EQ(run({"compile", "m.txt", "-q", "-o", "m.pte", "--no-link"}).status, kDone);
  EXPECT_EQ(run({"compile", "m.pte", "-o", "n.pte", "--no-link"}).status, kDone);
  const Ran ran = run({"compile", "m.pte", "-q", "-o", "n.pte", "--no-link"});
  EXPECT_EQ(ran.status, kInputAtFault) << ran.err;
  EXPECT_TRUE(has(ran.err, "m.pte: node 'quantize_per_tensor_0': a compiled program cannot be quantized")) << ran.err;
  // ExecuTorch clamps integers with integers, which a graph has no form for.
  const Ran clamp =
      run({"compile", CORMORANT_SOURCE_DIR "/tests/fuzz/seeds/clamp.out.pte", "-o", "n.pte", "--no-link"});
  EXPECT_EQ(clamp.status, kInputAtFault) << clamp.err;
  EXPECT_TRUE(has(clamp.err, "this kernel variant does not compute these arguments")) << clamp.err;
}

// There is nothing to compute, and no channel to look at.
TEST_F(Hostile, TensorsWithoutElementsCompile) {
  write_text(path() / "tanh.txt",
             "graph forward\ninput %x : f32[1,0,4,4]\nnode \"n\" \"\" \"\"\n  %y : f32[1,0,4,4] = "
             "aten.tanh(self=%x)\noutput %y\n");
  write_text(path() / "add.txt",
             "graph forward\ninput %a : f32[2,0]\ninput %b : f32[2,0]\nnode \"n\" \"\" \"\"\n  %y : f32[2,0] = "
             "aten.add(self=%a, other=%b, alpha=1)\noutput %y\n");
  for (const char* model : {"tanh.txt", "add.txt"}) {
    for (const char* how : {"--target=cortex-m55", "--scheme=8w8a", "--scheme=8w16a", "--scheme=auto"}) {
      Arguments arguments = {"compile", model, how, "-o", "m.pte", "--no-link"};
      if (has(how, "scheme")) arguments.emplace_back("-q");
      const Ran ran = run(arguments);
      EXPECT_EQ(ran.status, kDone) << ran.command << "\n" << ran.err;
    }
  }
}

TEST_F(Hostile, AModelMayReturnAConstant) {
  write_text(path() / "m.txt",
             "graph forward\ninput %x : f32[1,2]\nconst %c : f32[1,2] = [1.5, -2.0]\nnode \"n\" \"\" \"\"\n"
             "  %y : f32[1,2] = aten.clamp(self=%x, min=0.0, max=none)\noutput %y\noutput %c\n");
  for (const char* quantize : {"--no-link", "-q"}) {
    ASSERT_EQ(run({"compile", "m.txt", "-o", "m.pte", "--no-link", quantize}).status, kDone);
    for (const char* target : {"host", "cortex-m55"}) {
      const Ran ran = run({"run", "m.pte", "--target", target, "--output", "y.npy", "--output", "c.npy"});
      ASSERT_EQ(ran.status, kDone) << ran.err;
      const npy::Array c = npy::read_npy(path() / "c.npy");
      EXPECT_EQ(c.as<float>()[0], 1.5F);
      EXPECT_EQ(c.as<float>()[1], -2.0F);
    }
  }
}

// What a model returns is computed by the program, even if it depends on constants alone.
TEST_F(Hostile, AModelMayReturnAConvolutionOfAConstant) {
  write_text(path() / "m.txt",
             "graph forward\ninput %x : f32[1,2]\n"
             "const %c : f32[1,2,2,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.5, 2.5]\n"
             "const %w : f32[1,2,2,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1.5, 2.5]\nnode \"n\" \"\" \"\"\n"
             "  %y : f32[1,1,1,1] = aten.conv2d(input=%c, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], "
             "dilation=[1, 1], groups=1)\noutput %y\n");
  ASSERT_EQ(run({"compile", "m.txt", "-q", "-o", "m.pte", "--no-link"}).status, kDone);
  ASSERT_EQ(run({"run", "m.pte", "--target=host", "--output", "y.npy"}).status, kDone);
  EXPECT_NEAR(npy::read_npy(path() / "y.npy").as<float>()[0], 99.5F, 0.5F);
}

TEST_F(Hostile, ABudgetWithoutANameIsSaidToBeOne) {
  const Ran ran = run({"compile", "digits", "--budget=32K", "-o", "m.pte", "--no-link"});
  EXPECT_EQ(ran.status, kCommandLineAtFault);
  EXPECT_TRUE(has(ran.err, "--budget: '32K' has no name; expected NAME=SIZE, for example ram=64K,flash=256K"));
}

TEST_F(Hostile, WarningsAreToldEvenIfTheBudgetIsExceeded) {
  const Ran ran = run({"compile", "digits", "-q", "--budget=ram=1K", "-o", "m.pte", "--no-link"});
  EXPECT_EQ(ran.status, kInputAtFault);
  EXPECT_TRUE(has(ran.err, "warning: no calibration data"));
  EXPECT_TRUE(has(ran.err, "the budget for RAM"));
}

// Quantized it is refused; in float it computes, and the results do not say why they are NaN.
TEST_F(Hostile, NaNInAWeightIsToldInFloatAndRefusedQuantized) {
  write_text(path() / "m.txt",
             "graph forward\ninput %x : f32[1,2]\nconst %w : f32[2,2] = [1.5, nan, nan, 0.5]\nnode \"n\" \"\" \"\"\n"
             "  %y : f32[1,2] = aten.linear(input=%x, weight=%w, bias=none)\noutput %y\n");
  const Ran in_float = run({"compile", "m.txt", "-o", "m.pte", "--no-link"});
  EXPECT_EQ(in_float.status, kDone) << in_float.err;
  EXPECT_TRUE(has(in_float.err, "warning: 'w' contains NaN (2 of 4 elements)"));
  const Ran quantized = run({"compile", "m.txt", "-q", "-o", "m.pte", "--no-link"});
  EXPECT_EQ(quantized.status, kInputAtFault) << quantized.err;
  EXPECT_TRUE(has(quantized.err, "'w' contains an infinity or NaN"));
}

// PyTorch raises an error there; a program reads the nearest row.
TEST_F(Hostile, CalibrationDataBeyondAnEmbeddingIsTold) {
  write_text(path() / "m.txt",
             "graph forward\ninput %ids : i64[1,2]\nconst %table : f32[3,2] = [0.5, 1.0, -1.0, 0.25, 2.0, -2.0]\n"
             "node \"v\" \"\" \"\"\n  %flat : i64[2] = aten.view(self=%ids, size=[2])\nnode \"n\" \"\" \"\"\n"
             "  %y : f32[2,2] = aten.index_select(self=%table, dim=0, index=%flat)\noutput %y\n");
  const struct {
    std::int64_t largest;
    bool told;
  } rows[] = {{2, false}, {3, true}};
  for (const auto& row : rows) {
    std::vector<std::int64_t> ids(20, 0);
    ids.back() = row.largest;
    const std::byte* bytes = reinterpret_cast<const std::byte*>(ids.data());
    npy::write_npz(path() / "ids.npz", {{"ids", {DType::i64, {10, 1, 2}, {bytes, bytes + ids.size() * 8}}}});
    const Ran ran = run({"compile", "m.txt", "--calibrate", "ids.npz", "-o", "m.pte", "--no-link"});
    EXPECT_EQ(ran.status, kDone) << ran.err;
    EXPECT_EQ(ran.err.find("ranges from 0 to 3, but 'table' has 3 rows") != std::string::npos, row.told) << ran.err;
  }
}

TEST_F(Hostile, NaNInAnInt8InputIsRefused) {
  ASSERT_EQ(run({"compile", "digits", "-q", "--io=int8", "-o", "m.pte", "--no-link"}).status, kDone);
  npy::Array x{DType::f32, {1, 1, 28, 28}, std::vector<std::byte>(28 * 28 * 4)};
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(&x.data[5 * 4], &nan, 4);
  npy::write_npy(path() / "x.npy", x);
  const Ran ran = run({"run", "m.pte", "--target=host", "--input", "x.npy"});
  EXPECT_EQ(ran.status, kInputAtFault);
  EXPECT_TRUE(has(ran.err, "element 5 is NaN"));
}

}  // namespace
}  // namespace cormorant::tests
