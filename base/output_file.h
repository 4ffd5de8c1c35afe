// SPDX-License-Identifier: Apache-2.0
//
// Files are written completely or not at all: into a temporary file that is renamed when all bytes are on disk, so that
// a full disk or the end of the process leaves the old file intact. Host only.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace cormorant {

// Missing folders are created. Anything but a regular file (a pipe, /dev/stdout) is written directly. Throws InputError
// with the system's reason.
void write_output(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_output(const std::filesystem::path& path, std::string_view text);

// Throws what write_output() would throw if the file cannot be written; leaves the file alone, creates no folder.
void require_writable(const std::filesystem::path& path);

// The file or folder is removed, with its contents, when SIGINT, SIGTERM or SIGHUP ends the process, provided that
// remove_on_signals() was called once, early in main().
class RemovedOnSignal {
 public:
  explicit RemovedOnSignal(std::filesystem::path path);
  // The path that `make` creates and returns: no signal can intervene between creating and registering it.
  explicit RemovedOnSignal(const std::function<std::filesystem::path()>& make);
  ~RemovedOnSignal();
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  RemovedOnSignal(const RemovedOnSignal&) = delete;
  RemovedOnSignal& operator=(const RemovedOnSignal&) = delete;

 private:
  std::filesystem::path path_;
};
void remove_on_signals();

}  // namespace cormorant
