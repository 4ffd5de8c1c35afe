#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# An installed tree is all that a firmware project needs. The tree is moved first, because nothing absolute may be baked
# in; then the examples, copied out of it, are built and run on emulated boards, and must say what they are known to.
set -euo pipefail
[ $# -eq 1 ] || [ $# -eq 2 ] ||
  { echo "usage: $0 BUILD_DIR, whose programs are installed, or $0 --prefix INSTALLED" >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "$1" = --prefix ]; then
  cp -r "$2" "$work/moved"
else
  cmake --install "$1" --prefix "$work/installed" >"$work/install.log" || { cat "$work/install.log" >&2; exit 1; }
  mv "$work/installed" "$work/moved"
fi
cp -r "$work/moved/share/cormorant" "$work/project"
failures=0

check() {  # example, machine, what it must print
  local folder=$work/project/examples/$1 build=$work/$1
  echo "$1"
  { cmake -S "$folder" -B "$build" -G Ninja --toolchain "$work/project/examples/board/arm-none-eabi.cmake" \
      -DCMAKE_PREFIX_PATH="$work/moved" && cmake --build "$build"; } >"$work/log" 2>&1 ||
    { cat "$work/log" >&2; failures=$((failures + 1)); return; }
  local elf said
  elf=$(find "$build" -maxdepth 1 -type f -perm -u+x ! -name '*.*')
  said=$(timeout 60 qemu-system-arm -M "$2" -nographic -monitor none -serial none \
    -semihosting-config enable=on,target=native -kernel "$elf" 2>&1) || said+=" (status $?)"
  [ "$said" = "$3" ] || { echo "FAILED $1 said: $said"; echo "  instead of: $3"; failures=$((failures + 1)); }
}

check sine mps2-an385 "4 29 54 81 93 99"
check two_models mps2-an386 "heard: sine"
check replace mps2-an386 "built in: sine of a right angle is 99 %
refused: the firmware's own check refused the file
refused: the firmware's own check refused the file
still built in: sine of a right angle is 99 %
replaced: sine of a right angle is 99 %"
check regions mps3-an547 "this is a 1; DTCM 4655 bytes, SRAM 6272"
check c mps2-an386 "..... heard: sawtooth, 98 %"
[ $failures -eq 0 ]
