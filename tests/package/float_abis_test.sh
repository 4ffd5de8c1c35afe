#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Firmware in C, with floats passed in every way that archives are installed for. What is executed on the emulated boards
# has the same bits, whether the FPU, MVE or neither computes it; where floats are soft, the FPU stays off, so that an
# instruction of it in an archive is a fault.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 INSTALLED      a tree with the archives of ./dev build" >&2; exit 2; }
installed=$(cd "$1" && pwd)
share=$installed/share/cormorant
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

cat >"$work/main.c" <<'END'
#include <string.h>

#include "console.h"
#include "real.h"
#include "whole.h"

static cormorant_program program;

static void fill(float* x, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) x[i] = (float)(i * 7 % 11) * 0.173f - 0.9f;
}

static void print_bits(const float* y, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) {
    int32_t bits;
    memcpy(&bits, y + i, sizeof bits);
    console_print_number(bits);
    console_print(" ");
  }
}

int main(void) {
  cormorant_failure why;
  if (real_load(&program, &why) != CORMORANT_OK) return 1;
  fill(real_input_x(&program), REAL_INPUT_X_ELEMENTS);
  real_run(&program);
  print_bits(real_output(&program), REAL_OUTPUT_ELEMENTS);
  if (whole_load(&program, &why) != CORMORANT_OK) return 1;
  fill(whole_input_x(&program), WHOLE_INPUT_X_ELEMENTS);
  whole_run(&program);
  print_bits(whole_output(&program), WHOLE_OUTPUT_ELEMENTS);
  return 0;
}
END
cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(abi LANGUAGES C ASM)
find_package(cormorant REQUIRED)
add_executable(abi main.c $share/examples/board/startup.S $share/examples/board/console.c)
target_include_directories(abi PRIVATE $share/examples/board)
target_compile_options(abi PRIVATE -Os -ffunction-sections)
target_link_options(abi PRIVATE -nostartfiles -Wl,--gc-sections -Wl,--fatal-warnings -T$share/examples/board/\${SCRIPT})
# In float throughout, and in integers between two conversions.
cormorant_add_model(abi MODEL $share/docs/tutorial/wave.pt2 NAME real TARGET \${CPU} \${ISA})
cormorant_add_model(abi MODEL $share/docs/tutorial/wave.pt2 NAME whole TARGET \${CPU} \${ISA}
  CALIBRATE $share/docs/tutorial/wave_calibration.npz)
END

wanted=
check() {  # archives, CPU, machine, linker script, flags, arguments of cormorant_add_model
  local build=$work/$1 elf said
  { cmake -S "$work" -B "$build" -G Ninja --toolchain "$share/examples/board/arm-none-eabi.cmake" -DCMAKE_PREFIX_PATH="$installed" \
      -DCPU="$2" -DSCRIPT="$4" -DISA="${6:-}" -DCMAKE_C_FLAGS="$5" -DCMAKE_ASM_FLAGS="$5" && cmake --build "$build"; } >"$work/log" 2>&1 ||
    { cat "$work/log"; echo "FAILED $1 does not build"; failures=$((failures + 1)); return; }
  elf=$build/abi
  ninja -C "$build" -t query abi | grep -qF "/gcc/$1/libkernels.a" ||
    { echo "FAILED $1 is not what is linked"; failures=$((failures + 1)); }
  said=$(timeout 60 qemu-system-arm -M "$3" -nographic -monitor none -serial none \
    -semihosting-config enable=on,target=native -kernel "$elf" 2>&1) || said+=" (status $?)"
  [ -n "$wanted" ] || wanted=$said
  [ "$said" = "$wanted" ] || { echo "FAILED $1 said: $said"; echo "  instead of: $wanted"; failures=$((failures + 1)); }
  echo "$1: $(arm-none-eabi-size "$elf" | awk 'NR == 2 { print $1 + $2 }') bytes of flash"
}

m4=(cortex-m4 mps2-an386 mps2.ld) m7=(cortex-m7 mps2-an500 mps2.ld)
m33=(cortex-m33 mps3-an547 mps3-an547.ld) m55=(cortex-m55 mps3-an547 mps3-an547.ld)
check m4 "${m4[@]}" "-mcpu=cortex-m4 -mfloat-abi=hard"
check m4-softfp "${m4[@]}" "-mcpu=cortex-m4 -mfloat-abi=softfp"
check m4-soft "${m4[@]}" "-mcpu=cortex-m4"
check m7-softfp "${m7[@]}" "-mcpu=cortex-m7 -mfpu=fpv5-sp-d16 -mfloat-abi=softfp"
check m7-soft "${m7[@]}" "-mcpu=cortex-m7 -mfloat-abi=soft"
check m33-softfp "${m33[@]}" "-mcpu=cortex-m33 -mfloat-abi=softfp"
check m33-soft "${m33[@]}" "-mcpu=cortex-m33 -mfloat-abi=soft"
check m55-softfp "${m55[@]}" "-mcpu=cortex-m55 -mfloat-abi=softfp"
check m55-soft "${m55[@]}" "-mcpu=cortex-m55 -mfloat-abi=soft" "ISA;dsp"
[ $failures -eq 0 ]
