// SPDX-License-Identifier: Apache-2.0
#include "compiler/layer_settings.h"

#include <gtest/gtest.h>

#include "base/diagnostic.h"
#include "ir/text.h"

namespace cormorant::compiler {
namespace {

using quantizer::LayerSettings;
using quantizer::settings_for;

std::string complaint(const std::function<void()>& body) {
  try {
    body();
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

TEST(LayerSettings, LinesSayWhatIsDifferentInWhichModule) {
  const std::vector<LayerSettings> all = parse_layer_settings(
      "# exceptions\n"
      "\n"
      "blocks          float\n"
      "blocks.2        int8 observer=minmax   # but not this one\n"
      "blocks.?.conv   no-weight-rounding no-equalize no-bias-correction\n"
      "head            observer=kl\n"
      "*.fc            range=-4..2.5e1\n",
      "l.txt");
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[1].where, "l.txt:4");
  EXPECT_TRUE(settings_for(all, "blocks.1.conv").keep_float.value());
  EXPECT_EQ(settings_for(all, "blocks.1.conv").where, "l.txt:3");
  EXPECT_FALSE(settings_for(all, "blocks.2.conv.0").keep_float.value());  // the later line counts
  EXPECT_EQ(settings_for(all, "blocks.2").observer, quantizer::Observer::minmax);
  EXPECT_FALSE(settings_for(all, "blocks.2.conv").round_weights.value());
  EXPECT_FALSE(settings_for(all, "blocks.2.conv").equalize.value());
  EXPECT_FALSE(settings_for(all, "blocks.2.conv").correct_bias.value());
  EXPECT_FALSE(settings_for(all, "blocks.12.conv").round_weights.has_value());  // ? is one character
  EXPECT_FALSE(settings_for(all, "blocks2").keep_float.has_value());            // not inside blocks
  const LayerSettings fc = settings_for(all, "head.fc");
  EXPECT_EQ(fc.range, std::pair(-4.0, 25.0));
  EXPECT_FALSE(fc.observer.has_value());  // a range leaves nothing to observe
}

TEST(LayerSettings, MistakesAreToldWithFileAndLine) {
  const auto parse = [](const char* text) { return complaint([&] { (void)parse_layer_settings(text, "l.txt"); }); };
  EXPECT_EQ(parse("a float\nb flaot\n").find("l.txt:2: 'flaot' is not a layer setting"), 0U) << parse("b flaot");
  EXPECT_NE(parse("b flaot\n").find("no-equalize"), std::string::npos);  // what would be right
  EXPECT_EQ(parse("a\n").find("l.txt:1: no setting is given for a"), 0U);
  EXPECT_EQ(parse("a observer=best").find("l.txt:1: 'observer=best'"), 0U);
  for (const char* range : {"1", "..", "2..1", "1..1", "a..b", "1..2x", "nan..1"}) {
    const std::string said = parse((std::string("a range=") + range).c_str());
    EXPECT_EQ(said.find(std::string("l.txt:1: '") + range + "' is not a range"), 0U) << said;
  }
  EXPECT_NE(complaint([] { (void)read_layer_settings("/nowhere/l.txt"); }).find("/nowhere/l.txt: cannot read"),
            std::string::npos);
}

TEST(LayerSettings, ContradictionsAreTold) {
  const auto parse = [](const char* text) { return complaint([&] { (void)parse_layer_settings(text, "l.txt"); }); };
  EXPECT_EQ(parse("a 8w16a 4w8a"), "l.txt:1: '4w8a' contradicts a setting before it\n  give a only one of the two");
  for (const char* line : {"a float 8w8a", "a 8w16a float", "a float int8", "a observer=kl observer=mse",
                           "a range=0..1 range=0..2", "a range=0..1 observer=kl"}) {
    EXPECT_EQ(parse(line).find("l.txt:1: '"), 0U) << line;
  }
  EXPECT_EQ(parse("a 8w16a\nb 4w8a\na 4w8a\n"),
            "l.txt:3: this contradicts l.txt:1, which also sets a\n  remove one of the two lines");
  // The same again, more about the same, and an exception from a pattern do not.
  EXPECT_EQ(parse("a 8w16a\na 8w16a\na observer=kl int8\n* 4w8a\na.b float\n"), "none");
}

TEST(LayerSettings, APathThatTheModelDoesNotHaveIsToldWithThoseNearIt) {
  const ir::Graph graph = ir::parse(
      "graph g\ninput %x : f32[2]\nnode \"a\" \"stem.conv\" \"\"\n  %a : f32[2] = aten.relu(self=%x)\noutput %a\n",
      "test");
  EXPECT_NO_THROW(check_layer_settings(graph, parse_layer_settings("stem float\ns*.conv float\n", "l.txt")));
  const std::string said =
      complaint([&] { check_layer_settings(graph, parse_layer_settings("\nstem.cnov float\n", "l.txt")); });
  EXPECT_EQ(said.find("l.txt:2: the model has no layer stem.cnov"), 0U) << said;
  EXPECT_NE(said.find("the closest names are: stem.conv, stem"), std::string::npos) << said;
  EXPECT_NE(complaint([&] {
              check_layer_settings(graph, parse_layer_settings("x*.conv float", "l.txt"));
            }).find("no layer x*.conv"),
            std::string::npos);
}

}  // namespace
}  // namespace cormorant::compiler
