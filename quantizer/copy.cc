// SPDX-License-Identifier: Apache-2.0
#include "quantizer/copy.h"

namespace cormorant::quantizer {

ir::Graph copy_of(const ir::Graph& graph) {
  ir::Graph other = graph.copy();
  other.erase_unused();
  return other;
}

}  // namespace cormorant::quantizer
