#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The sample for Zephyr, built with Zephyr's own sources and run on emulated boards; it must print the expected result.
# `./dev zephyr --base FOLDER` calls this.
set -euo pipefail
[ $# -ge 4 ] || { echo "usage: $0 ZEPHYR_BASE PYTHON_FOLDER CORMORANT CORMORANT_GLUE [BOARD...]" >&2; exit 2; }
base=$1 python=$2 program=$3 glue=$4
shift 4
[ $# -gt 0 ] || set -- mps2/an385 mps2/an386 mps3/corstone300/an547
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

modules=$root
for module in cmsis cmsis_6; do  # west puts them beside Zephyr
  [ ! -d "$base/../modules/hal/$module" ] || modules+=";$(cd "$base/../modules/hal/$module" && pwd)"
done

export ZEPHYR_BASE=$base ZEPHYR_TOOLCHAIN_VARIANT=cross-compile CROSS_COMPILE
CROSS_COMPILE=$(command -v arm-none-eabi-gcc)
CROSS_COMPILE=${CROSS_COMPILE%gcc}
export PATH=$python:$PATH
failures=0
for board in "$@"; do
  case $board in
    mps2/an385) machine=mps2-an385 ;;
    mps2/an386) machine=mps2-an386 ;;
    mps3/corstone300/an547) machine=mps3-an547 ;;
    *) echo "error: no machine of QEMU is known for the board '$board'" >&2; exit 2 ;;
  esac
  build=$work/${board//\//-}
  { cmake -G Ninja -S "$root/zephyr/samples/wave" -B "$build" -DBOARD="$board" -DZEPHYR_MODULES="$modules" \
      -DCORMORANT_PROGRAM="$program" -DCORMORANT_GLUE="$glue" && cmake --build "$build"; } >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; echo "FAILED $board: does not build" >&2; failures=$((failures + 1)); continue; }
  qemu-system-arm -M "$machine" -nographic -monitor none -serial "file:$work/said" -kernel "$build/zephyr/zephyr.elf" 2>/dev/null &
  emulator=$!
  for _ in $(seq 120); do  # Zephyr never exits
    ! grep -q "heard\|failed\|FATAL" "$work/said" 2>/dev/null || break
    sleep 0.5
  done
  kill $emulator
  wait $emulator 2>/dev/null || true
  echo "$board: $(tail -n 1 "$work/said" | tr -d '\r'), $(grep -E '^ +(FLASH|RAM):' "$work/log" | awk '{ print $1, $2 }' | paste -sd ' ')"
  grep -q "^heard: sawtooth" "$work/said" || { cat "$work/said" >&2; echo "FAILED $board" >&2; failures=$((failures + 1)); }
  rm -f "$work/said"
done
[ $failures -eq 0 ]
