# SPDX-License-Identifier: Apache-2.0
#
# Three small jobs of docs_test.sh, by -v mode=…
#
#   split    a page into one file per fenced block in `folder`; prints "number line language word" for each
#   compare  an output block with the real output: its lines must come in this order, others may be in between. Words must
#            be equal, but numbers may differ by a factor of two or by one, since figures move a little with each
#            improvement; … stands for any words
#   quote    a quotation with a file: its parts, separated by lines with only "…", must be there in this order

function trimmed(text) {
  gsub(/^[ \t]+|[ \t]+$/, "", text)
  return text
}

function is_number(word) { return word ~ /^[0-9][0-9,]*(\.[0-9]+)?$/ }

function is_alike(shown, real,   larger, smaller) {
  if (shown == real) return 1
  sub(/[,:;)]$/, "", shown)
  sub(/[,:;)]$/, "", real)
  if (!is_number(shown) || !is_number(real)) return 0
  gsub(/,/, "", shown)
  gsub(/,/, "", real)
  larger = shown + 0 > real + 0 ? shown + 0 : real + 0
  smaller = shown + 0 > real + 0 ? real + 0 : shown + 0
  return larger - smaller <= 1 || larger <= 2 * smaller
}

# Whether the words shown[i…] describe the words real[j…].
function words_match(i, j,   k) {
  while (i <= shown_count && shown[i] != "…") {
    if (j > real_count || !is_alike(shown[i++], real[j++])) return 0
  }
  if (i > shown_count) return j > real_count
  for (k = j; k <= real_count + 1; k++) {
    if (words_match(i + 1, k)) return 1
  }
  return 0
}

function line_matches(expected, actual) {
  shown_count = split(trimmed(expected), shown, /[ \t]+/)
  real_count = split(trimmed(actual), real, /[ \t]+/)
  return words_match(1, 1)
}

function compare(   i, j) {
  j = 1
  for (i = 1; i <= first_count; i++) {
    if (trimmed(first[i]) == "…" || trimmed(first[i]) == "") continue
    while (j <= second_count && !line_matches(first[i], second[j])) j++
    if (j > second_count) {
      print "no such line: " first[i]
      return 0
    }
    j++
  }
  return 1
}

function quote(   i, j, k, n, from) {
  from = 1
  for (i = 1; i <= first_count; i = k + 1) {
    for (k = i; k <= first_count && trimmed(first[k]) !~ /^(\/\/ |# )?…$/; k++) continue
    for (j = from; j + k - i - 1 <= second_count; j++) {
      for (n = 0; n < k - i && first[i + n] == second[j + n]; n++) continue
      if (n == k - i) break
    }
    if (j + k - i - 1 > second_count) {
      print "not there: " first[i]
      return 0
    }
    from = j + k - i
  }
  return 1
}

mode == "split" && /^```/ {
  if (in_block) {
    in_block = 0
    close(file)
    next
  }
  in_block = 1
  number++
  file = sprintf("%s/%03d", folder, number)
  printf "" > file
  info_count = split(substr($0, 4), info, " ")
  printf "%03d %d %s %s\n", number, FNR, (info_count > 0 ? info[1] : "none"), (info_count > 1 ? info[2] : "-")
  next
}
mode == "split" {
  if (in_block) print > file
  next
}

FNR == NR {
  first[++first_count] = $0
  next
}
{ second[++second_count] = $0 }

END {
  if (mode == "compare" && !compare()) exit 1
  if (mode == "quote" && !quote()) exit 1
}
