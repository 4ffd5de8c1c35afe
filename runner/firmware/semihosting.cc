// SPDX-License-Identifier: Apache-2.0
#include "runner/firmware/semihosting.h"

namespace cormorant::semihosting {
namespace {

enum class Operation : std::uint32_t {
  open = 0x01,
  close = 0x02,
  write0 = 0x04,
  write = 0x05,
  read = 0x06,
  file_length = 0x0c,
  exit_extended = 0x20,
};

std::int32_t call(Operation operation, const void* parameters) {
  std::int32_t answer;
  asm volatile(
      "mov r0, %1\n\t"
      "mov r1, %2\n\t"
      "bkpt 0xab\n\t"
      "mov %0, r0"
      : "=r"(answer)
      : "r"(operation), "r"(parameters)
      : "r0", "r1", "memory");
  return answer;
}

std::uint32_t address(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

std::uint32_t length(const char* text) {
  std::uint32_t n = 0;
  while (text[n] != '\0') ++n;
  return n;
}

}  // namespace

void print(const char* text) { call(Operation::write0, text); }

// By subtraction: a division would link the C library's division routine into ARMv6-M firmware that may not need it,
// and the harness must not change what is measured.
void print(std::uint32_t value) {
  static constexpr std::uint32_t kPowers[] = {1000000000, 100000000, 10000000, 1000000, 100000,
                                              10000,      1000,      100,      10,      1};
  char text[11];
  std::size_t n = 0;
  for (const std::uint32_t power : kPowers) {
    char digit = '0';
    while (value >= power) {
      value -= power;
      ++digit;
    }
    if (digit != '0' || n > 0 || power == 1) text[n++] = digit;
  }
  text[n] = '\0';
  print(text);
}

void print_hex(std::uint32_t value) {
  char text[11];
  text[0] = '0';
  text[1] = 'x';
  for (std::size_t i = 0; i < 8; ++i) {
    const std::uint32_t digit = (value >> (28 - 4 * i)) & 0xf;
    text[2 + i] = static_cast<char>(digit < 10 ? '0' + digit : 'a' + (digit - 10));
  }
  text[10] = '\0';
  print(text);
}

File::File(const char* name, Mode mode) {
  const std::uint32_t parameters[] = {address(name), static_cast<std::uint32_t>(mode), length(name)};
  handle_ = call(Operation::open, parameters);
}

File::~File() {
  if (!is_open()) return;
  const std::uint32_t parameters[] = {static_cast<std::uint32_t>(handle_)};
  call(Operation::close, parameters);
}

std::uint32_t File::size() const {
  const std::uint32_t parameters[] = {static_cast<std::uint32_t>(handle_)};
  const std::int32_t bytes = call(Operation::file_length, parameters);
  return bytes < 0 ? 0 : static_cast<std::uint32_t>(bytes);
}

// Both calls answer with the number of bytes that were not transferred.
bool File::read(void* data, std::size_t bytes) {
  const std::uint32_t parameters[] = {static_cast<std::uint32_t>(handle_), address(data), bytes};
  return call(Operation::read, parameters) == 0;
}

bool File::write(const void* data, std::size_t bytes) {
  const std::uint32_t parameters[] = {static_cast<std::uint32_t>(handle_), address(data), bytes};
  return call(Operation::write, parameters) == 0;
}

void exit(ExitCode code) {
  constexpr std::uint32_t kApplicationExit = 0x20026;
  const std::uint32_t parameters[] = {kApplicationExit, static_cast<std::uint32_t>(code)};
  call(Operation::exit_extended, parameters);
  for (;;) {
  }
}

}  // namespace cormorant::semihosting
