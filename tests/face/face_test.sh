#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# What firmware may include (include/cormorant): each header alone, in C99 where it is C and in C++17, by both compilers,
# for the host and for a Cortex-M, without a C++ library. And all that a header declares is in the namespace cormorant or
# begins with cormorant_ or CORMORANT_.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 SOURCE_DIR" >&2; exit 2; }
cd "$1/include"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
  echo "FAILED $*" >&2
  failures=$((failures + 1))
}

strict="-pedantic -Wall -Wextra -Wconversion -Wshadow -Werror -ffreestanding -fsyntax-only -I."
arm="--target=arm-none-eabi -mcpu=cortex-m0"
headers=0
for header in cormorant/*; do
  headers=$((headers + 1))
  printf '#include "%s"\n#include "%s"\n' "$header" "$header" >"$work/alone.c"  # twice: it guards itself
  cp "$work/alone.c" "$work/alone.cc"
  for compiler in g++ clang++-19 arm-none-eabi-g++ "clang++-19 $arm"; do
    # shellcheck disable=SC2086
    $compiler -std=c++17 -nostdinc++ $strict "$work/alone.cc" || fail "$header by $compiler"
  done
  case $header in *.hpp) continue ;; esac
  for compiler in gcc clang-19 arm-none-eabi-gcc "clang-19 $arm"; do
    # shellcheck disable=SC2086
    $compiler -std=c99 $strict "$work/alone.c" || fail "$header by $compiler"
  done
done
[ $headers -ge 5 ] || fail "only $headers headers were found"

# Everything at once, less what the compiler's own headers bring.
printf '#include <stddef.h>\n#include <stdint.h>\n' >"$work/nothing.cc"
cp "$work/nothing.cc" "$work/all.cc"
for header in cormorant/*; do echo "#include \"$header\"" >>"$work/all.cc"; done
for part in nothing all; do
  clang++-19 -std=c++17 -ffreestanding -nostdinc++ -I. -dM -E "$work/$part.cc" | awk '{ print $2 }' | sed 's/(.*//' |
    sort >"$work/$part.macros"
  # Declarations at top level and in extern "C".
  clang++-19 -std=c++17 -ffreestanding -nostdinc++ -I. -fsyntax-only -fno-color-diagnostics -Xclang -ast-dump \
    "$work/$part.cc" | awk '
      /^[|`]-/ { in_c = /LinkageSpecDecl/; top = 1 }
      /^[| ] [|`]-/ { top = in_c }
      /^[| ] [| ]/ && !/^[| ] [|`]-/ { top = 0 }
      top && / implicit / { next }
      top && /-(Function|Typedef|TypeAlias|Var|CXXRecord|Namespace|ClassTemplate)Decl / {
        sub(/^.*> [^ ]+ /, ""); gsub(/(referenced|used|struct|union|class) /, ""); sub(/ .*/, ""); print
      }' | sort -u >"$work/$part.names"
done
strangers=$(comm -13 "$work/nothing.macros" "$work/all.macros" | grep -v '^CORMORANT_' || true)
[ -z "$strangers" ] || fail "macros without the prefix: $strangers"
names=$(comm -13 "$work/nothing.names" "$work/all.names")
[ "$(echo "$names" | grep -c '^cormorant_')" -gt 10 ] || fail "the declarations were not found"
strangers=$(echo "$names" | grep -vE '^(cormorant|cormorant_[a-z_]+|)$' || true)
[ -z "$strangers" ] || fail "declarations outside the namespace and without the prefix: $strangers"

echo "$headers headers, $failures failures"
[ $failures -eq 0 ]
