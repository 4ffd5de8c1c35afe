// SPDX-License-Identifier: Apache-2.0
//
// cormorant-operators-page SOURCE_ROOT: prints docs/operators.md.
#include <fmt/format.h>

#include "tests/docs/operators_page.h"

int main(int count, char** arguments) {
  if (count != 2) return 2;
  fmt::print("{}", cormorant::operators_page(arguments[1]));
  return 0;
}
