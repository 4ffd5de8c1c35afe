// SPDX-License-Identifier: Apache-2.0
//
// Commands about the program itself: targets, operators, completion.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/suggest.h"
#include "cli/cli.h"
#include "ops/host/spellings.h"
#include "target/parse.h"

namespace cormorant::cli {
namespace {

void print_targets(bool as_json) {
  auto json = nlohmann::ordered_json::array();
  if (!as_json) fmt::print("{:<15} {:<18} {:<5} {}\n", "target", "ISA", "FPU", "emulated board");
  for (const Cpu& cpu : kCpus) {
    if (as_json) {
      json.push_back({{"target", cpu.name}, {"isa", name_of(cpu.isa)}, {"fpu", cpu.has_fpu}, {"board", cpu.board}});
    } else {
      fmt::print("{:<15} {:<18} {:<5} {}\n", cpu.name, isas_of(cpu), cpu.has_fpu ? "yes" : "no", cpu.board);
    }
  }
  if (as_json) return fmt::print("{}\n", nlohmann::ordered_json{{"targets", json}}.dump(2));
  fmt::print("{:<15} {:<18} one program for all of them, slower\n", "any", "scalar");
}

void print_operators(bool as_json) {
  using ops::Precision;
  auto json = nlohmann::ordered_json::array();
  for (const ops::Operator& op : ops::all_operators()) {
    if (op.forms.empty()) continue;
    std::vector<std::string> precisions;
    for (const auto& [precision, name] : {std::pair{Precision::w8a8, "8w8a"},
                                          {Precision::w8a16, "8w16a"},
                                          {Precision::w4a8, "4w8a"},
                                          {Precision::f32, "float"}}) {
      if (op.has(precision)) precisions.emplace_back(name);
    }
    if (as_json) {
      json.push_back({{"operator", op.name},
                      {"spellings", ops::spellings(op)},
                      {"precisions", precisions},
                      {"limits", op.limits}});
    } else {
      fmt::print("{:<20} {:<22} {}\n", op.name, fmt::format("{}", fmt::join(precisions, " ")),
                 fmt::join(ops::spellings(op), " "));
    }
  }
  if (as_json) fmt::print("{}\n", nlohmann::ordered_json{{"operators", json}}.dump(2));
}

// ---- completion -----------------------------------------------------------------------------------------------------

struct Command {
  std::string name, about;
  std::vector<std::string> options;
};

std::vector<Command> commands_of(const CLI::App& app) {
  std::vector<Command> commands;
  for (const CLI::App* command : app.get_subcommands({})) {
    Command known{command->get_name(), command->get_description(), {}};
    for (const CLI::Option* option : command->get_options()) {
      for (const std::string& name : option->get_lnames()) known.options.push_back("--" + name);
    }
    commands.push_back(std::move(known));
  }
  return commands;
}

std::string target_names() {
  std::string names;
  for (const Cpu& cpu : kCpus) names += std::string(cpu.name) + " ";
  return names + "any";
}

std::string bash_completion(const std::vector<Command>& commands) {
  std::string names, cases;
  for (const Command& command : commands) {
    names += (names.empty() ? "" : " ") + command.name;
    cases += fmt::format("    {}) options=\"{}\" ;;\n", command.name, fmt::join(command.options, " "));
  }
  return fmt::format(R"(# bash completion for cormorant: source it, or put it into /etc/bash_completion.d
_cormorant() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} options=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "{0} --help --version" -- "$word"))
    return
  fi
  # --target=cortex-m55 is three words to bash.
  [ "$word" = "=" ] && word=""
  [ "$before" = "=" ] && before=${{COMP_WORDS[COMP_CWORD-2]}}
  case $before in
    -t | --target) COMPREPLY=($(compgen -W "{1} host" -- "$word")); return ;;
  esac
  case ${{COMP_WORDS[1]}} in
{2}  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _cormorant cormorant
)",
                     names, target_names(), cases);
}

std::string zsh_completion(const std::vector<Command>& commands) {
  std::string names, cases;
  for (const Command& command : commands) {
    names += fmt::format("    {}\n", command.name);
    cases += fmt::format("    {}) options=({}) ;;\n", command.name, fmt::join(command.options, " "));
  }
  return fmt::format(R"(#compdef cormorant
# zsh completion for cormorant: put it into a folder of $fpath as _cormorant
_cormorant() {{
  local -a options words_known
  words_known=(
{0}  )
  if (( CURRENT == 2 )); then
    compadd -- $words_known --help --version
    return
  fi
  case $words[2] in
{2}  esac
  case $PREFIX in
    --target=*) compset -P '--target='; compadd -- {1} host ;;
    -*) compadd -- $options ;;
    *) _files ;;
  esac
}}
_cormorant "$@"
)",
                     names, target_names(), cases);
}

}  // namespace

void add_about(CLI::App& app) {
  auto as_json = std::make_shared<bool>(false);
  CLI::App* targets = app.add_subcommand("targets", "List the CPUs that programs can be compiled for");
  targets->add_flag("--json", *as_json, "Print one JSON object and nothing else");
  targets->callback([as_json] { print_targets(*as_json); });

  CLI::App* operators =
      app.add_subcommand("operators", "List PyTorch's operators that compile, and in which precisions");
  operators->add_flag("--json", *as_json, "Print one JSON object and nothing else");
  operators->callback([as_json] { print_operators(*as_json); });

  auto shell = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand("completion", "Print a shell completion script");
  completion->add_option("shell", *shell, "bash or zsh")->required()->check(CLI::IsMember({"bash", "zsh"}));
  completion->callback([shell, &app] {
    const std::vector<Command> commands = commands_of(app);
    fmt::print("{}", *shell == "bash" ? bash_completion(commands) : zsh_completion(commands));
  });

  CLI::App* manual = app.add_subcommand("manual", "Print the manual page: cormorant manual | man -l -");
  manual->callback([&app] { fmt::print("{}", manual_page(app, CORMORANT_VERSION)); });
}

namespace {

// Which commands have this option.
std::vector<std::string> commands_with(const CLI::App* parent, const std::string& option) {
  std::vector<std::string> found;
  if (parent == nullptr) return found;
  for (const CLI::App* command : parent->get_subcommands({})) {
    if (command->get_option_no_throw(option) != nullptr) found.push_back(command->get_name());
  }
  return found;
}

}  // namespace

std::string explain_extra(const CLI::App& app, const std::string& extra) {
  if (extra.starts_with("-")) {
    std::vector<std::string> known;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    const std::string name = extra.substr(0, extra.find('='));
    const std::vector<std::string> owners = commands_with(app.get_parent(), name);
    if (!owners.empty()) {
      return fmt::format("{} is not an option of {} but of {}", name, app.get_name(), fmt::join(owners, ", "));
    }
    return fmt::format("unknown option {}{}", name, did_you_mean(name, known));
  }
  std::vector<std::string> known;
  for (const CLI::App* command : app.get_subcommands({})) known.push_back(command->get_name());
  if (known.empty()) return fmt::format("unexpected argument '{}'", extra);
  return fmt::format("unknown command '{}'{}", extra, did_you_mean(extra, known));
}

}  // namespace cormorant::cli
