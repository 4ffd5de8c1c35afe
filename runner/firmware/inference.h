// SPDX-License-Identifier: Apache-2.0
//
// All that a product's firmware needs to use the runtime: two calls. The harness around them only moves inputs and
// outputs and measures; it reaches them through measure.S, whose labels the instruction counter looks for.
#pragma once

#include "cormorant/cormorant.h"

extern "C" {
// The firmware's one program. Static, as in a product, so that its few words count as RAM of the runtime.
extern cormorant_program cormorant_linked_program;

// On failure `why` is set and the program must not be used.
cormorant_error cormorant_inference_load(cormorant_failure* why);
void cormorant_inference_execute();
// Instead, if an image arrives by rows: the next of them.
cormorant_error cormorant_inference_push(const void* row);

// The same, counted (measure.S).
cormorant_error cormorant_measured_load(cormorant_failure* why);
void cormorant_measured_execute();
[[gnu::weak]] cormorant_error cormorant_measured_push(const void* row);  // null unless it is linked
}
