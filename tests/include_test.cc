// SPDX-License-Identifier: Apache-2.0
//
// Which component may include which: the table of docs/architecture.md holds. And code for Cortex-M includes, even
// indirectly, neither host components nor a header that brings a heap, exceptions or streams with it. Also what inline
// assembly must tell the compiler, which does not read it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace cormorant {
namespace {

struct Include {
  std::string path;
  bool is_ours = false;  // in quotes
};

struct Source {
  std::string path;  // from the root
  std::vector<Include> includes;
};

// The components that contain sources; build folders and the like are not read.
constexpr const char* kRooms[] = {"base",      "target",  "formats", "ir",      "evaluate", "ops",      "kernels",
                                  "quantizer", "passes",  "planner", "memory",  "emit",     "compiler", "runtime",
                                  "boards",    "elf",     "runner",  "program", "report",   "driver",   "cli",
                                  "bench",     "include", "audio",   "python"};

Source read_source(const std::filesystem::path& root, const std::filesystem::path& path) {
  static const std::regex include("^\\s*#\\s*include\\s*([<\"])([^>\"]+)[>\"].*");
  Source source{path.lexically_relative(root).generic_string(), {}};
  std::ifstream file(path);
  std::smatch match;
  for (std::string line; std::getline(file, line);) {
    if (line.find("include") == std::string::npos) continue;
    if (std::regex_match(line, match, include)) source.includes.push_back({match[2], match[1] == "\""});
  }
  return source;
}

const std::map<std::string, Source>& sources() {
  static const auto all = [] {
    std::map<std::string, Source> found;
    const std::filesystem::path root = CORMORANT_SOURCE_DIR;
    for (const char* room : kRooms) {
      if (!std::filesystem::exists(root / room)) continue;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(root / room)) {
        const std::string extension = entry.path().extension();
        if (extension != ".h" && extension != ".hpp" && extension != ".cc" && extension != ".c") continue;
        Source source = read_source(root, entry.path());
        // The public headers are found below their folder.
        if (source.path.starts_with("include/")) source.path.erase(0, std::string("include/").size());
        found.emplace(source.path, std::move(source));
      }
    }
    return found;
  }();
  return all;
}

bool matches(const std::string& text, const std::string& pattern) {
  static std::map<std::string, std::regex> compiled;
  return std::regex_match(text, compiled.try_emplace(pattern, pattern).first->second);
}

// Tests may include anything; so may what they share.
bool is_for_tests(const std::string& path) {
  return matches(
      path,
      ".*(_test\\.cc|_fuzz\\.cc|/testdata/.*|/toy_[a-z_]+\\.(h|cc)|/test_[a-z_]+\\.h|/zip_builder\\.h|/read_all\\.h)");
}

struct Rule {
  std::string who;   // the first rule that matches a file holds for it
  std::string whom;  // besides base and its own folder
};

// "ir, target, ops/op.h": rooms and headers.
std::string whom_of(const std::string& cell) {
  std::string whom;
  std::stringstream list(cell);
  for (std::string name; list >> name;) {
    if (name.back() == ',') name.pop_back();
    std::string pattern = std::regex_replace(name, std::regex("\\."), "\\.");
    if (name == "anything") {
      pattern = ".*";
    } else if (!name.ends_with(".h")) {
      pattern += "/.*";
    }
    whom += (whom.empty() ? "" : "|") + pattern;
  }
  return whom;
}

// The files of "ir/", "ops/<op>/" or "ops/<op>/kernel*".
std::string who_of(std::string name) {
  if (name == "include/cormorant/") name = "cormorant/";
  if (name.ends_with("/")) name += "*";
  name = std::regex_replace(name, std::regex("\\*"), ".*");
  return std::regex_replace(name, std::regex("<op>"), "[a-z0-9_]+");
}

// The table of docs/architecture.md: | `room/` | what it is | whom it may include |
std::vector<Rule> rules_of_the_page() {
  static const std::regex row("\\| `([a-z/<>*]+)` \\|.*\\| ([^|]*)\\|");
  std::vector<Rule> rules;
  std::ifstream page(std::filesystem::path(CORMORANT_SOURCE_DIR) / "docs/architecture.md");
  std::smatch match;
  for (std::string line; std::getline(page, line);) {
    if (std::regex_match(line, match, row)) rules.push_back({who_of(match[1]), whom_of(match[2])});
  }
  return rules;
}

// Files that may see more than their room does.
const Rule kExceptions[] = {
    // The home of what the three convolutions share is ops/conv2d. A transposed one with a filter per channel is
    // computed as a depthwise one.
    {"ops/(depthwise|transpose)_conv2d/.*", "ops/conv2d/.*\\.h"},
    {"ops/transpose_conv2d/.*", "ops/depthwise_conv2d/.*\\.h"},
    // The one whose plan takes rows of an image as they arrive.
    {"ops/rows/kernel.*", "runtime/feed\\.h"},
    // Operators of other compilers' programs, which leave the plans of kernels that there are.
    {"ops/portable/.*",
     "ops/[a-z0-9_]+/kernel\\.h|ops/(activation/activation|conv2d/conv2d)\\.h|runtime/call_types\\.h"},
    {"ops/host/host_kernels\\.cc", "ops/portable/numbers_kernels\\.h"},
    // Functions of integers are those of floats after a conversion, which is a map.
    {"ops/activation/kernel.*", "ops/map/kernel\\.h"},
    // Operators that are made of others, and passes that make nodes of one operator, know its contract.
    {"ops/repeat_interleave/compile\\.cc", "ops/expand/expand\\.h"},
    {"ops/add/prepack\\.cc", "ops/conv2d/residual\\.h"},
    {"ops/mul/compile\\.cc", "ops/minimum_maximum/minimum_maximum\\.h"},
    {"ops/linear/compile\\.cc", "ops/batch_matmul/products\\.h"},
    {"passes/compose_words\\.cc", "ops/transpose_conv2d/subpixel\\.h"},
    {"passes/fuse_cells\\.cc", "ops/recurrent/import\\.h"},
    {"passes/stream\\.cc", "ops/reduce/reduce\\.h"},
    {"passes/update_states\\.cc", "ops/(cat/cat|slice/slice|update/update)\\.h"},
    {"compiler/bands\\.cc", "ops/conv2d/bands\\.h"},
};

// ops/conv2d for ops/conv2d/kernel.cc: what a file may always include. The formats do not see each other.
std::string own_folder(const std::string& path) {
  const bool has_subfolders = path.starts_with("ops/") || path.starts_with("formats/");
  const std::size_t first = path.find('/');
  return path.substr(0, has_subfolders ? path.rfind('/') : first) + "/";
}

// Foreign headers that are included in quotes.
bool is_library(const std::string& path) {
  return matches(path, "(fmt|gtest|nlohmann|flatbuffers)/.*") || path == "qemu_api.h";
}

TEST(Includes, EveryFileIncludesOnlyWhatItsRoomMaySee) {
  std::size_t checked = 0;
  const std::vector<Rule> rules = rules_of_the_page();
  std::set<const Rule*> used;
  const auto is_exception = [&](const std::string& path, const std::string& included) {
    bool is_one = false;
    for (const Rule& exception : kExceptions) {
      if (!matches(path, exception.who) || !matches(included, exception.whom)) continue;
      used.insert(&exception);
      is_one = true;
    }
    return is_one;
  };
  for (const auto& [path, source] : sources()) {
    if (is_for_tests(path)) continue;
    const auto rule = std::ranges::find_if(rules, [&](const Rule& r) { return matches(path, r.who); });
    ASSERT_NE(rule, rules.end()) << path << " is in no room of the table";
    for (const Include& include : source.includes) {
      if (!include.is_ours || is_library(include.path)) continue;
      ++checked;
      const bool may = include.path.starts_with("cormorant/") ||
                       (include.path.starts_with("base/") && !path.starts_with("cormorant/")) ||
                       include.path.starts_with(own_folder(path)) || matches(include.path, rule->whom) ||
                       is_exception(path, include.path);
      EXPECT_TRUE(may) << path << " includes " << include.path << ", which " << rule->who << " may not see";
    }
  }
  EXPECT_GT(checked, 300U);  // of course there are includes
  for (const Rule& exception : kExceptions)
    EXPECT_TRUE(used.contains(&exception)) << "no file needs the exception for " << exception.who;
}

// What firmware/CMakeLists.txt compiles.
bool is_compiled_for_target(const std::string& path) {
  if (is_for_tests(path)) return false;
  return matches(path,
                 "ops/[a-z0-9_]+/kernel([a-z0-9_]*\\.cc|\\.h)|kernels/.*\\.cc|runner/firmware/.*\\.cc|formats/pte/"
                 "reader\\.cc|base/describe\\.cc|audio/.*\\.c") ||
         (matches(path, "runtime/[a-z0-9_]+\\.cc") && !matches(path, "runtime/host[a-z0-9_]*\\.cc"));
}

void collect(const std::string& path, std::set<std::string>& ours, std::map<std::string, std::string>& library) {
  if (!ours.insert(path).second) return;
  for (const Include& include : sources().at(path).includes) {
    if (include.is_ours) {
      ASSERT_TRUE(sources().contains(include.path)) << path << " includes " << include.path << ", which is not there";
      collect(include.path, ours, library);
    } else {
      library.emplace(include.path, path);
    }
  }
}

// A room that is on the page but not read here would obey no rule.
TEST(Includes, EveryRoomOfThePageIsRead) {
  const std::set<std::string> read(std::begin(kRooms), std::end(kRooms));
  // Not the product: they may include anything, or nothing of ours.
  const std::set<std::string> others = {"tests", "examples", "firmware", "zephyr", "docs", "zoo", "cormorant"};
  for (const Rule& rule : rules_of_the_page()) {
    const std::string room = rule.who.substr(0, rule.who.find('/'));
    EXPECT_TRUE(read.contains(room) || others.contains(room)) << room;
  }
}

TEST(Includes, TargetCodeSeesNeitherHeapNorExceptionsNorStreams) {
  // All of these are header-only in what target code takes from them. <new> declares placement new.
  const std::set<std::string> allowed = {
      "algorithm", "array",       "bit",     "climits", "concepts",   "cstddef",     "cstdint", "cstring",
      "iterator",  "limits",      "new",     "numeric", "span",       "string_view", "tuple",   "stddef.h",
      "stdint.h",  "type_traits", "utility", "cmath",   "arm_acle.h", "arm_mve.h"};
  std::set<std::string> ours;
  std::map<std::string, std::string> library;  // header -> a file that includes it
  std::size_t units = 0;
  for (const auto& [path, source] : sources()) {
    if (!is_compiled_for_target(path)) continue;
    ++units;
    collect(path, ours, library);
  }
  EXPECT_GT(units, 20U);
  for (const auto& [header, by] : library)
    EXPECT_TRUE(allowed.contains(header)) << by << " includes <" << header << ">";
  for (const std::string& path : ours) {
    EXPECT_TRUE(matches(path,
                        "(base|target|formats/pte|kernels|ops/[a-z0-9_]+|runtime|runner/firmware|cormorant|audio)/"
                        "[a-z0-9_]+\\.(h|hpp|cc|c)"))
        << path << " is the host's, but target code includes it";
    EXPECT_FALSE(path.starts_with("ops/host/")) << path << " is the host's, but target code includes it";
    EXPECT_NE(path, "base/diagnostic.h");
  }
}

// What is in quotes and looks like one of these, comments left out: name -> files.
std::map<std::string, std::set<std::string>> quoted_names(const std::regex& pattern) {
  std::map<std::string, std::set<std::string>> found;
  for (const auto& [path, source] : sources()) {
    if (is_for_tests(path) || path.starts_with("cormorant/") || path.starts_with("bench/")) continue;
    std::ifstream file(std::filesystem::path(CORMORANT_SOURCE_DIR) / path);
    for (std::string line; std::getline(file, line);) {
      if (const std::size_t comment = line.find("//"); comment != std::string::npos) line.resize(comment);
      if (line.find('"') == std::string::npos) continue;
      for (auto at = std::sregex_iterator(line.begin(), line.end(), pattern); at != std::sregex_iterator(); ++at) {
        found[at->str(1)].insert(path);
      }
    }
  }
  return found;
}

TEST(Names, OfNodesHaveOneHomeIfSeveralFilesKnowThem) {
  // They speak of PyTorch's operators, some of which are called like nodes.
  const std::set<std::string> of_exports = {"compiler/import.cc", "compiler/aliases.cc"};
  const std::string home = "ops/nodes.h";
  std::size_t at_home = 0;
  // Whole names, and the beginnings of names.
  const std::regex pattern("\"((?:aten|cortex_m|cormorant|quantized_decomposed)\\.[A-Za-z0-9_.]+)\"");
  for (auto [name, files] : quoted_names(pattern)) {
    std::erase_if(files, [&](const std::string& file) { return of_exports.contains(file); });
    at_home += files.contains(home);
    for (const std::string& file : files) {
      if (file == home) continue;
      EXPECT_FALSE(files.contains(home)) << file << " spells " << name << ", which is in " << home;
      EXPECT_TRUE(file.starts_with("ops/")) << file << " spells " << name << ": the home of names is " << home;
    }
    EXPECT_LE(files.size(), 1U) << name << " is known in several files: its home is " << home;
  }
  EXPECT_GT(at_home, 50U);
}

// They are in the operators' lists, whose names:: everyone uses.
TEST(Names, OfProgramsAreSpelledInListsOnly) {
  const std::string without_operators = "runtime/call_types.h";
  // In place, without an overload, which a line of a list has.
  const std::map<std::string, std::string> without_lists = {{"aten::copy_", "ops/portable/kernel_float.cc"},
                                                            {"aten::index_put_", "ops/portable/kernel_float.cc"}};
  const std::regex pattern("\"((?:aten|cortex_m|cormorant|dim_order_ops)::[a-z0-9_]+(?:\\.[a-z0-9_]+|_))\"");
  for (const auto& [name, files] : quoted_names(pattern)) {
    if (name.ends_with(".default")) continue;  // PyTorch's
    const auto home = without_lists.find(name);
    for (const std::string& file : files) {
      EXPECT_EQ(file, home == without_lists.end() ? without_operators : home->second) << "spells " << name;
    }
  }
}

// Of a header that has loops as well, the functions that load or plan.
std::string loads_in(const std::string& header) {
  const std::regex begins("^[a-zA-Z].*(\\bCall& call|\\bplan_\\w+\\().*");
  std::stringstream lines(header);
  std::string loads, function;
  for (std::string line; std::getline(lines, line);) {
    line.resize(std::min(line.find("//"), line.size()));
    line.resize(line.find_last_not_of(' ') + 1);
    if (function.empty() && !std::regex_match(line, begins)) continue;
    function += line + "\n";
    const bool has_body = function.find('{') != std::string::npos;
    if (has_body ? line == "}" || line.ends_with("; }") : line.ends_with(';')) {
      if (has_body) loads += function;
      function.clear();
    }
  }
  return loads;
}

// A failed check does not end the function: what it guards comes only from Call, which looks at all checks before. A
// load takes a tensor's address for its plan, but reads nothing through it.
TEST(Loading, ReadsConstantsOnlyAfterTheirChecks) {
  const struct {
    const char* what;
    std::regex form;
  } unchecked[] = {
      {"a header", std::regex("as<const [A-Za-z_:]*Header>")},
      {"an address that is no plan's", std::regex("[*&]\\s*(const\\s+)?\\w+\\s*=\\s*[^;{]*\\bas<")},
      {"an element", std::regex("\\bas<[^>]*>\\(\\)\\s*\\[|\\*\\s*[\\w.>-]+(\\.|->)as<")},
      {"what a function is given", std::regex("[a-z_]\\([^();]*(\\.|->)as<")},
      {"what a function is given", std::regex("[a-z_]\\([^()=!]*\\w\\.data\\b(?!\\(| [=!])")},
  };
  // A number among the arguments becomes a tensor in the memory of the plan, where it is written.
  const std::regex written("\\bset_(element|integer)\\([^;]*;");
  std::size_t checked = 0, of_headers = 0;
  for (const auto& [path, source] : sources()) {
    const bool is_header = matches(path, "ops/[a-z0-9_]+/kernel\\.h|ops/portable/[a-z0-9_]+\\.h");
    if (!is_header && !matches(path, "ops/[a-z0-9_]+/kernel(_words|_float)?\\.cc|ops/load/[a-z0-9_]+\\.h")) continue;
    std::stringstream file;
    file << std::ifstream(std::filesystem::path(CORMORANT_SOURCE_DIR) / path).rdbuf();
    const std::string text = is_header ? std::regex_replace(loads_in(file.str()), written, "") : file.str();
    if (is_header) {
      of_headers += text.empty() ? 0 : 1;
    } else {
      checked += text.find("call.packed<") != std::string::npos || text.find("call.elements<") != std::string::npos;
    }
    for (const auto& [what, form] : unchecked) {
      std::smatch found;
      EXPECT_FALSE(std::regex_search(text, found, form)) << path << ": " << what << ": " << found.str();
    }
  }
  EXPECT_GE(checked, 10U);
  EXPECT_GE(of_headers, 15U);
}

// The text between the parentheses of each asm statement in a file.
std::vector<std::string> assembly_in(const std::filesystem::path& path) {
  std::stringstream file;
  file << std::ifstream(path).rdbuf();
  const std::string text = file.str();
  std::vector<std::string> found;
  for (std::size_t at = text.find("asm"); at != std::string::npos; at = text.find("asm", at + 1)) {
    const std::size_t first = text.find('(', at) + 1;
    const std::string between = text.substr(at, first - at);
    if (between != "asm(" && between != "asm volatile(") continue;
    std::size_t end = first;
    bool is_quoted = false;
    for (int depth = 1; end < text.size(); ++end) {
      if (text[end] == '"' && text[end - 1] != '\\') is_quoted = !is_quoted;
      if (!is_quoted && text[end] == '(') ++depth;
      if (!is_quoted && text[end] == ')' && --depth == 0) break;
    }
    found.push_back(text.substr(first, end - first));
  }
  return found;
}

// Where several instructions read inputs, an operand that one of them changes must not share a register with an input
// that has the same value at the beginning.
TEST(Assembly, MarksWhatItChangesBeforeItHasReadAllInputs) {
  const std::regex changes("\"\\+[^&\"]*\"\\(");
  const std::regex inputs(": *(\\[[a-z_0-9]+\\] *)?\"[a-zA-Z]+\"\\(");
  std::size_t checked = 0;
  for (const auto& [path, source] : sources()) {
    if (!path.starts_with("kernels/") && !(path.starts_with("ops/") && !path.ends_with("_test.cc"))) continue;
    for (const std::string& code : assembly_in(std::filesystem::path(CORMORANT_SOURCE_DIR) / path)) {
      if (code.find("\\n") == std::string::npos || !std::regex_search(code, inputs)) continue;
      ++checked;
      EXPECT_FALSE(std::regex_search(code, changes)) << path << code;
    }
  }
  EXPECT_GT(checked, 60U);
}

TEST(Assembly, NamesTheFlagsAndThePredicateThatItChangesAndLowRegistersWhereItNeedsThem) {
  const std::regex sets_flags("\\b(subs|adds|cmp|lsls|lsrs|asrs|movs|ands|orrs|eors|muls|adcs|rsbs|mvns)\\b");
  const std::regex sets_predicate("\"([0-9]: *)?v(ctp|pst|pt|cmp)[te.]");
  // Loads and stores that widen or narrow reach r0 to r7 only, unless they gather or scatter.
  const std::regex narrow(
      "v(ldrb\\.[su](16|32)|strb\\.(16|32)|ldrh\\.[su]32|strh\\.32) [^,]*, \\[%\\[([a-z_]+)\\][,\\]](?! *%q)");
  std::size_t checked = 0;
  for (const auto& [path, source] : sources()) {
    if (!path.starts_with("kernels/") && !(path.starts_with("ops/") && !path.ends_with("_test.cc"))) continue;
    for (const std::string& code : assembly_in(std::filesystem::path(CORMORANT_SOURCE_DIR) / path)) {
      // What a naked function changes is the calling convention's affair.
      if (code.find(" : ") == std::string::npos || code.find("PUSH") != std::string::npos ||
          code.find("\"push ") != std::string::npos) {
        continue;
      }
      ++checked;
      EXPECT_TRUE(!std::regex_search(code, sets_flags) || code.find("\"cc\"") != std::string::npos) << path << code;
      EXPECT_TRUE(!std::regex_search(code, sets_predicate) || code.find("CORMORANT_VPR") != std::string::npos)
          << path << code;
      for (auto at = std::sregex_iterator(code.begin(), code.end(), narrow); at != std::sregex_iterator(); ++at) {
        const std::string operand = "[" + at->str(4) + "] \"";
        const auto has = [&](const char* constraint) {
          return code.find(operand + constraint + "\"") != std::string::npos;
        };
        EXPECT_TRUE(has("+&l") || has("+l") || has("l")) << path << code;
      }
    }
  }
  EXPECT_GT(checked, 60U);
}

}  // namespace
}  // namespace cormorant
