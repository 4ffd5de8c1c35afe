// SPDX-License-Identifier: Apache-2.0
//
// The report in a real browser (Debian's chromium, headless): nothing on its console, every layer there, zoom, search,
// sorting, colours, a layer's facts and the comparison work, and nothing is wider than a phone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runner/process.h"
#include "tests/command.h"

namespace cormorant::tests {
namespace {

// Reads the page like a visitor, and leaves an object in the document for the test.
constexpr const char* kVisitor = R"js(
const frames = {};
const answers = {errors: [], overflow: {}};
function visit(width, dark) {
  return new Promise((done) => {
    const frame = document.createElement('iframe');
    frame.style.width = width + 'px';
    frame.style.height = '900px';
    frame.style.border = '0';
    frame.srcdoc = page;
    frame.onload = () => done(frame);
    document.body.appendChild(frame);
  });
}
async function main() {
  const frame = await visit(1200);
  const w = frame.contentWindow, d = w.document, $ = (id) => d.getElementById(id);
  const boxes = () => [...d.querySelectorAll('.box')];
  answers.steps = boxes().filter((b) => b.classList.contains('step')).map((b) => b.getAttribute('data-id'));
  answers.inputs = boxes().filter((b) => b.classList.contains('input')).length;
  answers.outputs = boxes().filter((b) => b.classList.contains('output')).length;
  answers.edges = d.querySelectorAll('.edge').length;
  const svg = $('pane').querySelector('svg');
  const before = svg.getBoundingClientRect().width;
  $('zoom-in').click();
  answers.larger = svg.getBoundingClientRect().width / before;
  $('zoom-fit').click();
  answers.fits = svg.getBoundingClientRect().height <= $('pane').clientHeight + 1;
  $('search').value = 'linear';
  $('search').dispatchEvent(new w.Event('input'));
  answers.found = boxes().filter((b) => !b.classList.contains('dim')).length;
  answers.rowsFound = [...d.querySelectorAll('.steps tr[id]')].filter((r) => !r.hidden).length;
  $('search').dispatchEvent(new w.KeyboardEvent('keydown', {key: 'Enter'}));
  answers.chosenBySearch = $('chosen').textContent;
  $('search').value = '';
  $('search').dispatchEvent(new w.Event('input'));
  answers.notDim = boxes().filter((b) => !b.classList.contains('dim')).length === boxes().length;
  const layer = boxes().find((b) => b.getAttribute('aria-label').startsWith('conv2d'));
  (layer || boxes()[1]).dispatchEvent(new w.MouseEvent('click', {bubbles: true}));
  answers.chosen = $('chosen').textContent;
  answers.colours = {};
  for (const metric of ['time', 'memory', 'constants', 'error']) {
    $('colour').value = metric;
    $('colour').dispatchEvent(new w.Event('change'));
    answers.colours[metric] = [...d.querySelectorAll('.box.step .heat')].map((h) => Number(w.getComputedStyle(h).fillOpacity));
  }
  const head = [...d.querySelectorAll('.steps th')].find((th) => th.textContent.startsWith('MACs'));
  const column = [...head.parentNode.children].indexOf(head);
  const macs = () => [...d.querySelectorAll('.steps tr[id]')].map((r) => Number(r.children[column].textContent.replace(/,/g, '') || 0));
  head.click();
  answers.ascending = macs();
  head.click();
  answers.descending = macs();
  answers.lastIsTotal = [...d.querySelectorAll('.steps tr')].pop().classList.contains('total');
  const file = new w.File([page.replaceAll('"macs":', '"macs":1')], 'other.html');
  const list = new w.DataTransfer();
  list.items.add(file);
  $('other').files = list.files;
  $('other').dispatchEvent(new w.Event('change'));
  for (let k = 0; k !== 100 && $('comparison').textContent === ''; k += 1) await new Promise((r) => setTimeout(r, 20));
  answers.comparison = $('comparison').textContent;
  for (const width of [375, 768, 1200]) {
    const narrow = (await visit(width)).contentWindow.document;
    for (const details of narrow.querySelectorAll('details')) details.open = true;
    answers.overflow[width] = narrow.documentElement.scrollWidth - width;
    answers.steps375 = narrow.querySelectorAll('.box.step').length;
  }
}
window.addEventListener('error', (e) => answers.errors.push(String(e.message)));
main().catch((e) => answers.errors.push(String(e && e.stack || e))).finally(() => {
  const out = document.createElement('pre');
  out.id = 'answers';
  out.textContent = JSON.stringify(answers);
  document.body.textContent = '';
  document.body.appendChild(out);
});
)js";

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// The report's text as a literal of a script.
std::string literal(const std::string& page) { return replaced(nlohmann::json(page).dump(), "<", "\\u003c"); }

class Browser : public testing::Test {
 protected:
  // What the visitor saw; the browser's own messages are checked here.
  nlohmann::json visit(const std::string& report) {
    write_text(path() / "visit.html",
               "<!DOCTYPE html><html><head><meta charset=\"utf-8\"></head><body><script>const page = " +
                   literal(report) + ";" + kVisitor + "</script></body></html>");
    ProcessResult result;
    for (const char* const browser : {"chromium", "chromium-browser"}) {  // Debian's name, and Ubuntu's
      result = run_process(
          {browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
           "--user-data-dir=" + (path() / "profile").string(), "--enable-logging=stderr", "--virtual-time-budget=20000",
           "--window-size=1300,1000", "--dump-dom", "file://" + (path() / "visit.html").string()},
          path(), std::chrono::minutes(2));
      if (!result.not_found) break;
    }
    EXPECT_FALSE(result.not_found) << "chromium is not installed: ./dev setup installs it";
    EXPECT_EQ(result.output.find("CONSOLE"), std::string::npos) << result.output;
    const std::string begin = "<pre id=\"answers\">";
    const std::size_t at = result.output.find(begin);
    if (at == std::string::npos) {
      ADD_FAILURE() << result.output.substr(0, 4000);
      return {};
    }
    const std::size_t from = at + begin.size();
    std::string text = result.output.substr(from, result.output.find("</pre>", from) - from);
    for (const auto& [entity, character] : {std::pair("&lt;", "<"), std::pair("&gt;", ">"), std::pair("&amp;", "&")}) {
      text = replaced(text, entity, character);
    }
    return nlohmann::json::parse(text);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
};

// By rows: some layers are drawn above the step that executes them, and listed after it.
TEST_F(Browser, ShowsTheNetworkAndAnswersItsVisitor) {
  const Ran ran = cormorant(path(), {"compile", zoo("digits.pt2"), "--calibrate", few_samples(path(), "digits"), "-o",
                                     "digits.pte", "--report", "report.html", "--json", "--optimize=ram"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const nlohmann::json figures = ran.json();
  std::size_t steps = 0;
  for (const auto& [name, count] : figures.at("operators").items()) steps += count.get<std::size_t>();
  const nlohmann::json seen = visit(read_text(path() / "report.html"));
  ASSERT_TRUE(seen.is_object());
  EXPECT_EQ(seen["errors"], nlohmann::json::array());
  EXPECT_EQ(seen["steps"].size(), steps);
  EXPECT_EQ(seen["inputs"], 1);
  EXPECT_EQ(seen["outputs"], 1);
  EXPECT_GE(seen["edges"].get<std::size_t>(), steps + 1);  // a chain at least, with input and output
  EXPECT_NEAR(seen["larger"].get<double>(), 1.25, 0.01);
  EXPECT_EQ(seen["fits"], true);
  EXPECT_GE(seen["found"].get<std::size_t>(), 1U);
  EXPECT_LT(seen["found"].get<std::size_t>(), steps);
  EXPECT_EQ(seen["rowsFound"], seen["found"]);
  EXPECT_TRUE(has(seen["chosenBySearch"], "linear"));
  EXPECT_EQ(seen["notDim"], true);
  for (const char* const fact : {"conv", "MACs", "constants", "SQNR", "scale", "zero point"}) {
    EXPECT_TRUE(has(seen["chosen"], fact));
  }
  for (const auto& [metric, heat] : seen["colours"].items()) {
    const auto values = heat.get<std::vector<double>>();
    EXPECT_GT(std::ranges::max(values), 0.1) << metric;
    EXPECT_GT(std::ranges::max(values), std::ranges::min(values)) << metric;
  }
  const auto up = seen["ascending"].get<std::vector<double>>(), down = seen["descending"].get<std::vector<double>>();
  EXPECT_TRUE(std::ranges::is_sorted(up));
  EXPECT_TRUE(std::ranges::is_sorted(down, std::greater()));
  EXPECT_NE(up, down);
  EXPECT_EQ(seen["lastIsTotal"], true);
  EXPECT_TRUE(has(seen["comparison"], "MACs"));
  EXPECT_TRUE(has(seen["comparison"], "layers differ"));
  EXPECT_EQ(seen["steps375"].get<std::size_t>(), steps);
  for (const auto& [width, wider] : seen["overflow"].items()) EXPECT_LE(wider.get<int>(), 0) << width << " px";
}

TEST_F(Browser, TakesLongNamesAndBranches) {
  const std::string name(200, 'n');
  write_text(path() / "model.txt",
             "graph forward\ninput %a : f32[1,4]\nnode \"" + name + "\" \"a<b>&'\\\"module\" \"here.py:1\"\n" +
                 "  %s : f32[1,4] = aten.add(self=%a, other=%a, alpha=1.0)\n"
                 "node \"right\" \"m\" \"here.py:2\"\n  %t : f32[1,4] = aten.clamp(self=%a, min=0.0, max=none)\n"
                 "node \"join\" \"m\" \"here.py:3\"\n  %u : f32[1,4] = aten.mul(self=%s, other=%t)\noutput %u\n");
  const Ran ran = cormorant(path(), {"compile", "model.txt", "--no-link", "-o", "m.pte", "--report", "report.html"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const nlohmann::json seen = visit(read_text(path() / "report.html"));
  ASSERT_TRUE(seen.is_object());
  EXPECT_EQ(seen["steps"].size(), 3U);
  EXPECT_EQ(seen["edges"], 5);
  for (const auto& [width, wider] : seen["overflow"].items()) EXPECT_LE(wider.get<int>(), 0) << width << " px";
}

}  // namespace
}  // namespace cormorant::tests
