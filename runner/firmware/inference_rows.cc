// SPDX-License-Identifier: Apache-2.0
//
// Linked for programs whose image arrives by rows.
#include "runner/firmware/inference.h"

cormorant_error cormorant_inference_push(const void* row) {
  return cormorant_push_rows(&cormorant_linked_program, row, 1);
}
