// SPDX-License-Identifier: Apache-2.0
//
// The boards themselves, with small assembly programs in place of the harness's main(): every archive of both compilers
// boots, every fault is named, every hang ends, and the instruction counter is right to the digit.
#include <fstream>
#include <map>
#include <regex>

#include "base/diagnostic.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "runner/emulator.h"
#include "runner/process.h"
#include "runner/toolchain.h"
#include "tests/all_cores.h"

namespace cormorant {
namespace {

using namespace std::chrono_literals;

const Cpu& cpu_named(std::string_view name) {
  return *std::find_if(kCpus.begin(), kCpus.end(), [&](const Cpu& cpu) { return cpu.name == name; });
}

struct Firmware {
  TemporaryDirectory directory;
  Elf elf;
  const Core core;

  Firmware(Core where, const char* source, const std::vector<std::string>& options = {}) : core(where) {
    std::vector<std::string> arguments = {std::string(CORMORANT_SOURCE_DIR) + "/runner/testdata/" + source};
    arguments.insert(arguments.end(), options.begin(), options.end());
    link_firmware(archive_directory(*core.cpu, core.compiler), core.cpu->board, arguments,
                  directory.path() / "firmware.elf");
    elf = read_elf(directory.path() / "firmware.elf");
  }

  EmulationResult run(CountRequest count = {}, std::chrono::milliseconds limit = 20s) {
    return emulate({.elf = directory.path() / "firmware.elf",
                    .board = find_board(core.cpu->board),
                    .directory = directory.path(),
                    .time_limit = limit,
                    .count = std::move(count)},
                   elf);
  }
};

class EveryCore : public testing::TestWithParam<Core> {};
INSTANTIATE_TEST_SUITE_P(Boards, EveryCore, testing::ValuesIn(all_cores()),
                         [](const auto& core) { return identifier_of(core.param); });

TEST_P(EveryCore, BootsAndSaysHello) {
  Firmware firmware(GetParam(), "hello.S");
  const EmulationResult result = firmware.run();
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.console, std::vector<std::string>{"hello"});
  EXPECT_EQ(forbidden_in(firmware.elf), std::vector<std::string>{});
}

std::string fault_of(const Core& core, const std::string& fault) {
  Firmware firmware(core, "fault.S", {"-DFAULT_" + fault});
  try {
    const EmulationResult result = firmware.run();
    return result.console.empty() ? "nothing was said" : result.console.front();
  } catch (const BoardFault& error) {
    return error.what();
  }
}

TEST_P(EveryCore, NamesEveryFault) {
  const struct {
    const char* fault;
    std::vector<std::string> expected;  // all of these are in the message
  } cases[] = {
      {"BAD_ADDRESS", {"BusFault at 0x", "in main+", "a load or store at a bad address", "0xf0000000"}},
      {"UNDEFINED", {"UsageFault at 0x", "in main+", "an undefined instruction"}},
      {"FLASH_WRITE", {"MemManage at 0x", "in main+", "memory protection forbids"}},
      {"STACK_OVERFLOW", {"the stack overflowed"}},
  };
  for (const auto& c : cases) {
    const std::string message = fault_of(GetParam(), c.fault);
    for (const std::string& part : c.expected) {
      EXPECT_NE(message.find(part), std::string::npos) << c.fault << ": " << message;
    }
  }
}

// Cortex-M0 and M23 fault on any unaligned access; the boards that run their code are larger CPUs which would not.
TEST_P(EveryCore, TrapsUnalignedAccessWhereTheCpuWould) {
  const bool traps = GetParam().cpu->archive == "m0" || GetParam().cpu->archive == "m23";
  const std::string message = fault_of(GetParam(), "UNALIGNED");
  if (traps) {
    EXPECT_NE(message.find("an unaligned access"), std::string::npos) << message;
  } else {
    EXPECT_EQ(message, "survived");
  }
}

TEST(Board, DivisionByZeroIsAFault) {
  const std::string message = fault_of({&cpu_named("cortex-m4"), Compiler::gcc}, "DIVISION");
  EXPECT_NE(message.find("a division by zero"), std::string::npos) << message;
}

TEST(Board, HangEndsAtTheTimeLimitAndSaysSo) {
  Firmware firmware({&cpu_named("cortex-m55"), Compiler::gcc}, "fault.S", {"-DFAULT_HANG"});
  try {
    firmware.run({}, 500ms);
    FAIL() << "it ended";
  } catch (const InputError& error) {
    EXPECT_EQ(error.diagnostic().problem, "the firmware did not finish within 0.5 s on mps3-an547");
  }
}

std::string script_of(const Board& board) {
  std::ifstream file(fmt::format("{}/boards/{}/board.ld", CORMORANT_SOURCE_DIR, board.name));
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// What a script's MEMORY says of one memory; 0 when it does not have it.
std::uint64_t length_of(const std::string& script, const std::string& memory) {
  std::smatch length;
  const std::regex line(fmt::format(R"(\n  {} \(\w+\) : ORIGIN = \w+, LENGTH = (\d+)([KM]))", memory));
  if (!std::regex_search(script, length, line)) return 0;
  return std::stoull(length[1]) * (length[2] == "K" ? kKiB : kMiB);
}

std::string memory_for(const std::string& script, const std::string& alias) {
  std::smatch memory;
  const std::regex line(fmt::format(R"re(REGION_ALIAS\("{}", (\w+)\))re", alias));
  return std::regex_search(script, memory, line) ? memory[1].str() : "";
}

TEST(Board, ScriptsOfferTheMemoriesThatTheTableLists) {
  for (const Board& board : kBoards) {
    const std::string script = script_of(board);
    EXPECT_EQ(length_of(script, memory_for(script, "MODEL")), board.model_bytes) << board.name;
    for (const ArenaRegion& region : board.arenas) {
      EXPECT_NE(script.find(fmt::format("*(.arena.{0}) }} > {0}\n", region.name)), std::string::npos) << board.name;
      const std::uint64_t reserved = memory_for(script, "DATA") == region.name ? board.reserved : 0;
      EXPECT_EQ(length_of(script, std::string(region.name)) - reserved, region.bytes) << board.name << region.name;
    }
  }
}

std::map<std::string, std::uint64_t> count_pairs(Firmware& firmware, const std::vector<std::string>& pairs,
                                                 std::vector<std::uint64_t>& excursions) {
  CountRequest request{.markers = {}, .scope = "caller"};
  for (const std::string& pair : pairs) {
    request.markers.push_back(pair + "_begin");
    request.markers.push_back(pair + "_end");
  }
  std::map<std::string, std::uint64_t> counts;
  std::map<std::size_t, std::uint64_t> first;
  for (const CountEvent& event : firmware.run(request).counts) {
    if (event.kind == CountEvent::Kind::excursion) excursions.push_back(event.count);
    if (event.kind == CountEvent::Kind::marker) first.try_emplace(event.marker, event.count);
  }
  for (std::size_t i = 0; i < pairs.size(); ++i) counts[pairs[i]] = first.at(2 * i + 1) - first.at(2 * i);
  return counts;
}

TEST_P(EveryCore, CountsInstructionsExactlyAndRepeatably) {
  // Counted by hand in runner/testdata/count.S.
  std::map<std::string, std::uint64_t> expected = {{"plain", 3}, {"loop", 200}, {"call", 1 + 12 + 10 + 2}};
  const std::string_view archive = GetParam().cpu->archive;
  if (archive != "m0" && archive != "m23") expected["condition"] = 4;
  if (archive == "m55") expected["hardware_loop"] = 1 + 3 * 2;
  std::vector<std::string> pairs;
  for (const auto& [pair, count] : expected) pairs.push_back(pair);

  Firmware firmware(GetParam(), "count.S");
  for (int repetition = 0; repetition < 2; ++repetition) {
    std::vector<std::uint64_t> excursions;
    EXPECT_EQ(count_pairs(firmware, pairs, excursions), expected);
    EXPECT_EQ(excursions, (std::vector<std::uint64_t>{10, 2}));
  }
}

struct Estimate {
  std::string_view archive;  // whose code runs
  std::string cpu;           // whose cycles are estimated
  std::map<std::string, std::uint64_t> cycles;
};

// Derived by hand in runner/testdata/cycles.S.
const Estimate kEstimates[] = {
    {"m0",
     "cortex-m0",
     {{"plain", 3}, {"loop", 398}, {"load", 6}, {"chain", 5}, {"list", 11}, {"call", 9}, {"multiply", 2}}},
    {"m0",
     "cortex-m0plus",
     {{"plain", 3}, {"loop", 299}, {"load", 6}, {"chain", 5}, {"list", 11}, {"call", 7}, {"multiply", 2}}},
    {"m23",
     "cortex-m23",
     {{"plain", 3}, {"loop", 299}, {"load", 6}, {"chain", 5}, {"list", 11}, {"call", 7}, {"multiply", 2}}},
    {"m3",
     "cortex-m3",
     {{"plain", 3},
      {"loop", 398},
      {"load", 5},
      {"chain", 5},
      {"list", 11},
      {"call", 8},
      {"multiply", 2},
      {"accumulate", 9},
      {"divide", 8}}},
    {"m4",
     "cortex-m4",
     {{"plain", 3},
      {"loop", 398},
      {"load", 5},
      {"chain", 5},
      {"list", 11},
      {"call", 8},
      {"multiply", 2},
      {"accumulate", 4},
      {"divide", 8}}},
    {"m33",
     "cortex-m33",
     {{"plain", 3},
      {"loop", 398},
      {"load", 5},
      {"chain", 5},
      {"list", 11},
      {"call", 8},
      {"multiply", 2},
      {"accumulate", 4},
      {"divide", 8}}},
    {"m7",
     "cortex-m7",
     {{"plain", 2},
      {"loop", 100},
      {"load", 2},
      {"chain", 3},
      {"list", 7},
      {"call", 3},
      {"multiply", 1},
      {"accumulate", 3},
      {"divide", 8}}},
    {"m55",
     "cortex-m55",
     {{"plain", 2},
      {"loop", 298},
      {"load", 4},
      {"chain", 3},
      {"list", 7},
      {"call", 7},
      {"multiply", 1},
      {"accumulate", 4},
      {"divide", 8},
      {"units", 5},
      {"busy", 6},
      {"product", 4},
      {"gather", 5},
      {"hardware_loop", 10}}},
    {"m55",
     "cortex-m85",
     {{"plain", 2},
      {"loop", 100},
      {"load", 2},
      {"chain", 3},
      {"list", 7},
      {"call", 3},
      {"multiply", 1},
      {"accumulate", 3},
      {"divide", 8},
      {"units", 4},
      {"busy", 5},
      {"product", 3},
      {"gather", 5},
      {"hardware_loop", 8}}},
};

TEST(Board, EstimatesCyclesAsTheTablesSay) {
  for (const Estimate& estimate : kEstimates) {
    const auto* const cpu =
        std::find_if(kCpus.begin(), kCpus.end(), [&](const Cpu& one) { return one.archive == estimate.archive; });
    if (!is_tested(*cpu)) continue;
    Firmware firmware({cpu, Compiler::gcc}, "cycles.S");
    CountRequest request{.markers = {}, .scope = {}, .cpu = estimate.cpu};
    std::vector<std::string> names;
    for (const auto& [name, cycles] : estimate.cycles) {
      names.push_back(name);
      request.markers.push_back(name + "_begin");
      request.markers.push_back(name + "_end");
    }
    std::map<std::size_t, std::uint64_t> first;
    for (const CountEvent& event : firmware.run(request).counts) {
      if (event.kind == CountEvent::Kind::marker) first.try_emplace(event.marker, event.cycles);
    }
    std::map<std::string, std::uint64_t> cycles;
    for (std::size_t i = 0; i < names.size(); ++i) cycles[names[i]] = first.at(2 * i + 1) - first.at(2 * i);
    EXPECT_EQ(cycles, estimate.cycles) << estimate.cpu;
  }
}

TEST(Elf, KnowsTheCpusThatExecuteIt) {
  for (const Core& core : all_cores()) {
    const Firmware firmware(core, "hello.S");
    for (const Cpu& cpu : kCpus) {
      const bool same = cpu.archive == core.cpu->archive;
      const bool both_v7em =
          (cpu.archive == "m4" && core.cpu->archive == "m7") || (cpu.archive == "m7" && core.cpu->archive == "m4");
      EXPECT_EQ(is_code_for(firmware.elf, cpu), same || both_v7em) << core << " on " << cpu.name;
    }
  }
}

TEST(Elf, FindsOneObjectOfANewerArchitecture) {
  const Core m0 = {&cpu_named("cortex-m0"), Compiler::gcc};
  const Firmware firmware(m0, "hello.S", {"-DWITH_NEWER_CODE"});
  EXPECT_FALSE(is_code_for(firmware.elf, *m0.cpu));
}

TEST(Elf, FindsWhatFirmwareMustNotContain) {
  const Firmware firmware({&cpu_named("cortex-m3"), Compiler::gcc}, "hello.S",
                          {"-u", "malloc", "-Wl,--defsym=_sbrk=0"});
  const std::vector<std::string> offences = forbidden_in(firmware.elf);
  EXPECT_NE(std::find(offences.begin(), offences.end(), "symbol malloc"), offences.end());
}

TEST(Elf, GlobalConstructorDoesNotLink) {
  try {
    const Firmware firmware({&cpu_named("cortex-m3"), Compiler::gcc}, "hello.S", {"-DWITH_CONSTRUCTOR"});
    FAIL() << "it linked";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("a global constructor is linked in"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace cormorant
