#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks that the documentation is true. For README.md and docs/*.md, by the first words after a block's fence:
#
#   ```sh               runs, in the order of the page, from the repository's root, and must succeed
#   ```sh fails         the same, and must not
#   ```output           its lines come, in this order, in the output of the sh block before it (blocks.awk says how alike)
#   ```cpp some/file    is a quotation: its lines are in that file like this; a line "…" or "// …" leaves some out
#   ```python some/file the same, and nothing of the file may be missing
#   ```text             is for the reader only
#
# every relative link leads to a file, and every error of the runtime is in embedding.md. The commands read as a user types
# them; here they run with the program of this build, and what they write goes to this build's folder.
set -euo pipefail
[ $# -eq 4 ] || { echo "usage: $0 SOURCE_DIR BUILD_DIR CORMORANT CORMORANT_GLUE" >&2; exit 2; }
# Leak checks at the end of each process would be slow; the unit tests do them.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:detect_leaks=0"
source_dir=$1 build_dir=$2 program=$3 glue=$4
here=$(cd "$(dirname "$0")" && pwd)
work=$build_dir/tests/docs/work
failures=0

fail() {
  echo "FAILED $*" >&2
  failures=$((failures + 1))
}

# What a user types, as this build must run it. ctest only lists the tests, since they run in parallel with this one,
# and does so from a folder of its own, since it would write over the log of the ctest that runs this.
localize() {
  sed -e "s#\(^\|[ (]\)build/cormorant\( \|\$\)#\1$program\2#g" \
    -e "s#build/tutorial#$work/tutorial#g" \
    -e "s#cmake --preset firmware#cmake --preset firmware -B $work/firmware -DCORMORANT_GLUE=$glue#" \
    -e "s#cmake --build --preset firmware#cmake --build $work/firmware#" \
    -e "s#build/firmware/#$work/firmware/#g" \
    -e "s#cmake -S docs/tutorial#cmake -DCORMORANT_PROGRAM=$program -DCORMORANT_GLUE=$glue -S docs/tutorial#" \
    -e "s#\(^\|[ (]\)build/cormorant-glue #\1$glue #g" \
    -e "s#cmake --build --preset debug#cmake --build $build_dir#" \
    -e "s#ctest --preset debug#ctest --test-dir $work/ctest --show-only --no-tests=error#"
}

check_command() {  # page:line, file with the block, what it must do, where its output goes
  local status=0
  (cd "$source_dir" && bash -euo pipefail -c "$(localize <"$2")") >"$4" 2>&1 </dev/null || status=$?
  if [ "$3" = fails ] && [ $status -eq 0 ]; then
    fail "$1: the command succeeds, though the page says that it fails"
  elif [ "$3" != fails ] && [ $status -ne 0 ]; then
    fail "$1: exit status $status"
    cat "$4" >&2
  fi
  # Folders are printed as on the page.
  sed -i -e "s#$work/tutorial#build/tutorial#g" -e "s#$program#build/cormorant#g" "$4"
}

check_page() {
  local page=$1 blocks=$work/blocks block line language word last_output=/dev/null
  rm -rf "$blocks"
  mkdir -p "$blocks"
  awk -v mode=split -v folder="$blocks" -f "$here/blocks.awk" "$source_dir/$page" >"$blocks/list"
  while read -r block line language word; do
    case $language in
      sh)
        last_output=$blocks/$block.actual
        check_command "$page:$line" "$blocks/$block" "$word" "$last_output"
        ;;
      output)
        awk -v mode=compare -f "$here/blocks.awk" "$blocks/$block" "$last_output" ||
          { fail "$page:$line: this is not the output, which is:"; cat "$last_output" >&2; }
        ;;
      python)
        cmp "$blocks/$block" "$source_dir/$word" || fail "$page:$line: differs from $word"
        ;;
      text) ;;
      *)
        if [ "$word" = - ]; then
          fail "$page:$line: a block of $language must name the file that it quotes"
        else
          awk -v mode=quote -f "$here/blocks.awk" "$blocks/$block" "$source_dir/$word" ||
            fail "$page:$line: $word does not have these lines"
        fi
        ;;
    esac
  done <"$blocks/list"
}

check_links() {
  local page=$1 link
  while read -r link; do
    [ -e "$source_dir/$(dirname "$page")/${link%%#*}" ] || fail "$page: the link $link leads nowhere"
  done < <(awk '/^```/ { code = !code } !code' "$source_dir/$page" | grep -oE '\]\([^)]+\)' | sed 's/^](//; s/)$//' |
    grep -vE '^(https?:|#)' || true)
}

# Every error that firmware can get is in the table that says what to do.
check_errors() {
  local error number last count=0
  sed -n '/^## Errors/,/^## /s/^| \([0-9][^|]*\) |.*/\1/p' docs/embedding.md | grep -oE '[0-9]{3}(–[0-9]{3})?' |
    sed 's/–/ /' | while read -r number last; do seq "$number" "${last:-$number}"; done >"$work/errors"
  while read -r error _ number; do
    grep -qx "$number" "$work/errors" || fail "docs/embedding.md: the table of errors has no $number, $error"
    count=$((count + 1))
  done < <(grep -oE 'CORMORANT_[A-Z_]+ = [1-9][0-9]{2}\b' include/cormorant/types.h)
  [ $count -gt 10 ] || fail "include/cormorant/types.h: the errors were not found"
}

rm -rf "$work/tutorial"
mkdir -p "$work/ctest"
echo "subdirs(\"$build_dir\")" >"$work/ctest/CTestTestfile.cmake"
cd "$source_dir"
pages=0
for page in README.md docs/*.md; do
  check_page "$page"
  check_links "$page"
  pages=$((pages + 1))
done
check_errors
echo "$pages pages, $failures failures"
[ $failures -eq 0 ]
