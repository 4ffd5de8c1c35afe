// SPDX-License-Identifier: Apache-2.0
//
// SECURITY.md's limits on memory and work, by counting rather than timing: a model of twice the size asks the allocator
// for at most 2.5 times as many pieces and bytes, and small files that name enormous things get no memory for them.
#include <gtest/gtest.h>
#include <sanitizer/allocator_interface.h>

#include <fstream>
#include <functional>
#include <random>

#include "base/diagnostic.h"
#include "compiler/compile.h"
#include "compiler/import.h"
#include "runner/process.h"
#include "target/parse.h"
#include "tests/command.h"
#include "tests/conformance/conformance.h"

namespace cormorant::tests {
namespace {

// ---- Work -----------------------------------------------------------------------------------------------------------

struct Work {
  std::size_t pieces = 0, bytes = 0;
};
Work counted;
bool is_counting = false;

void count_allocation(const volatile void* /*memory*/, std::size_t bytes) {
  if (!is_counting) return;
  ++counted.pieces;
  counted.bytes += bytes;
}
void count_release(const volatile void* /*memory*/) {}

Work count(const std::function<void()>& run) {
  [[maybe_unused]] static const int hooks = __sanitizer_install_malloc_and_free_hooks(count_allocation, count_release);
  counted = {};
  is_counting = true;
  run();
  is_counting = false;
  return counted;
}

using MakeModel = std::function<std::string(int size)>;

Work work_of(const std::string& text, bool quantize) {
  compiler::Options options;
  options.config.target = parse_target("cortex-m55", "");
  options.quantize = quantize;
  options.threads = 1;  // the count is of one thread at a time
  options.calibration = {2, [](std::size_t) {
                           return quantizer::Sample{evaluate::Tensor({1, 4}, std::vector<float>{-1, 0.5F, 0.25F, 1})};
                         }};
  return count([&] {
    ir::Graph graph = compiler::import_text(text, "many.txt");
    static_cast<void>(compiler::compile(graph, options));
  });
}

constexpr const char* kInput = "graph forward\ninput %v0 : f32[1,4]\n";
std::string named(const char* prefix, int i) { return std::string("%") + prefix + std::to_string(i); }
std::string node(const std::string& result, const std::string& call) {
  return "node \"n" + result.substr(1) + "\" \"\" \"\"\n  " + result + " : f32[1,4] = " + call + "\n";
}

std::string chain(int size, const std::string& op, const std::string& arguments = "") {
  std::string text = kInput;
  for (int i = 0; i < size; ++i)
    text += node(named("v", i + 1), "aten." + op + "(self=" + named("v", i) + arguments + ")");
  return text + "output " + named("v", size) + "\n";
}

// Every result is needed until the end.
std::string outputs(int size) {
  std::string text = kInput, results;
  for (int i = 0; i < size; ++i) {
    text += node(named("v", i + 1), "aten.sigmoid(self=" + named("v", i) + ")");
    results += "output " + named("v", i + 1) + "\n";
  }
  return text + results;
}

// A sum of as many branches, each with a constant of its own.
std::string branches(int size) {
  std::string text = kInput, nodes, last = "%v0";
  for (int i = 0; i < size; ++i) {
    text += "const " + named("c", i) + " : f32[1,4] = [0.5, 0.25, " + std::to_string(i) + ".0, 1.0]\n";
    nodes += node(named("b", i), "aten.mul(self=%v0, other=" + named("c", i) + ")");
    nodes += node(named("s", i), "aten.add(self=" + last + ", other=" + named("b", i) + ", alpha=1.0)");
    last = named("s", i);
  }
  return text + nodes + "output " + last + "\n";
}

// Half of it meets the other half in reverse: lifetimes nest.
std::string nested(int size) {
  std::string text = kInput;
  const int half = size / 2;
  for (int i = 0; i < half; ++i) text += node(named("v", i + 1), "aten.tanh(self=" + named("v", i) + ")");
  std::string last = named("v", half);
  for (int i = half; i-- > 0;) {
    text += node(named("s", i), "aten.add(self=" + last + ", other=" + named("v", i) + ", alpha=1.0)");
    last = named("s", i);
  }
  return text + "output " + last + "\n";
}

TEST(Limits, TwiceTheModelIsNotMuchMoreThanTwiceTheWork) {
  const struct {
    const char* name;
    MakeModel make;
    double factor;  // of bytes
  } models[] = {
      {"a chain of functions", [](int size) { return chain(size, "tanh"); }, 2.5},
      {"a chain of views", [](int size) { return chain(size, "view", ", size=[1, 4]"); }, 2.5},
      // All are needed until the end, and the planner looks at every pair that is needed at the same time: there are
      // at most 8,192 of them.
      {"outputs", outputs, 4.2},
      {"branches", branches, 2.5},
      {"nested skips", nested, 2.5},
  };
  for (const auto& [name, make, factor] : models) {
    for (const bool quantize : {false, true}) {
      SCOPED_TRACE(std::string(name) + (quantize ? ", quantized" : ", float"));
      work_of(make(8), quantize);  // what is made once for all models
      const Work once = work_of(make(100), quantize);
      const Work twice = work_of(make(200), quantize);
      EXPECT_GT(once.pieces, 100U);
      EXPECT_LE(static_cast<double>(twice.pieces), 2.5 * static_cast<double>(once.pieces));
      EXPECT_LE(static_cast<double>(twice.bytes), factor * static_cast<double>(once.bytes));
    }
  }
}

// Convolutions one after another, of which any number can be computed by rows together.
ir::Graph convolutions(int size) {
  ir::Graph graph;
  std::mt19937 random(1);
  ir::Value* value = conformance::int8_input(graph, {1, 4, 12, 6}, 0.1, 0);
  for (int i = 0; i < size; ++i) {
    ir::Value* weight = conformance::int8_weights(graph, {4, 4, 3, 3}, 0, random);
    value = conformance::add_quantized(graph, "aten.conv2d",
                                       {{"input", value},
                                        {"weight", weight},
                                        {"bias", conformance::int32_bias(graph, value, weight, random)},
                                        {"stride", std::vector<std::int64_t>{1, 1}},
                                        {"padding", std::vector<std::int64_t>{1, 1}},
                                        {"dilation", std::vector<std::int64_t>{1, 1}},
                                        {"groups", std::int64_t{1}}},
                                       {1, 4, 12, 6}, 0.2, 1);
  }
  graph.add_output(value);
  return graph;
}

// The search tries every group, with every size of batches.
TEST(Limits, TheSearchForRowsGrowsNoFasterThanTheSquare) {
  const auto work = [](int size) {
    ir::Graph graph = convolutions(size);
    compiler::Options options;
    options.config.target = parse_target("cortex-m55", "");
    options.io = compiler::Io::int8;
    options.rows = compiler::RowsOptions{};
    return count([&] { static_cast<void>(compiler::compile(graph, options)); });
  };
  work(2);  // what is made once for all models
  const Work once = work(8);
  const Work twice = work(16);
  EXPECT_GT(once.pieces, 8 * 8U);
  EXPECT_LE(twice.pieces, 4 * once.pieces);
  EXPECT_LE(twice.bytes, 4 * once.bytes);
}

// ---- Memory ---------------------------------------------------------------------------------------------------------

// Files of a few hundred bytes. The compiler gets a limited amount of memory, and must report what is wrong.
TEST(Limits, SmallFilesThatNameEnormousThingsGetNoMemoryForThem) {
  const std::pair<const char*, const char*> rows[] = {
      {"an input of 2 TB",
       "graph forward\ninput %x : f32[1000000,500000]\nnode \"n\" \"\" \"\"\n  %y : f32[1000000,500000] = "
       "aten.tanh(self=%x)\noutput %y\n"},
      {"sizes whose product wraps",
       "graph forward\ninput %x : f32[4294967296,4294967296]\nnode \"n\" \"\" \"\"\n  %y : f32[4294967296,4294967296] "
       "= aten.tanh(self=%x)\noutput %y\n"},
      {"a constant that is not there", "graph forward\nconst %c : f32[500000000] = data 0 2000000000\noutput %c\n"},
  };
  TemporaryDirectory directory;
  for (const auto& [name, text] : rows) {
    SCOPED_TRACE(name);
    std::ofstream(directory.path() / "model.txt") << text;
    // Under the address sanitizer addresses cannot be limited, but what the allocator gives can: it has 256 MB per
    // piece and twice that in all.
    setenv("ASAN_OPTIONS", "max_allocation_size_mb=256:allocator_may_return_null=1:hard_rss_limit_mb=512", 1);
    for (const char* more : {"--quantize", "--no-link"}) {
      const Ran ran = cormorant(directory.path(), {"compile", "model.txt", more, "--no-link", "-o", "model.pte"});
      EXPECT_EQ(ran.status, 1) << ran.err;
      EXPECT_NE(ran.err.find("model.txt"), std::string::npos) << ran.err;
    }
    unsetenv("ASAN_OPTIONS");
  }
}

}  // namespace
}  // namespace cormorant::tests
