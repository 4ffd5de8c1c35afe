#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# An installed tree is all that a firmware project needs. The tree is moved first, because no absolute path may be baked
# in; then the examples, copied out of it, are built and run on emulated boards, and must print the expected results.
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

fail() {
  echo "FAILED $*"
  failures=$((failures + 1))
}

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

check sine mps2-an385 "4 29 54 79 93 98"
check two_models mps2-an386 "heard: sine"
check replace mps2-an386 "built in: sine of a right angle is 100 %
refused: the firmware's own check refused the file
refused: the firmware's own check refused the file
still built in: sine of a right angle is 100 %
replaced: sine of a right angle is 100 %"
check regions mps3-an547 "this is a 1; DTCM 4192 bytes, SRAM 6272"
check listener mps2-an386 "1600 ms: rising
2600 ms: falling
3600 ms: doorbell
4600 ms: alarm"
# Without the libraries that a compiler's driver adds.
sed -i 's/-nostartfiles/-nostdlib/' "$work/project/examples/board/board.cmake"
check c mps2-an386 "..... heard: sawtooth, 98 %"

# The program takes nothing from the tree that it was built in: not the models, and no path is in it (with sanitizers, the
# sources' names are).
root=$(cd "$(dirname "$0")/../.." && pwd)
echo "zoo"
(cd "$work" && "$work/moved/bin/cormorant" compile digits -q --no-link -o digits.pte) >"$work/log" 2>&1 ||
  { cat "$work/log"; fail "an installed model was not found by its name"; }
"$work/moved/bin/cormorant" compile kws -q --no-link -o "$work/kws.pte" >"$work/log" 2>&1 && fail "kws came from elsewhere"
grep -q "the zoo has digits;" "$work/log" || { cat "$work/log"; fail "the zoo is not the installed one"; }
if [ "$1" = --prefix ]; then
  for binary in bin/cormorant bin/cormorant-glue lib/cormorant/libcormorant_count.so; do
    [ -f "$work/moved/$binary" ] || fail "$binary is not installed"
    ! grep -qF "$root" "$work/moved/$binary" || fail "$binary contains $root"
  done
  for archive in "$work"/moved/lib/cormorant/target/*/*/lib*.a; do
    [ -f "$archive" ] || fail "no archives are installed"
    ! grep -qF "$root" "$archive" || fail "${archive#"$work/moved/"} contains $root"
  done
fi

# Shells find the completion of the command by its name.
echo "completion"
(PATH=$work/moved/bin:$PATH && . "$work/moved/share/bash-completion/completions/cormorant" &&
  COMP_WORDS=(cormorant comp) COMP_CWORD=1 && _cormorant && [ "${COMPREPLY[*]}" = "compile completion" ]) ||
  fail "the completion for bash"
[ "$(head -n 1 "$work/moved/share/zsh/site-functions/_cormorant")" = "#compdef cormorant" ] || fail "the completion for zsh"

# The state's size is known without cross compiler or emulator.
echo "state"
times=0
for path in "$PATH" /nowhere; do
  PATH=$path "$work/moved/bin/cormorant-glue" "$work/sine/sine.models/sine.pte" --name=sine --target=m3 \
    --kernels="$work/moved/lib/cormorant/target/gcc/m3/libkernels.a" -o "$work/sine.$((++times)).S" >"$work/log" 2>&1 ||
    { cat "$work/log"; fail "no state with the tools in $path"; }
done
cmp "$work/sine.1.S" "$work/sine.2.S" || fail "the state depends on the tools that there are"

# From sources a CPU gets what it can execute, and nothing else. All of it would take a minute to compile: three are
# tried, as for users who optimize at link time, where nothing may ask for exceptions, and for size. The CPU and files are
# named as the program takes them; the model is compiled again if one of these files changes.
from_sources() {
  local folder=$work/project/examples/sine_from_sources build=$work/from_sources objects name object
  cp -r "$work/project/examples/sine" "$folder"
  sed -i 's/cortex-m3 CALIBRATE sine_calibration.npz/M3 CALIBRATE samples/; s/--io=int8)/--io=int8 --layers=layers.txt FROM sources)/' \
    "$folder/CMakeLists.txt"
  mkdir "$folder/samples"
  touch "$folder/layers.txt" "$folder/samples/one.npy"
  cmake -S "$folder" -B "$build" -G Ninja -DCMAKE_PREFIX_PATH="$work/moved" \
    -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON -DCMAKE_BUILD_TYPE=MinSizeRel \
    --toolchain "$work/project/examples/board/arm-none-eabi.cmake" >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
  objects=$(ninja -C "$build" -t targets all | grep -o '^CMakeFiles/cormorant_kernels[^:]*obj')
  [ "$(echo "$objects" | grep -c scalar)" -gt 20 ] || { echo "kernels are missing"; return 1; }
  ! echo "$objects" | grep -E '_(dsp|mve)' || return 1
  ninja -C "$build" -t query sine.models/sine.pte >"$work/log"
  for name in layers.txt samples/one.npy; do
    grep -q "$folder/$name" "$work/log" || { echo "the program does not depend on $name"; return 1; }
  done
  ninja -C "$build" -t commands "$(echo "$objects" | grep -m 1 kernel_scalar)" >"$work/log"
  grep -q -- ' -Os ' "$work/log" && ! grep -q -- ' -O2 ' "$work/log" || { cat "$work/log"; echo "-Os was not heeded"; return 1; }
  for name in ops/linear/kernel_scalar runtime/source runtime/inputs_outputs; do
    object=$(echo "$objects" | grep -m 1 "$name.cc")
    ninja -C "$build" "$object" >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
    ! arm-none-eabi-gcc-nm "$build/$object" | grep -E 'throw|personality' || return 1
  done
}

# Kernels that other flags have once kept from compiling: floats in integer registers, and a register less.
# tests/package/flags_test.sh builds and runs whole firmware so.
compiles() {  # source, flags
  local sources=$work/moved/share/cormorant/sources
  arm-none-eabi-g++ -std=c++20 -O2 -ffp-contract=off -fno-exceptions -fno-rtti -I"$sources" -I"$sources/include" "${@:2}" \
    -c "$sources/$1" -o "$work/object" >"$work/log" 2>&1 || { cat "$work/log"; fail "$1 with ${*:2}"; }
}
echo "flags"
compiles ops/quantize/kernel_dsp.cc -mcpu=cortex-m4 -mfloat-abi=soft
compiles kernels/sums_float_mve.cc -mcpu=cortex-m55 -mfloat-abi=hard -fpie
echo "from sources"
from_sources || { echo "FAILED from sources"; failures=$((failures + 1)); }

# Projects that cannot work are told so when they are configured, or where they include a model's header.
found="find_package(cormorant REQUIRED)"
added="add_subdirectory($root cormorant)"

configures() {  # how Cormorant is found, languages, flags, the arguments of cormorant_add_model
  local folder=$work/configured
  rm -rf "$folder" && mkdir "$folder"
  {
    echo "cmake_minimum_required(VERSION 3.22)"
    echo "project(configured LANGUAGES $2)"
    echo "$1"
    echo "add_executable(app main.c)"
    echo "$4"
  } >"$folder/CMakeLists.txt"
  echo "int main(void) { return 0; }" >"$folder/main.c"
  cmake -S "$folder" -B "$folder/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_SYSTEM_NAME=Generic \
    -DCMAKE_C_COMPILER=arm-none-eabi-gcc -DCMAKE_CXX_COMPILER=arm-none-eabi-g++ -DCMAKE_C_FLAGS="$3" -DCMAKE_CXX_FLAGS="$3" \
    -DCORMORANT_PROGRAM="$work/moved/bin/cormorant" -DCORMORANT_GLUE="$work/moved/bin/cormorant-glue" \
    -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY -DFETCHCONTENT_SOURCE_DIR_CORMORANT="$root" >"$work/log" 2>&1
}

refuses() {  # what it is, what must be said, then as configures
  configures "${@:3}" && { fail "$1 was accepted"; return; }
  tr -s ' \n' '  ' <"$work/log" | grep -qF "$2" || { cat "$work/log"; fail "$1 was refused with other words"; }
}
echo "refused"
model="MODEL $work/project/docs/tutorial/wave.pt2"
softfp="-mcpu=cortex-m4 -mfloat-abi=softfp -mfpu=fpv4-sp-d16"
hard="-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16"
for way in "$found" "$added"; do
  refuses "a C project whose kernels must be compiled" "add CXX to the LANGUAGES of project()" "$way" "C ASM" "$softfp" \
    "cormorant_add_model(app $model TARGET cortex-m4 FROM sources)"
done
refuses "a project that adds the sources and has no assembler" "add ASM to the LANGUAGES of project()" "$added" "C CXX" \
  "$hard" "cormorant_add_model(app $model TARGET cortex-m4)"
configures "$added" "C CXX ASM" "$hard" "cormorant_add_model(app $model TARGET cortex-m4)" ||
  { cat "$work/log"; fail "a project that adds the sources was refused"; }
configures "$found" "C CXX" "$hard" "cormorant_add_model(app $model TARGET cortex-m4)" ||
  { cat "$work/log"; fail "a project that leaves the assembler to find_package was refused"; }
configures "include(FetchContent)
FetchContent_Declare(cormorant GIT_REPOSITORY https://example.invalid/cormorant.git GIT_TAG main)
FetchContent_MakeAvailable(cormorant)" "C CXX ASM" "$hard" "cormorant_add_model(app $model TARGET cortex-m4)" ||
  { cat "$work/log"; fail "a project that fetches the sources was refused"; }
refuses "flags that CMake does not know" "do not name a Cortex-M" "$found" "C CXX ASM" "" \
  "cormorant_add_model(app $model TARGET cortex-m4)"
refuses "two models of one name" "give $work/project/docs/tutorial/wave.pt2 another NAME" "$found" "C CXX ASM" "$hard" \
  "cormorant_add_model(app $model TARGET cortex-m4)
cormorant_add_model(app $model TARGET cortex-m4)"
configures "$found" "C CXX ASM" "$hard" "cormorant_add_model(app $model TARGET cortex-m4 ARENA shared)
cormorant_add_model(app MODEL $root/zoo/state/delays.pt2 TARGET cortex-m4 ARENA shared)" ||
  { cat "$work/log"; fail "two models that share an arena were refused too early"; }
ninja -C "$work/configured/build" app.models/shared.S >"$work/log" 2>&1 && fail "a model with state shares its arena"
grep -q "delays.pte: it has state, which would be lost in 'shared'" "$work/log" ||
  { cat "$work/log"; fail "a model with state that shares its arena was refused with other words"; }
header=$(find "$work/c" -name '*.h' -path '*.models*' | head -1)
for cpu in cortex-m3 cortex-m4; do
  status=0
  arm-none-eabi-gcc -mcpu=$cpu -fsyntax-only -I"$work/moved/include" -x c "$header" >"$work/log" 2>&1 || status=1
  case $cpu$status in cortex-m31 | cortex-m40) ;; *) cat "$work/log"; fail "the header of a model for Cortex-M4, compiled for $cpu" ;; esac
done

# How a project passes floats chooses its archives, or sources where there are none. (tests/package/float_abis_test.sh
# executes them. Only ./dev build and ./dev package build all of them: elsewhere others stand in.)
echo "float ABIs"
archives=$work/moved/lib/cormorant/target/gcc
for name in m4-softfp m4-soft m55-softfp m55-soft; do
  [ -e "$archives/$name/libkernels.a" ] || { rm -rf "$archives/$name" && cp -r "$archives/${name%-*}" "$archives/$name"; }
done
links() {  # archives, CPU, flags, further arguments of cormorant_add_model
  configures "$found" "C ASM" "$3" "cormorant_add_model(app $model TARGET $2 ${4:-})" ||
    { cat "$work/log"; fail "a project for $1 was refused"; return; }
  ninja -C "$work/configured/build" -t query app >"$work/log"
  for part in kernels runtime; do
    grep -qF "/gcc/$1/lib$part.a" "$work/log" || { cat "$work/log"; fail "flags '$3' do not link $part of $1"; }
  done
}
links m3 cortex-m3 "-mcpu=cortex-m3"
links m4 cortex-m4 "$hard"
links m4-softfp cortex-m4 "$softfp"
links m4-soft cortex-m4 "-mcpu=cortex-m4"
links m4-soft cortex-m4 "-mcpu=cortex-m4 -mfloat-abi=soft" "FROM archives"
links m4 cortex-m4 "" "FROM archives" # flags are the target's own: the usual ones
links m55-softfp cortex-m55 "-mcpu=cortex-m55 -mfloat-abi=softfp"
links m55-soft cortex-m55 "-mcpu=cortex-m55" "ISA dsp"
for way in "" "FROM archives" "FROM sources" "ISA mve"; do
  refuses "MVE without registers" "leaves no registers to MVE" "$found" "C CXX ASM" "-mcpu=cortex-m55 -mfloat-abi=soft" \
    "cormorant_add_model(app $model TARGET cortex-m55 $way)"
done
configures "$found" "C CXX ASM" "-mcpu=cortex-m55" "cormorant_add_model(app $model TARGET cortex-m55 ISA dsp FROM sources)" ||
  { cat "$work/log"; fail "kernels for an M55 with soft float were refused"; }
! ninja -C "$work/configured/build" -t targets all | grep -q '_mve.*obj' || fail "MVE is compiled for soft float"
rm -r "$archives/m4-softfp"
configures "$found" "C CXX ASM" "$softfp" "cormorant_add_model(app $model TARGET cortex-m4)" && grep -q "from sources" "$work/log" ||
  { cat "$work/log"; fail "there are no archives, and yet no sources"; }
refuses "archives that are not there" "there are no archives for cortex-m4 and -mfloat-abi=softfp" "$found" "C ASM" "$softfp" \
  "cormorant_add_model(app $model TARGET cortex-m4 FROM archives)"

# Folders of one project share kernels that are compiled from sources only if they have the same flags.
folders=$work/folders
mkdir "$folders"
echo "int main(void) { return 0; }" >"$folders/main.c"
{
  echo "cmake_minimum_required(VERSION 3.22)"
  echo "project(folders LANGUAGES C CXX ASM)"
  echo "find_package(cormorant REQUIRED)"
  for folder in first second warned; do
    mkdir "$folders/$folder"
    echo "add_subdirectory($folder)"
  done
} >"$folders/CMakeLists.txt"
for folder in first second warned; do
  case $folder in
    second) echo "add_compile_options(-mno-unaligned-access)" ;;
    warned) echo "add_compile_options(-Wall -Wformat=2)" ;;
  esac >"$folders/$folder/CMakeLists.txt"
  echo "add_executable($folder ../main.c)
cormorant_add_model($folder $model TARGET cortex-m4 FROM sources)" >>"$folders/$folder/CMakeLists.txt"
done
cmake -S "$folders" -B "$folders/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_SYSTEM_NAME=Generic \
  -DCMAKE_C_COMPILER=arm-none-eabi-gcc -DCMAKE_CXX_COMPILER=arm-none-eabi-g++ -DCMAKE_C_FLAGS="$hard" \
  -DCMAKE_CXX_FLAGS="$hard" -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY >"$work/log" 2>&1 ||
  { cat "$work/log"; fail "a project with several folders was refused"; }
for folder in first second warned; do
  library=$(ninja -C "$folders/build" -t query "$folder/$folder" | grep -o 'libcormorant_kernels.*\.a$' | head -1)
  ninja -C "$folders/build" -t commands "$folder/$folder" >"$work/log"
  case $folder:$library:$(grep 'sums_scalar\|/linear/kernel_scalar' "$work/log" | grep -c -- -mno-unaligned-access) in
    first:libcormorant_kernels_m4_sources.a:0 | warned:libcormorant_kernels_m4_sources.a:0) ;;
    second:libcormorant_kernels_m4_sources_2.a:[1-9]*) ;;
    *) fail "the folder $folder links $library" ;;
  esac
done

# The front end has Zephyr's flags, which are no flags of CMake's.
configures "$found" "C CXX ASM" "" "add_library(zephyr_interface INTERFACE)
target_compile_options(zephyr_interface INTERFACE $hard -mthumb)
cormorant_add_log_mel(app NAME features)" || { cat "$work/log"; fail "a front end for Zephyr was refused"; }
ninja -C "$work/configured/build" libcormorant_log_mel.a >"$work/log" 2>&1 || { cat "$work/log"; fail "a front end for Zephyr"; }
arm-none-eabi-readelf -A "$work/configured/build/libcormorant_log_mel.a" | grep -q 'Tag_CPU_arch: v7E-M' ||
  fail "the front end was not compiled with Zephyr's flags"

# Boards that QEMU does not have: they build for the CPUs whose archives are there, fit, and begin with what their CPU reads first.
word() {  # binary, offset
  od -A n -t x4 -j "$2" -N 4 "$1" | tr -d ' '
}

check_hardware() {  # board, its flash's address, most bytes of flash, most bytes of RAM
  local elf=$work/hardware/$1/$1 flash ram
  read -r flash ram < <(arm-none-eabi-size "$elf" | awk 'NR == 2 { print $1 + $2, $2 + $3 }')
  [ "$flash" -le "$3" ] && [ "$ram" -le "$4" ] || fail "$1 takes $flash bytes of flash and $ram of RAM"
  arm-none-eabi-objcopy -O binary -j .text "$elf" "$work/$1.bin"
  [ "$(arm-none-eabi-nm "$elf" | awk '$3 == "__stack_top" { print $1 }')" = "$(word "$work/$1.bin" 0)" ] ||
    fail "$1 does not begin with its stack"
  [ $((0x$(word "$work/$1.bin" 4) & ~0xFFFFF)) -eq $(($2)) ] || fail "$1 does not start in its flash"
}

# A relative with the same memory map executes it; the answer is read from memory by QEMU's monitor.
check_relative() {  # board, machine
  local elf=$work/hardware/$1/$1 address line=nothing pid to from
  address=$(arm-none-eabi-nm "$elf" | awk '$3 == "heard" { print $1 }')
  coproc emulator { exec timeout 60 qemu-system-arm -M "$2" -display none -serial none -monitor stdio -kernel "$elf" 2>&1; }
  pid=$emulator_PID from=${emulator[0]} to=${emulator[1]}
  trap '' PIPE  # the emulator may have ended
  while { echo "xp /1wx 0x$address" >&"$to"; } 2>/dev/null && read -r line <&"$from"; do
    case $line in *"$address: 0x00000002"*) break ;; esac
    sleep 0.1
  done
  kill "$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  case $line in *"$address: 0x00000002"*) ;; *) fail "$1 on $2 did not hear a sawtooth but: $line" ;; esac
}

boards="nucleo-f446re;alif-e8-hp;corstone-300;corstone-320"
[ ! -f "$work/moved/lib/cormorant/target/gcc/m33/libkernels.a" ] || boards="pico2;$boards"
echo "hardware: $boards"
{ cmake -S "$work/project/examples/hardware" -B "$work/hardware" -G Ninja -DBOARDS="$boards" -DCMAKE_PREFIX_PATH="$work/moved" \
    --toolchain "$work/project/examples/board/arm-none-eabi.cmake" && cmake --build "$work/hardware"; } >"$work/log" 2>&1 ||
  { cat "$work/log" >&2; exit 1; }
check_hardware nucleo-f446re 0x08000000 28000 6200
check_hardware alif-e8-hp 0x80000000 26000 6000
check_hardware corstone-300 0x10000000 26000 6000
check_hardware corstone-320 0x31000000 26000 6000
check_relative nucleo-f446re netduinoplus2
check_relative corstone-300 mps3-an547
case $boards in
  pico2*)
    check_hardware pico2 0x10000000 28000 6200
    [ "$(word "$work/pico2.bin" 64) $(word "$work/pico2.bin" 68) $(word "$work/pico2.bin" 80)" = "ffffded3 10210142 ab123579" ] ||
      fail "pico2 has no image definition"
    ;;
esac
[ $failures -eq 0 ]
