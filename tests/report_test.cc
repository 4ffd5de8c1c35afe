// SPDX-License-Identifier: Apache-2.0
//
// The page of compile --report, read as a browser would: well-formed whatever the model's names, complete in itself,
// and true. Its figures are those of --json, its steps and buffers those that inspect finds in the program.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "runner/process.h"
#include "tests/command.h"

namespace cormorant::tests {
namespace {

// ---- reading a page ---------------------------------------------------------------------------------------------

struct Element {
  std::string tag, text;  // all text inside it, as a reader sees it
  std::map<std::string, std::string> attributes;
  std::size_t parent = 0;

  [[nodiscard]] std::string get(const std::string& name) const {
    return attributes.contains(name) ? attributes.at(name) : "";
  }
  [[nodiscard]] std::uint64_t number(const std::string& name) const { return std::stoull(get(name)); }
};
using Elements = std::vector<Element>;

std::string without_escapes(const std::string& text) {
  static const std::map<std::string, std::string> kEntities = {
      {"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}};
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    EXPECT_NE(text[at], '<') << text;
    if (text[at] != '&') {
      out += text[at++];
      continue;
    }
    const std::string entity = text.substr(at, text.find(';', at) - at + 1);
    EXPECT_TRUE(kEntities.contains(entity)) << text;
    out += kEntities.contains(entity) ? kEntities.at(entity) : "";
    at += std::max<std::size_t>(1, entity.size());
  }
  return out;
}

// name="value" name="value"
std::map<std::string, std::string> attributes_of(const std::string& text) {
  std::map<std::string, std::string> attributes;
  for (std::size_t at = text.find_first_not_of(' '); at < text.size(); at = text.find_first_not_of(' ', at)) {
    const std::size_t equals = text.find("=\"", at);
    const std::size_t end = equals == std::string::npos ? equals : text.find('"', equals + 2);
    if (end == std::string::npos) {
      ADD_FAILURE() << "not an attribute: " << text.substr(at);
      break;
    }
    const bool is_new =
        attributes.emplace(text.substr(at, equals - at), without_escapes(text.substr(equals + 2, end - equals - 2)))
            .second;
    EXPECT_TRUE(is_new) << text;
    at = end + 1;
  }
  return attributes;
}

// In the order in which they begin. Every element must be closed, in order.
Elements parse(const std::string& page) {
  Elements elements;
  std::vector<std::size_t> open;
  std::size_t at = page.find('\n');
  EXPECT_EQ(page.substr(0, at), "<!DOCTYPE html>");
  while (at < page.size()) {
    const std::size_t tag = page.find('<', at);
    const std::string text = without_escapes(page.substr(at, tag - at));
    for (const std::size_t element : open) elements[element].text += text;
    if (tag == std::string::npos) break;
    const std::size_t end = page.find('>', tag);
    if (end == std::string::npos) {
      ADD_FAILURE() << "a tag without end: " << page.substr(tag, 80);
      break;
    }
    std::string inside = page.substr(tag + 1, end - tag - 1);
    at = end + 1;
    if (inside.starts_with('/')) {
      if (open.empty() || elements[open.back()].tag != inside.substr(1)) {
        ADD_FAILURE() << "</" << inside << "> closes nothing";
        break;
      }
      open.pop_back();
      continue;
    }
    const bool is_empty = inside.ends_with('/');
    if (is_empty) inside.pop_back();
    const std::size_t space = std::min(inside.find(' '), inside.size());
    elements.push_back(
        {inside.substr(0, space), "", attributes_of(inside.substr(space)), open.empty() ? 0 : open.back()});
    if (!is_empty) open.push_back(elements.size() - 1);
    if (elements.back().tag == "script") {  // its text is not HTML
      const std::size_t script_end = page.find("</script>", at);
      if (script_end == std::string::npos) {
        ADD_FAILURE() << "a script without end";
        break;
      }
      elements.back().text = page.substr(at, script_end - at);
      at = script_end;
    }
  }
  EXPECT_TRUE(open.empty()) << elements[open.back()].tag << " is not closed";
  return elements;
}

using Rows = std::vector<std::vector<std::string>>;

std::vector<std::string> cells_of(const Elements& page, std::size_t row) {
  std::vector<std::string> cells;
  for (const Element& e : page) {
    if (e.parent == row && e.tag == "td") cells.push_back(e.text);
  }
  return cells;
}
Rows rows_of(const Elements& page) {
  Rows rows;
  for (std::size_t i = 0; i < page.size(); ++i) {
    if (page[i].tag == "tr") rows.push_back(cells_of(page, i));
  }
  return rows;
}
// Bytes of a part of flash or RAM; their tables have four columns.
std::string size_of(const Elements& page, const std::string& name) {
  for (const auto& cells : rows_of(page)) {
    if (cells.size() == 4 && cells[0] == name) return cells[1];
  }
  return "no row " + name;
}

std::uint64_t number_of(std::string text) {
  std::erase(text, ',');
  if (!text.empty() && text.find_first_not_of("0123456789") != std::string::npos) {
    ADD_FAILURE() << "not a number: " << text;
    return 0;
  }
  return text.empty() ? 0 : std::stoull(text);
}

// ---- the picture ------------------------------------------------------------------------------------------------

struct Rectangle {
  std::uint64_t first, end;   // steps
  std::uint64_t offset, top;  // bytes
  std::optional<std::size_t> whole, covers;
  std::string title;
};
struct Picture {
  std::uint64_t columns = 0, bytes = 0;
  std::vector<Rectangle> buffers;  // by their numbers
};

std::vector<Picture> pictures_of(const Elements& page) {
  const auto index = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional<std::size_t>(std::stoull(text));
  };
  std::vector<Picture> pictures;
  for (std::size_t i = 0; i < page.size(); ++i) {
    const Element& e = page[i];
    if (e.get("preserveAspectRatio") == "none") {
      Picture& picture = pictures.emplace_back();
      EXPECT_EQ(std::sscanf(e.get("viewBox").c_str(), "0 0 %lu %lu", &picture.columns, &picture.bytes), 2);
    }
    if (!e.attributes.contains("data-buffer")) continue;
    Picture& picture = pictures.back();
    const std::uint64_t top = picture.bytes - e.number("y");
    const std::size_t number = e.number("data-buffer");
    picture.buffers.resize(std::max(picture.buffers.size(), number + 1));
    picture.buffers[number] = {e.number("x"),
                               e.number("x") + e.number("width"),
                               top - e.number("height"),
                               top,
                               index(e.get("data-whole")),
                               index(e.get("data-covers")),
                               page.at(i + 1).text};
    EXPECT_EQ(page.at(i + 1).tag, "title");
    EXPECT_GT(e.number("height"), 0U);
  }
  return pictures;
}

// The outermost buffer that it is a part of.
std::size_t outermost(const Picture& picture, std::size_t buffer) {
  while (picture.buffers[buffer].whole) buffer = *picture.buffers[buffer].whole;
  return buffer;
}

using Steps = std::pair<std::uint64_t, std::uint64_t>;  // from, to, exclusive

void expect_sound(const Picture& picture, const std::vector<Steps>& by_rows) {
  std::uint64_t top = 0;
  for (std::size_t i = 0; i < picture.buffers.size(); ++i) {
    const Rectangle& a = picture.buffers[i];
    SCOPED_TRACE(a.title);
    EXPECT_LE(a.end, picture.columns);
    EXPECT_LE(a.top, picture.bytes);
    top = std::max(top, a.top);
    if (a.whole) {
      EXPECT_GE(a.offset, picture.buffers[*a.whole].offset);
      EXPECT_LE(a.top, picture.buffers[*a.whole].top);
    }
    for (std::size_t k = 0; k < i; ++k) {
      const Rectangle& b = picture.buffers[k];
      const std::uint64_t from = std::max(a.first, b.first), end = std::min(a.end, b.end);
      if (from >= end || a.offset >= b.top || b.offset >= a.top) continue;
      if (outermost(picture, i) == outermost(picture, k)) continue;
      // Rows that are no longer needed are overwritten one by one.
      const auto contains = [&](const Steps& steps) { return steps.first <= from && end <= steps.second; };
      if (std::ranges::any_of(by_rows, contains)) continue;
      // At the one step that reads what it overwrites, and is marked accordingly.
      EXPECT_TRUE(a.covers == k || b.covers == i) << b.title;
      EXPECT_EQ(end - from, 1U) << b.title;
    }
  }
  EXPECT_EQ(top, picture.bytes);
}

// ---- the tests --------------------------------------------------------------------------------------------------

class Report : public testing::Test {
 protected:
  void SetUp() override { few_samples(path(), "digits"); }
  // The page of a compilation that goes well, which prints JSON and nothing else.
  Elements compile(Arguments arguments) {
    arguments.insert(arguments.begin(), "compile");
    arguments.insert(arguments.end(), {"--report", "report.html", "--json"});
    if (std::ranges::find(arguments, "-o") == arguments.end()) arguments.insert(arguments.end(), {"-o", "model.pte"});
    const Ran ran = cormorant(path(), arguments);
    EXPECT_EQ(ran.status, 0) << ran.err;
    json_ = ran.json();
    return parse(read_text(path() / "report.html"));
  }
  // As they are executed: stages of a group, which a program has after all other instructions, are before the group.
  static nlohmann::json in_order(const nlohmann::json& instructions) {
    nlohmann::json order = nlohmann::json::array();
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      if (instructions[i].contains("part_of")) continue;
      for (const nlohmann::json& stage : instructions) {
        if (stage.value("part_of", instructions.size()) == i) order.push_back(stage);
      }
      order.push_back(instructions[i]);
    }
    return order;
  }
  static std::vector<Steps> groups_in(const nlohmann::json& order) {
    std::vector<Steps> groups;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (!order[i].contains("part_of")) continue;
      if (i == 0 || !order[i - 1].contains("part_of")) groups.emplace_back(i, i);
      groups.back().second = i + 2;  // the group itself comes after its stages
    }
    return groups;
  }
  // Every step of the program has its row, every tensor in planned memory its rectangle.
  void expect_complete(const Elements& page) {
    const nlohmann::json program = cormorant(path(), {"inspect", "model.pte", "--json"}).json();
    const nlohmann::json instructions = in_order(program.at("methods").at(0).at("instructions"));
    const std::vector<Picture> pictures = pictures_of(page);
    std::size_t step = 0;
    for (std::size_t i = 0; i < page.size(); ++i) {
      if (!page[i].get("id").starts_with("step-")) continue;
      EXPECT_EQ(page[i].get("id"), fmt::format("step-{}", step));
      ASSERT_LT(step, instructions.size());
      const nlohmann::json& instruction = instructions[step];
      EXPECT_EQ(cells_of(page, i).at(1), instruction.at("operator").get<std::string>());
      for (const nlohmann::json& tensor : instruction.at("tensors")) {
        if (!tensor.contains("offset") || tensor.at("bytes") == 0) continue;
        const Picture& picture = pictures.at(tensor.at("memory").get<std::size_t>() - 1);
        const auto offset = tensor.at("offset").get<std::uint64_t>(), bytes = tensor.at("bytes").get<std::uint64_t>();
        const auto is_it = [&](const Rectangle& r) {
          const bool is_copy = r.title.starts_with("constants\n");  // one buffer for all constants
          return r.first <= step && step < r.end &&
                 (is_copy ? r.offset <= offset && offset + bytes <= r.top
                          : r.offset == offset && r.top == offset + bytes);
        };
        EXPECT_TRUE(std::ranges::any_of(picture.buffers, is_it)) << "step " << step << ": " << tensor;
      }
      ++step;
    }
    EXPECT_EQ(step, instructions.size());
    for (const Picture& picture : pictures) {
      EXPECT_EQ(picture.columns, instructions.size() + 1);  // and one in which the outputs are read
      expect_sound(picture, groups_in(instructions));
    }
  }
  [[nodiscard]] const std::filesystem::path& path() const { return directory_.path(); }
  [[nodiscard]] const nlohmann::json& json() const { return json_; }

 private:
  TemporaryDirectory directory_;
  nlohmann::json json_;
};

const Arguments kDigits = {zoo("digits.pt2"), "--calibrate", "digits_few.npz"};

const Arguments kWave = {CORMORANT_SOURCE_DIR "/docs/tutorial/wave.pt2", "--calibrate",
                         CORMORANT_SOURCE_DIR "/docs/tutorial/wave_calibration.npz"};  // the quickest

Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST_F(Report, NeedsNothingFromElsewhere) {
  const Elements page = compile(kWave);
  std::set<std::string> ids;
  for (const Element& e : page) {
    if (!e.attributes.contains("id")) continue;
    EXPECT_TRUE(ids.insert(e.get("id")).second) << e.get("id");
  }
  for (const Element& e : page) {
    EXPECT_NE(e.tag, "link");
    EXPECT_FALSE(e.attributes.contains("src"));
    if (!e.attributes.contains("href")) continue;
    ASSERT_TRUE(e.get("href").starts_with("#")) << e.get("href");
    EXPECT_TRUE(ids.contains(e.get("href").substr(1))) << e.get("href");
  }
  const std::string text = read_text(path() / "report.html");
  for (const char* const elsewhere : {"http:", "https:", "url(", "@import"}) {
    EXPECT_EQ(text.find(elsewhere), std::string::npos) << elsewhere;
  }
}

TEST_F(Report, HasTheFiguresOfJson) {
  const Elements page = compile(with(kDigits, {"--link"}));
  const nlohmann::json& firmware = json().at("firmware");
  EXPECT_EQ(number_of(size_of(page, "model")), json().at("model_bytes"));
  EXPECT_EQ(number_of(size_of(page, "constants")), json().at("constant_bytes"));
  EXPECT_EQ(number_of(size_of(page, "arena")), json().at("arena_bytes").at("arena"));
  EXPECT_EQ(number_of(size_of(page, "state")), firmware.at("state"));
  EXPECT_EQ(number_of(size_of(page, "stack")), firmware.at("stack_bound").at("bytes"));
  EXPECT_EQ(number_of(size_of(page, "code")), firmware.at("code"));
  ASSERT_GT(firmware.at("code_parts").size(), 3U);
  for (const auto& [part, bytes] : firmware.at("code_parts").items()) {
    EXPECT_EQ(number_of(size_of(page, part)), bytes) << part;
  }
  EXPECT_EQ(number_of(size_of(page, "flash")),
            json().at("model_bytes").get<std::uint64_t>() + firmware.at("code").get<std::uint64_t>());
  std::uint64_t macs = 0;
  for (const auto& cells : rows_of(page)) {
    if (cells.size() == 9 && cells[1].find("::") != std::string::npos) macs += number_of(cells[5]);
  }
  EXPECT_EQ(macs, json().at("macs"));
  ASSERT_EQ(pictures_of(page).size(), 1U);
  EXPECT_EQ(pictures_of(page)[0].bytes, json().at("arena_bytes").at("arena"));
  expect_complete(page);
}

TEST_F(Report, SaysWhatBecameOfEveryNode) {
  const Elements page = compile(with(kWave, {"--explain"}));
  std::map<std::string, std::vector<std::string>> by_node;
  for (const auto& cells : rows_of(page)) {
    if (!cells.empty() && cells[0].find_first_not_of("0123456789") != std::string::npos) by_node[cells[0]] = cells;
  }
  ASSERT_GE(json().at("nodes").size(), 7U);
  for (const nlohmann::json& node : json().at("nodes")) {
    const std::vector<std::string>& cells = by_node[node.at("node")];
    SCOPED_TRACE(node.at("node"));
    ASSERT_GE(cells.size(), 4U);
    EXPECT_EQ(cells[1], node.at("operator").get<std::string>());
    EXPECT_EQ(cells[2], node.at("source").get<std::string>());
    if (!node.contains("scale")) continue;
    ASSERT_EQ(cells.size(), 9U);
    EXPECT_TRUE(cells[3].starts_with(node.at("rule").get<std::string>())) << cells[3];
    EXPECT_NEAR(std::stod(cells[5]), node.at("scale").get<double>(), 1e-5 * node.at("scale").get<double>());
    EXPECT_EQ(std::stoi(cells[6]), node.at("zero_point"));
  }
  EXPECT_TRUE(has(page.front().text, "100 samples from "));
}

TEST_F(Report, DrawsEveryRegion) {
  const Elements page = compile(with(kDigits, {"--memory=dtcm=4K,sram=1M", "--weights-in=sram"}));
  const std::vector<Picture> pictures = pictures_of(page);
  ASSERT_EQ(pictures.size(), 2U);
  EXPECT_EQ(pictures[0].bytes, json().at("arena_bytes").at("dtcm"));
  EXPECT_EQ(pictures[1].bytes, json().at("arena_bytes").at("sram"));
  expect_complete(page);
}

TEST_F(Report, DrawsWhatIsComputedByRowsWhenItIs) {
  const Elements page = compile(with(kDigits, {"--optimize=ram"}));
  EXPECT_TRUE(has(page.front().text, "Indented steps are computed by rows"));
  expect_complete(page);
}

// A slice is in its source, and operands of a concatenation where that will be.
TEST_F(Report, DrawsPartsInTheirWholes) {
  write_text(path() / "parts.txt",
             "graph forward\ninput %x : f32[1,40]\ninput %y : f32[1,20]\n"
             "node \"cut\" \"\" \"\"\n  %cut : f32[1,28] = aten.slice(self=%x, dim=1, start=4, end=32, step=1)\n"
             "node \"a\" \"\" \"\"\n  %a : f32[1,28] = aten.sigmoid(self=%cut)\n"
             "node \"b\" \"\" \"\"\n  %b : f32[1,20] = aten.sigmoid(self=%y)\n"
             "node \"all\" \"\" \"\"\n  %all : f32[1,48] = aten.cat(tensors={%a, %b}, dim=1)\noutput %all\n");
  const Elements page = compile({"parts.txt"});
  const Picture picture = pictures_of(page).at(0);
  const auto is_part = [](const Rectangle& r) { return r.whole.has_value(); };
  EXPECT_GE(std::ranges::count_if(picture.buffers, is_part), 2);
  expect_complete(page);
}

// Names and source lines are the user's, and may be anything that Python allows in a dictionary's key.
TEST_F(Report, EscapesWhatTheModelSays) {
  const std::string node = R"(n<b>&"quot"</td>)", module = R"(head.<script>alert("1")</script>)", source = "a&b<c.py:7";
  const auto quoted = [](const std::string& text) {
    std::string out = "\"";
    for (const char c : text) out += c == '"' ? "\\\"" : std::string(1, c);
    return out + "\"";
  };
  write_text(path() / "names.txt", fmt::format("graph forward\ninput %x : f32[1,5000]\nnode {} {} {}\n"
                                               "  %y : f32[1,5000] = aten.softmax(self=%x, dim=1)\noutput %y\n",
                                               quoted(node), quoted(module), quoted(source)));
  const Elements page = compile({"names.txt", "-q"});
  ASSERT_EQ(json().at("float_operators").size(), 1U);  // which is in the page with its reason
  const nlohmann::json& left = json().at("float_operators").at(0);
  const Rows rows = rows_of(page);
  EXPECT_NE(std::ranges::find(
                rows, std::vector<std::string>{node, left.at("operator"), left.at("source"), left.at("reason")}),
            rows.end());
  EXPECT_EQ(left.at("source"), module + " (" + source + ")");
  const auto names_module = [&](const Element& e) { return e.tag == "text" && e.text.ends_with(", " + module); };
  EXPECT_TRUE(std::ranges::any_of(page, names_module));  // the operator at the peak
  EXPECT_EQ(read_text(path() / "report.html").find("<script>alert"), std::string::npos);
  EXPECT_EQ(std::ranges::count(page, "script", &Element::tag), 2);  // ours, and the facts that it shows
}

TEST_F(Report, TellsWhatExecutionCost) {
  const Arguments arguments = with(kWave, {"--target=cortex-m4", "--measure"});
  const Elements page = compile(arguments);
  const nlohmann::json run =
      cormorant(path(), {"run", "model.pte", "--target=cortex-m4", "--profile", "--json"}).json();
  Rows steps;
  for (const auto& cells : rows_of(page)) {
    if (cells.size() == 11) steps.push_back(cells);
  }
  ASSERT_EQ(steps.size(), run.at("operators").size());
  double shares = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(number_of(steps[i][8]), run.at("operators")[i].at("instructions")) << steps[i][2];
    EXPECT_EQ(number_of(steps[i][9]), run.at("operators")[i].at("cycles")) << steps[i][2];
    shares += std::stod(steps[i][10]);
  }
  EXPECT_NEAR(shares, 100, 2);
}

TEST_F(Report, IsTheSameButForTheSeconds) {
  const auto lines = [&] {
    compile(kWave);
    std::vector<std::string> kept;
    std::istringstream page(read_text(path() / "report.html"));
    for (std::string line; std::getline(page, line);) {
      if (line.find("class=\"seconds\"") == std::string::npos) kept.push_back(line);
    }
    return kept;
  };
  EXPECT_EQ(lines(), lines());
}

TEST_F(Report, SaysWhyThingsAreUnknown) {
  const auto texts = [&](const Arguments& more) {
    const Elements page = compile(with(kWave, more));
    EXPECT_EQ(size_of(page, "code"), "?");
    expect_complete(page);
    return page.front().text;
  };
  EXPECT_TRUE(has(texts({"--no-link"}), "unknown: not linked"));
  EXPECT_TRUE(has(texts({"--target=any"}), "unknown: it depends on the CPU"));
  EXPECT_TRUE(has(texts({"--runtime=executorch"}), "unknown: not linked"));
}

TEST_F(Report, SaysWhetherTheBudgetIsKept) {
  EXPECT_TRUE(has(compile(with(kWave, {"--budget=ram=64K,flash=256K"})).front().text, "Fits the budget: RAM "));
  std::filesystem::remove(path() / "model.pte");
  const Ran ran = cormorant(
      path(), with({"compile"}, with(kWave, {"--budget=ram=1K", "-o", "model.pte", "--report", "over.html"})));
  EXPECT_EQ(ran.status, 1);
  EXPECT_TRUE(has(ran.err, "the budget for RAM is 1,024 bytes"));
  EXPECT_FALSE(std::filesystem::exists(path() / "model.pte"));
  const Elements page = parse(read_text(path() / "over.html"));
  EXPECT_TRUE(has(page.front().text, "Over budget: the budget for RAM is 1,024 bytes"));
}

TEST_F(Report, GoesWithABundleAndWithGoals) {
  const Elements page = compile(with(
      kDigits, {"--target=cortex-m4", "--optimize=speed", "--bundle", zoo("digits_expected.npz"), "-o", "model.bpte"}));
  EXPECT_TRUE(std::filesystem::exists(path() / "model.bpte"));
  EXPECT_TRUE(has(page.front().text, "Optimized for speed, compared with balanced"));
  EXPECT_EQ(number_of(size_of(page, "model")), json().at("model_bytes"));
}

// A compilation that fails leaves existing files alone, and writes nothing.
TEST_F(Report, IsWrittenAtTheEnd) {
  write_text(path() / "empty.pt2", "");
  EXPECT_EQ(cormorant(path(), {"compile", "empty.pt2", "--report", "new.html"}).status, 1);
  EXPECT_FALSE(std::filesystem::exists(path() / "new.html"));
  write_text(path() / "old.html", "old");
  EXPECT_EQ(cormorant(path(), {"compile", "empty.pt2", "--report", "old.html"}).status, 1);
  EXPECT_EQ(read_text(path() / "old.html"), "old");
}

}  // namespace
}  // namespace cormorant::tests
