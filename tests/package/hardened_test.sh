#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Archives compiled as hardened firmware needs them, and programs on emulated boards with them, which must compute what
# the host does. Compiling an archive takes a minute, so this is part of `./dev check`.
#   pacbti  Cortex-M55, clang, -mbranch-protection=standard: landing pads, and return addresses that are signed. The
#           emulated M55 has no PACBTI, so these instructions do nothing there: only the code around them is tested.
#   trap    Cortex-M3, gcc, -mno-unaligned-access, on a board that traps every unaligned access (CCR.UNALIGN_TRP). Programs
#           that copy unaligned bytes are left out: newlib's memcpy faults.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: $0 BUILD_DIR [CASE...]     CASE: pacbti, trap" >&2; exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
program=$(cd "$1" && pwd)/cormorant
shift
[ $# -gt 0 ] || set -- pacbti trap
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() { echo "FAILED $1"; failures=$((failures + 1)); }

# Compiles the archive of a CPU, and links every program with it from then on.
build() {  # compiler, archive, flags of compilers, of the assembler
  { cmake -S "$root" -B "$work/$1" -G Ninja --toolchain "$root/cmake/toolchain-$1.cmake" "-DCMAKE_C_FLAGS=$3" "-DCMAKE_CXX_FLAGS=$3" \
      "-DCMAKE_ASM_FLAGS=${4:-}" && cmake --build "$work/$1" --target "$2"; } >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  export CORMORANT_TARGET_DIR=$work
}

# Networks with random inputs, against what the host computed for them, and programs of ExecuTorch's compiler.
check() {  # case, compiler, CPU, foreign programs
  local model foreign=$root/tests/executorch
  for model in kws vww ad; do
    { "$program" compile "$root/zoo/$model.pt2" --calibrate "$root/zoo/${model}_calibration.npz" --target="$3" --no-link \
        --bundleio -o "$work/$model.bpte" && "$program" run "$work/$model.bpte" --target="$3" --compiler="$2"; } >"$work/log" 2>&1 || true
    grep -q "Test_result: PASS" "$work/log" || { cat "$work/log"; fail "$1: $model"; }
  done
  for model in "${@:4}"; do
    "$program" run "$foreign/$model.pte" --target=host --input "$foreign/$model.in.npy" --output "$work/here.npy" --quiet
    "$program" run "$foreign/$model.pte" --target="$3" --compiler="$2" --input "$foreign/$model.in.npy" --output "$work/there.npy" --quiet &&
      cmp "$work/here.npy" "$work/there.npy" || fail "$1: $model"
  done
}

for name in "$@"; do
  echo "$name"
  case $name in
    pacbti)
      build clang m55 -mbranch-protection=standard
      # Every function's landing pad is 0xf3af800f (BTI) or 0xf3af800d (PACBTI).
      pads=$(arm-none-eabi-objdump -d "$work/clang/m55/libkernels.a" | grep -c 'f3af 800[df]') || true
      [ "$pads" -gt 500 ] || fail "pacbti: $pads landing pads"
      check pacbti clang cortex-m55 portable_numbers portable_places portable_convolutions float_keyword_net_portable
      ;;
    trap)
      build gcc m3 -mno-unaligned-access -DCORMORANT_TRAP_UNALIGNED=1
      check trap gcc cortex-m3 portable_convolutions float_keyword_net_portable
      # That it traps at all: what copies unaligned bytes must not get through.
      ! "$program" run "$root/tests/executorch/portable_places.pte" --target=cortex-m3 --quiet \
          --input "$root/tests/executorch/portable_places.in.npy" >"$work/log" 2>&1 || fail "trap: nothing is trapped"
      ;;
    *) echo "error: no case '$name'" >&2; exit 2 ;;
  esac
done
[ $failures -eq 0 ]
