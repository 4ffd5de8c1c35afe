// SPDX-License-Identifier: Apache-2.0
#include "base/output_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "base/diagnostic.h"

namespace cormorant {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, int error) {
  const bool is_full = error == ENOSPC || error == EDQUOT;
  throw InputError({.problem = "cannot write the file: " + std::generic_category().message(error),
                    .advice = is_full ? "make room on the disk" : "check the path and its permissions",
                    .file = path.string()});
}

// errno of what went wrong, 0 if nothing did.
int write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

// As open() would set it, or as the replaced file has it.
mode_t mode_for(const fs::path& path) {
  struct stat known = {};
  if (::stat(path.c_str(), &known) == 0) return known.st_mode & 07777;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

void write_in_place(const fs::path& path, std::span<const std::byte> bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) fail(path, errno);
  const int error = write_all(file, bytes);
  if (::close(file) != 0 && error == 0) fail(path, errno);
  if (error != 0) fail(path, error);
}

void write_beside(const fs::path& path, std::span<const std::byte> bytes) {
  std::string name = (path.parent_path() / ("." + path.filename().string() + ".XXXXXX")).string();
  int file = -1;
  const RemovedOnSignal guard([&] {
    // Here, where no signal can intervene: a folder that was removed by one must not come back.
    std::error_code missing;
    if (path.has_parent_path()) fs::create_directories(path.parent_path(), missing);
    if (missing) fail(path, missing.value());
    file = ::mkostemp(name.data(), O_CLOEXEC);
    if (file < 0) fail(path, errno);
    return fs::path(name);
  });
  int error = write_all(file, bytes);
  if (error == 0 && ::fchmod(file, mode_for(path)) != 0) error = errno;
  if (error == 0 && ::fsync(file) != 0 && errno != EINVAL) error = errno;
  if (::close(file) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(name.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(name.c_str());
  fail(path, error);
}

// A link stays a link: its target is replaced.
fs::path target_of(const fs::path& path) {
  std::error_code error;
  const fs::path target = fs::is_symlink(path, error) ? fs::weakly_canonical(path, error) : path;
  return error ? path : target;
}

struct Doomed {
  std::mutex mutex;
  std::vector<fs::path> paths;
};
Doomed& doomed() {
  static auto* const instance = new Doomed;  // the thread below may outlive static objects
  return *instance;
}

}  // namespace

void write_output(const fs::path& path, std::span<const std::byte> bytes) {
  std::error_code ignored;
  const fs::path target = target_of(path);
  if (fs::exists(target, ignored) && !fs::is_regular_file(target, ignored)) return write_in_place(target, bytes);
  write_beside(target, bytes);
}

void write_output(const fs::path& path, std::string_view text) { write_output(path, std::as_bytes(std::span(text))); }

void require_writable(const fs::path& path) {
  const fs::path target = target_of(path);
  std::error_code ignored;
  if (fs::is_directory(target, ignored)) fail(path, EISDIR);
  if (fs::exists(target, ignored) && ::access(target.c_str(), W_OK) != 0) fail(path, errno);
  fs::path folder = target.parent_path();
  while (!folder.empty() && !fs::exists(folder, ignored)) folder = folder.parent_path();  // the rest will be created
  if (folder.empty()) folder = ".";
  if (!fs::is_directory(folder, ignored)) fail(path, ENOTDIR);
  if (::access(folder.c_str(), W_OK) != 0) fail(path, errno);
}

RemovedOnSignal::RemovedOnSignal(fs::path path) : path_(std::move(path)) {
  const std::scoped_lock lock(doomed().mutex);
  doomed().paths.push_back(path_);
}

RemovedOnSignal::RemovedOnSignal(const std::function<fs::path()>& make) {
  const std::scoped_lock lock(doomed().mutex);
  path_ = make();
  doomed().paths.push_back(path_);
}

RemovedOnSignal::~RemovedOnSignal() {
  const std::scoped_lock lock(doomed().mutex);
  std::erase(doomed().paths, path_);
}

// A dedicated thread waits for the signals, because a handler may do next to nothing.
void remove_on_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction known = {};
    sigaction(signal, nullptr, &known);
    if (known.sa_handler != SIG_IGN) sigaddset(&signals, signal);  // nohup stays nohup
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([signals] {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) return;
    const std::scoped_lock lock(doomed().mutex);  // never released: nothing is created from here on
    for (const fs::path& path : doomed().paths) {
      constexpr int kAttempts = 100;  // processes that we started may still put files there
      std::error_code ignored;
      for (int i = 0; i < kAttempts && fs::exists(path, ignored); ++i) fs::remove_all(path, ignored);
    }
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    raise(signal);
  }).detach();
}

}  // namespace cormorant
