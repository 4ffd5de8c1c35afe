// SPDX-License-Identifier: Apache-2.0
//
// Linked for programs whose image arrives by rows.
#include "runner/firmware/measured.inc"

    measured push, cormorant_inference_push
