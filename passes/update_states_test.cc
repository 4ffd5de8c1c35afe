// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numeric>

#include "ir/text.h"
#include "ir/verify.h"
#include "ops/host/state_places.h"
#include "passes/passes.h"
#include "target/parse.h"

namespace cormorant::passes {
namespace {

std::string nodes_of(const ir::Graph& graph) {
  ir::verify(graph, "test");
  std::string printed = ir::print(graph);
  return printed.substr(printed.find("node"));
}

// As the pipeline has them, for a Cortex-M55.
std::string updated(const std::string& text) {
  ir::Graph graph = ir::parse(text, "test");
  update_states(graph, {.target = parse_target("cortex-m55")});
  place_updates(graph);
  return nodes_of(graph);
}

constexpr const char* kHead = R"(graph g
input %x : f32[1]
state %a : f32[4] = [0.0, 0.0, 0.0, 0.0]
)";

std::string node(const std::string& name, int size, const std::string& call, const char* suffix = "") {
  return "node \"" + name + "\" \"\" \"\"\n  %" + name + suffix + " : f32[" + std::to_string(size) + "] = " + call +
         "\n";
}
std::string slice(const std::string& name, const std::string& of, int start, int end) {
  return node(name, end - start,
              "aten.slice_copy.Tensor_out(self=%" + of + ", dim=0, start=" + std::to_string(start) +
                  ", end=" + std::to_string(end) + ", step=1)");
}
std::string cat(const std::string& name, int size, const std::string& parts) {
  return node(name, size, "aten.cat(tensors={" + parts + "}, dim=0)");
}
// The nodes that were made have the names of those before them; their values got a number.
std::string shift(const std::string& name, const std::string& self, const char* in_front) {
  return node(name, 4, "cormorant.update_shift.mve(self=%" + self + ", dim=0, in_front=" + in_front + ", source=%x)",
              "_1");
}
std::string part(const std::string& name, const std::string& self, int start) {
  return node(name, 4,
              "cormorant.update_part.mve(self=%" + self + ", dim=0, start=" + std::to_string(start) + ", source=%x)",
              "_1");
}
std::string becomes(const std::string& value) { return "update %a = %" + value + "\noutput %" + value + "\n"; }

TEST(UpdateStates, ShiftsADelayLine) {
  EXPECT_EQ(updated(kHead + slice("s", "a", 1, 4) + cat("y", 4, "%s, %x") + becomes("y")),
            shift("y", "a", "false") + becomes("y_1"));
  EXPECT_EQ(updated(kHead + slice("s", "a", 0, 3) + cat("y", 4, "%x, %s") + becomes("y")),
            shift("y", "a", "true") + becomes("y_1"));
}

TEST(UpdateStates, WritesAPart) {
  EXPECT_EQ(updated(kHead + slice("s", "a", 0, 2) + slice("t", "a", 3, 4) + cat("y", 4, "%s, %x, %t") + becomes("y")),
            part("y", "a", 2) + becomes("y_1"));
}

TEST(UpdateStates, WritesOneAfterTheOther) {
  EXPECT_EQ(updated(kHead + slice("s", "a", 0, 3) + cat("y", 4, "%s, %x") + slice("t", "y", 1, 4) +
                    cat("z", 4, "%x, %t") + becomes("z")),
            part("y", "a", 3) + part("z", "y_1", 0) + becomes("z_1"));
}

// Only what nobody reads afterwards lies in the state's memory.
TEST(UpdateStates, PassesThroughTheStatesMemoryUnlessReadLater) {
  const std::string steps = kHead + part("y", "a", 3) + part("z", "y_1", 0);
  const auto count = [&](const std::string& rest) {
    const ir::Graph graph = ir::parse(steps + rest, "test");
    return ops::StatePlaces(graph).states().size();
  };
  EXPECT_EQ(count(becomes("z_1")), 2U);
  EXPECT_EQ(count(node("r", 4, "aten.add(self=%y_1, other=%z_1, alpha=1.0)") + "update %a = %z_1\noutput %r\n"), 1U);
  EXPECT_EQ(count("update %a = %z_1\noutput %y_1\n"), 1U);
}

// A delay line in front of three taps.
std::string dilated(const std::string& rest, int entries, int dilation, int hop = 1, int channels = 8) {
  constexpr const char* kText = R"(graph g
input %x : f32[1,{c},{hop}]
state %a : f32[1,{c},{n}] = data 0 {bytes}
const %w : f32[{c},1,1,3] = data 0 {filters}
node "s" "" ""
  %s : f32[1,{c},{kept}] = aten.slice(self=%a, dim=2, start={hop}, end={n}, step=1)
node "c" "" ""
  %c : f32[1,{c},{n}] = aten.cat(tensors={{%s, %x}}, dim=2)
node "v" "" ""
  %v : f32[1,{c},1,{n}] = aten.view(self=%c, size=[1, {c}, 1, {n}])
node "y" "" ""
  %y : f32[1,{c},1,{results}] = aten.conv2d(input=%v, weight=%w, bias=none, stride=[1, 1], padding=[0, 0], dilation=[1, {step}], groups={c})
update %a = %c
output %y
)";
  return fmt::format(kText, fmt::arg("hop", hop), fmt::arg("n", entries), fmt::arg("bytes", 4 * channels * entries),
                     fmt::arg("c", channels), fmt::arg("filters", 12 * channels), fmt::arg("kept", entries - hop),
                     fmt::arg("results", entries - 2 * dilation), fmt::arg("step", dilation)) +
         rest;
}
// Numbered from 0 on are the first numbers of every state and constant.
ir::Graph graph_with_rings(const std::string& text) {
  std::vector<float> numbers(1 << 12);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  ir::Graph graph = ir::parse(text, "test", ir::Bytes::of(std::span<const float>(numbers)));
  ring_states(graph);
  ir::verify(graph, "test");
  return graph;
}
std::string with_rings(const std::string& text) { return ir::print(graph_with_rings(text)); }

TEST(RingStates, ADelayLineThatIsReadInFewPlacesStaysWhereItIs) {
  const ir::Graph graph = graph_with_rings(dilated("", 65, 32));
  const std::string after = ir::print(graph);
  for (const char* part :
       {"state %a_1 : f32[65,8]", "state %a_oldest : i32[1]", "step=32)", "dilation=[1, 1]", "update %a_oldest = "}) {
    EXPECT_NE(after.find(part), std::string::npos) << part << "\n" << after;
  }
  EXPECT_EQ(after.find("aten.cat"), std::string::npos) << after;
  const std::span<const float> ring = graph.states().at(0)->data.as<float>();
  for (std::size_t t = 0; t < 65; ++t) {
    for (std::size_t c = 0; c < 8; ++c) ASSERT_EQ(ring[t * 8 + c], static_cast<float>(c * 65 + t));
  }
}

// Wide entries that would be transposed in every execution, though all of them are read.
TEST(RingStates, ADelayLineThatIsTransposedIsKeptAsItIsRead) {
  const std::string after = with_rings(dilated("", 3, 1, 1, 64));
  EXPECT_NE(after.find("step=1)"), std::string::npos) << after;
}

TEST(RingStates, OtherDelayLinesAreShifted) {
  for (const std::string& text : {dilated("", 3, 1), dilated("", 9, 4), dilated("", 65, 32, 2), dilated("", 66, 32),
                                  dilated("output %c\n", 65, 32), dilated("output %v\n", 65, 32)}) {
    EXPECT_EQ(with_rings(text).find("update_ring"), std::string::npos) << text;
  }
}

TEST(UpdateStates, LeavesWhatIsNeither) {
  // Other entries go than come, two things are new, something else is cut out.
  for (const std::string& text :
       {slice("s", "a", 0, 3) + cat("y", 4, "%s, %x") + slice("t", "y", 0, 3) + cat("z", 4, "%t, %x"),
        slice("s", "a", 2, 4) + cat("z", 4, "%x, %s, %x"), slice("s", "a", 1, 3) + cat("z", 4, "%s, %x, %x")}) {
    const std::string after = updated(kHead + text + becomes("z"));
    EXPECT_EQ(after.find("update_shift"), std::string::npos) << after;
  }
}

std::string joined(const std::string& text) {
  ir::Graph graph = ir::parse(text, "test");
  join_slices(graph);
  return nodes_of(graph);
}
std::string float_slice(const std::string& name, const std::string& of, int start, int end) {
  return node(name, end - start,
              "aten.slice(self=%" + of + ", dim=0, start=" + std::to_string(start) + ", end=" + std::to_string(end) +
                  ", step=1)");
}

TEST(JoinSlices, OfARolledWindowIsASliceOfTheWindow) {
  EXPECT_EQ(joined(kHead + float_slice("s", "a", 1, 4) + float_slice("t", "a", 0, 1) + cat("rolled", 4, "%s, %t") +
                   float_slice("u", "rolled", 0, 3) + cat("y", 4, "%u, %x") + becomes("y")),
            float_slice("u", "a", 1, 4) + cat("y", 4, "%u, %x") + becomes("y"));
}

TEST(JoinSlices, OfSeveralPiecesStays) {
  const std::string same = cat("b", 5, "%a, %x") + float_slice("y", "b", 1, 5) + becomes("y");
  EXPECT_EQ(joined(kHead + same), same);
}

}  // namespace
}  // namespace cormorant::passes
