// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>
#include <system_error>

#include "base/diagnostic.h"
#include "base/output_file.h"
#include "cli/cli.h"
#include "cli/terminal.h"
#include "runner/emulator.h"

namespace {

// Results that cannot be delivered are an error.
void flush_output() {
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout) return;
  throw std::system_error(errno, std::generic_category(), "cannot write to standard output");
}

}  // namespace

// Exit status: 0 done; 1 the model or data is at fault; 2 the command line is at fault; 3 an internal error.
int main(int argc, char** argv) {
  CLI::App app("Cormorant: compile PyTorch models for Arm Cortex-M, with every byte planned ahead of time",
               "cormorant");
  app.require_subcommand(0, 1);
  app.set_help_all_flag("--help-all", "Print help for all commands");
  app.set_version_flag("--version", "cormorant " CORMORANT_VERSION);
  app.footer(
      "Examples:\n"
      "  cormorant compile model.pt2 --calibrate samples.npz --target=cortex-m55 -o model.pte\n"
      "  cormorant run model.pte --target=cortex-m55 --input x.npy          on an emulated board\n"
      "  cormorant evaluate model.pte --data test.npz                       against the labels in it\n");
  app.failure_message([](const CLI::App* a, const CLI::Error& error) {
    const auto given = a->get_subcommands();
    const CLI::App* command = given.empty() ? a : given.front();
    std::string what = error.what();
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
      const std::vector<std::string> extras = a->remaining(true);
      if (!extras.empty()) what = cormorant::cli::explain_extra(*command, extras.front());
    }
    return fmt::format("{} {}\n  see cormorant{} --help\n", cormorant::cli::error_label(), what,
                       given.empty() ? "" : " " + command->get_name());
  });
  cormorant::cli::add_compile(app);
  cormorant::cli::add_run(app);
  cormorant::cli::add_inspect(app);
  cormorant::cli::add_evaluate(app);
  cormorant::cli::add_about(app);
  cormorant::remove_on_signals();
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty())
      throw cormorant::UsageError("no command given\n  use compile, run, inspect or evaluate; see cormorant --help");
    flush_output();
    return 0;
  } catch (const CLI::RuntimeError& error) {  // the command has reported the error
    return error.get_exit_code();
  } catch (const CLI::ParseError& error) {
    if (app.exit(error, std::cout, std::cerr) != 0) return 2;
    return std::cout.flush() ? 0 : 1;
  } catch (const cormorant::UsageError& error) {
    fmt::print(stderr, "{} {}\n", cormorant::cli::error_label(), error.what());
    return 2;
  } catch (const cormorant::InputError& error) {
    fmt::print(stderr, "{} {}\n", cormorant::cli::error_label(), error.what());
    return 1;
  } catch (const cormorant::BoardFault& error) {  // the firmware stopped; the message says why
    fmt::print(stderr, "{} {}\n", cormorant::cli::error_label(), error.what());
    return 1;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "{} {}\n", cormorant::cli::error_label(), cormorant::cli::kOutOfMemory);
    return 1;
  } catch (const std::system_error& error) {  // disk, permissions, processes: the environment is at fault
    fmt::print(stderr, "{} {}\n", cormorant::cli::error_label(), error.what());
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr,
               "internal error: {}\n  this is a bug in cormorant; please report it with the command and the model\n",
               error.what());
    return 3;
  }
}
