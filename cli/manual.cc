// SPDX-License-Identifier: Apache-2.0
//
// The manual page, written from the options themselves.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/cli.h"

namespace cormorant::cli {
namespace {

// Text that troff takes as it is.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

void write_options(const CLI::App& command, std::string& page) {
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->nonpositional() ? option->get_name(false, true) : option->get_name(true);
    page += fmt::format(".TP\n.B {}\n{}\n", plain(name), plain(option->get_description()));
  }
}

}  // namespace

std::string manual_page(const CLI::App& app, std::string_view version) {
  std::string page =
      fmt::format(".\\\" SPDX-License-Identifier: Apache-2.0\n.TH CORMORANT 1 \"\" \"cormorant {}\"\n", version);
  page += fmt::format(".SH NAME\ncormorant \\- {}\n.SH SYNOPSIS\n", plain(app.get_description()));
  for (const CLI::App* command : app.get_subcommands({})) {
    page += fmt::format(".B cormorant {}\n[options]\n.br\n", command->get_name());
  }
  for (const CLI::App* command : app.get_subcommands({})) {
    std::string title = command->get_name();
    for (char& c : title) c = static_cast<char>(std::toupper(c));
    page += fmt::format(".SH {}\n{}.\n", title, plain(command->get_description()));
    write_options(*command, page);
    if (!command->get_footer().empty()) page += fmt::format(".PP\n.nf\n{}\n.fi\n", command->get_footer());
  }
  page +=
      ".SH EXIT STATUS\n.TP\n.B 0\ndone\n.TP\n.B 1\nthe model or the data is at fault\n.TP\n.B 2\nthe command line is "
      "at fault\n"
      ".TP\n.B 3\nan internal error: a bug\n";
  return page;
}

}  // namespace cormorant::cli
