// SPDX-License-Identifier: Apache-2.0
#include "runner/firmware/measured.inc"

    measured load, cormorant_inference_load
    measured execute, cormorant_inference_execute
