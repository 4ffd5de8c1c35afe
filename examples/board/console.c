/* SPDX-License-Identifier: Apache-2.0 */
#include "console.h"

static int semihosting(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

void console_print(const char* text) { semihosting(0x04, text); }

void console_print_number(int32_t number) {
  char text[12];
  char* at = text + sizeof text - 1;
  uint32_t rest = number < 0 ? 0u - (uint32_t)number : (uint32_t)number;
  *at = '\0';
  do {
    *--at = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest != 0);
  if (number < 0) *--at = '-';
  console_print(at);
}

void console_exit(int status) {
  const uint32_t arguments[2] = {0x20026, (uint32_t)status};
  semihosting(0x20, arguments);
  for (;;) {
  }
}
