#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Firmware whose kernels are compiled with its own flags, from an installed tree: position-independent code, optimization
# for size and at link time, floats in integer registers. Each computes what firmware from the archives does. Compiling all
# kernels takes about a minute for each, so this is part of `./dev check`.
set -euo pipefail
[ $# -ge 1 ] || { echo "usage: $0 BUILD_DIR [CASE...]     CASE: pic, pie, lto, soft" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$1" --prefix "$work/installed" >"$work/log" || { cat "$work/log" >&2; exit 1; }
shift
[ $# -gt 0 ] || set -- pic pie lto soft
failures=0

# Builds an example FROM sources and compares what it prints.
check() {  # case, example, machine, what it must print, arguments of CMake
  local name=$1 example=$2 machine=$3 wanted=$4 project=$work/$1 elf said
  cp -r "$work/installed/share/cormorant" "$project"
  sed -i 's/--io=int8\([^)]*\))/--io=int8\1 FROM sources)/; s/LANGUAGES C ASM/LANGUAGES C CXX ASM/' "$project/examples/$example/CMakeLists.txt"
  case $name in soft) sed -i 's/-mfloat-abi=hard/-mfloat-abi=soft/' "$project/examples/board/board.cmake" ;; esac
  echo "$name: $example"
  { cmake -S "$project/examples/$example" -B "$project/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/installed" \
      --toolchain "$project/examples/board/arm-none-eabi.cmake" "${@:5}" && cmake --build "$project/build" -- -k 0; } >"$work/log" 2>&1 ||
    { grep -v "^\[\|^-- " "$work/log" >&2; echo "FAILED $name does not build"; failures=$((failures + 1)); return; }
  grep -q "from sources" "$work/log" || { echo "FAILED $name: the archives were linked"; failures=$((failures + 1)); }
  elf=$(find "$project/build" -maxdepth 1 -type f -perm -u+x ! -name '*.*')
  said=$(timeout 60 qemu-system-arm -M "$machine" -nographic -monitor none -serial none \
    -semihosting-config enable=on,target=native -kernel "$elf" 2>&1) || said+=" (status $?)"
  [ "$said" = "$wanted" ] || { echo "FAILED $name said: $said"; echo "  instead of: $wanted"; failures=$((failures + 1)); }
  arm-none-eabi-size "$elf" | tail -1
}

for name in "$@"; do
  case $name in
    pic) check pic sine mps2-an385 "4 29 54 79 93 98" -DCMAKE_CXX_FLAGS=-fPIC -DCMAKE_C_FLAGS=-fPIC ;;
    pie) check pie regions mps3-an547 "this is a 1; DTCM 4192 bytes, SRAM 6272" -DCMAKE_CXX_FLAGS=-fpie -DCMAKE_C_FLAGS=-fpie ;;
    lto) check lto sine mps2-an385 "4 29 54 79 93 98" -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON -DCMAKE_BUILD_TYPE=MinSizeRel \
      -DCMAKE_CXX_FLAGS=-fPIC -DCMAKE_C_FLAGS=-fPIC ;;
    soft) check soft c mps2-an386 "..... heard: sawtooth, 98 %" ;;
    *) echo "error: no case '$name'" >&2; exit 2 ;;
  esac
done
[ $failures -eq 0 ]
