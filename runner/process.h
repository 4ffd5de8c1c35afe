// SPDX-License-Identifier: Apache-2.0
//
// Runs another program to its end or to a time limit, and keeps what it printed.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "base/output_file.h"

namespace cormorant {

struct ProcessResult {
  int status = 0;          // exit status; meaningless unless the program exited normally
  int signal = 0;          // the signal that ended it, 0 if it exited
  bool timed_out = false;  // it was killed at the time limit
  bool not_found = false;  // there is no such program
  std::string output;      // stdout and stderr together, the first MiB

  [[nodiscard]] bool succeeded() const { return !timed_out && !not_found && signal == 0 && status == 0; }
};

// The program is looked up in PATH. It and its children end with this process, or at the time limit at the latest.
// `temporary`, an absolute path, becomes its TMPDIR; empty: it keeps ours.
ProcessResult run_process(const std::vector<std::string>& command, const std::filesystem::path& directory,
                          std::chrono::milliseconds time_limit, const std::filesystem::path& temporary = {});

// A fresh directory that disappears with the object, or with the process if a signal ends it. Throws InputError.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return guard_.path(); }

 private:
  RemovedOnSignal guard_;
};

}  // namespace cormorant
