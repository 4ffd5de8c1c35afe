// SPDX-License-Identifier: Apache-2.0
//
// The last thing a board does after a fault: print which, where and why, and stop with a nonzero exit status. The
// start-up code brings every exception here on a fresh stack.
#include "runner/firmware/linked.h"
#include "runner/firmware/semihosting.h"

extern "C" {
[[noreturn]] void cormorant_report_exception(const std::uint32_t* frame);
// The stack that the start-up code switches to first.
struct ExceptionStack {
  alignas(8) std::uint32_t words[128];
};
ExceptionStack cormorant_exception_stack;
}
asm(".globl cormorant_exception_stack_top\n.set cormorant_exception_stack_top, cormorant_exception_stack + 512");

namespace cormorant {
namespace {

using semihosting::print;
using semihosting::print_hex;

const char* name_of_exception(std::uint32_t number) {
  switch (number) {
    case 2:
      return "NMI";
    case 3:
      return "HardFault";
    case 4:
      return "MemManage";
    case 5:
      return "BusFault";
    case 6:
      return "UsageFault";
    case 7:
      return "SecureFault";
    case 11:
      return "SVCall";
    case 12:
      return "DebugMonitor";
    case 14:
      return "PendSV";
    case 15:
      return "SysTick";
    default:
      return "interrupt";
  }
}

constexpr std::uint32_t kFaultStatus = 0xE000ED28;

std::uint32_t read_register(std::uint32_t address) { return *reinterpret_cast<const volatile std::uint32_t*>(address); }

void print_register(const char* name, std::uint32_t address) {
  print(name);
  print_hex(read_register(address));
}

// Exception entry stores r0–r3, r12, lr, pc, xpsr; after a stack overflow it could not, and reading could fault again.
bool is_stored(const std::uint32_t* frame) {
  constexpr std::size_t kFrameWords = 8;
  constexpr std::uint32_t kStackOverflow = 1 << 20;
  if ((read_register(kFaultStatus) & kStackOverflow) != 0) return false;
  return frame >= __stack_limit && frame + kFrameWords <= __stack_top;
}

}  // namespace
}  // namespace cormorant

void cormorant_report_exception(const std::uint32_t* frame) {
  using namespace cormorant;
  std::uint32_t number;
  asm volatile("mrs %0, ipsr" : "=r"(number));
  print("exception ");
  print(name_of_exception(number));
  if (is_stored(frame)) {
    constexpr std::size_t kLinkRegister = 5;
    constexpr std::size_t kProgramCounter = 6;
    print(" pc ");
    print_hex(frame[kProgramCounter]);
    print(" lr ");
    print_hex(frame[kLinkRegister]);
  } else {
    print(" stack-overflow");
  }
  print_register(" cfsr ", kFaultStatus);
  print_register(" hfsr ", 0xE000ED2C);
  print_register(" mmfar ", 0xE000ED34);
  print_register(" bfar ", 0xE000ED38);
#if __ARM_ARCH >= 8
  print_register(" sfsr ", 0xE000EDE4);
  print_register(" sfar ", 0xE000EDE8);
#endif
  print("\n");
  semihosting::exit(semihosting::ExitCode::exception);
}
