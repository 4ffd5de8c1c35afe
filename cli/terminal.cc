// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <memory>

namespace cormorant::cli {
namespace {

std::string coloured(const char* text, const char* code) {
  const bool is_plain = isatty(STDERR_FILENO) == 0 || std::getenv("NO_COLOR") != nullptr;
  return is_plain ? text : fmt::format("\033[{}m{}\033[0m", code, text);
}

}  // namespace

std::string error_label() { return coloured("error:", "1;31"); }
std::string warning_label() { return coloured("warning:", "33"); }

std::string progress_text(std::string_view task, std::size_t done, std::size_t total, double seconds) {
  const bool can_tell = done > 0 && done < total && seconds > 1;
  const double left = can_tell ? seconds * static_cast<double>(total - done) / static_cast<double>(done) : 0;
  return fmt::format("{} {}/{}{}", task, done, total, can_tell ? fmt::format(", about {:.0f} s left", left) : "");
}

Progress terminal_progress() {
  if (isatty(STDERR_FILENO) == 0) return {};
  using Clock = std::chrono::steady_clock;
  struct Times {
    Clock::time_point start = Clock::now(), shown = start;
  };
  return [times = std::make_shared<Times>()](std::string_view task, std::size_t done, std::size_t total) {
    const Clock::time_point now = Clock::now();
    if (done == 0) times->start = now;
    if (done != total && now - times->shown < std::chrono::milliseconds(100)) return;
    times->shown = now;
    const std::chrono::duration<double> seconds = now - times->start;
    fmt::print(stderr, "\r\033[K{}{}", progress_text(task, done, total, seconds.count()),
               done == total ? "\r\033[K" : "");
  };
}

}  // namespace cormorant::cli
