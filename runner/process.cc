// SPDX-License-Identifier: Apache-2.0
#include "runner/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/diagnostic.h"

namespace cormorant {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMaxOutput = 1 << 20;

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  void reset() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

struct Pipe {
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe");
  }
  std::array<int, 2> ends{};
};

// In a child that shares our memory until exec (vfork): nothing but system calls. Writes errno to `report` on failure.
[[noreturn]] void become(char* const* arguments, char* const* environment, const char* directory, int output,
                         int report) {
  setpgid(0, 0);
  sigset_t none;  // what we block to clean up after a signal is not theirs to inherit
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core = {0, 0};  // QEMU aborts when the guest locks up
  setrlimit(RLIMIT_CORE, &no_core);
  const int input = open("/dev/null", O_RDONLY);
  if (input >= 0 && dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
      dup2(output, STDERR_FILENO) >= 0 && chdir(directory) == 0) {
    execvpe(arguments[0], arguments, environment);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(report, &error, sizeof error);
  _exit(127);
}

// Appends what the program prints until it closes its output; false at the deadline.
bool collect(int fd, Clock::time_point deadline, std::string& output) {
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd wait = {fd, POLLIN, 0};
    const int ready = poll(&wait, 1, static_cast<int>(std::min<long long>(left, 60'000)));
    if (ready < 0 && errno != EINTR) fail("poll");
    if (ready <= 0) continue;
    const ssize_t bytes = read(fd, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return true;
    const std::size_t room = kMaxOutput - std::min(kMaxOutput, output.size());
    output.append(buffer.data(), std::min(room, static_cast<std::size_t>(bytes)));
  }
}

// False at the deadline. The program has closed its output, so the end is near: no need to be clever about waiting.
bool wait_for(pid_t child, Clock::time_point deadline, int& status) {
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return true;
    if (ended < 0 && errno != EINTR) fail("waitpid");
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace

ProcessResult run_process(const std::vector<std::string>& command, const std::filesystem::path& directory,
                          std::chrono::milliseconds time_limit, const std::filesystem::path& temporary) {
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::string folder = "TMPDIR=" + temporary.string();
  std::vector<char*> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const bool is_replaced = !temporary.empty() && std::string_view(*variable).starts_with("TMPDIR=");
    if (!is_replaced) variables.push_back(*variable);
  }
  if (!temporary.empty()) variables.push_back(folder.data());
  variables.push_back(nullptr);

  const Pipe output;
  const Pipe report;  // closed by a successful exec, else it brings errno
  Descriptor output_read(output.ends[0]);
  Descriptor output_write(output.ends[1]);
  Descriptor report_read(report.ends[0]);
  Descriptor report_write(report.ends[1]);
  const auto deadline = Clock::now() + time_limit;

  // Not fork: copying what a large process has mapped takes longer than most programs that we run.
  const pid_t child = vfork();  // NOLINT(clang-analyzer-*): posix_spawn cannot say that the child ends with us
  if (child < 0) fail("vfork");
  if (child == 0) become(arguments.data(), variables.data(), directory.c_str(), output.ends[1], report.ends[1]);
  setpgid(child, child);  // here as well: parent and child race
  output_write.reset();
  report_write.reset();

  ProcessResult result;
  int error = 0;
  if (read(report_read.get(), &error, sizeof error) == sizeof error) {
    waitpid(child, nullptr, 0);
    result.not_found = true;
    result.output = std::generic_category().message(error);
    return result;
  }
  int status = 0;
  const bool ended = collect(output_read.get(), deadline, result.output) && wait_for(child, deadline, status);
  if (!ended) {
    result.timed_out = true;
    kill(-child, SIGKILL);
    wait_for(child, Clock::time_point::max(), status);
  }
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

namespace {

std::filesystem::path make_directory() {
  const char* given = std::getenv("TMPDIR");
  const std::filesystem::path parent = given == nullptr || *given == '\0' ? "/tmp" : given;
  std::string name = (parent / "cormorant-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw InputError({.problem = "cannot create a temporary folder: " + std::generic_category().message(errno),
                      .advice = "set the environment variable TMPDIR to an existing, writable folder with free space",
                      .file = parent.string()});
  }
  return name;
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() : guard_(make_directory) {}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path(), ignored);
}

}  // namespace cormorant
