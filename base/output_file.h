// SPDX-License-Identifier: Apache-2.0
//
// Files that we write are there whole or not at all: they are written beside their name and take it when all bytes are
// on the disk, so that a full disk or the end of the process leaves what was there. Host only.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace cormorant {

// Folders that are missing are made. What is no regular file (a pipe, /dev/stdout) is written as it is. Throws
// InputError with the system's reason.
void write_output(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_output(const std::filesystem::path& path, std::string_view text);

// Throws what write_output() would throw where nothing may be written; leaves the file as it is, and makes no folder.
void require_writable(const std::filesystem::path& path);

// The path of the file or folder goes, with what is in it, when SIGINT, SIGTERM or SIGHUP end the process, which they
// do only after remove_on_signals() was called once, early in main().
class RemovedOnSignal {
 public:
  explicit RemovedOnSignal(std::filesystem::path path);
  // What `make` makes and names: no signal comes between the making and the note of it.
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
