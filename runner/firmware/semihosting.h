// SPDX-License-Identifier: Apache-2.0
//
// Arm semihosting, the harness's only way out of the board: a breakpoint that the emulator (or a debugger) answers. It
// needs no device driver, so it is the same on every board. Files are relative to the emulator's working directory.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cormorant::semihosting {

// Exit codes that the launcher distinguishes; the console says the rest.
enum class ExitCode : std::uint32_t { done = 0, load_failed = 1, io_failed = 2, exception = 3 };

void print(const char* text);
void print(std::uint32_t value);      // decimal
void print_hex(std::uint32_t value);  // 0x0123abcd

// A line of the report, "key value key value…": print_line("state ", 812, " of ", 4096).
template <class... Parts>
void print_line(Parts... parts) {
  (print(parts), ...);
  print("\n");
}

enum class Mode : std::uint32_t { read = 1, write = 5, append = 9 };  // fopen's "rb", "wb" and "ab"

class File {
 public:
  File(const char* name, Mode mode);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] bool is_open() const { return handle_ >= 0; }
  [[nodiscard]] std::uint32_t size() const;
  // False if fewer bytes were transferred than requested.
  [[nodiscard]] bool read(void* data, std::size_t bytes);
  [[nodiscard]] bool write(const void* data, std::size_t bytes);

 private:
  std::int32_t handle_;
};

[[noreturn]] void exit(ExitCode code);

}  // namespace cormorant::semihosting
