// SPDX-License-Identifier: Apache-2.0
#include "runner/launcher.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>

#include "base/diagnostic.h"
#include "base/output_file.h"
#include "base/result.h"
#include "boards/boards.h"
#include "fmt/format.h"
#include "runner/glue.h"
#include "runner/process.h"
#include "runner/state.h"

namespace cormorant {
namespace {

// The labels of runner/firmware/measure.S, in the order in which they are passed.
enum Marker : std::size_t { load_begin, load_end, execute_begin, execute_end };
const std::vector<std::string> kMarkers = {"cormorant_load_begin", "cormorant_load_end", "cormorant_execute_begin",
                                           "cormorant_execute_end"};
// For programs whose image arrives by rows, the labels of measure_rows.S.
const std::vector<std::string> kRowMarkers = {"cormorant_load_begin", "cormorant_load_end", "cormorant_push_begin",
                                              "cormorant_push_end"};

void write_samples(const std::filesystem::path& path, const std::vector<Sample>& samples, const ProgramFacts& facts) {
  std::vector<std::byte> all;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    if (samples[s].size() != facts.inputs.size()) {
      throw InputError({.problem = fmt::format("sample {} has {} inputs, but the program takes {}", s,
                                               samples[s].size(), facts.inputs.size()),
                        .advice = ""});
    }
    for (std::size_t i = 0; i < samples[s].size(); ++i) {
      const std::size_t bytes = facts.inputs[i].bytes * std::max<std::size_t>(facts.rows, 1);
      if (samples[s][i].size() != bytes) {
        throw InputError({.problem = fmt::format("input {} of sample {} has {} bytes, but the program takes {}", i, s,
                                                 samples[s][i].size(), bytes),
                          .advice = ""});
      }
      all.insert(all.end(), samples[s][i].begin(), samples[s][i].end());
    }
  }
  write_output(path, all);
}

void account_flash_and_ram(const Elf& elf, RunResult& result) {
  for (const ElfSection& section : elf.sections) {
    if (!section.is_allocated || section.name.starts_with(".harness") || section.name == ".stack" ||
        section.name == ".state") {
      continue;
    }
    if (section.name == ".model") {
      result.model_bytes += section.size;
    } else if (!section.name.starts_with(".arena")) {
      if (section.has_contents) result.code_bytes += section.size;
      if (section.name == ".data" || section.name == ".bss") result.state_bytes += section.size;
    }
  }
}

void account_code_and_stack(const Elf& elf, const std::filesystem::path& map, RunResult& result) {
  try {
    CallGraph graph(elf);
    const std::vector<KernelCode> kernels = read_operator_table(graph);
    result.code_parts = code_parts(graph, kernels, map);
    result.stack_bound = bound_stack(graph, kernels);
  } catch (const StackError& error) {
    result.why_unbounded = error.what();
  }
}

// The harness's lines begin with a key; anything else on the console is not for us.
std::vector<std::uint64_t> numbers_of(const std::vector<std::string>& console, const std::string& key) {
  std::vector<std::uint64_t> numbers;
  for (const std::string& line : console) {
    if (!line.starts_with(key + " ")) continue;
    std::istringstream words(line.substr(key.size()));
    std::uint64_t number = 0;
    for (std::string word; words >> word;) {
      std::istringstream value(word);
      if (value >> number) numbers.push_back(number);
    }
  }
  return numbers;
}

[[noreturn]] void report_load_failure(const std::vector<std::string>& console, const ProgramFacts& facts) {
  const std::vector<std::uint64_t> numbers = numbers_of(console, "load");
  if (numbers.size() != 5) throw BoardFault("the board could not load the program and did not say why");
  const auto error = static_cast<Error>(numbers[0]);
  const std::uint64_t instruction = numbers[1];
  const std::uint64_t argument = numbers[2];
  std::string problem = fmt::format("the board cannot load the program: {} (error {})", describe(error), numbers[0]);
  std::string node;
  if (instruction < facts.steps.size()) {
    node = fmt::format("{} (instruction {})", facts.steps[instruction], instruction);
    constexpr std::uint64_t kNone = 0xffff;
    if (argument != kNone) problem += fmt::format(", argument {}", argument);
  }
  if (numbers[3] != 0 || numbers[4] != 0) problem += fmt::format(": {} required, {} given", numbers[3], numbers[4]);
  throw InputError({.problem = problem, .advice = "", .node = node});
}

void check_ending(const EmulationResult& emulation, const ProgramFacts& facts) {
  const bool is_done = std::ranges::find(emulation.console, "done") != emulation.console.end();
  if (emulation.status == 0 && is_done) return;
  for (const std::string& line : emulation.console) {
    if (line.starts_with("error ")) throw InputError({.problem = line.substr(6), .advice = ""});
    if (line.starts_with("load ") && line != "load 0") report_load_failure(emulation.console, facts);
  }
  std::string words;
  for (const std::string& line : emulation.console) words += "\n  " + line;
  throw BoardFault(fmt::format("the board exited with status {} before finishing:{}", emulation.status, words));
}

std::vector<Sample> read_outputs(const std::filesystem::path& path, std::size_t samples,
                                 const std::vector<IoFacts>& facts) {
  std::ifstream file(path, std::ios::binary);
  std::vector<Sample> outputs(samples);
  for (Sample& sample : outputs) {
    for (const IoFacts& tensor : facts) {
      std::vector<std::byte>& output = sample.emplace_back(tensor.bytes);
      file.read(reinterpret_cast<char*>(output.data()), static_cast<std::streamsize>(tensor.bytes));
    }
  }
  if (!file) throw BoardFault("the firmware wrote fewer outputs than it reported");
  return outputs;
}

// marker load_begin, load_end, then per sample execute_begin, excursions (with profile), execute_end; of an image that
// arrives by rows the latter for each of them.
void account_instructions(const std::vector<CountEvent>& events, const ProgramFacts& facts,
                          const std::vector<KernelChoice>& kernels, RunResult& result) {
  CountEvent begin{};
  std::vector<CountEvent> steps;
  std::size_t parts = 0;  // of the sample, that have ended
  CountEvent sum{};
  for (const CountEvent& event : events) {
    const bool is_first_sample = result.sample_instructions.empty();
    if (event.kind == CountEvent::Kind::excursion && is_first_sample) steps.push_back(event);
    if (event.kind != CountEvent::Kind::marker) continue;
    if (event.marker == load_begin || event.marker == execute_begin) begin = event;
    if (event.marker == load_end) {
      result.load_instructions = event.count - begin.count;
      result.load_cycles = event.cycles - begin.cycles;
    }
    if (event.marker == execute_end) {
      sum.count += event.count - begin.count;
      sum.cycles += event.cycles - begin.cycles;
      if (++parts < facts.rows) continue;
      if (is_first_sample) result.execute_cycles = sum.cycles;
      result.sample_instructions.push_back(sum.count);
      sum = {};
      parts = 0;
    }
  }
  if (!result.sample_instructions.empty()) result.execute_instructions = result.sample_instructions.front();
  if (steps.empty()) return;
  const std::size_t taken = std::max<std::size_t>(facts.rows, 1);  // so often the step that takes rows
  if (steps.size() != facts.steps.size() + taken - 1) {
    throw BoardFault(
        fmt::format("{} steps were counted, but the program has {}", steps.size(), facts.steps.size() + taken - 1));
  }
  for (std::size_t i = 0, next = 0; i < facts.steps.size(); ++i) {
    const auto kernel = std::ranges::find(kernels, facts.steps[i], &KernelChoice::operator_name);
    StepProfile& step = result.steps.emplace_back(facts.steps[i], kernel == kernels.end() ? "" : kernel->symbol, 0, 0);
    for (std::size_t times = i == facts.taker ? taken : 1; times != 0; --times, ++next) {
      step.instructions += steps[next].count;
      step.cycles += steps[next].cycles;
    }
  }
}

// The cost of the stages of groups of rows: the entries of all kernels are markers, after those of measure.S, and what
// comes between two of them is the first one's. The order in which the program enters them is known, so that each can
// be distinguished from others with the same kernel; if it is not as expected, groups keep their cost.
class StageAccount {
 public:
  StageAccount(const Elf& elf, const ProgramFacts& facts, const std::vector<KernelChoice>& kernels) : facts_(facts) {
    for (const std::string& instruction : facts.instructions) {
      const auto kernel = std::ranges::find(kernels, instruction, &KernelChoice::operator_name);
      marker_of_.push_back(kernel == kernels.end() ? 0 : marker_at(elf, kernel->symbol));
    }
  }

  // Where there are markers: entries of functions, whose names need not be unique.
  [[nodiscard]] const std::vector<std::uint32_t>& entries() const { return entries_; }

  void run(const std::vector<CountEvent>& events, RunResult& result) const {
    for (std::size_t i = facts_.steps.size(); i < facts_.instructions.size(); ++i) {
      result.steps.push_back({.operator_name = facts_.instructions[i], .kernel = {}, .part_of = 0});
    }
    for (const GroupFacts& group : facts_.groups) {
      for (const auto& part : group.parts) {
        for (const std::size_t stage : part) {
          if (stage < result.steps.size()) result.steps[stage].part_of = group.step;
        }
      }
    }
    const std::vector<std::size_t> expected = expected_entries();
    const std::vector<CountEvent> seen = costs(events);
    const auto is_as_expected = [&](std::size_t i) { return seen[i].marker == marker_of_.at(expected[i]); };
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (seen.size() != expected.size() || !is_as_expected(i)) return;
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      StepProfile& stage = result.steps[expected[i]];
      if (!stage.part_of) continue;
      StepProfile& group = result.steps[*stage.part_of];
      const std::uint64_t instructions = std::min(seen[i].count, group.instructions);
      const std::uint64_t cycles = std::min(seen[i].cycles, group.cycles);
      stage.instructions += instructions;
      group.instructions -= instructions;
      stage.cycles += cycles;
      group.cycles -= cycles;
    }
  }

 private:
  // The marker at the entry of a kernel's execute().
  std::size_t marker_at(const Elf& elf, const std::string& kernel) {
    const ElfSymbol* const symbol = elf.find(kernel);
    if (symbol == nullptr) return 0;
    const std::uint32_t entry = elf.word(symbol->address + 8).value_or(0) & ~1U;
    const auto known = std::ranges::find(entries_, entry);
    const auto index = static_cast<std::size_t>(known - entries_.begin());
    if (known == entries_.end()) entries_.push_back(entry);
    return kMarkers.size() + index;
  }

  // Instructions, in the order in which one execution enters them.
  [[nodiscard]] std::vector<std::size_t> expected_entries() const {
    std::vector<std::size_t> expected;
    const std::size_t parts = std::max<std::size_t>(facts_.rows, 1);
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t end = part + 1 == parts ? facts_.steps.size() : facts_.taker + 1;
      for (std::size_t step = part == 0 ? 0 : facts_.taker; step < end; ++step) {
        expected.push_back(step);
        const auto group = std::ranges::find(facts_.groups, step, &GroupFacts::step);
        if (group == facts_.groups.end()) continue;
        const std::size_t own = facts_.rows != 0 && step == facts_.taker ? part : 0;
        if (own >= group->parts.size()) return {};
        expected.insert(expected.end(), group->parts[own].begin(), group->parts[own].end());
      }
    }
    return expected;
  }

  // The cost from each marker of the first sample to the next one.
  [[nodiscard]] std::vector<CountEvent> costs(const std::vector<CountEvent>& events) const {
    std::vector<CountEvent> seen;
    bool is_inside = false;
    std::size_t parts = 0;
    bool has_open = false;  // the last one's end is not known yet
    for (const CountEvent& event : events) {
      if (event.kind != CountEvent::Kind::marker) continue;
      if (event.marker == execute_begin) is_inside = true;
      if (has_open && (event.marker == execute_end || event.marker >= kMarkers.size())) {
        seen.back().count = event.count - seen.back().count;
        seen.back().cycles = event.cycles - seen.back().cycles;
        has_open = false;
      }
      if (is_inside && event.marker >= kMarkers.size()) {
        seen.push_back(event);
        has_open = true;
      }
      if (event.marker == execute_end) {
        is_inside = false;
        if (++parts >= facts_.rows) break;
      }
    }
    return seen;
  }

  const ProgramFacts& facts_;
  std::vector<std::uint32_t> entries_;  // one marker each
  std::vector<std::size_t> marker_of_;  // by instruction; 0 for none
};

const Board& board_for(const Cpu& cpu, const std::string& name) {
  const Board* const board = find_board(name.empty() ? cpu.board : std::string_view(name));
  if (board == nullptr) {
    std::string names;
    for (const Board& known : kBoards) names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
    throw UsageError(fmt::format("unknown board '{}'\n  the boards are {}", name, names));
  }
  // Test boards run whatever their CPU can; a real board runs only its own CPU's code.
  if (!name.empty() && board->archive != cpu.archive) {
    throw UsageError(
        fmt::format("{} has a {}, not a {}\n  name that CPU with --target", board->name, board->cpu, cpu.name));
  }
  return *board;
}

void require_room(const RunRequest& request, const Board& board) {
  if (request.program.size() <= board.model_bytes) return;
  throw InputError({.problem = fmt::format("the program has {} bytes, but {} has room for {}", request.program.size(),
                                           board.name, board.model_bytes),
                    .advice = ""});
}

struct Linked {
  std::filesystem::path path;
  Elf elf;
  std::vector<KernelChoice> kernels;
};

// The model and the table of its kernels are the only new code.
Linked link_program(const RunRequest& request, const ProgramFacts& facts, const Board& board,
                    const std::filesystem::path& directory) {
  const Cpu& cpu = *request.target.cpu;
  const std::filesystem::path archives = archive_directory(cpu, request.compiler);
  Linked linked{.path = directory / "firmware.elf", .elf = {}, .kernels = {}};
  write_output(directory / "model.pte", request.program);
  linked.kernels =
      choose_kernels(facts.operators, request.target, archive_symbols(archives / "libkernels.a"), facts.of_numbers);
  const std::string glue = assembly({.model = "model.pte",
                                     .method = request.method,
                                     .kernels = linked.kernels,
                                     .arenas = place_arenas(facts.arena_bytes, board, facts.arena_names),
                                     .pushes_rows = facts.rows != 0});
  write_output(directory / "model.S", glue);
  std::vector<std::string> link = {"model.S"};
  if (request.account) link.emplace_back("-Wl,-Map=firmware.map");
  link_firmware(archives, board.name, link, linked.path);
  if (!request.keep_elf.empty()) {
    std::ifstream elf_file(linked.path, std::ios::binary);
    write_output(request.keep_elf, std::string(std::istreambuf_iterator<char>(elf_file), {}));
  }
  linked.elf = read_elf(linked.path);
  if (!is_code_for(linked.elf, cpu)) {
    throw std::runtime_error(fmt::format("the firmware contains code that a {} cannot execute", cpu.name));
  }
  return linked;
}

// All samples in one boot.
EmulationResult run_samples(const RunRequest& request, const ProgramFacts& facts, const Board& board,
                            const Linked& linked, const std::optional<StageAccount>& stages,
                            const std::filesystem::path& directory) {
  if (request.until == RunRequest::Until::executed) write_samples(directory / "inputs.bin", request.samples, facts);
  if (request.steps > 0) {
    const auto steps = static_cast<std::uint32_t>(request.steps);
    write_output(directory / "steps.bin", std::as_bytes(std::span(&steps, 1)));
  }
  const bool is_fed = facts.rows != 0;
  EmulationResult emulation =
      emulate({.elf = linked.path,
               .board = &board,
               .directory = directory,
               .time_limit = request.time_limit,
               .count = {.markers = is_fed ? kRowMarkers : kMarkers,
                         .scope = !request.profile ? ""
                                  : is_fed         ? "cormorant_push_rows"
                                                   : "cormorant_inference_execute",
                         .cpu = request.estimate_cycles ? std::string(request.target.cpu->name) : "",
                         .addresses = stages ? stages->entries() : std::vector<std::uint32_t>()}},
              linked.elf);
  check_ending(emulation, facts);
  return emulation;
}

}  // namespace

RunResult run_on_board(const RunRequest& request) {
  return run_on_board(request, read_facts(request.program, request.method));
}

RunResult run_on_board(const RunRequest& request, const ProgramFacts& facts) {
  if (request.target.is_any()) {
    throw UsageError("running needs a specific CPU: name it, e.g. --target=cortex-m55");
  }
  const Board& board = board_for(*request.target.cpu, request.board);
  require_room(request, board);
  const TemporaryDirectory directory;
  const Linked linked = link_program(request, facts, board, directory.path());

  RunResult result;
  account_flash_and_ram(linked.elf, result);
  if (request.account) account_code_and_stack(linked.elf, directory.path() / "firmware.map", result);
  result.arena_bytes = std::accumulate(facts.arena_bytes.begin(), facts.arena_bytes.end(), std::uint64_t{0});
  if (request.until == RunRequest::Until::linked) {
    result.state_bytes += state_bytes(request.program, facts, request.method, request.target);
    return result;
  }

  std::optional<StageAccount> stages;
  if (request.profile && !facts.groups.empty()) stages.emplace(linked.elf, facts, linked.kernels);
  const EmulationResult emulation = run_samples(request, facts, board, linked, stages, directory.path());
  result.console = emulation.console;
  for (const std::uint64_t bytes : numbers_of(emulation.console, "state")) result.state_bytes += bytes;
  for (const std::uint64_t bytes : numbers_of(emulation.console, "stack")) {
    result.stack_bytes = std::max(result.stack_bytes, bytes);
  }
  account_instructions(emulation.counts, facts, linked.kernels, result);
  if (stages) stages->run(emulation.counts, result);
  if (request.until == RunRequest::Until::executed) {
    result.outputs = read_outputs(directory.path() / "outputs.bin", result.sample_instructions.size(), facts.outputs);
  }
  return result;
}

}  // namespace cormorant
