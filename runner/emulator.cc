// SPDX-License-Identifier: Apache-2.0
#include "runner/emulator.h"

#include <array>
#include <csignal>
#include <fstream>
#include <sstream>

#include "base/diagnostic.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "runner/process.h"
#include "runner/toolchain.h"

namespace cormorant {
namespace {

constexpr const char* kEmulator = "qemu-system-arm";
constexpr const char* kCountsFile = "counts.txt";
constexpr int kExceptionStatus = 3;

const ElfSymbol& symbol(const Elf& elf, const std::string& name) {
  const ElfSymbol* found = elf.find(name);
  if (found == nullptr) throw std::runtime_error(fmt::format("the firmware has no symbol '{}'", name));
  return *found;
}

// QEMU's options are separated by commas; one that belongs to a path is doubled.
std::string escaped(const std::string& path) {
  std::string result;
  for (const char c : path) result.append(c == ',' ? 2 : 1, c);
  return result;
}

std::string plugin_option(const CountRequest& count, const Elf& elf) {
  std::string option = fmt::format("file={},out={}", escaped(counter_plugin().string()), kCountsFile);
  constexpr std::uint32_t kThumbBit = 1;
  for (const std::string& marker : count.markers) {
    option += fmt::format(",marker={:#x}", symbol(elf, marker).address & ~kThumbBit);
  }
  for (const std::uint32_t address : count.addresses) option += fmt::format(",marker={:#x}", address);
  if (!count.scope.empty()) {
    const ElfSymbol& scope = symbol(elf, count.scope);
    option += fmt::format(",scope={:#x}:{:#x}", scope.address, scope.address + scope.size);
  }
  if (!count.cpu.empty()) option += fmt::format(",cpu={}", count.cpu);
  return option;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<CountEvent> read_counts(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<CountEvent> events;
  for (std::string word; file >> word;) {
    CountEvent event{};
    if (word == "marker") {
      event.kind = CountEvent::Kind::marker;
      file >> event.marker;
    } else {
      event.kind = word == "excursion" ? CountEvent::Kind::excursion : CountEvent::Kind::total;
    }
    file >> event.count >> event.cycles;
    events.push_back(event);
  }
  if (events.empty() || events.back().kind != CountEvent::Kind::total) {
    throw BoardFault("the instruction counter wrote an incomplete record");
  }
  return events;
}

struct FaultBit {
  std::uint32_t bit;
  const char* meaning;
};

// Bits of the configurable fault status register, ARMv7-M and ARMv8-M.
constexpr std::array<FaultBit, 17> kFaultBits = {{
    {0, "execution from memory that is not executable"},
    {1, "an access that memory protection forbids"},
    {4, "the stack overflowed"},
    {5, "memory protection during lazy floating-point stacking"},
    {8, "an instruction fetch from a bad address"},
    {9, "a load or store at a bad address"},
    {10, "a store at a bad address"},
    {12, "a bad address while stacking"},
    {13, "a bad address during lazy floating-point stacking"},
    {16, "an undefined instruction"},
    {17, "a jump to an address that is not Thumb code"},
    {18, "a bad exception return"},
    {19, "floating point or MVE while it is disabled"},
    {20, "the stack overflowed"},
    {24, "an unaligned access"},
    {25, "a division by zero"},
    {3, "a bad address while unstacking"},
}};

// exception BusFault pc 0x000002f8 lr … cfsr 0x00008200 … bfar 0xf0000000
std::string explain(const std::string& line, const Elf& elf) {
  std::istringstream words(line);
  std::string word;
  std::string name;
  words >> word >> name;
  std::string place;
  std::uint32_t status = 0;
  std::uint32_t memory_address = 0;
  std::uint32_t bus_address = 0;
  while (words >> word) {
    if (word == "stack-overflow") continue;
    std::uint32_t value = 0;
    words >> std::hex >> value;
    if (word == "pc") {
      const ElfSymbol* function = elf.function_at(value);
      place = fmt::format(" at {:#010x}", value);
      if (function != nullptr) place += fmt::format(" in {}+{:#x}", function->name, value - function->address);
    }
    if (word == "cfsr") status = value;
    if (word == "mmfar") memory_address = value;
    if (word == "bfar") bus_address = value;
  }
  std::vector<std::string> causes;
  for (const FaultBit& fault : kFaultBits) {
    if ((status >> fault.bit & 1) != 0) causes.emplace_back(fault.meaning);
  }
  constexpr std::uint32_t kMemoryAddressValid = 1 << 7;
  constexpr std::uint32_t kBusAddressValid = 1 << 15;
  std::string text = fmt::format("the board stopped with a {}{}", name, place);
  if (!causes.empty()) text += fmt::format(": {}", fmt::join(causes, ", "));
  if ((status & kMemoryAddressValid) != 0) text += fmt::format(", address {:#010x}", memory_address);
  if ((status & kBusAddressValid) != 0) text += fmt::format(", address {:#010x}", bus_address);
  return text + fmt::format("\n  {}", line);
}

[[noreturn]] void report_missing_emulator(const std::string& why) {
  throw InputError({.problem = fmt::format("{} cannot be run: {}", kEmulator, why),
                    .advice = "install QEMU (Debian: apt install qemu-system-arm)"});
}

}  // namespace

EmulationResult emulate(const EmulationRequest& request, const Elf& elf) {
  std::vector<std::string> command = {kEmulator,
                                      "-M",
                                      std::string(request.board->name),
                                      "-nographic",
                                      "-monitor",
                                      "none",
                                      "-serial",
                                      "none",
                                      "-kernel",
                                      request.elf.string(),
                                      "-semihosting-config",
                                      "enable=on,target=native"};
  const bool counts = !request.count.markers.empty() || !request.count.scope.empty();
  if (counts) command.insert(command.end(), {"-plugin", plugin_option(request.count, elf)});

  const ProcessResult process = run_process(command, request.directory, request.time_limit);
  EmulationResult result;
  result.console = split_lines(process.output);
  if (process.not_found) report_missing_emulator(process.output);
  if (process.timed_out) {
    throw InputError(
        {.problem = fmt::format("the firmware did not finish within {:g} s on {}",
                                static_cast<double>(request.time_limit.count()) / 1000.0, request.board->name),
         .advice = "give it more time with --timeout; if that does not help, it hangs"});
  }
  for (const std::string& line : result.console) {
    if (process.status == kExceptionStatus && line.starts_with("exception ")) throw BoardFault(explain(line, elf));
  }
  if (process.signal != 0) {
    throw BoardFault(fmt::format("the emulator was terminated by signal {}{}: {}", process.signal,
                                 process.signal == SIGABRT ? ", which happens when the guest locks up" : "",
                                 fmt::join(result.console, "\n  ")));
  }
  result.status = process.status;
  if (counts && process.status == 0) result.counts = read_counts(request.directory / kCountsFile);
  return result;
}

}  // namespace cormorant
