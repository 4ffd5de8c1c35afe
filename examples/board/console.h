/* SPDX-License-Identifier: Apache-2.0
 *
 * Console output, and exit with a status: semihosting, which QEMU and debuggers answer. On hardware of your own this is
 * a serial port.
 */
#ifndef CONSOLE_H
#define CONSOLE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void console_print(const char* text);
void console_print_number(int32_t number);
void console_exit(int status);

#ifdef __cplusplus
}
#endif

#endif
